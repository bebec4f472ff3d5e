"""From a noisy histogram to a smooth distribution of a column.

Everything here reads released counts and public sizes; nothing reads rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.fft import dct, idct

from dpcate.models.additive.single_mode import with_one_mode
from dpcate.models.simplex import project_to_simplex

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FLOOR", "category_shares", "smooth_shares", "stand_alone"]

FLOOR = 0.002
"""Share of the rows spread evenly over all cells, so that no cell that a row may fall in has weight zero."""

LUMP = 4.0
"""A cell with this many times the rows of its neighbours holds a single value (a count, a rounded number)."""


def smooth_shares(
    noisy: NDArray[np.float64], noise_scale: float, *, spread: float = FLOOR, one_mode: bool = False
) -> NDArray[np.float64]:
    """Return the share of each ordered cell: noise is removed from the cosine coefficients of the histogram.

    White noise stays white in the cosine basis, while the coefficients of a distribution fall off; each coefficient is
    shrunk by what its own size says of its signal (positive-part James-Stein), and cells that hold no more than what is
    left of the noise are emptied. The shares are positive and sum to one.

    Parameters
    ----------
    noisy
        Released counts of equally wide cells.
    noise_scale
        Standard deviation of the noise on each.
    spread
        Share of the rows spread evenly over all cells.
    one_mode
        Whether the counts have one mode: then the nearest with one are taken, before any are emptied. What is left of
        the noise is both more and less than nothing, and in tails that only fall it adds up to hardly anything.
    """
    coefficients = dct(noisy, norm="ortho")
    energy = np.maximum(coefficients[1:] ** 2, 1e-300)
    coefficients[1:] *= np.maximum(0.0, energy - 2.0 * noise_scale**2) / energy
    counts = idct(coefficients, norm="ortho")
    total = max(float(noisy.sum()), noise_scale)
    return _normalised(project_to_simplex(with_one_mode(counts) if one_mode else counts, total), spread)


def category_shares(noisy: NDArray[np.float64], noise_scale: float) -> NDArray[np.float64]:
    """Return the share of each unordered cell; cells that hold no more than noise are (almost) emptied."""
    return _normalised(project_to_simplex(noisy, max(float(noisy.sum()), noise_scale)))


def stand_alone(shares: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which ordered cells stand alone, with far more rows than their neighbours."""
    around = np.concatenate([[0.0], shares, [0.0]])
    alone: NDArray[np.bool_] = shares > LUMP * np.maximum(around[:-2], around[2:])
    return alone


def _normalised(counts: NDArray[np.float64], spread: float = FLOOR) -> NDArray[np.float64]:
    positive = np.maximum(counts, 0.0)
    total = positive.sum()
    even = np.full(len(counts), 1.0 / len(counts))
    if not total > 0.0:
        return even
    shares: NDArray[np.float64] = (1.0 - spread) * positive / total + spread * even
    return shares
