"""A private choice of the range that targets are held to before boosting.

Noise is proportional to the width of the range, and public bounds are often many times wider than nearly all targets.
One histogram of the target is released; the range that balances what clipping would distort against the noise that it
saves is then chosen from the noisy counts alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcate.mechanisms import HistogramRelease
from dpcate.models.simplex import project_to_simplex

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcate.mechanisms import NoiseSource
    from dpcate.models.protocol import Budget, StageData

__all__ = ["TargetRange", "best_range", "release_range", "target_cells"]

N_CELLS = 128
"""Equal pieces of the public range in which targets are counted; ranges start and end at their edges."""

SIGNIFICANT = 4.0
"""A cell of this many noise scales is taken to hold targets; below, it may be noise alone."""

MOST_UNSEEN = 0.1
"""A range is admitted only if at most this share of targets may lie outside without being seen there."""

MOST_NOISE = 0.15
"""A range is admitted only if the share of targets inside is known to this standard deviation."""


@dataclass(frozen=True, slots=True)
class TargetRange:
    """The range that targets are held to, and their variance inside it (0: not known); public or released."""

    low: float
    high: float
    variance: float

    @classmethod
    def public(cls, data: StageData) -> TargetRange:
        """Return the public range; of the variance inside nothing is known."""
        return cls(data.low, data.high, 0.0)


def target_cells(target: NDArray[np.float64], low: float, high: float) -> NDArray[np.int64]:
    """Return the piece of ``[low, high]`` that each target falls in."""
    return np.clip(np.floor((target - low) / (high - low) * N_CELLS), 0, N_CELLS - 1).astype(np.int64)


def release_range(
    data: StageData, *, total: float | None, mu: float, budget: Budget, noise: NoiseSource, noise_per_reach: float
) -> TargetRange:
    """Return the range to hold targets to.

    Parameters
    ----------
    data
        The rows; private.
    total
        Number of rows, public or released; None takes it from the histogram.
    mu
        What the histogram may cost.
    budget
        For the neighbour relation.
    noise
        Where the noise comes from.
    noise_per_reach
        Noise on the finished function per unit of reach, times the number of rows.

    Privacy
    -------
    One histogram of the target, which costs ``mu``; the choice is post-processing.
    """
    release = HistogramRelease(n_cells=(N_CELLS,), mu=mu, neighbours=budget.neighbours)
    (noisy,) = release.release([target_cells(data.held.target, data.low, data.high)], noise)
    total = max(1.0, float(noisy.sum()) if total is None else total)
    return best_range(
        noisy / total,
        np.linspace(data.low, data.high, N_CELLS + 1),
        scale=release.noise_scale / total,
        noise_per_reach=noise_per_reach / total,
        about_zero=data.weighted,
    )


def best_range(
    share: NDArray[np.float64],
    edges: NDArray[np.float64],
    *,
    scale: float,
    noise_per_reach: float,
    about_zero: bool = False,
) -> TargetRange:
    """Return the range that minimises (mean distance moved by clipping)^2 + (noise_per_reach * reach)^2.

    Targets outside a range come in two kinds: those in cells that clearly stand out of the noise, whose distance is
    known, and the unseen rest, of which we know only how much is missing inside. The rest is taken one noise scale
    larger than it looks and half a reach away. Where that may be many, the range is not admitted; if none is, the
    public range stays.

    Parameters
    ----------
    share
        Noisy share of targets in each cell; may be negative.
    edges
        Edges of the cells.
    scale
        Standard deviation of the noise on each share.
    noise_per_reach
        Standard deviation of the noise on the fitted function per unit of reach.
    about_zero
        Whether the reach of a range is measured from zero and not from its middle.
    """
    at = np.arange(len(edges))
    n_inside = at - at[:, None]
    inside_noise = scale * np.sqrt(np.maximum(n_inside, 0))
    seen = np.where(share > SIGNIFICANT * scale, share, 0.0)
    unseen = 1.0 - _between(share) - (seen.sum() - _between(seen)) + inside_noise
    reach = np.maximum(np.abs(edges[:, None]), np.abs(edges)) if about_zero else (edges - edges[:, None]) / 2
    moved = _moved(seen, edges) + reach / 2 * np.maximum(unseen, 0.0)
    cost = moved**2 + (noise_per_reach * reach) ** 2
    cost[(n_inside <= 0) | (unseen > MOST_UNSEEN) | (inside_noise > MOST_NOISE)] = np.inf
    cost[0, -1] = (noise_per_reach * reach[0, -1]) ** 2  # the public range moves nobody
    first, last = (int(k) for k in np.unravel_index(int(np.argmin(cost)), cost.shape))
    variance = _variance(share[first:last], edges[first : last + 1])
    return TargetRange(float(edges[first]), float(edges[last]), variance)


def _between(share: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share between any two edges."""
    cumulated: NDArray[np.float64] = np.concatenate([[0.0], np.cumsum(share)])
    return cumulated - cumulated[:, None]


def _moved(seen: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how far clipping to each range would move the targets of the seen cells, on average."""
    middle = (edges[:-1] + edges[1:]) / 2
    up = np.maximum(edges[:, None] - middle, 0.0) @ seen
    down = np.maximum(middle - edges[:, None], 0.0) @ seen
    total: NDArray[np.float64] = up[:, None] + down
    return total


def _variance(share: NDArray[np.float64], edges: NDArray[np.float64]) -> float:
    """Return the variance of the targets inside a range, from their noisy shares."""
    weight = project_to_simplex(share, 1.0)
    middle = (edges[:-1] + edges[1:]) / 2
    return float(weight @ np.square(middle - weight @ middle))
