"""Row vectors that are looked up: exact sums of their products without ever writing the vectors down.

A row's vector is (m c, m T_1[code_1], ..., m p_1, ..., t): whole-number tables per column, products of two columns,
a whole multiplier m and a whole target t. Its length is bounded by ROW_LIMIT, in integers, without exception. Because
tables are indexed by code, most sums follow from two weighted counts per column, exact whatever the order or batches.
Proof: ``docs/privacy/moments.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcate.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = ["ENTRY_LIMIT", "ROW_LIMIT", "RowBatch", "TableProduct", "TableRows"]

ROW_LIMIT = 2**19
"""Longest vector, in grid steps."""

ENTRY_LIMIT = 2**20
"""Largest looked-up number: with a larger one a row would be too long whatever its multiplier."""

_CHUNK = 2**14
"""Rows per exact matrix product: products stay below 2^38, so 2^15 of them add up exactly in float64."""

_FOLD = 2**24
"""Rows after which int64 sums are moved to Python's integers: 2^24 + 2^14 times 2^38 is below 2^63."""

_LOW_BITS = 20


@dataclass(frozen=True, slots=True)
class TableProduct:
    """A coordinate of two columns: ``rint((left[code of first] * right[code of second] - mean) * factor)``, clipped."""

    first: int
    second: int
    left: NDArray[np.float64]
    right: NDArray[np.float64]
    mean: float
    factor: float

    def __post_init__(self) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            left, right = (np.abs(side).max(initial=0.0) for side in (self.left, self.right))
            largest = (left * right + abs(self.mean)) * abs(self.factor)
        if not np.isfinite(largest) or not np.isfinite([left, right, self.mean, self.factor]).all():
            raise ParameterError("a product must be finite for all codes; rescale its tables.")

    def values(self, codes: NDArray[np.uint16]) -> NDArray[np.float64]:
        """Return the whole number of each row, element by element."""
        product = np.take(self.left, codes[:, self.first]) * np.take(self.right, codes[:, self.second])
        return np.clip(np.rint((product - self.mean) * self.factor), -ENTRY_LIMIT, ENTRY_LIMIT)


@dataclass(frozen=True, slots=True, repr=False)
class RowBatch:
    """Some rows: codes, products, squared length of the looked-up part, and (once known) multiplier and target.

    Made by :meth:`TableRows.batch` and :meth:`filled` only, which see to it that no vector is longer than ROW_LIMIT.
    """

    rows: TableRows
    codes: NDArray[np.uint16]
    products: NDArray[np.float64]
    squares: NDArray[np.float64]
    multiplier: NDArray[np.float64]
    target: NDArray[np.float64]

    def filled(self, multiplier: NDArray[np.float64], target: NDArray[np.float64]) -> RowBatch:
        """Return the batch with whole multipliers and targets; a row that would be too long is shortened or dropped."""
        with np.errstate(over="ignore", invalid="ignore"):
            m, t = np.rint(multiplier), np.rint(target)
            for shrink in (0.98, 0.0):
                fine = m * m * self.squares + t * t <= ROW_LIMIT**2  # exact below 2^53, and never rounded to below
                if fine.all():
                    break
                m = np.where(fine, m, np.trunc(m * shrink))
                t = np.where(fine, t, np.trunc(t * shrink))
        bad = ~(m * m * self.squares + t * t <= ROW_LIMIT**2)
        if bad.any():  # not a number times zero is not zero
            m, t = np.where(bad, 0.0, m), np.where(bad, 0.0, t)
        return RowBatch(self.rows, self.codes, self.products, self.squares, m, t)


@dataclass(frozen=True, kw_only=True)
class TableRows:
    """How rows become vectors; public or released before the rows are read.

    Parameters
    ----------
    constant
        The coordinate that all rows share; at least one, so that it bounds the multiplier too.
    tables
        Per column, whole numbers of at most ENTRY_LIMIT: one row per coordinate, one entry per code.
    dense
        Per column, the one coordinate whose products with other columns' are summed too, or None.
    products
        Coordinates of two columns.
    target_only
        Sum only the products with the target, which is all that is needed where the rest is known already.
    """

    constant: int
    tables: tuple[NDArray[np.int64], ...]
    dense: tuple[int | None, ...]
    products: tuple[TableProduct, ...]
    target_only: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.constant, int) or not 1 <= self.constant <= ENTRY_LIMIT:
            raise ParameterError(f"`constant` must be an integer from 1 to {ENTRY_LIMIT}; got {self.constant!r}.")
        for table in self.tables:
            if table.dtype != np.int64 or table.ndim != 2:
                raise ParameterError("`tables` must be int64, one row per coordinate and one entry per code.")
            if table.max(initial=0) > ENTRY_LIMIT or table.min(initial=0) < -ENTRY_LIMIT:
                raise ParameterError(f"entries of `tables` must be at most {ENTRY_LIMIT} in size.")
        sizes = [len(table) for table in self.tables]
        chosen = zip(self.dense, sizes, strict=False)
        if len(self.dense) != len(sizes) or any(at is not None and not 0 <= at < size for at, size in chosen):
            raise ParameterError("`dense` must name one coordinate of each table, or None.")

    @property
    def dimension(self) -> int:
        """Length of a vector, target included."""
        return 2 + sum(len(table) for table in self.tables) + len(self.products)

    @cached_property
    def starts(self) -> list[int]:
        """Place of each column's first coordinate."""
        sizes = [len(table) for table in self.tables]
        return [int(start) for start in 1 + np.concatenate([[0], np.cumsum(sizes)])]

    @cached_property
    def dense_places(self) -> list[int]:
        """Places whose products are summed with each other: constant, dense coordinates, products, target."""
        chosen = [start + at for start, at in zip(self.starts, self.dense, strict=False) if at is not None]
        return [0, *chosen, *range(self.starts[-1], self.dimension)]

    @cached_property
    def released(self) -> NDArray[np.bool_]:
        """Which entries are summed: dense with dense, each column with itself, all with constant and target."""
        mask = np.zeros((self.dimension, self.dimension), dtype=bool)
        mask[-1, :] = mask[:, -1] = True
        if self.target_only:
            return mask
        mask[np.ix_(self.dense_places, self.dense_places)] = True
        for start, table in zip(self.starts, self.tables, strict=False):
            mask[start : start + len(table), start : start + len(table)] = True
        mask[0, :] = mask[:, 0] = True
        return mask

    @cached_property
    def _squared_tables(self) -> list[NDArray[np.float64]]:
        return [(table**2).sum(axis=0).astype(np.float64) for table in self.tables]

    def batch(self, codes: NDArray[np.uint16]) -> RowBatch:
        """Return a batch of rows without multipliers and targets."""
        products = np.empty((len(codes), len(self.products)), order="F")
        squares = np.full(len(codes), float(self.constant) ** 2)
        for j, table in enumerate(self._squared_tables):
            squares += np.take(table, codes[:, j])
        for k, product in enumerate(self.products):
            products[:, k] = product.values(codes)
            squares += products[:, k] ** 2
        nothing = np.zeros(len(codes))
        return RowBatch(self, codes, products, squares, nothing, nothing)

    def exact(self, batches: Iterable[RowBatch]) -> NDArray[Any]:
        """Return the sum of v v' as Python integers; entries outside ``released`` are zero. Private."""
        sums = _Sums(self)
        for batch in batches:
            if batch.rows is not self:
                raise ParameterError("a batch must come from the rows that sum it: the bound was checked for those.")
            for start in range(0, len(batch.codes), _CHUNK):
                sums.add(batch, slice(start, start + _CHUNK))
        return sums.matrix()


class _Sums:
    """Running sums: weighted counts per column, and the dense block."""

    def __init__(self, rows: TableRows) -> None:
        self.rows = rows
        self.total = np.zeros((rows.dimension, rows.dimension), dtype=object)
        self._start()

    def _start(self) -> None:
        """Set the int64 sums to nothing."""
        size = len(self.rows.dense_places)
        self.counts = [np.zeros((2, table.shape[1]), dtype=np.int64) for table in self.rows.tables]
        self.block = np.zeros((size, size), dtype=np.int64)
        self.n_since = 0

    def add(self, batch: RowBatch, part: slice) -> None:
        """Add some rows of a batch."""
        m, t = batch.multiplier[part], batch.target[part]
        fits = m * m * batch.squares[part] + t * t <= ROW_LIMIT**2
        if not fits.all():  # never for a batch that was made as it should be
            m, t = np.where(fits, m, 0.0), np.where(fits, t, 0.0)
        crossed, squared = m * t, None if self.rows.target_only else m * m
        for j, (counts, table) in enumerate(zip(self.counts, self.rows.tables, strict=True)):
            codes = batch.codes[part, j].astype(np.intp)
            counts[1] += np.bincount(codes, crossed, minlength=table.shape[1]).astype(np.int64)
            if squared is not None:
                counts[0] += np.bincount(codes, squared, minlength=table.shape[1]).astype(np.int64)
        if self.rows.target_only:
            n_products = len(self.rows.products)
            self.block[0, -1] += int((m * self.rows.constant) @ t)  # exact: whole numbers, sums below 2^53
            self.block[-1 - n_products : -1, -1] += ((batch.products[part] * m[:, None]).T @ t).astype(np.int64)
            self.block[-1, -1] += int(t @ t)
        else:
            dense = self._dense(batch, part, m, t)
            self.block += (dense.T @ dense).astype(np.int64)
        self.n_since += len(m)
        if self.n_since >= _FOLD:
            self.total = self.matrix()
            self._start()

    def _dense(
        self, batch: RowBatch, part: slice, m: NDArray[np.float64], t: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the dense coordinates of each row."""
        rows = self.rows
        dense = np.empty((len(m), len(rows.dense_places)), order="F")
        dense[:, 0] = m * rows.constant
        at = 1
        for j, (table, chosen) in enumerate(zip(rows.tables, rows.dense, strict=True)):
            if chosen is not None:
                np.multiply(np.take(table[chosen].astype(np.float64), batch.codes[part, j]), m, out=dense[:, at])
                at += 1
        np.multiply(batch.products[part], m[:, None], out=dense[:, at:-1])
        dense[:, -1] = t
        return dense

    def matrix(self) -> NDArray[Any]:
        """Return the symmetric matrix of all sums so far, in Python's integers."""
        rows = self.rows
        total = np.zeros((rows.dimension, rows.dimension), dtype=object)
        block = self.block.astype(object)
        if rows.target_only:
            total[rows.dense_places, -1] = total[-1, rows.dense_places] = block[:, -1]
        else:
            total[np.ix_(rows.dense_places, rows.dense_places)] = block
        for start, table, (squared, crossed) in zip(rows.starts, rows.tables, self.counts, strict=False):
            own = slice(start, start + len(table))
            total[own, -1] = total[-1, own] = _exact_dot(table, crossed)
            if rows.target_only:
                continue
            total[own, 0] = total[0, own] = _exact_dot(table, squared) * rows.constant
            for k in range(len(table)):
                line = _exact_dot(table[k] * table, squared)
                total[start + k, own] = total[own, start + k] = line
        return self.total + total


def _exact_dot(tables: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[Any]:
    """Return ``tables @ counts`` in Python's integers: counts are cut in two so that no int64 sum overflows."""
    high, low = counts >> _LOW_BITS, counts & (2**_LOW_BITS - 1)
    total: NDArray[Any] = (tables @ high).astype(object) * 2**_LOW_BITS + (tables @ low).astype(object)
    return total
