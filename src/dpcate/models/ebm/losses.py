"""What each row contributes to a boosting step: its residual, relative to the largest that it could be.

A plain residual y - f ranges over twice the width of y. Clipping it at half the range would halve the noise and bias
the fit: a yes-or-no outcome of mean 0.1 would end at 0.056. Dividing it by its largest possible size halves the noise
and keeps the root, because the divisor depends on f alone. Every operation here is element-wise and correctly rounded
by IEEE 754 (or a table lookup), so a row contributes the same wherever it stands in the batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dpcate.models.logistic import logistic

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LogisticLoss", "Loss", "SquaredLoss"]


class Loss(Protocol):
    """A loss as the boosting sees it."""

    @property
    def bound(self) -> float:
        """Largest absolute contribution of a row."""
        ...

    @property
    def prior_scale(self) -> float:
        """How far one input is expected to move the score: sets the shrinkage of noisy leaves."""
        ...

    def curvature(self, typical: float) -> float:
        """Return by how much a row's contribution falls per unit of score, per unit of histogram weight.

        ``typical`` is the root mean square of the current scores: public or released.
        """
        ...

    def variance(self, typical: float) -> float:
        """Return a released estimate of the variance of a row's contribution, per unit of histogram weight."""
        ...

    def contributions(self, score: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what each row adds to its leaf at the current score; private."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SquaredLoss:
    """The loss (target - loading score)^2 for targets in [-reach, reach].

    Parameters
    ----------
    target
        Centred targets, inside ``[-reach, reach]``; private.
    reach
        Half the width of the targets' range; public or released.
    target_variance
        Released estimate of the variance of the targets.
    loading, loading_bound
        See :class:`~dpcate.models.StageData`.

    Privacy
    -------
    |target - loading score| is at most ``reach + loading_bound |score|``, so the relative residual times ``reach`` and
    the loading is at most ``bound``, for every score.
    """

    target: NDArray[np.float64]
    reach: float
    target_variance: float
    loading: NDArray[np.float64] | None = None
    loading_bound: float = 1.0

    @property
    def bound(self) -> float:
        """Largest absolute contribution of a row."""
        return self.reach * self.loading_bound

    @property
    def prior_scale(self) -> float:
        """A tenth of the reach."""
        return 0.1 * self.reach

    def curvature(self, typical: float) -> float:
        """Return the squared loading bound, as the histogram weighs a row by (loading / bound)^2, over the divisor."""
        return self.loading_bound**2 / self._divisor(typical)

    def variance(self, typical: float) -> float:
        """Return the variance of the target, weighed and divided in the same way."""
        return self.target_variance * self.loading_bound**2 / self._divisor(typical) ** 2

    def _divisor(self, typical: float) -> float:
        return min(1.0 + self.loading_bound * typical / self.reach, 3.0)

    def contributions(self, score: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return loading * reach * (target - loading score) / (reach + loading_bound |score|) for each row."""
        divisor = np.abs(score)
        divisor *= self.loading_bound / self.reach
        divisor += 1.0
        if self.loading is None:
            residual = self.target - score
        else:
            residual = self.target - self.loading * score
            residual *= self.loading
        residual /= divisor
        return residual


@dataclass(frozen=True, slots=True, kw_only=True)
class LogisticLoss:
    """The logistic loss for targets in [0, 1], row by row relative to the largest residual.

    Parameters
    ----------
    target
        Zeros and ones, or numbers between; private.

    Privacy
    -------
    |target - p| is at most max(p, 1 - p), so a row contributes at most 1.
    """

    target: NDArray[np.float64]

    @property
    def bound(self) -> float:
        """Largest absolute contribution of a row."""
        return 1.0

    @property
    def prior_scale(self) -> float:
        """Half a logit."""
        return 0.5

    def curvature(self, typical: float) -> float:
        """Return the derivative of the mean contribution by the logit: p (1 - p) / max(p, 1 - p)."""
        return 1.0 - self._probability(typical)

    def variance(self, typical: float) -> float:
        """Return the variance of the contribution: p (1 - p) / max(p, 1 - p)^2."""
        probability = self._probability(typical)
        return (1.0 - probability) / probability

    def _probability(self, typical: float) -> float:
        """Return the larger of the two probabilities at a typical score."""
        return float(logistic(np.array([min(typical, 2.0)]))[0])

    def contributions(self, score: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (target - p) / max(p, 1 - p) with p the logistic of the score."""
        probability = logistic(score)
        residual = self.target - probability
        residual /= np.maximum(probability, 1.0 - probability)
        return residual
