"""Data frames of every kind, one column at a time, through narwhals.

Columns are found by name and read by position; a frame's index plays no part. A dtype decides how a value is stored,
never what it means: an object column of numbers and a float column encode alike.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from narwhals.exceptions import DuplicateError

from dpcate.errors import TableError
from dpcate.tables.columns import Column, arrow_column, numpy_column, object_column

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["as_frame", "as_series", "check_names", "frame_columns", "series_column"]

_PYTHON_ONLY = (nw.Object, nw.Int128, nw.UInt128)
"""Dtypes of polars that neither numpy nor Arrow can hold."""


def as_frame(table: object) -> nw.DataFrame[Any] | nw.LazyFrame[Any] | None:
    """Return a table as a narwhals frame, or None when it is not a frame."""
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    try:
        frame = nw.from_native(table, pass_through=True)
    except DuplicateError:
        check_names(_native_names(table), needed=())
        raise
    return frame if isinstance(frame, (nw.DataFrame, nw.LazyFrame)) else None


def as_series(values: object) -> nw.Series[Any] | None:
    """Return values as a narwhals series, or None when they are not a series."""
    if isinstance(values, pa.Array):
        values = pa.chunked_array([values])
    series = nw.from_native(values, pass_through=True, allow_series=True)
    return series if isinstance(series, nw.Series) else None


def frame_columns(frame: nw.DataFrame[Any] | nw.LazyFrame[Any], names: Sequence[str]) -> list[Column]:
    """Return the named columns of a frame; the others are ignored.

    Privacy
    -------
    Holds private values, releases nothing. Raises by names and dtypes only.
    """
    check_names(frame.collect_schema().names() if isinstance(frame, nw.LazyFrame) else frame.columns, needed=names)
    wanted = frame.select(list(names))
    eager = wanted.collect() if isinstance(wanted, nw.LazyFrame) else wanted
    return [series_column(name, eager.get_column(name)) for name in names]


def series_column(name: str, series: nw.Series[Any]) -> Column:
    """Return a column over a series of any library."""
    if series.implementation.is_pandas_like():
        return _pandas_column(name, series)
    if series.dtype in _PYTHON_ONLY:
        return object_column(name, series.to_list())
    return arrow_column(name, _chunked(series.to_arrow()))


def check_names(present: Iterable[object], *, needed: Iterable[str]) -> None:
    """Refuse a table whose column names repeat, or that lacks one that is needed."""
    counts = Counter(list(present))
    repeated = [name for name, count in counts.items() if count > 1]
    if repeated:
        wanted = set(needed)  # other names may be a first row where a header should be
        known = [name for name in repeated if name in wanted]
        got = f"got more than one {known[0]!r}" if known else "one that the schema does not name repeats"
        raise TableError(f"A table must have distinct column names; {got}.")
    missing = [name for name in needed if name not in counts]
    if missing:
        raise TableError(
            f"The table must have every column that the schema names; missing: {', '.join(map(repr, missing))}."
        )


def _native_names(table: object) -> list[object]:
    return list(table.column_names if isinstance(table, pa.Table) else getattr(table, "columns", ()))


def _pandas_column(name: str, series: nw.Series[Any]) -> Column:
    dtype = series.to_native().dtype
    if isinstance(dtype, np.dtype):  # narwhals would look at the values of an object column to name its dtype
        return numpy_column(name, series.to_numpy())
    if series.dtype in (nw.Categorical, nw.Enum) or type(dtype).__name__ == "SparseDtype":
        return numpy_column(name, series.to_numpy())
    try:
        array = _chunked(series.to_arrow())
    except Exception:  # e.g. texts that are no Unicode; value by value they are missing
        return object_column(name, series.to_list())
    return arrow_column(name, array)


def _chunked(array: pa.Array | pa.ChunkedArray) -> pa.ChunkedArray:
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])
