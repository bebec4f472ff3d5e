"""Tables that are read piece by piece: files, folders of files, and streams of Arrow batches.

Pieces come in a fixed order, files of a folder by name, so that a row has the same number whenever the table is read.
No piece is ever larger than one batch of a file, whatever the table's size.
"""

from __future__ import annotations

import csv
from collections import deque
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet

from dpcate.errors import TableError
from dpcate.kernels.pool import available_cores, kept_threads
from dpcate.tables.columns import Column, arrow_column
from dpcate.tables.encoding import encode_columns
from dpcate.tables.files import csv_tables
from dpcate.tables.frames import check_names
from dpcate.tables.sealing import sealed
from dpcate.tables.stored import HOLD_AT_MOST, StoredRows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dpcate.schema import Schema
    from dpcate.tables.rows import Rows

__all__ = ["is_stream", "is_table_path", "store_files", "store_stream", "table_files"]

BATCH_ROWS = 2**16
_SUFFIXES = (".csv", ".parquet")


def is_table_path(table: object) -> bool:
    """Whether a table is given as a path."""
    return isinstance(table, (str, Path))


def is_stream(table: object) -> bool:
    """Whether a table comes as Arrow record batches (a reader, a DuckDB result, ...)."""
    return isinstance(table, pa.RecordBatchReader) or (
        hasattr(table, "__arrow_c_stream__") and type(table).__module__.split(".")[0] == "duckdb"
    )


def table_files(path: Path) -> list[Path]:
    """Return the files of a table: the file itself, or all .csv or all .parquet files of a folder, by name."""
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.rglob("*") if file.suffix.lower() in _SUFFIXES and file.is_file())
    files = [file for file in files if not any(part.startswith(("_", ".")) for part in file.relative_to(path).parts)]
    if not files or len({file.suffix.lower() for file in files}) > 1:
        raise TableError(f"A folder must hold .csv files or .parquet files, one kind; {str(path)!r} does not.")
    return files


@sealed
def store_files(path: str | Path, schema: Schema, *, hold_at_most: int = HOLD_AT_MOST) -> StoredRows:
    """Return the encoded rows of a .csv or .parquet file, or of a folder of such files.

    Privacy
    -------
    Holds private values, releases nothing. A file that is no well-formed table is refused as a whole.
    """
    files = table_files(Path(path))
    pieces = (piece for file in files for piece in _pieces(file, schema.column_names))
    return StoredRows(_encoded(pieces, schema), schema, hold_at_most=hold_at_most)


@sealed
def store_stream(table: Any, schema: Schema, *, hold_at_most: int = HOLD_AT_MOST) -> StoredRows:  # noqa: ANN401 - anything with Arrow batches
    """Return the encoded rows of a stream of Arrow batches, which is read once."""
    reader = table if isinstance(table, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(table)
    check_names(reader.schema.names, needed=schema.column_names)
    pieces = (_columns(pa.Table.from_batches([batch]), schema.column_names) for batch in reader)
    return StoredRows(_encoded(pieces, schema), schema, hold_at_most=hold_at_most)


def _encoded(pieces: Iterable[list[Column]], schema: Schema) -> Iterator[Rows]:
    """Yield encoded pieces in order, a few of them being encoded at a time."""
    threads = available_cores()
    pool, pieces = kept_threads("encoding", threads), iter(pieces)
    waiting = deque(pool.submit(encode_columns, piece, schema) for piece in islice(pieces, threads + 1))
    while waiting:
        rows = waiting.popleft().result()
        waiting.extend(pool.submit(encode_columns, piece, schema) for piece in islice(pieces, 1))
        yield rows


def _pieces(file: Path, names: Sequence[str]) -> Iterator[list[Column]]:
    readers = {".csv": _csv_pieces, ".parquet": _parquet_pieces}
    reader = readers.get(file.suffix.lower())
    if reader is None:
        raise TableError(f"A table file must end in .csv or .parquet; got {str(file)!r}.")
    if not file.is_file():
        raise TableError(f"A table must be a file or a folder that exists; there is none at {str(file)!r}.")
    try:
        yield from reader(file, names)
    except (pa.ArrowException, OSError, UnicodeError, csv.Error, StopIteration):
        kind = file.suffix.lower().removeprefix(".")
        raise TableError(f"A .{kind} table must be well formed; {str(file)!r} cannot be read as one.") from None


def _parquet_pieces(file: Path, names: Sequence[str]) -> Iterator[list[Column]]:
    with pyarrow.parquet.ParquetFile(file, pre_buffer=False) as source:
        check_names(source.schema_arrow.names, needed=names)
        for batch in source.iter_batches(batch_size=BATCH_ROWS, columns=list(names)):
            yield _columns(pa.Table.from_batches([batch]), names)


def _csv_pieces(file: Path, names: Sequence[str]) -> Iterator[list[Column]]:
    for table in csv_tables(file, names):
        yield [Column(name, table.column(name)) for name in names]


def _columns(table: pa.Table, names: Sequence[str]) -> list[Column]:
    return [arrow_column(name, table.column(name)) for name in names]
