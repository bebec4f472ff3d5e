"""Tables of people to predict for: read with all their columns, and written with three more.

These people are the caller's to show: nothing here is private to the release, and nothing of the fitted table is read.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from dpcate.cli.header import read_header
from dpcate.errors import ParameterError, TableError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["check_format", "read_people", "with_columns", "write_csv", "write_people"]

FORMATS = (".csv", ".parquet")

ADDED = ("effect", "lower", "upper")
"""The columns that a prediction adds."""


def check_format(path: Path) -> None:
    """Refuse an output that is neither CSV nor Parquet."""
    if path.suffix.lower() not in FORMATS:
        raise ParameterError(f"--out must end in .csv or .parquet; got {str(path)!r}.")


def read_people(path: str | Path) -> pa.Table:
    """Return a table with every column; those of a CSV file are texts, as they stand there."""
    path = Path(path)
    names = [head.name for head in read_header(path)]
    if len(set(names)) < len(names):
        raise TableError(f"A table must have distinct column names; {str(path)!r} repeats one.")
    try:
        if path.suffix.lower() == ".parquet":
            return pyarrow.parquet.read_table(path)
        texts = pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.large_string()), strings_can_be_null=False
        )
        parsing = pyarrow.csv.ParseOptions(newlines_in_values=True)
        return pyarrow.csv.read_csv(path, convert_options=texts, parse_options=parsing)
    except (pa.ArrowException, OSError):
        raise TableError(f"A table must be well formed, and its texts UTF-8; {str(path)!r} is not.") from None


def with_columns(people: pa.Table, columns: dict[str, NDArray[np.float64]]) -> pa.Table:
    """Return the table with more columns; a name that is taken is refused."""
    taken = [name for name in ADDED if name in people.column_names]
    if taken:
        raise TableError(f"The table already has a column {taken[0]!r}; rename it, since the output needs that name.")
    for name, values in columns.items():
        people = people.append_column(name, pa.array(values))
    return people


def write_people(people: pa.Table, path: Path) -> None:
    """Write the table in the format that the path names."""
    if path.suffix.lower() == ".parquet":
        pyarrow.parquet.write_table(people, path)
        return
    with path.open("w", encoding="utf-8", newline="") as out:
        write_csv(people, out)


def write_csv(people: pa.Table, out: TextIO) -> None:
    """Write the table as CSV; the columns that were added get six significant digits, far below their error."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(people.column_names)
    for batch in people.to_batches(max_chunksize=65_536):
        columns = (_texts(name, values) for name, values in zip(people.column_names, batch.columns, strict=True))
        writer.writerows(zip(*columns, strict=True))


def _texts(name: str, column: pa.Array) -> list[object]:
    values = column.to_pylist()
    return [f"{value:.6g}" for value in values] if name in ADDED else values
