"""Whether a target is spread around its mean in a single heap.

If it is, what a model leaves of it looks alike, only narrower. If not, what features explain may be which heap somebody
is in, or whether there is an amount at all, and then what is left has another law for everybody. Everything here is
post-processing of a released histogram.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dpcate.models.additive.target import TargetLaw

__all__ = ["one_heap"]

MOSTLY = 0.5
"""A target is mostly one value where more than this share lies within half a standard deviation; evenly spread, normal
and exponential targets have 14, 20 and 39 percent there."""

PARTED = 0.88
"""Two heaps are those where the mean distance from the mean is more than this part of a standard deviation; it is 0.87
of one for evenly spread, 0.80 for normal and 0.74 for exponential targets, and 1 for two points."""


def one_heap(law: TargetLaw) -> bool:
    """Return whether a law has neither a few values, nor mostly one, nor two heaps with little between."""
    return not (law.few_values or _largest_share_nearby(law) > MOSTLY or _mean_distance(law) > PARTED)


def _largest_share_nearby(law: TargetLaw) -> float:
    """Return the largest share of targets within half a standard deviation."""
    order = np.argsort(law.deviations)
    deviations, below = law.deviations[order], np.append(0.0, np.cumsum(law.shares[order]))
    ends = np.searchsorted(deviations, deviations + 0.5 * law.scale, side="right")
    return float((below[ends] - below[:-1]).max())


def _mean_distance(law: TargetLaw) -> float:
    """Return the mean distance from the mean in standard deviations."""
    return float(law.shares @ np.abs(law.deviations)) / max(law.scale, 1e-300)
