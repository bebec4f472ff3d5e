"""Data-independent parts; parallel composition rests on this file.

A split may look at a row's number and at nothing else. There is no argument through which a table could be passed, so
stratifying (which would let one row move others between parts) cannot be written. Proof: ``docs/privacy/plans.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import qmc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["public_generator", "public_points", "row_parts"]

_WORDS_PER_BLOCK = 4
_EDGE = 2.0**-31


def row_parts(first: int, n_rows: int, *, shares: Sequence[float], key: int) -> NDArray[np.int8]:
    """Return the part of each of the rows ``first .. first + n_rows - 1``.

    The coin of row i is the i-th word of a counter-based generator under ``key``: any pass over any batch finds the
    same part for the same row without storing it, and replacing a row's content leaves every coin as it was.

    Parameters
    ----------
    first, n_rows
        Which row numbers.
    shares
        Probability of each part; they sum to one.
    key
        Key of the generator, from the noise source.

    Examples
    --------
    >>> whole = row_parts(0, 10, shares=(0.25, 0.25, 0.5), key=7)
    >>> bool((row_parts(3, 4, shares=(0.25, 0.25, 0.5), key=7) == whole[3:7]).all())
    True
    """
    if len(shares) == 1:
        return np.zeros(n_rows, dtype=np.int8)
    generator = np.random.Philox(key=key)
    generator.advance(first // _WORDS_PER_BLOCK)
    skip = first % _WORDS_PER_BLOCK
    words = generator.random_raw(skip + n_rows)[skip:] if n_rows else np.zeros(0, dtype=np.uint64)
    thresholds = np.array([min(int(c * 2**64), 2**64 - 1) for c in np.cumsum(shares)[:-1]], dtype=np.uint64)
    return np.searchsorted(thresholds, words, side="right").astype(np.int8)


def public_points(n_points: int, n_columns: int) -> NDArray[np.float64]:
    """Return fixed, public points that fill the open unit cube evenly (scrambled Sobol points).

    Averages over them are nearer to the truth than over as many random points; a power of two serves best.
    """
    points: NDArray[np.float64] = qmc.Sobol(n_columns, seed=0).random_base2((max(n_points, 1) - 1).bit_length())
    return np.clip(points[:n_points], _EDGE, 1.0 - _EDGE)


def public_generator() -> np.random.Generator:
    """Return a generator of fixed, public numbers, for made-up rows that stand in for no table."""
    return np.random.Generator(np.random.Philox(key=0))
