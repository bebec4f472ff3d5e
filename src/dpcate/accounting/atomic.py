"""Trade-off functions whose privacy loss has finitely many values.

What is numeric carries a relative slack that exceeds its accumulated round-off, so that a published delta is never
below the true one; what is exact has none.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from dpcate.accounting.tradeoff import TradeOffFunction

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcate.accounting.losses import LossDistribution

__all__ = ["AtomicTradeOff"]


class AtomicTradeOff(TradeOffFunction):
    """A trade-off function that is evaluated through the atoms of its privacy loss."""

    @property
    def _slack(self) -> float:
        """Relative allowance for round-off; 0 for what is exact."""
        return 0.0

    @abstractmethod
    def losses(self) -> LossDistribution:
        """Return the law of the privacy loss; implementations keep it."""

    @property
    def infinite_loss(self) -> float:
        """Probability of an unbounded loss: ``1 - f(0)``."""
        return min(self.losses().infinity * (1.0 + self._slack), 1.0)

    @property
    def largest_loss(self) -> float:
        """The largest finite loss."""
        losses = self.losses().losses
        return max(float(losses[-1]), 0.0) if losses.size else 0.0

    def _deltas(self, epsilon: NDArray[np.float64]) -> NDArray[np.float64]:
        limit = self.infinite_loss
        padded = np.minimum(self.losses().delta(epsilon) * (1.0 + self._slack), 1.0)
        return np.where(epsilon >= self.largest_loss, limit, np.maximum(padded, limit))

    def _epsilon(self, delta: float) -> float:
        found = super()._epsilon(delta)
        # Where delta meets its limit the last units of the search are round-off; the largest loss is exact
        return self.largest_loss if found > 0.0 and delta == self.infinite_loss else found

    def _values(self, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
        exact = self.losses().tradeoff(alpha)
        return np.maximum(exact - self._slack * (1.0 - exact), 0.0)
