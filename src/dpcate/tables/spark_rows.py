"""Rows of a Spark data frame: every partition is encoded and passed over by its executor; only sums come back.

The first pass writes each partition, encoded, to a file on its executor's disk, and Spark keeps an index of these files
where they are; later passes go over the index and read the files. A file that is gone is encoded again from the data
frame. Digests tell if rows came back different or in another order. Spark fixes a partition's row order when it
computes it: from files it is the files' order, after a shuffle it may differ from run to run. Then the split plan may
send a row to another part in another run.
"""

from __future__ import annotations

import os
import pickle
import socket
import uuid
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from dpcate.errors import TableError
from dpcate.kernels.threads import one_thread
from dpcate.kernels.totals import add_up, combine
from dpcate.tables.frames import check_names
from dpcate.tables.packing import CHANGED, joined, pack, unpack
from dpcate.tables.sealing import sealed
from dpcate.tables.spark_files import remove_folders
from dpcate.tables.spark_settings import batches_by_rows, encrypts_disks, one_task_per_core
from dpcate.tables.spark_tasks import ANSWERS, INDEX, Batch, encoder, reencoder, remover, visitor

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from dpcate.schema import Schema
    from dpcate.tables.rows import Rows
    from dpcate.tables.source import RowWork
    from dpcate.tables.spark_tasks import Visit

__all__ = ["SparkRows"]

_REMOVING_TASKS = 64
"""Tasks that look for files to remove when nobody knows on which machines they are."""

_NO_ROOM = (
    "encoded rows must fit on the executors' local disks; writing them there failed. Make room, or let spark.local.dir "
    "name another folder."
)


class SparkRows:
    """A Spark data frame as a source of rows.

    Parameters
    ----------
    frame
        A ``pyspark.sql`` data frame.
    schema
        The public description of the columns.

    Privacy
    -------
    Encoded rows wait in files on the executors' disks, readable by their user alone, until the source is gone. See
    ``docs/scale.md``.
    """

    @sealed
    def __init__(self, frame: Any, schema: Schema) -> None:  # noqa: ANN401 - pyspark is optional
        check_names(list(frame.columns), needed=schema.column_names)
        self._schema = schema
        self._session = frame.sparkSession
        self._wanted = frame.select(*[f"`{name}`" for name in schema.column_names])
        self._token = "" if encrypts_disks(self._session) else uuid.uuid4().hex
        self._key = uuid.uuid4().bytes
        self._moved: dict[int, str] = {}
        self._folders: set[tuple[str, str]] = set()
        self._index = self._wanted.mapInArrow(encoder(schema, self._token, self._key), INDEX).persist()
        self._cleaning = weakref.finalize(self, _clean, self._session, self._index, self._token, self._folders)
        self._cleaning.atexit = False  # then Spark itself is about to go, and takes its folders along
        weakref.finalize(self, _clean_here, self._token, self._folders)
        try:
            self._encode()
        except BaseException:
            self.close()
            raise

    def _encode(self) -> None:
        with batches_by_rows(self._session):
            lines = sorted(tuple(line) for line in self._index.collect())
        self._places: dict[int, list[Batch]] = {}
        self._n_rows = 0
        for part, _, n_rows, digest, host, path in lines:
            self._places.setdefault(part, []).append(Batch(self._n_rows, n_rows, bytes(digest)))
            self._n_rows += n_rows
            if path:
                self._folders.add((host, os.path.dirname(path)))
        if self._token and not all(path for *_, path in lines):
            raise TableError(_NO_ROOM)

    def close(self) -> None:
        """Remove the files of encoded rows; happens once, and by itself when nobody uses the rows any more."""
        self._cleaning()

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
        nothing = [array.astype(object) for array in work(0, unpack(b"", 0, len(self._schema.features)))]
        sums = [pickle.loads(payload) for payload in self._visit(_summing(work))]
        return combine([nothing, *sums], 2**62)

    @sealed
    def held(self) -> Rows:
        """Return all rows on the driver, for models that need them at once."""
        n_features = len(self._schema.features)
        parts = sorted(pickle.loads(payload) for payload in self._visit(_sending))
        return joined([unpack(packed, n_rows, n_features) for _, n_rows, packed in parts], n_features)

    def _visit(self, visit: Visit) -> list[bytes]:
        """Return what a visit to every partition sends back; files go at once if it fails, because the fit does too."""
        try:
            found = self._answers(visit)
        except BaseException:
            self.close()
            raise
        return [payload for payloads in found.values() for payload in payloads]

    def _answers(self, visit: Visit) -> dict[int, list[bytes]]:
        """Return what each partition sends: first those whose files are there, then those to be encoded again."""
        task = visitor(visit, self._places, self._moved, len(self._schema.features), self._key)
        with batches_by_rows(self._session):  # a part of the index that Spark has lost is encoded as it was
            found = self._asked(one_task_per_core(self._index).mapInArrow(task, ANSWERS))
        lost = frozenset(self._places) - frozenset(found)
        if lost:
            again = reencoder(visit, self._places, lost, self._schema, token=self._token, key=self._key)
            with batches_by_rows(self._session):
                found |= self._asked(self._wanted.mapInArrow(again, ANSWERS))
        if found.keys() != self._places.keys():
            raise TableError(CHANGED)
        return found

    def _asked(self, answers: Any) -> dict[int, list[bytes]]:  # noqa: ANN401 - pyspark is optional
        """Return the payloads of every partition that had its rows."""
        found: dict[int, list[bytes]] = {}
        for part, status, payload, host, path in answers.collect():
            if status == "changed":
                raise TableError(CHANGED)
            if status == "done":
                found.setdefault(part, []).append(bytes(payload))
            if path:
                self._moved[part] = path
                self._folders.add((host, os.path.dirname(path)))
        return found


def _summing(work: RowWork) -> Visit:
    def visit(batches: Iterator[tuple[int, Rows]]) -> Iterable[bytes]:
        with one_thread():
            return [pickle.dumps(add_up(list(work(first, rows)) for first, rows in batches))]

    return visit


def _sending(batches: Iterator[tuple[int, Rows]]) -> Iterator[bytes]:
    for first, rows in batches:
        yield pickle.dumps((first, len(rows), pack(rows)))


def _clean(session: Any, index: Any, token: str, folders: set[tuple[str, str]]) -> None:  # noqa: ANN401 - pyspark is optional
    """Remove the files of a fit as far as they can be reached; Spark removes the rest with its own folders."""
    _clean_here(token, folders)
    with suppress(Exception):
        if token and not folders:  # the first pass failed: nobody said where
            several = session.range(0, _REMOVING_TASKS, 1, _REMOVING_TASKS)
            several.mapInArrow(remover(token), ANSWERS).collect()
        elif any(host != socket.gethostname() for host, _ in folders):
            index.mapInArrow(remover(token), ANSWERS).collect()  # goes to the executors that have the files
    with suppress(Exception):
        index.unpersist()


def _clean_here(token: str, folders: set[tuple[str, str]]) -> None:
    if token:
        remove_folders(token, [folder for host, folder in folders if host == socket.gethostname()])
