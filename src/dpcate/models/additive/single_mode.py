"""A measured quantity's shares: they rise to one cell and fall from there, unless the counts say otherwise.

Smoothing alone leaves noise in the tails: a few rows far out that nobody has, by which a spread is overstated and
bounds go too far. Most measured quantities have one mode, and the nearest counts with one leave far less of that noise.
Everything here reads released counts and public sizes; nothing reads rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import isotonic_regression

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["has_one_mode", "with_one_mode"]


def with_one_mode(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the numbers nearest to the counts, in squares, that rise up to some cell and fall from there."""
    cells = range(1, len(counts) + 1)
    fits = [np.concatenate([_rising(counts[:cell]), _rising(counts[cell:][::-1])[::-1]]) for cell in cells]
    return min(fits, key=lambda fit: float(((counts - fit) ** 2).sum()))


def has_one_mode(noisy: NDArray[np.float64], noise_scale: float) -> bool:
    """Return whether counts with one mode are as near to the noisy ones as the true counts are expected to be.

    If the true counts have one mode, the nearest such counts are nearer still, as they follow some of the noise. Where
    noise is so small that the rows' own randomness shows, the answer tends to be no, and nothing is lost.

    Parameters
    ----------
    noisy
        Released counts of equally wide cells.
    noise_scale
        Standard deviation of the noise on each.
    """
    left = float(((noisy - with_one_mode(noisy)) ** 2).sum())
    return left <= len(noisy) * noise_scale**2


def _rising(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    return isotonic_regression(counts).x if len(counts) else counts
