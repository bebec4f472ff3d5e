"""One column of any table, in chunks of four plain kinds.

A column is a numpy array or an Arrow array. Its chunks are truth values, float64 numbers (NaN is missing), UTF-8
texts or arbitrary objects; each entry is what it would be if it stood alone. A dtype that can hold neither numbers
nor texts is refused by its name before any value is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dpcate.errors import TableError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["CHUNK", "Chunk", "Column", "arrow_column", "numpy_column", "object_column"]

CHUNK = 65_536
"""Rows that are read at a time; bounds the temporary memory."""

Chunk: TypeAlias = "npt.NDArray[Any] | pa.LargeBinaryArray"
"""An array of bool, float64 or object, or an Arrow array of UTF-8 texts as bytes."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Column:
    """A named column that can be read in chunks.

    Privacy
    -------
    Holds private values; its text form is its name.
    """

    name: str
    data: npt.NDArray[Any] | pa.ChunkedArray

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        return f"Column({self.name!r})"

    def chunks(self) -> Iterator[tuple[slice, Chunk]]:
        """Yield consecutive windows of the column and what is in them."""
        for start in range(0, len(self.data), CHUNK):
            window = slice(start, start + CHUNK)
            if isinstance(self.data, np.ndarray):
                yield window, _numpy_chunk(self.data[window])
            else:
                yield window, _arrow_chunk(self.data.slice(start, CHUNK))


def numpy_column(name: str, array: npt.NDArray[Any]) -> Column:
    """Return a column over a one-dimensional numpy array of numbers, texts or objects."""
    if array.dtype.kind not in "biufcOUT":
        raise _refusal(name, array.dtype.name)
    return Column(name, array)


def object_column(name: str, values: list[Any]) -> Column:
    """Return a column over Python values, each taken as it is."""
    array = np.empty(len(values), dtype=object)
    for index, value in enumerate(values):  # one by one: numpy would unpack sequences and convert mixed values
        array[index] = value
    return Column(name, array)


def arrow_column(name: str, array: pa.ChunkedArray) -> Column:
    """Return a column over an Arrow array of numbers, texts or a dictionary of them."""
    kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    if not (_is_text(kind) or _is_numeric(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind)):
        # Only the head of the type's text: what follows may list fields or categories.
        raise _refusal(name, str(kind).split("<")[0].split("[")[0])
    return Column(name, array)


def _refusal(name: str, dtype: str) -> TableError:
    return TableError(f"Column {name!r} must hold numbers, truth values or texts; got dtype {dtype}.")


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view())


def _is_numeric(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def _numpy_chunk(array: npt.NDArray[Any]) -> Chunk:
    kind = array.dtype.kind
    if kind in "bO":
        return array
    if kind in "UT":
        return array.astype(object)
    if kind == "c":
        return np.where(array.imag == 0, array.real, np.nan).astype(np.float64)
    return array.astype(np.float64, copy=False)


def _arrow_chunk(array: pa.ChunkedArray) -> Chunk:
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    kind = array.type
    if _is_text(kind) or pa.types.is_large_binary(kind):
        return pa.concat_arrays(array.cast(pa.large_binary()).chunks)
    if pa.types.is_null(kind):
        return np.full(len(array), np.nan)
    if pa.types.is_decimal(kind):
        return np.array(array.to_pylist(), dtype=object)
    return _numpy_chunk(array.to_numpy(zero_copy_only=False))
