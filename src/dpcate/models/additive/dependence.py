"""Made-up rows that hang together as the released correlations say.

Rows from a normal copula with the released marginals predict a stage's Gram matrix. Everything here is post-processing.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr, ndtri

from dpcate.splitting import public_points

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dpcate.models.additive.basis import ColumnBasis

__all__ = ["draw_codes", "treat"]

_N_KEPT = 4
"""Sets of made-up rows that are kept."""

_MANY_EDGES = 128


def draw_codes(
    columns: Sequence[ColumnBasis],
    correlations: NDArray[np.float64] | None,
    n_rows: int,
    generator: np.random.Generator | None = None,
) -> NDArray[np.uint16]:
    """Return made-up codes with the released shares and, where known, the released correlations.

    Parameters
    ----------
    columns, correlations
        What the rows are to look like: released numbers.
    n_rows
        How many rows to make up.
    generator
        None takes the fixed public one; the same question then has the same answer, and the last ones are kept for the
        next stage.
    """
    shares = [column.shares for column in columns]
    mixing = None if correlations is None else _mixing(columns, correlations)
    if generator is None:
        keys = tuple(share.tobytes() for share in shares)
        return _public_codes(keys, None if mixing is None else mixing.tobytes(), n_rows)
    return _codes(shares, mixing, generator.standard_normal((n_rows, len(shares))))


def treat(codes: NDArray[np.uint16], chances: NDArray[np.float64]) -> NDArray[np.uint16]:
    """Return made-up codes whose last column, the treatment, follows these chances: who is treated differs from others.

    Parameters
    ----------
    codes
        Made-up rows; their last column is replaced.
    chances
        Released propensity of each row.
    """
    treated = codes.copy(order="F")
    treated[:, -1] = 1 + (public_points(*codes.shape)[:, -1] < chances)
    return treated


@lru_cache(maxsize=_N_KEPT)
def _public_codes(shares: tuple[bytes, ...], mixing: bytes | None, n_rows: int) -> NDArray[np.uint16]:
    matrix = None if mixing is None else np.frombuffer(mixing).reshape(len(shares), len(shares))
    codes = _codes([np.frombuffer(share) for share in shares], matrix, _public_normals(n_rows, len(shares)))
    codes.flags.writeable = False
    return codes


@lru_cache(maxsize=_N_KEPT)
def _public_normals(n_rows: int, n_columns: int) -> NDArray[np.float64]:
    normals: NDArray[np.float64] = ndtri(public_points(n_rows, n_columns))
    normals.flags.writeable = False
    return normals


def _mixing(columns: Sequence[ColumnBasis], correlations: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the matrix that turns independent normals into correlated ones."""
    signs = np.array([_direction(column) for column in columns])
    values, vectors = np.linalg.eigh(correlations * np.outer(signs, signs))
    root = (vectors * np.sqrt(np.maximum(values, 1e-6))) @ vectors.T
    mixing: NDArray[np.float64] = root / np.sqrt((root**2).sum(axis=0))
    return mixing


def _codes(
    shares: Sequence[NDArray[np.float64]], mixing: NDArray[np.float64] | None, normals: NDArray[np.float64]
) -> NDArray[np.uint16]:
    """Return codes whose normal scores are mixed as asked."""
    levels = ndtr(normals if mixing is None else normals @ mixing).T.copy()
    codes = np.empty(normals.shape, dtype=np.uint16, order="F")
    for j, share in enumerate(shares):
        cumulated = np.cumsum(share)
        codes[:, j] = _n_below(cumulated[:-1] / cumulated[-1], levels[j])
    return codes


def _n_below(edges: NDArray[np.float64], levels: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return how many of the rising edges each level has reached; many edges are looked up among the sorted levels."""
    if len(edges) < _MANY_EDGES:
        return np.searchsorted(edges, levels, side="right")
    order = np.argsort(levels)
    first_above = np.searchsorted(levels[order], edges)
    reached = np.empty(len(levels), dtype=np.int64)
    reached[order] = np.cumsum(np.bincount(first_above, minlength=len(levels) + 1)[:-1])
    return reached


def _direction(column: ColumnBasis) -> float:
    """Return the sign that makes the leading function rise with the code; 0 where there is no single one."""
    if (column.orders == 0).sum() != 1:
        return 0.0
    return 1.0 if column.leading[-1] >= column.leading[1] else -1.0
