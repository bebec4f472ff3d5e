"""Row vectors that are looked up: exact sums of their products without ever writing the vectors down.

A row's vector is (m c, m T_1[code_1], ..., m p_1, ..., t): whole-number tables per column, coordinates of several
columns, a whole multiplier m and a whole target t. Its length is bounded by ROW_LIMIT, in integers, without exception.
Because tables are indexed by code, most sums follow from two weighted counts per column, exact whatever the order.
Proof: ``docs/privacy/moments.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcate.errors import ParameterError
from dpcate.kernels import add_lookups
from dpcate.kernels.totals import add_up
from dpcate.mechanisms.coordinates import ENTRY_LIMIT, Coordinate
from dpcate.mechanisms.entries import dense_places, entries_of, starts_of
from dpcate.mechanisms.table_sums import CHUNK, TableSums

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

__all__ = ["ROW_LIMIT", "RowBatch", "TableRows"]

ROW_LIMIT = 2**19
"""Longest vector, in grid steps."""


def check_target_limit(limit: int) -> None:
    """Refuse anything but whole numbers from 1 to ROW_LIMIT."""
    if not isinstance(limit, int) or not 1 <= limit <= ROW_LIMIT:
        raise ParameterError(f"`target_limit` must be an integer from 1 to {ROW_LIMIT}; got {limit!r}.")


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
                fine = self.short_enough(m, t)
                if fine.all():
                    return RowBatch(self.rows, self.codes, self.products, self.squares, m, t)
                m = np.where(fine, m, np.trunc(m * shrink))
                t = np.where(fine, t, np.trunc(t * shrink))
        fine = self.short_enough(m, t)  # not a number times zero is not zero
        m, t = np.where(fine, m, 0.0), np.where(fine, t, 0.0)
        return RowBatch(self.rows, self.codes, self.products, self.squares, m, t)

    def short_enough(self, m: NDArray[np.float64], t: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which rows are in order; lengths are exact below 2^53, and never rounded to below."""
        short: NDArray[np.bool_] = m * m * self.squares + t * t <= ROW_LIMIT**2
        if self.rows.target_limit < ROW_LIMIT:
            short &= np.abs(t) <= self.rows.target_limit
        return short

    def parts(self) -> Iterator[RowBatch]:
        """Yield the rows in batches that can be summed exactly."""
        for start in range(0, max(len(self.codes), 1), CHUNK):
            part = slice(start, start + CHUNK)
            yield RowBatch(
                self.rows,
                self.codes[part],
                self.products[part],
                self.squares[part],
                self.multiplier[part],
                self.target[part],
            )


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
        Coordinates of several columns.
    n_alone
        How many of the products, the last ones, are released with themselves, the constant and the target only.
    target_only
        Sum only the products with the target, which is all that is needed where the rest is known already.
    target_limit
        No row's target is larger than this.
    """

    constant: int
    tables: tuple[NDArray[np.int64], ...]
    dense: tuple[int | None, ...]
    products: tuple[Coordinate, ...]
    n_alone: int = 0
    target_only: bool = False
    target_limit: int = ROW_LIMIT

    def __post_init__(self) -> None:
        check_target_limit(self.target_limit)
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
        if not all(isinstance(product, Coordinate) for product in self.products):
            raise ParameterError("`products` must be coordinates whose numbers are whole: TableProduct or TableMix.")
        if not 0 <= self.n_alone <= len(self.products):
            raise ParameterError("`n_alone` must not exceed the number of products.")

    @property
    def dimension(self) -> int:
        """Length of a vector, target included."""
        return 2 + sum(len(table) for table in self.tables) + len(self.products)

    @cached_property
    def starts(self) -> list[int]:
        """Place of each column's first coordinate."""
        return starts_of([len(table) for table in self.tables])

    @cached_property
    def dense_places(self) -> list[int]:
        """Places whose products are summed with each other: constant, dense coordinates, products, target."""
        sizes = [len(table) for table in self.tables]
        return dense_places(sizes, self.dense, len(self.products), target_only=self.target_only)

    @cached_property
    def released(self) -> NDArray[np.bool_]:
        """Which entries are summed: dense with dense, a column's first few, each with itself, constant and target."""
        sizes = [len(table) for table in self.tables]
        return entries_of(sizes, self.dense, len(self.products), n_alone=self.n_alone, target_only=self.target_only)

    @cached_property
    def dense_tables(self) -> tuple[list[int], tuple[NDArray[np.float64], ...]]:
        """Columns that have a dense coordinate whose products are summed, and its values by code."""
        columns = [] if self.target_only else [j for j, at in enumerate(self.dense) if at is not None]
        return columns, tuple(self.tables[j][self.dense[j]].astype(np.float64) for j in columns)

    @cached_property
    def _squared_tables(self) -> tuple[NDArray[np.float64], ...]:
        return tuple((table**2).sum(axis=0).astype(np.float64) for table in self.tables)

    def batch(self, codes: NDArray[np.uint16]) -> RowBatch:
        """Return a batch of rows without multipliers and targets."""
        products = np.empty((len(codes), len(self.products)), order="F")
        squares = np.full(len(codes), float(self.constant) ** 2)
        add_lookups(squares, codes, self._squared_tables)
        for k, product in enumerate(self.products):
            products[:, k] = product.values(codes)
            squares += products[:, k] ** 2
        nothing = np.zeros(len(codes))
        return RowBatch(self, codes, products, squares, nothing, nothing)

    @cached_property
    def sums(self) -> TableSums:
        """How batches of these rows are summed."""
        return TableSums(self)

    def total(self, batches: Iterable[RowBatch]) -> list[NDArray[Any]]:
        """Return the exact totals of batches of any length; private."""
        nothing = self.batch(np.zeros((0, len(self.tables)), dtype=np.uint16))
        return add_up(self.sums.of(part) for batch in (nothing, *batches) for part in batch.parts())

    def exact(self, batches: Iterable[RowBatch]) -> NDArray[Any]:
        """Return the sum of v v' as Python integers; entries outside ``released`` are zero. Private."""
        return self.sums.matrix(self.total(batches)).astype(object)
