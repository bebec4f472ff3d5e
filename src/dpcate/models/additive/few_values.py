"""Targets that have a few values, such as yes and no.

A model that explains a part of a measured quantity leaves residuals that are nearer to zero. Of yes and no it says how
likely they are: whoever had the rare one is as far away as before. And where a treatment moves everybody's quantity
a little, it makes a few people's no a yes. Everything here reads released counts and public sizes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpcate.models.additive.density import stand_alone

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["few_values", "yes_or_no"]

MOSTLY = 0.75
"""A target has a few values if more than this share of its rows is in cells that stand alone and have rows for sure."""

SURE = 4.0
"""Cells have rows if they hold this many standard deviations of their noise."""

NONE_SEEN = 2.5
"""And none that one knows of if they hold less than this many."""


def yes_or_no(noisy: NDArray[np.float64], noise_scale: float) -> bool:
    """Return whether all rows lie in the first and the last cell, as far as noise lets one see.

    Parameters
    ----------
    noisy
        Released counts of equally wide cells, which range from no to yes.
    noise_scale
        Standard deviation of the noise on each.
    """
    between = noisy[1:-1]
    empty = float(between.sum()) < NONE_SEEN * noise_scale * math.sqrt(len(between))
    return empty and float(noisy[0] + noisy[-1]) > SURE * noise_scale * math.sqrt(len(between))


def few_values(noisy: NDArray[np.float64], shares: NDArray[np.float64], noise_scale: float) -> bool:
    """Return whether most rows lie in two or more cells that stand alone and have rows for sure.

    One cell by itself tells nothing: bounds that are far too wide put everybody there.

    Parameters
    ----------
    noisy, shares
        Released counts of equally wide cells, and the shares that were made of them.
    noise_scale
        Standard deviation of the noise on each count.
    """
    alone = stand_alone(shares) & (noisy > SURE * noise_scale)
    return int(alone.sum()) > 1 and float(shares[alone].sum()) > MOSTLY
