"""Exact sums of products of looked-up rows: counts per code, and one small matrix.

Because tables are indexed by code, the sum of m^2 T[code] T'[code] over rows follows from the sum of m^2 at each code;
only products across columns need a matrix product. All sums are of whole numbers. Proof: ``docs/privacy/moments.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpcate.errors import ParameterError
from dpcate.kernels import add_weighted_counts, scaled_lookups
from dpcate.mechanisms.entries import N_NEAR

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from dpcate.mechanisms.table_rows import RowBatch, TableRows

__all__ = ["CHUNK", "TableSums"]

CHUNK = 2**16
"""Most rows per batch: products of two coordinates stay below 2^38, so their sums stay below 2^54."""

_EXACT_IN_FLOAT = 2**14
"""Rows per matrix product: as many products add up to less than 2^52, exactly, in float64."""


class TableSums:
    """How one kind of row vector is summed.

    A vector that is too long (there is none in a batch that was made as it should be) counts as zero.

    Parameters
    ----------
    rows
        What the vectors look like.
    """

    def __init__(self, rows: TableRows) -> None:
        self.rows = rows

    def of(self, batch: RowBatch) -> list[NDArray[np.int64]]:
        """Return a batch's sums: per column, counts weighted with m t (and m^2) at each code; then the small matrix."""
        rows = self.rows
        if batch.rows is not rows:
            raise ParameterError("a batch must come from the rows that sum it: the bound was checked for those.")
        if len(batch.codes) > CHUNK:
            raise ParameterError(f"a batch must have at most {CHUNK} rows.")
        m, t = batch.multiplier, batch.target
        fits = batch.short_enough(m, t)
        if not fits.all():  # never for a batch that was made as it should be
            m, t = np.where(fits, m, 0.0), np.where(fits, t, 0.0)
        weights = (m * t,) if rows.target_only else (m * t, m * m)
        counts = tuple(np.zeros((table.shape[1], len(weights)), dtype=np.int64) for table in rows.tables)
        add_weighted_counts(counts, batch.codes, weights)
        size = len(rows.dense_places)
        block = np.zeros((1 if rows.target_only else size, size), dtype=np.int64)
        for start in range(0, len(m), _EXACT_IN_FLOAT):
            block += self._block(batch, m, t, slice(start, start + _EXACT_IN_FLOAT))
        return [*counts, block]

    def _block(self, batch: RowBatch, m: NDArray[np.float64], t: NDArray[np.float64], part: slice) -> NDArray[np.int64]:
        """Return the sums of products of dense coordinates with each other, or with the target alone."""
        rows, m, t = self.rows, m[part], t[part]
        columns, tables = rows.dense_tables
        n_products, n_rows = len(rows.products), len(m)
        dense = np.empty((n_rows, 2 + n_products + len(columns)), order="F")
        dense[:, 0] = m * rows.constant
        scaled_lookups(dense[:, 1 : 1 + len(columns)], batch.codes[part], columns, tables, m)
        np.multiply(batch.products[part], m[:, None], out=dense[:, -1 - n_products : -1])
        dense[:, -1] = t
        return (t[None, :] @ dense if rows.target_only else dense.T @ dense).astype(np.int64)

    def matrix(self, sums: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Return the symmetric matrix of totals of :meth:`of`, in 64 bits or in Python's integers, as they are.

        The small matrix holds a few entries that are not to be released: they are zero in what is returned.
        """
        rows = self.rows
        *counts, block = sums
        total = np.zeros((rows.dimension, rows.dimension), dtype=block.dtype)
        if rows.target_only:
            total[rows.dense_places, -1] = total[-1, rows.dense_places] = block[0]
        else:
            total[np.ix_(rows.dense_places, rows.dense_places)] = block
        for starts, tables, weighted in _of_equal_shape(rows.starts, rows.tables, counts):
            own = starts[:, None] + np.arange(tables.shape[1])
            total[own, -1] = total[-1, own] = exact_dot(tables, weighted[..., 0])
            if rows.target_only:
                continue
            squared = weighted[..., 1]
            total[own, 0] = total[0, own] = exact_dot(tables, squared) * rows.constant
            total[own, own] = exact_dot(tables**2, squared)
            i, j = np.triu_indices(min(tables.shape[1], N_NEAR), 1)
            total[own[:, i], own[:, j]] = total[own[:, j], own[:, i]] = exact_dot(tables[:, i] * tables[:, j], squared)
        total[~rows.released] = 0
        return total


def _of_equal_shape(
    starts: Sequence[int], tables: Sequence[NDArray[np.int64]], counts: Sequence[NDArray[Any]]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]]:
    """Yield columns whose tables have the same shape together: places, tables and counts, stacked."""
    shapes = [table.shape for table in tables]
    for shape in dict.fromkeys(shapes):
        mine = [k for k, other in enumerate(shapes) if other == shape]
        stacked = np.stack([tables[k] for k in mine]), np.stack([counts[k] for k in mine])
        yield np.array([starts[k] for k in mine]), *stacked


def exact_dot(tables: NDArray[np.int64], counts: NDArray[Any]) -> NDArray[Any]:
    """Return ``tables @ counts`` exactly, for each of any number of columns.

    64-bit counts come from at most 2^24 rows, each of which adds less than 2^38 in size to the one product of its code.
    So no product, and no sum of some of them, leaves 64 bits. Larger totals are Python's integers already.
    """
    exact = tables.astype(object) if counts.dtype == object else tables
    dot: NDArray[Any] = (exact @ counts[..., None])[..., 0]
    return dot
