"""The kernels in numpy: what they compute, and what runs where there is no compiled module.

The compiled kernels agree with these bit for bit. Errors never quote a code or a value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["add_counts", "add_lookups", "add_weighted_counts", "cell_codes", "scaled_lookups"]

Table = TypeVar("Table")

BEYOND_THE_END = "A code is beyond the end of its table."

BLOCK = 2**13
"""So many whole weights below 2^39 add up to at most 2^52, which a float holds exactly."""


def add_lookups(total: NDArray[np.float64], codes: NDArray[np.uint16], tables: Sequence[NDArray[np.float64]]) -> None:
    """Add the entry of each column's table to every row's total, in place; see `dpcate.kernels.add_lookups`."""
    _check_rows(codes, total)
    with np.errstate(all="ignore"):
        for j, table in _each_column(codes, tables):
            total += np.take(table, _column(codes, j, len(table)))


def add_counts(counts: Sequence[NDArray[np.int64]], codes: NDArray[np.uint16]) -> None:
    """Count the rows with each code, in place; see `dpcate.kernels.add_counts`."""
    _check_rows(codes)
    for j, count in _each_column(codes, counts):
        np.add(count, np.bincount(_column(codes, j, len(count)), minlength=len(count)), out=count)


def add_weighted_counts(
    counts: Sequence[NDArray[np.int64]], codes: NDArray[np.uint16], weights: Sequence[NDArray[np.float64]]
) -> None:
    """Add the whole weights of the rows with each code, in place; see `dpcate.kernels.add_weighted_counts`."""
    _check_rows(codes, *weights)
    if any(count.ndim != 2 or count.shape[1] != len(weights) for count in counts):
        raise ValueError("Each array of counts must have one column per weight.")
    for j, count in _each_column(codes, counts):
        column = _column(codes, j, len(count))
        for start in range(0, len(column), BLOCK):
            rows = slice(start, start + BLOCK)
            for k, weight in enumerate(weights):
                count[:, k] += np.bincount(column[rows], weight[rows], len(count)).astype(np.int64)


def scaled_lookups(
    out: NDArray[np.float64],
    codes: NDArray[np.uint16],
    columns: Sequence[int],
    tables: Sequence[NDArray[np.float64]],
    scale: NDArray[np.float64],
) -> None:
    """Write each table's entries times the row's scale; see `dpcate.kernels.scaled_lookups`."""
    _check_rows(codes, scale, out)
    if not len(columns) == len(tables) == out.shape[1]:
        raise ValueError("There must be one table and one column of `out` per entry of `columns`.")
    with np.errstate(all="ignore"):
        for q, (j, table) in enumerate(zip(columns, tables, strict=True)):
            np.multiply(np.take(table, _column(codes, j, len(table))), scale, out=out[:, q])


def cell_codes(out: NDArray[np.uint16], values: NDArray[np.float64], low: float, high: float, n_cells: int) -> None:
    """Write the code of each value's cell; see `dpcate.kernels.cell_codes`."""
    if not (low < high and np.isfinite(high - low) and 1 <= n_cells < 2**16):
        raise ValueError("Cells must have finite bounds with low < high and number from 1 to 65535.")
    if out.shape != values.shape:
        raise ValueError("`out` must have one entry per value.")
    missing = np.isnan(values)
    clamped = np.clip(values, low, high)
    clamped[missing] = low  # NaN has no integer
    with np.errstate(all="ignore"):  # a denormal width may underflow, whatever the caller's settings
        cells = (clamped - low) / (high - low) * n_cells
    out[...] = np.minimum(cells, n_cells - 1).astype(np.uint16) + np.uint16(1)
    out[missing] = 0


def _check_rows(codes: NDArray[np.uint16], *others: NDArray[np.float64]) -> None:
    if codes.ndim != 2 or codes.dtype.kind != "u":
        raise ValueError("Codes must be a two-dimensional array of unsigned integers.")
    if any(other.shape[:1] != codes.shape[:1] for other in others):
        raise ValueError("All arrays must have one entry per row of `codes`.")


def _each_column(codes: NDArray[np.uint16], tables: Sequence[Table]) -> enumerate[Table]:
    if len(tables) != codes.shape[1]:
        raise ValueError("There must be one table per column of `codes`.")
    return enumerate(tables)


def _column(codes: NDArray[np.uint16], j: int, end: int) -> NDArray[np.uint16]:
    """Return a column whose codes are all below ``end``; numpy's own error would quote the code."""
    column = codes[:, j]
    if column.size and column.max() >= end:
        raise IndexError(BEYOND_THE_END)
    return column
