"""From a row's real-valued contribution to integers of bounded norm.

The bound is enforced on the integers themselves, row by row and by truncation toward zero, so it holds for the numbers
that are summed and not only for the reals behind them. Every function here is element-wise: what a row contributes
depends on that row alone, never on its neighbours in memory. Proof: ``docs/privacy/vector_sum.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcate.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LIMIT", "check_bound", "scalars_to_grid", "vectors_to_grid"]

LIMIT = 2**20
"""Grid steps between zero and the largest contribution: the norm bound of a row, in integers."""

_FAR = 2.0**300
"""Entries beyond this many bounds are cut there, so that squares stay finite; the direction of all others is kept."""


def check_bound(bound: float) -> None:
    """Refuse a norm bound that is not a positive number or whose square or inverse could leave the float range."""
    if not 1e-100 < bound < 1e100:
        raise ParameterError(f"`bound` must be a positive number of ordinary size; got {bound}.")


def scalars_to_grid(values: NDArray[np.float64], bound: float) -> NDArray[np.int64]:
    """Map reals to integers in [-LIMIT, LIMIT]: clip at ``bound``, scale, truncate toward zero; NaN becomes 0.

    Examples
    --------
    >>> scalars_to_grid(np.array([0.5, -9.0, np.nan, np.inf]), bound=1.0).tolist()
    [524288, -1048576, 0, 1048576]
    """
    check_bound(bound)
    values = np.asarray(values, dtype=np.float64)
    clipped = np.clip(np.where(np.isnan(values), 0.0, values), -bound, bound)
    return np.clip(np.trunc(clipped * (LIMIT / bound)), -LIMIT, LIMIT).astype(np.int64)


def vectors_to_grid(vectors: NDArray[np.float64], bound: float) -> NDArray[np.int64]:
    """Map each row of reals to integers of Euclidean norm at most LIMIT.

    Rows longer than ``bound`` are shortened to it; entries are scaled by ``LIMIT / bound`` and truncated toward zero.
    Should rounding leave an integer row too long, it is halved, so the bound holds without exception. Entries that
    are not numbers count as zero, infinite ones as very long (2^300 times the bound).

    Examples
    --------
    >>> vectors_to_grid(np.array([[3.0, 4.0], [np.inf, 0.0]]), bound=1.0).tolist()
    [[629145, 838860], [1048576, 0]]
    """
    check_bound(bound)
    vectors = np.asarray(vectors, dtype=np.float64)
    entries = np.clip(np.where(np.isnan(vectors), 0.0, vectors), -bound * _FAR, bound * _FAR)
    squares = np.zeros(len(entries))
    for column in entries.T:  # column by column: a fixed order of additions whatever the memory layout
        squares += (column / bound) ** 2
    shrink = LIMIT / (bound * np.sqrt(np.maximum(squares, 1.0)))
    return _shortened(np.trunc(entries * shrink[:, None]).astype(np.int64))


def _shortened(integers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Halve rows of norm above LIMIT until there are none."""
    while (too_long := np.einsum("ij,ij->i", integers, integers) > LIMIT**2).any():
        integers[too_long] = np.trunc(integers[too_long] / 2)
    return integers
