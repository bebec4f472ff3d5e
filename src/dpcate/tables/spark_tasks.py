"""What Spark's executors do with one partition: encode it into a local file, or visit the rows of that file.

A task answers with whole-number sums, or says that its file is lost or that its rows are not those of the first time;
no answer and no error of these functions holds a value of a row, except where rows are asked for as such.
"""

from __future__ import annotations

import gc
import os
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from dpcate.tables.encoding import encode_table
from dpcate.tables.packing import digest_of, pack
from dpcate.tables.rows import Rows
from dpcate.tables.sealing import sealed
from dpcate.tables.source import BATCH
from dpcate.tables.spark_files import FileLostError, RowFile, read_batches, remove_folders

if TYPE_CHECKING:
    from dpcate.schema import Schema

__all__ = ["ANSWERS", "INDEX", "Batch", "Visit", "encoder", "reencoder", "remover", "visitor"]

INDEX = "part int, place int, n_rows int, digest binary, host string, path string"
ANSWERS = "part int, status string, payload binary, host string, path string"
_ARROW = {"int": pa.int32(), "binary": pa.binary(), "string": pa.string()}

Visit = Callable[[Iterator[tuple[int, Rows]]], Iterable[bytes]]
"""Gets the batches of a partition, each with the number of its first row; returns what to send to the driver."""

Task = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""What mapInArrow takes."""


class Batch(NamedTuple):
    """What the driver knows of a batch."""

    first: int
    n_rows: int
    digest: bytes


class _ChangedError(Exception):
    """A partition was computed again and has other rows, or has them in another order."""


def encoder(schema: Schema, token: str, key: bytes) -> Task:
    """Return the task that encodes a partition into a file and describes its batches."""

    def encode(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        part = _partition()
        found = []
        with RowFile(token, part) as file:
            for rows in _encoded(batches, schema):
                packed = pack(rows)
                digest = digest_of(packed, key)
                file.write(packed, digest)
                found.append((len(rows), digest))
        if found:
            host = socket.gethostname()
            yield _record(INDEX, [(part, k, n, digest, host, file.path) for k, (n, digest) in enumerate(found)])

    return encode


def visitor(
    visit: Visit, places: Mapping[int, Sequence[Batch]], moved: Mapping[int, str], n_features: int, key: bytes
) -> Task:
    """Return the task that visits the rows of a partition in its file; ``moved`` names later files."""

    def task(records: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        _settle()
        for part, (batches, path) in _index(records).items():
            known = places.get(part, ())
            if [(batch.n_rows, batch.digest) for batch in known] != batches:
                yield _record(ANSWERS, [(part, "changed", b"", "", "")])
                continue
            rows = read_batches(moved.get(part, path), batches, n_features, key)
            numbered = ((batch.first, each) for each, batch in zip(rows, known, strict=True))
            yield _record(ANSWERS, _answers(visit, part, numbered))

    return task


def reencoder(
    visit: Visit, places: Mapping[int, Sequence[Batch]], lost: frozenset[int], schema: Schema, *, token: str, key: bytes
) -> Task:
    """Return the task that encodes a lost partition again, into a new file, and visits its rows as it goes."""

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        part = _partition()
        if part not in lost:
            return
        with RowFile(token, part) as file:
            answers = _answers(visit, part, _same_again(_encoded(batches, schema), places[part], file, key))
        yield _record(ANSWERS, [(*answer[:3], socket.gethostname(), file.path) for answer in answers])

    return task


def remover(token: str) -> Task:
    """Return the task that removes the files of a fit from the machine that it runs on."""

    def task(records: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        paths = [path for batch in records if "path" in batch.schema.names for path in batch["path"].to_pylist()]
        remove_folders(token, [os.path.dirname(path) for path in paths])
        yield _record(ANSWERS, [(0, "done", b"", "", "")])

    return task


@sealed
def _answers(visit: Visit, part: int, rows: Iterator[tuple[int, Rows]]) -> list[tuple[Any, ...]]:
    """Return one answer per payload, or one that says why there is none."""
    try:
        return [(part, "done", payload, "", "") for payload in visit(rows)]
    except FileLostError:
        return [(part, "lost", b"", "", "")]
    except _ChangedError:
        return [(part, "changed", b"", "", "")]


def _same_again(rows: Iterator[Rows], known: Sequence[Batch], file: RowFile, key: bytes) -> Iterator[tuple[int, Rows]]:
    """Yield encoded batches with their numbers if they are those of the first time, and write them down."""
    n_seen = 0
    for batch in rows:
        packed = pack(batch)
        digest = digest_of(packed, key)
        if n_seen == len(known) or digest != known[n_seen].digest:
            raise _ChangedError
        file.write(packed, digest)
        yield known[n_seen].first, batch
        n_seen += 1
    if n_seen != len(known):
        raise _ChangedError


def _encoded(batches: Iterable[pa.RecordBatch], schema: Schema) -> Iterator[Rows]:
    for table in _gathered(batches):
        for start in range(0, table.num_rows, BATCH):
            yield encode_table(table.slice(start, BATCH), schema)


def _gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield tables of about BATCH rows: Spark sends small batches, and each costs a pass as much as a large one."""
    waiting: list[pa.RecordBatch] = []
    n_waiting = 0
    for batch in batches:
        waiting.append(batch)
        n_waiting += batch.num_rows
        if n_waiting >= BATCH:
            yield pa.Table.from_batches(waiting)
            waiting, n_waiting = [], 0
    if n_waiting:
        yield pa.Table.from_batches(waiting)


@lru_cache(maxsize=1)
def _settle() -> None:
    """Take the modules that are loaded by now out of the garbage collection that Spark runs after every task."""
    gc.freeze()


def _partition() -> int:
    from pyspark import TaskContext

    task = TaskContext.get()
    return 0 if task is None else int(task.partitionId())


def _index(records: Iterable[pa.RecordBatch]) -> dict[int, tuple[list[tuple[int, bytes]], str]]:
    """Return the batches and the file of every partition that an index describes."""
    lines = sorted(tuple(line.values()) for record in records for line in record.to_pylist())
    parts: dict[int, tuple[list[tuple[int, bytes]], str]] = {}
    for part, _, n_rows, digest, _, path in lines:
        parts.setdefault(part, ([], path))[0].append((n_rows, digest))
    return parts


def _record(description: str, lines: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
    fields = [field.split() for field in description.split(",")]
    arrays = [pa.array([line[k] for line in lines], _ARROW[kind]) for k, (_, kind) in enumerate(fields)]
    return pa.RecordBatch.from_arrays(arrays, names=[name for name, _ in fields])
