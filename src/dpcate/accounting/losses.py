"""Privacy losses with finitely many values: the exact form of every piecewise linear trade-off function.

For a pair (P, Q) the loss is ``log(dQ/dP)`` under Q. Its law, including the mass at infinite loss, determines the
trade-off function T(P, Q). Everything here sums non-negative terms only, so that results are right to a few units in
the last place even where delta is 1e-30 (``docs/privacy/accounting.md``, section 4).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LossDistribution"]

_LOWEST_EXPONENT = -700.0  # below this e^-loss overflows; the Q-mass there is under 1e-304


@dataclass(frozen=True, eq=False)
class LossDistribution:
    """The law of a privacy loss with finitely many values.

    Parameters
    ----------
    losses : ndarray
        Finite values of the loss, in non-decreasing order.
    masses : ndarray
        Probability of each value under Q. The mass under P is ``masses * exp(-losses)``; what is missing to 1 under
        P is mass at the loss of minus infinity.
    infinity : float
        Probability under Q of an infinite loss.
    """

    losses: NDArray[np.float64]
    masses: NDArray[np.float64]
    infinity: float

    @classmethod
    def from_masses(
        cls, null: NDArray[np.float64], alternative: NDArray[np.float64], infinity: float
    ) -> LossDistribution:
        """Return the loss law of atoms with masses ``null`` under P and ``alternative`` under Q."""
        finite = (null > 0.0) & (alternative > 0.0)
        infinity += float(alternative[null <= 0.0].sum())
        losses = np.log(alternative[finite]) - np.log(null[finite])
        order = np.argsort(losses, kind="stable")
        return cls(losses[order], alternative[finite][order], min(infinity, 1.0))

    def delta(self, epsilon: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the hockey-stick divergence of order ``exp(epsilon)`` of Q from P."""
        floor = -np.expm1(np.minimum(epsilon, 0.0))
        if self.losses.size == 0:
            return np.maximum(self.infinity, floor)
        levels, weights = self._tails
        index = np.searchsorted(self.losses, epsilon, side="left")
        inside = np.minimum(index, self.losses.size - 1)
        gap = np.minimum(epsilon - self.losses[inside], 0.0)
        value = np.where(index < self.losses.size, levels[inside] - weights[inside] * np.expm1(gap), self.infinity)
        return np.minimum(np.maximum(value, floor), 1.0)

    def tradeoff(self, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the smallest type II error at type I error ``alpha``."""
        if self.losses.size == 0:
            return np.zeros_like(alpha)
        alphas = np.concatenate([[0.0], np.cumsum(self.null_masses[::-1])])
        betas = np.concatenate([np.cumsum(self.masses)[::-1], [0.0]])
        betas[0] = 1.0 - self.infinity
        values: NDArray[np.float64] = np.interp(alpha, alphas, betas, right=0.0)
        return np.asarray(np.minimum(values, 1.0 - alpha))

    @property
    def null_masses(self) -> NDArray[np.float64]:
        """Probability of each loss under P."""
        return self.masses * np.exp(-np.maximum(self.losses, _LOWEST_EXPONENT))

    def rejection_curve(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the corners of ``1 - f``: rejection probabilities under P and under Q, both ascending to 1."""
        null = np.cumsum(self.null_masses[::-1])
        alternative = self.infinity + np.cumsum(self.masses[::-1])
        ends = np.array([1.0])
        return (
            np.minimum(np.concatenate([[0.0], null, ends]), 1.0),
            np.minimum(np.concatenate([[self.infinity], alternative, ends]), 1.0),
        )

    def moments(self) -> tuple[float, float]:
        """Return mean and variance of the finite part of the loss under Q."""
        total = float(self.masses.sum())
        if total == 0.0:
            return 0.0, 0.0
        mean = float(self.masses @ self.losses) / total
        return mean, float(self.masses @ (self.losses - mean) ** 2) / total

    @cached_property
    def _tails(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Delta at every loss, and ``exp(loss)`` times the P-mass at or above it, by a recursion of positive terms."""
        gaps = np.diff(self.losses)
        decay, rise = np.exp(-gaps).tolist(), (-np.expm1(-gaps)).tolist()
        masses = self.masses.tolist()
        levels, weights = [self.infinity], [masses[-1]]
        for i in range(len(gaps) - 1, -1, -1):
            levels.append(levels[-1] + weights[-1] * rise[i])
            weights.append(masses[i] + weights[-1] * decay[i])
        return np.array(levels[::-1]), np.array(weights[::-1])
