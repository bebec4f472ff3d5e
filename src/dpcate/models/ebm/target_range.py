"""A private choice of the range that targets are held to before boosting.

Noise is proportional to the width of the range, and public bounds are often several times wider than nearly all targets.
One histogram of the target is released; the range that balances what clipping would distort against the noise that it
saves is then chosen from the noisy counts alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcate.mechanisms import HistogramRelease
from dpcate.models.ebm.simplex import project_to_simplex

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcate.mechanisms import NoiseSource
    from dpcate.models.protocol import Budget, StageData

__all__ = ["TargetRange", "best_range", "release_range", "target_cells"]

N_CELLS = 256
"""Equal pieces of the public range in which targets are counted."""

STRIDE = 4
"""Ranges start and end at every fourth edge."""


@dataclass(frozen=True, slots=True)
class TargetRange:
    """The range that targets are held to, and their variance inside it; public or released."""

    low: float
    high: float
    variance: float

    @classmethod
    def public(cls, data: StageData) -> TargetRange:
        """Return the public range, with the variance of targets that fill it evenly."""
        return cls(data.low, data.high, (data.high - data.low) ** 2 / 12)


def target_cells(target: NDArray[np.float64], low: float, high: float) -> NDArray[np.int64]:
    """Return the piece of ``[low, high]`` that each target falls in."""
    return np.clip(np.floor((target - low) / (high - low) * N_CELLS), 0, N_CELLS - 1).astype(np.int64)


def release_range(
    data: StageData, *, mu: float, budget: Budget, noise: NoiseSource, noise_per_reach: float
) -> TargetRange:
    """Return the range to hold targets to.

    Privacy
    -------
    One histogram of the target, which costs ``mu``; the choice is post-processing.
    """
    release = HistogramRelease(n_cells=(N_CELLS,), mu=mu, neighbours=budget.neighbours)
    (noisy,) = release.release([target_cells(data.target, data.low, data.high)], noise)
    total = float(data.n_rows) if data.n_rows is not None else float(noisy.sum())
    counts = project_to_simplex(noisy, max(total, 1.0))
    return best_range(
        counts,
        data.low,
        data.high,
        noise_per_reach=noise_per_reach / max(total, 1.0),
        about_zero=data.loading is not None,
    )


def best_range(
    counts: NDArray[np.float64], low: float, high: float, *, noise_per_reach: float, about_zero: bool = False
) -> TargetRange:
    """Return the range that minimises (mean distance moved by clipping)^2 + (noise_per_reach * reach)^2.

    Parameters
    ----------
    counts
        Noisy counts in equal pieces of ``[low, high]``; not negative, positive sum.
    low, high
        The public range.
    noise_per_reach
        Standard deviation of the noise on the fitted function per unit of reach.
    about_zero
        Whether the reach of a range is measured from zero and not from its middle.
    """
    share = counts / counts.sum()
    edges = np.linspace(low, high, len(counts) + 1)
    middle = (edges[:-1] + edges[1:]) / 2
    ends = edges[::STRIDE]
    moved_up = np.maximum(ends[:, None] - middle, 0.0) @ share
    moved_down = np.maximum(middle - ends[:, None], 0.0) @ share
    distortion = moved_up[:, None] + moved_down[None, :]
    width = ends[None, :] - ends[:, None]
    reach = np.maximum(np.abs(ends[:, None]), np.abs(ends[None, :])) if about_zero else width / 2
    cost = distortion**2 + (noise_per_reach * reach) ** 2
    cost[width <= 0] = np.inf
    first, last = np.unravel_index(int(np.argmin(cost)), cost.shape)
    held = np.clip(middle, ends[first], ends[last])
    return TargetRange(float(ends[first]), float(ends[last]), float(share @ np.square(held - share @ held)))
