"""Tables in CSV and Parquet files.

A CSV file has no types, and guessing them would let one row change what another row means: every field is read as
bytes and parsed by itself. A Parquet file carries its types and is read by them.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from dpcate.errors import TableError
from dpcate.tables.columns import Column
from dpcate.tables.frames import as_frame, check_names, frame_columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

__all__ = ["csv_tables", "file_columns"]

LONGEST_LINE = 2**24
"""Bytes that one line of a CSV file may have."""


def file_columns(path: Path, names: Sequence[str]) -> list[Column]:
    """Return the named columns of a .csv or .parquet file.

    Privacy
    -------
    Holds private values, releases nothing. A file that is no well-formed table is refused as a whole.
    """
    readers = {".csv": _csv_columns, ".parquet": _parquet_columns}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise TableError(f"A table file must end in .csv or .parquet; got {str(path)!r}.")
    if not path.is_file():
        raise TableError(f"A table must be a file that exists; there is none at {str(path)!r}.")
    try:
        return reader(path, names)
    except (pa.ArrowException, OSError, UnicodeError, csv.Error, StopIteration):
        kind = path.suffix.lower().removeprefix(".")
        raise TableError(f"A .{kind} table must be well formed; {str(path)!r} cannot be read as one.") from None


def csv_tables(path: Path, names: Sequence[str]) -> Iterator[pa.Table]:
    """Yield the named columns of a .csv file as bytes, some rows at a time; at least one table, if without rows."""
    # The decoder reads ahead, past the header: it must not stumble over a row.
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as lines:
        check_names(next(csv.reader(lines)), needed=names)
    reader = pyarrow.csv.open_csv(
        path,
        read_options=pyarrow.csv.ReadOptions(block_size=LONGEST_LINE),
        parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(
            include_columns=list(names),
            column_types={name: pa.large_binary() for name in names},  # bytes: a field that is no text is missing
            strings_can_be_null=False,
        ),
    )
    with reader:
        yield reader.schema.empty_table()
        for batch in reader:
            yield pa.Table.from_batches([batch])


def _csv_columns(path: Path, names: Sequence[str]) -> list[Column]:
    table = pa.concat_tables(csv_tables(path, names))
    return [Column(name, table.column(name)) for name in names]


def _parquet_columns(path: Path, names: Sequence[str]) -> list[Column]:
    with pyarrow.parquet.ParquetFile(path) as source:
        check_names(source.schema_arrow.names, needed=names)
        frame = as_frame(source.read(columns=list(names)))
    assert frame is not None
    return frame_columns(frame, names)
