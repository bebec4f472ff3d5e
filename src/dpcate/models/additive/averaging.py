"""What a stage's own rows say of the population's average, beyond the average over the released shares.

The released average is over shares that have noise, and the equations' first row tells how far the means of functions
over the stage's own rows are from it. Everything here is post-processing; derivation: ``docs/statistics/intervals.md``.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcate.errors import DocumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from dpcate.models.additive.observation import Observation
    from dpcate.models.additive.regression import MomentRegression

__all__ = ["NOTHING_SEEN", "SeenAverage"]


@dataclass(frozen=True, slots=True)
class SeenAverage:
    """How the average over the rows of a stage differs from the one over the released shares, as far as was seen.

    Parameters
    ----------
    difference
        The one less the other; rows count by their squared loadings.
    people
        Variance of the average over so many rows: people differ.
    loadings
        Variance that is added because rows count differently, by chance.
    trust
        How far the equations were believed about it, from zero to one.
    """

    difference: float = 0.0
    people: float = 0.0
    loadings: float = 0.0
    trust: float = 0.0

    @classmethod
    def of(cls, stage: MomentRegression, seen: Observation, coefficients: NDArray[np.float64]) -> SeenAverage:
        """Return what a stage's first round saw, for a function with these coefficients."""
        level = float(seen.gram.matrix[0, 0])
        difference = float(seen.correction[0, 1:] @ coefficients[1:]) / level
        squares = coefficients[1:] ** 2
        trust = 0.0 if seen.gram.trust is None else float(seen.gram.trust[0, 1:] @ squares / max(squares.sum(), 1e-300))
        effect = seen.functions[:, 1:] @ coefficients[1:]
        away = (effect - effect.mean()) ** 2
        people = float(away.mean()) / seen.n_rows
        if not stage.data.weighted:
            return cls(difference, people, 0.0, trust)
        square = stage.loading_variance  # e (1 - e), and the fourth moment of T - e is e (1 - e) (1 - 3 e (1 - e))
        fourth = square * np.maximum(1.0 - 3.0 * square, square)
        weighted = float((fourth * away).mean() / square.mean() ** 2) / seen.n_rows
        return cls(difference, people, max(weighted - people, 0.0), trust)

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> SeenAverage:
        """Return what a saved model knows; none says that nothing was seen."""
        try:
            found = cls(**{name: float(value) for name, value in document.items()})
        except (AttributeError, TypeError, ValueError):
            raise DocumentError("the average that a saved model saw cannot be read; the file is damaged.") from None
        if not (
            math.isfinite(found.difference) and found.people >= 0.0 <= found.loadings and 0.0 <= found.trust <= 1.0
        ):
            raise DocumentError("the average that a saved model saw is none; the file is damaged.")
        return found

    def to_dict(self) -> dict[str, float]:
        """Return JSON values."""
        return asdict(self)

    def of_population(self, by_shares: float) -> tuple[float, float]:
        """Return how far the population's average lies from the released one, and the variance of what is not known.

        Parameters
        ----------
        by_shares
            Variance of that difference where the stage's own rows say nothing of it.
        """
        if self == NOTHING_SEEN:
            return 0.0, by_shares
        by_noise = max(by_shares - self.people, 0.0)
        part = by_noise / (by_noise + self.loadings) if by_noise > 0.0 else 0.0
        return part * self.difference, by_shares - part * self.trust * by_noise


NOTHING_SEEN = SeenAverage()
"""What a release from before this was looked at knows, and one whose function is the same for everybody."""
