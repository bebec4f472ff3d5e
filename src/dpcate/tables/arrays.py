"""Arrays, lists and mappings as columns, in schema order or by name.

Shapes are checked here, and no length is quoted: under add/remove the number of rows is private. Values are not looked
at. A list is never handed to numpy whole, because numpy would choose one type for all its entries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcate.errors import TableError
from dpcate.tables.columns import Column, numpy_column, object_column
from dpcate.tables.files import file_columns
from dpcate.tables.frames import as_frame, as_series, check_names, frame_columns, series_column

__all__ = ["check_lengths", "feature_columns", "table_columns", "vector_column"]


def table_columns(table: object, names: Sequence[str]) -> list[Column] | None:
    """Return the named columns of anything that has named columns, or None when it has none."""
    if isinstance(table, (str, Path)):
        return file_columns(Path(table), names)
    if isinstance(table, Mapping):
        check_names(table, needed=names)
        return [vector_column(name, table[name]) for name in names]
    frame = as_frame(table)
    return None if frame is None else frame_columns(frame, names)


def vector_column(name: str, values: object) -> Column:
    """Return one column from a series, a one-dimensional array, a list, or a frame that has it by name."""
    if isinstance(values, (list, tuple)):
        return object_column(name, list(values))  # a list among the values is one odd value, missing like any other
    series = as_series(values)
    if series is not None:
        return series_column(name, series)
    frame = as_frame(values)
    if frame is not None:
        return frame_columns(frame, [name])[0]
    array = _as_array(name, values)
    if array.ndim != 1 and not (array.ndim == 2 and array.shape[1] == 1):
        got = "several columns" if array.ndim == 2 else f"{array.ndim} dimensions"
        raise TableError(f"The values of {name!r} must be one-dimensional; got {got}.")
    return numpy_column(name, array.reshape(-1))


def feature_columns(X: object, names: Sequence[str]) -> list[Column]:
    """Return the feature columns of a frame or mapping by name, of an array or a list of rows by position."""
    if isinstance(X, (list, tuple)):
        return _columns_of_rows(X, names)
    columns = table_columns(X, names)
    if columns is not None:
        return columns
    if as_series(X) is not None and len(names) == 1:
        return [vector_column(names[0], X)]
    array = _as_array("X", X)
    if array.ndim == 1 and len(names) == 1:
        array = array.reshape(-1, 1)
    if array.ndim != 2 or array.shape[1] != len(names):
        # Not even the number of columns: of an array that lies on its side it is the number of rows
        got = "another number of columns" if array.ndim == 2 else f"{array.ndim} dimension(s)"
        raise TableError(f"X must have shape (n, {len(names)}), one column per feature; got {got}.")
    return [numpy_column(name, array[:, index]) for index, name in enumerate(names)]


def check_lengths(columns: Sequence[Column]) -> None:
    """Refuse columns that differ in length."""
    odd = [column.name for column in columns if len(column) != len(columns[0])]
    if odd:  # the lengths themselves stay unsaid: under add/remove they are private
        raise TableError(f"All columns must have the same length; {odd[0]!r} and {columns[0].name!r} differ.")


def _columns_of_rows(rows: Sequence[Any], names: Sequence[str]) -> list[Column]:
    for row in rows:
        if not isinstance(row, (list, tuple, np.ndarray)) or _length(row) != len(names):
            raise TableError(f"X as a list must hold rows of {len(names)} values, one per feature.")
    return [object_column(name, [row[index] for row in rows]) for index, name in enumerate(names)]


def _length(row: Sequence[Any] | npt.NDArray[Any]) -> int:
    return 0 if isinstance(row, np.ndarray) and row.ndim == 0 else len(row)


def _as_array(name: str, values: object) -> npt.NDArray[Any]:
    if isinstance(values, np.ma.MaskedArray):
        return np.asarray(np.ma.filled(values.astype(object), None))
    if not hasattr(values, "__array__"):
        raise TableError(f"{name!r} must come as an array, a list, a series or a table; got {type(values).__name__}.")
    return np.asarray(values)
