"""What is kept of a run.

A record holds no row of any table and, of an exception, its class alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcate.experiments.grid import Cell

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcate.experiments.grid import Key

__all__ = ["RunRecord"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """One run: what was run, how it ended, how far it was off.

    Parameters
    ----------
    study, n, epsilon, learner, model, plan, replicate
        What was run; epsilon None is without privacy.
    seed
        Seed of the noise.
    status
        ``"ok"`` or ``"failed"``.
    error
        Class name of the exception of a failed run.
    seconds
        Time of the fit.
    mse
        Mean squared error of the effect over the study's test sample; None if failed.
    points
        Predicted effects at the study's test points, float32, little-endian; empty if failed.
    versions
        Versions of the libraries, JSON.
    finished
        When, ISO 8601, UTC.
    """

    study: str
    n: int
    epsilon: float | None
    learner: str
    model: str
    plan: str
    replicate: int
    seed: int
    status: str
    error: str | None
    seconds: float
    mse: float | None
    points: bytes
    versions: str
    finished: str

    @property
    def cell(self) -> Cell:
        """The cell of which this is a run."""
        return Cell(self.study, self.n, self.epsilon, self.learner, self.model, self.plan)

    @property
    def key(self) -> Key:
        """What names the run."""
        return self.cell.key(self.replicate)

    @property
    def predictions(self) -> NDArray[np.float64]:
        """Predicted effects at the study's test points."""
        return np.frombuffer(self.points, dtype="<f4").astype(np.float64)
