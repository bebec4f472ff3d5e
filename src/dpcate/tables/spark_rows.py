"""Rows of a Spark data frame: every partition is encoded and passed over by its executor; only sums come back.

The encoded batches are persisted once, each under its partition and its place there, so that every pass finds the same
row under the same number; a digest tells if Spark had to compute a batch again and got other rows. Spark fixes a
partition's row order when it computes it: from files it is the files' order, after a shuffle it may differ from run to
run. Then the split plan may send a row to another part in another run.
"""

from __future__ import annotations

import pickle
import weakref
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from dpcate.errors import TableError
from dpcate.kernels.threads import one_thread
from dpcate.kernels.totals import add_up, combine
from dpcate.tables.encoding import encode_table
from dpcate.tables.frames import check_names
from dpcate.tables.packing import CHANGED, digest_of, joined, pack, unpack
from dpcate.tables.sealing import sealed
from dpcate.tables.source import BATCH

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from dpcate.schema import Schema
    from dpcate.tables.rows import Rows
    from dpcate.tables.source import RowWork

__all__ = ["SparkRows"]

_ENCODED = "part int, place int, n_rows int, digest binary, packed binary"
_SUMS = "sums binary"


class SparkRows:
    """A Spark data frame as a source of rows.

    Parameters
    ----------
    frame
        A ``pyspark.sql`` data frame.
    schema
        The public description of the columns.
    """

    @sealed
    def __init__(self, frame: Any, schema: Schema) -> None:  # noqa: ANN401 - pyspark is optional
        check_names(list(frame.columns), needed=schema.column_names)
        self._schema = schema
        wanted = frame.select(*[f"`{name}`" for name in schema.column_names])
        self._batches = wanted.mapInArrow(_encoder(schema), _ENCODED).persist()
        weakref.finalize(self, self._batches.unpersist)
        places = self._batches.select("part", "place", "n_rows", "digest").collect()
        self._places: dict[tuple[int, int], tuple[int, bytes]] = {}
        at = 0
        for part, place, n_rows, digest in sorted(tuple(row) for row in places):
            self._places[part, place] = at, bytes(digest)
            at += n_rows
        self._n_rows = at

    def __repr__(self) -> str:
        return "SparkRows()"

    @property
    def schema(self) -> Schema:
        """What the rows are encoded by."""
        return self._schema

    @property
    def n_rows(self) -> int:
        """Number of rows, active or not."""
        return self._n_rows

    @sealed
    def total(self, work: RowWork, *, one_thread: bool = False) -> list[NDArray[Any]]:  # noqa: ARG002 - one thread per task
        """Return the exact totals of ``work``; each executor sends back one sum per partition."""
        empty = unpack(b"", 0, len(self._schema.features))
        summed = self._batches.mapInArrow(_summer(work, self._places, len(self._schema.features)), _SUMS)
        parts = summed.collect()
        nothing = [array.astype(object) for array in work(0, empty)]
        sums = [pickle.loads(row["sums"]) for row in parts]
        return combine([nothing, *sums], 2**62)

    @sealed
    def held(self) -> Rows:
        """Return all rows on the driver, for models that need them at once."""
        rows = sorted(self._batches.collect(), key=lambda row: (row["part"], row["place"]))
        n_features = len(self._schema.features)
        return joined([unpack(bytes(row["packed"]), row["n_rows"], n_features) for row in rows], n_features)


def _encoder(schema: Schema) -> Any:  # noqa: ANN401 - a function for mapInArrow
    def encode(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        task = TaskContext.get()
        part, place = 0 if task is None else task.partitionId(), 0
        for table in _gathered(batches):
            for start in range(0, table.num_rows, BATCH):
                rows = encode_table(table.slice(start, BATCH), schema)
                packed = pack(rows)
                columns: list[list[Any]] = [[part], [place], [len(rows)], [digest_of(packed)], [packed]]
                types = [pa.int32(), pa.int32(), pa.int32(), pa.binary(), pa.binary()]
                yield _record(columns, types, _names(_ENCODED))
                place += 1

    return encode


def _gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield tables of about BATCH rows: Spark sends small batches, and each costs a pass as much as a large one."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(each.num_rows for each in waiting) >= BATCH:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting)


def _summer(work: RowWork, places: dict[tuple[int, int], tuple[int, bytes]], n_features: int) -> Any:  # noqa: ANN401 - for mapInArrow
    def total(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        def parts() -> Iterator[list[NDArray[np.int64]]]:
            for batch in batches:
                part, place, n_rows, digest, packed = (batch.column(k) for k in range(5))
                for k in range(batch.num_rows):
                    first, known = places.get((part[k].as_py(), place[k].as_py()), (0, b""))
                    if digest[k].as_py() != known:
                        raise TableError(CHANGED)
                    rows = unpack(memoryview(packed[k].as_buffer()), n_rows[k].as_py(), n_features)
                    yield list(work(first, rows))

        with one_thread():
            sums = add_up(parts())
        if sums:
            exact = pickle.dumps([array.astype(object) for array in sums])
            yield _record([[exact]], [pa.binary()], _names(_SUMS))

    return total


def _record(columns: list[list[Any]], types: list[pa.DataType], names: list[str]) -> pa.RecordBatch:
    arrays = [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=names)


def _names(description: str) -> list[str]:
    return [field.split()[0] for field in description.split(",")]
