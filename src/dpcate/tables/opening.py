"""Any table as a source of rows: in memory, in files, in streams, on a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from dpcate.tables.encoding import encode_table
from dpcate.tables.source import HeldRows, RowSource
from dpcate.tables.streams import is_stream, is_table_path, store_files, store_stream

if TYPE_CHECKING:
    from pathlib import Path

    from dpcate.schema import Schema

__all__ = ["close_rows", "open_table"]


def open_table(table: object, schema: Schema) -> RowSource:
    """Return the rows of a table, wherever they are.

    Parameters
    ----------
    table
        A pandas, polars or pyarrow table, a mapping of columns; a path to a .csv or .parquet file or to a folder of
        such files; a stream of Arrow batches; a Dask or Spark data frame, whose rows stay where they are; rows that
        were opened before.
    schema
        The public description of the columns.

    Privacy
    -------
    Releases nothing; see :class:`~dpcate.tables.source.RowSource`.
    """
    if isinstance(table, RowSource):
        return table
    if is_table_path(table):
        return store_files(cast("str | Path", table), schema)
    if is_stream(table):
        return store_stream(table, schema)
    library = type(table).__module__.split(".")[0]
    if library in ("dask", "dask_expr"):
        from dpcate.tables.dask_rows import DaskRows

        return DaskRows(table, schema)
    if library == "pyspark":
        from dpcate.tables.spark_rows import SparkRows

        return SparkRows(table, schema)
    return HeldRows(encode_table(table, schema), schema)


def close_rows(source: RowSource) -> None:
    """Give up what a source keeps outside this process; it cannot be passed over again."""
    close = getattr(source, "close", None)
    if close is not None:
        close()
