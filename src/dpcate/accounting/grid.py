"""Privacy losses on an evenly spaced grid, for compositions that have no closed form.

A trade-off function goes to the grid by straight lines between its deltas at the grid points, taken as a function of
``e^epsilon``. Delta is convex there, so the lines lie above it: the gridded function is never more private than the
original, and as its lines touch it at every grid point the loss is of second order in the step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcate.accounting.losses import LossDistribution

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcate.accounting.tradeoff import TradeOffFunction

__all__ = ["GridLosses", "atoms_on_grid", "function_on_grid", "reach"]

_TAIL = 1e-40  # probability that may be declared an infinite loss
_TRIM = 1e-42
_CHUNK = 4096


def reach(f: TradeOffFunction) -> float:
    """Return an epsilon beyond which at most 1e-40 of the finite loss remains."""
    if f.infinite_loss >= 1.0:
        return 0.0
    return f.epsilon(min(max(_TAIL, f.infinite_loss * (1.0 + 1e-12)), 1.0))


@dataclass(frozen=True, eq=False)
class GridLosses:
    """Masses under Q of the losses ``step * (first, first + 1, ...)`` and of an infinite loss."""

    step: float
    first: int
    masses: NDArray[np.float64]
    infinity: float

    def convolved(self, other: GridLosses) -> GridLosses:
        """Return the law of the sum of two independent losses on the same step.

        The convolution is direct, not by Fourier transform: sums of products of non-negative numbers keep their
        relative accuracy however small they are.
        """
        masses = _convolved(self.masses, other.masses)
        infinity = self.infinity + other.infinity * (1.0 - self.infinity)
        return GridLosses(self.step, self.first + other.first, masses, infinity).trimmed()

    def power(self, times: int) -> GridLosses:
        """Return the law of the sum of ``times`` independent copies."""
        if times == 1:
            return self
        half = self.power(times // 2)
        square = half.convolved(half)
        return square.convolved(self) if times % 2 else square

    def trimmed(self) -> GridLosses:
        """Return the law with negligible ends moved to an infinite loss, under P and Q alike."""
        null = self.distribution().null_masses
        top = int((np.cumsum(self.masses[::-1]) <= _TRIM).sum())
        bottom = int(((np.cumsum(self.masses) <= _TRIM) & (np.cumsum(null) <= _TRIM)).sum())
        bottom = min(bottom, self.masses.size - 1)  # where all is negligible, one atom stays
        end = max(self.masses.size - top, bottom + 1)
        removed = float(self.masses[:bottom].sum() + self.masses[end:].sum())
        return GridLosses(self.step, self.first + bottom, self.masses[bottom:end], min(self.infinity + removed, 1.0))

    def distribution(self) -> LossDistribution:
        """Return the same law as a list of losses."""
        losses = self.step * np.arange(self.first, self.first + self.masses.size, dtype=np.float64)
        return LossDistribution(losses, self.masses, self.infinity)


def _convolved(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the direct convolution, in chunks short enough that the linear algebra library stays on one thread."""
    total = np.zeros(a.size + b.size - 1)
    for start in range(0, b.size, _CHUNK):
        part = np.convolve(a, b[start : start + _CHUNK])
        total[start : start + part.size] += part
    return total


def function_on_grid(f: TradeOffFunction, step: float) -> GridLosses:
    """Return a pessimistic gridded law of the loss of ``f``.

    Losses above 0 come from the deltas of ``f``, losses below 0 from those of its inverse, so that both tails are
    accurate and a symmetric function stays symmetric.
    """
    above, infinity = _masses_above_zero(f, step)
    below, _ = _masses_above_zero(f.reverse(), step)
    below = below * np.exp(-step * np.arange(1, below.size + 1))  # P-mass to Q-mass
    centre = max(1.0 - infinity - float(above.sum()) - float(below.sum()), 0.0)
    return GridLosses(step, -below.size, np.concatenate([below[::-1], [centre], above]), infinity).trimmed()


def _masses_above_zero(f: TradeOffFunction, step: float) -> tuple[NDArray[np.float64], float]:
    """Masses at ``step, 2 step, ...`` of the chords through the deltas, and the delta at the last of them."""
    count = max(math.ceil(reach(f) / step), 1)
    deltas = f.delta(step * np.arange(count + 1, dtype=np.float64))
    weights = np.maximum(deltas[:-1] - deltas[1:], 0.0) / -math.expm1(-step)
    masses = weights - np.append(weights[1:], 0.0) * math.exp(-step)
    return np.maximum(masses, 0.0), float(deltas[-1])


def atoms_on_grid(law: LossDistribution, step: float) -> GridLosses:
    """Return a pessimistic gridded version of ``law``: each atom is split between its two neighbours on the grid.

    The split keeps the mass under P and under Q, which is a spread of the likelihood ratio and so raises every delta.
    """
    losses = np.nextafter(law.losses, np.inf)
    index = np.floor(losses / step).astype(np.int64)
    within = np.clip(losses - step * index, 0.0, step)
    upper = law.masses * np.expm1(-within) / math.expm1(-step)
    first = int(index.min(initial=0))
    size = int(index.max(initial=0)) - first + 2
    masses = np.bincount(index - first, law.masses - upper, size) + np.bincount(index - first + 1, upper, size)
    return GridLosses(step, first, np.maximum(masses, 0.0), law.infinity).trimmed()
