"""The law of a sum of independent privacy losses: exact for few atoms, else on a pessimistic grid.

Rounding always moves mass to larger losses. The grid's step is chosen so that the price in epsilon is far below 1e-3
in ordinary use; it is never a matter of privacy, only of tightness.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcate.accounting.grid import GridLosses, atoms_on_grid, function_on_grid, reach
from dpcate.accounting.losses import LossDistribution

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from dpcate.accounting.tradeoff import TradeOffFunction

__all__ = ["fine_losses", "sum_of_losses"]

_MOST_ATOMS = 4096
_MOST_PAIRS = 2**21
_MOST_CELLS = 2**15
_SMALLEST_STEP = 1e-13  # losses below are not worth resolving
_CELLS_PER_DEVIATION = 500.0


def sum_of_losses(counts: Mapping[TradeOffFunction, int]) -> LossDistribution:
    """Return the law of the sum of independent losses, each function counted as often as ``counts`` says."""
    laws = {f: f.losses() for f in counts}
    exact = _exact_sum([(law, counts[f]) for f, law in laws.items() if law is not None])
    if exact is not None and None not in laws.values():
        return exact
    step = _step(counts)
    total = GridLosses(step, 0, np.ones(1), 0.0) if exact is None else atoms_on_grid(exact, step)
    for f, law in laws.items():
        if law is None:
            total = total.convolved(function_on_grid(f, step).power(counts[f]))
        elif exact is None:
            total = total.convolved(atoms_on_grid(law, step).power(counts[f]))
    return total.distribution()


def fine_losses(f: TradeOffFunction, cells: int = _MOST_ATOMS) -> LossDistribution:
    """Return the exact law of the loss of ``f``, or a pessimistic one on a grid of about ``cells`` points."""
    law = f.losses()
    if law is not None:
        return law
    span = reach(f) + reach(f.reverse())
    return function_on_grid(f, max(span, 1e-12) / cells).distribution()


def _exact_sum(laws: list[tuple[LossDistribution, int]]) -> LossDistribution | None:
    """Add up atom by atom; None as soon as there are too many atoms."""
    total: LossDistribution | None = LossDistribution(np.zeros(1), np.ones(1), 0.0)
    for law, times in laws:
        total = _added(total, _exact_power(law, times))
    return total


def _exact_power(law: LossDistribution, times: int) -> LossDistribution | None:
    if times == 1:
        return law
    half = _exact_power(law, times // 2)
    square = _added(half, half)
    return _added(square, law) if times % 2 else square


def _added(a: LossDistribution | None, b: LossDistribution | None) -> LossDistribution | None:
    if a is None or b is None or a.losses.size * b.losses.size > _MOST_PAIRS:
        return None
    infinity = a.infinity + b.infinity * (1.0 - a.infinity)
    if b.losses.size == 1 and b.losses[0] == 0.0:
        return LossDistribution(a.losses, a.masses * b.masses[0], infinity)
    losses = np.nextafter(np.add.outer(a.losses, b.losses).ravel(), np.inf)
    masses = np.multiply.outer(a.masses, b.masses).ravel()
    merged = _merged(losses, masses)
    return None if merged[0].size > _MOST_ATOMS else LossDistribution(*merged, infinity)


def _merged(
    losses: NDArray[np.float64], masses: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Join losses that differ by round-off only; a joined atom takes the largest of its losses."""
    order = np.argsort(losses, kind="stable")
    losses, masses = losses[order], masses[order]
    tolerance = 1e-14 * max(float(np.abs(losses).max()), 1e-300)
    starts = np.flatnonzero(np.concatenate([[True], np.diff(losses) > tolerance]))
    ends = np.append(starts[1:], losses.size) - 1
    return losses[ends], np.add.reduceat(masses, starts)


def _step(counts: Mapping[TradeOffFunction, int]) -> float:
    """Choose the grid: a small fraction of the standard deviation of the sum, finer for many members.

    Both orders of the hypotheses count alike, so that a composition and its inverse share their grid.
    """
    mean = variance = span = 0.0
    for f, times in counts.items():
        both = np.array([fine_losses(order, cells=256).moments() for order in (f, f.reverse())])
        mean, variance = mean + times * np.abs(both[:, 0]).max(), variance + times * both[:, 1].max()
        span += times * (reach(f) + reach(f.reverse()))
    deviation = math.sqrt(variance)
    span = min(span, 2.0 * (mean + 14.0 * deviation))
    fine = deviation / _CELLS_PER_DEVIATION * min(1.0, math.sqrt(100.0 / sum(counts.values())))
    return _snapped(max(fine, span / _MOST_CELLS, _SMALLEST_STEP), counts)


def _snapped(step: float, counts: Mapping[TradeOffFunction, int]) -> float:
    """Shrink ``step`` a little so that the members' largest losses, often atoms, fall on the grid or close to it."""
    edges = {
        loss: times
        for f, times in counts.items()
        for loss in (f.largest_loss, f.reverse().largest_loss)
        if 0.0 < loss < math.inf
    }
    if not edges:
        return step
    losses, times = np.array(list(edges)), np.array(list(edges.values()))
    cells = np.ceil(losses / step)[:, np.newaxis] + np.arange(64)
    candidates = np.nextafter((losses[:, np.newaxis] / cells).ravel(), np.inf)
    candidates = candidates[(candidates <= step) & (candidates >= 0.75 * step)]
    if candidates.size == 0:
        return step
    within = np.mod(losses[:, np.newaxis], candidates)
    spread = times @ (within * (candidates - within)) + times.sum() * candidates**2 / 6.0
    return float(candidates[np.argmin(spread)])
