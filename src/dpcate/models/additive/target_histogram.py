"""The target's distribution, from a noisy histogram over its bounds: the one place that reads rows for it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcate import kernels
from dpcate.mechanisms import HistogramRelease
from dpcate.models.additive.density import smooth_shares
from dpcate.models.additive.few_values import few_values, yes_or_no
from dpcate.models.additive.single_mode import has_one_mode
from dpcate.models.additive.target import TargetLaw

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcate.mechanisms import NoiseSource
    from dpcate.models.protocol import Budget, StageData

__all__ = ["release_target_law"]

N_CELLS, POINTS_PER_CELL = 32, 4

UNSEEN = 0.5
"""Rows are spread evenly over the bounds, as noise may hide some: this many standard deviations of a count's noise."""


def release_target_law(data: StageData, *, mu: float, budget: Budget, noise: NoiseSource) -> TargetLaw:
    """Return the target's law from a noisy histogram over its bounds.

    Between 0 and 1, which is how yes and no are written, the cells between are empty unless they are seen to have rows.

    Privacy
    -------
    Releases a histogram of the target that costs Gaussian(mu). Proof: ``docs/privacy/histogram.md``.
    """
    release = HistogramRelease(n_cells=(N_CELLS,), mu=mu, neighbours=budget.neighbours)
    edges = np.linspace(data.low, data.high, N_CELLS + 1)
    low, high = data.low, data.high

    def total() -> NDArray[Any]:
        return data.total(lambda rows: [release.exact([_cells(rows.target, low, high)], None)])[0]

    noisy = release.release_total(total, noise)[0]
    unseen = min(UNSEEN * release.noise_scale / max(float(noisy.sum()), 1.0), 0.5)
    if (low, high) == (0.0, 1.0) and yes_or_no(noisy, release.noise_scale):
        return TargetLaw.of_yes(float(np.clip(noisy[-1] / (noisy[0] + noisy[-1]), unseen, 1.0 - unseen)))
    return _law_of_counts(edges, noisy, release.noise_scale, unseen)


def _law_of_counts(
    edges: NDArray[np.float64], noisy: NDArray[np.float64], noise_scale: float, unseen: float
) -> TargetLaw:
    """Return the law of released counts: its shares rise to one mode, unless there are a few values or more modes."""
    shares = smooth_shares(noisy, noise_scale, spread=unseen)
    few = few_values(noisy, shares, noise_scale)
    if not few and has_one_mode(noisy, noise_scale):
        shares = smooth_shares(noisy, noise_scale, spread=unseen, one_mode=True)
    return replace(_spread_within_cells(edges, shares), few_values=few)


def _cells(target: NDArray[np.float64], low: float, high: float) -> NDArray[np.uint16]:
    """Return the cell of each target."""
    codes = np.empty(len(target), dtype=np.uint16)
    kernels.cell_codes(codes, target, low, high, N_CELLS)
    return codes - np.uint16(1)


def _spread_within_cells(edges: NDArray[np.float64], shares: NDArray[np.float64]) -> TargetLaw:
    """Return the law with each cell's share spread evenly over it: inside a cell nothing is known."""
    inside = (np.arange(POINTS_PER_CELL) + 0.5) / POINTS_PER_CELL
    points = (edges[:-1, None] + np.diff(edges)[:, None] * inside).ravel()
    each = np.repeat(shares / POINTS_PER_CELL, POINTS_PER_CELL)
    centre = float(each @ points)
    return TargetLaw(centre, points - centre, each)
