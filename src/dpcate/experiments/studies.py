"""Studies by name: the paper's setups, GOTV, and the paper's voting data from a user's file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpcate.errors import ParameterError
from dpcate.experiments.gotv import make_gotv
from dpcate.experiments.protocol import Study, StudyRows
from dpcate.experiments.setups import SETUP_NAMES, make_setup
from dpcate.experiments.voting import make_voting

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from dpcate.experiments.setups import Setup
    from dpcate.schema import Schema

__all__ = ["STUDY_NAMES", "Study", "StudyPaths", "StudyRows", "make_study"]

STUDY_NAMES = (*SETUP_NAMES, "GOTV", "voting")
"""Names that :func:`make_study` knows."""


@dataclass(frozen=True, slots=True)
class StudyPaths:
    """Where the files of real studies are, for those who have them."""

    gotv: str | None = None
    voting: str | None = None


@dataclass(frozen=True, slots=True)
class SimulatedStudy:
    """A setup as a study: every draw is new rows."""

    setup: Setup

    @property
    def name(self) -> str:
        """The setup's name."""
        return self.setup.name

    @property
    def schema(self) -> Schema:
        """The setup's schema."""
        return self.setup.schema

    def draw(self, n: int, seed: int) -> StudyRows:
        """Return ``n`` rows."""
        sample = self.setup.draw(n, seed)
        outcome, treatment = self.schema.outcome.name, self.schema.treatment.name
        return StudyRows({**self._features(sample.X), treatment: sample.T, outcome: sample.Y})

    def test(self, n: int, seed: int) -> tuple[dict[str, NDArray[Any]], NDArray[np.float64]]:
        """Return the features of ``n`` rows and their true effects."""
        sample = self.setup.draw(n, seed)
        return self._features(sample.X), sample.effect

    def _features(self, X: NDArray[np.float64]) -> dict[str, NDArray[Any]]:
        return {column.name: values for column, values in zip(self.schema.features, X.T, strict=True)}


def make_study(name: str, *, gotv: str | Path | None = None, voting: str | Path | None = None) -> Study:
    """Return a study by its name.

    Parameters
    ----------
    name
        One of :data:`STUDY_NAMES`.
    gotv, voting
        Path of the file, for the studies ``"GOTV"`` and ``"voting"``.

    Examples
    --------
    >>> sorted(make_study("A").draw(5, seed=1).table)
    ['t', 'x1', 'x2', 'x3', 'x4', 'x5', 'x6', 'y']
    """
    if name in SETUP_NAMES:
        return SimulatedStudy(make_setup(name))
    if name == "GOTV":
        return make_gotv(_given(name, "gotv", gotv))
    if name == "voting":
        return make_voting(_given(name, "voting", voting))
    raise ParameterError(f"`name` must be one of {', '.join(STUDY_NAMES)}; got {name!r}.")


def _given(name: str, option: str, path: str | Path | None) -> str | Path:
    if path is None:
        raise ParameterError(f"the study {name} needs data that do not come with dpcate; give `{option}`, a path.")
    return path
