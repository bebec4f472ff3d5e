"""The columns of a table file, without reading a row.

Of a CSV file the first line is read and nothing after it: a name may not hold a line break. Of a Parquet file the
schema in the footer is read; the statistics beside it, which hold minima and maxima, are not looked at.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from dpcate.errors import TableError
from dpcate.tables.frames import check_names

__all__ = ["ColumnHead", "check_columns", "read_header"]

LONGEST_HEADER = 2**20
"""Bytes that the first line of a CSV file may have."""

_INDEX = "__index_level_"  # how pandas names an index that it stores


@dataclass(frozen=True, slots=True)
class ColumnHead:
    """What is public of a column before anybody describes it: its name and how it is stored.

    Parameters
    ----------
    name
        The column's name.
    kind
        "number", "truth", "text" or "other" by the stored type; None where the file has no types.
    stored
        The stored type's name, "" where there is none.
    """

    name: str
    kind: str | None = None
    stored: str = ""


def read_header(path: str | Path) -> list[ColumnHead]:
    """Return the columns of a .csv or .parquet file.

    Privacy
    -------
    Reads no row. Names are public (`docs/privacy/public_private_line.md`), so the first line of a CSV file must hold
    names and nothing else.
    """
    path = Path(path)
    readers = {".csv": _csv_heads, ".parquet": _parquet_heads}
    kind = path.suffix.lower()
    if kind not in readers:
        raise TableError(f"A table file must end in .csv or .parquet; got {str(path)!r}.")
    if not path.is_file():
        raise TableError(f"A table must be a file that exists; there is none at {str(path)!r}.")
    try:
        return readers[kind](path)
    except PermissionError as error:
        raise TableError(f"A table must be a file that can be read; {str(path)!r}: {error.strerror}.") from None
    except (pa.ArrowException, OSError, UnicodeError, csv.Error, StopIteration):
        raise TableError(f"A {kind} table must be well formed; {str(path)!r} cannot be read as one.") from None


def check_columns(path: str | Path, needed: tuple[str, ...]) -> None:
    """Refuse a table that lacks a column, by names alone."""
    check_names([head.name for head in read_header(path)], needed=needed)


def _csv_heads(path: Path) -> list[ColumnHead]:
    with path.open("rb", buffering=0) as source:
        line = source.readline(LONGEST_HEADER).decode("utf-8-sig")
    return [ColumnHead(name) for name in next(csv.reader([line.rstrip("\r\n")], strict=True))]


def _parquet_heads(path: Path) -> list[ColumnHead]:
    schema = pyarrow.parquet.read_schema(path)
    return [_parquet_head(field) for field in schema if not field.name.startswith(_INDEX)]


def _parquet_head(field: pa.Field) -> ColumnHead:
    stored = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    # Only the head of the type's text: what follows may list fields or categories.
    return ColumnHead(field.name, _kind(stored), str(stored).split("<")[0].split("[")[0])


def _kind(stored: pa.DataType) -> str:
    if pa.types.is_boolean(stored):
        return "truth"
    if pa.types.is_integer(stored) or pa.types.is_floating(stored) or pa.types.is_decimal(stored):
        return "number"
    if pa.types.is_string(stored) or pa.types.is_large_string(stored) or stored == pa.string_view():
        return "text"
    return "other"
