"""Rows that are encoded once and passed over many times, in a file if memory is short.

A table's values are read and parsed once. What remains, two bytes per feature and nine for outcome and arm, stays in
memory up to a limit; beyond it, it goes to a temporary file that has no name (or loses it at once), so that it is gone
when the fit ends, whatever ends it.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from typing import TYPE_CHECKING, Any

from dpcate.errors import TableError
from dpcate.kernels.pool import available_cores, kept_threads
from dpcate.kernels.totals import add_up, combine
from dpcate.tables.packing import joined, pack, packed_size, unpack
from dpcate.tables.source import BATCH

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import BinaryIO

    from numpy.typing import NDArray

    from dpcate.schema import Schema
    from dpcate.tables.rows import Rows
    from dpcate.tables.source import RowWork

__all__ = ["HOLD_AT_MOST", "StoredRows"]

HOLD_AT_MOST = 2**28
"""Bytes of encoded rows that are kept in memory; more go to a temporary file."""


class StoredRows:
    """Encoded rows in batches, in memory or in a temporary file.

    Parameters
    ----------
    chunks
        Encoded rows in order, any number at a time.
    schema
        What they are encoded by.
    hold_at_most
        Bytes to keep in memory.
    threads
        How many batches are worked on at once; None is the number of cores.
    """

    def __init__(
        self,
        chunks: Iterable[Rows],
        schema: Schema,
        *,
        hold_at_most: int = HOLD_AT_MOST,
        threads: int | None = None,
    ) -> None:
        self._schema = schema
        self._threads = threads or available_cores()
        self._lengths: list[int] = []
        self._firsts: list[int] = []
        self._places: list[int] = []
        self._held: list[bytes] = []
        self._file: BinaryIO | None = None
        self._n_rows = self._n_bytes = 0
        for chunk in chunks:
            for rows in chunk.batches(BATCH):
                self._append(rows, hold_at_most)

    def __repr__(self) -> str:
        return "StoredRows()"

    def _append(self, rows: Rows, hold_at_most: int) -> None:
        packed = pack(rows)
        if self._file is None and self._n_bytes + len(packed) > hold_at_most:
            self._spill()
        if self._file is None:
            self._held.append(packed)
        else:
            self._write(packed)
        self._lengths.append(len(rows))
        self._firsts.append(self._n_rows)
        self._places.append(self._n_bytes)
        self._n_rows += len(rows)
        self._n_bytes += len(packed)

    def _spill(self) -> None:
        """Move what is held to a temporary file."""
        self._file = tempfile.TemporaryFile(prefix="dpcate-", buffering=0)  # noqa: SIM115 - lives as long as the rows
        weakref.finalize(self, self._file.close)
        for packed in self._held:
            self._write(packed)
        self._held = []

    def _write(self, packed: bytes) -> None:
        assert self._file is not None
        try:
            view = memoryview(packed)
            while view:
                view = view[self._file.write(view) :]
        except OSError as error:
            raise TableError(
                f"encoded rows must fit in the temporary folder; writing there failed: {error.strerror}. "
                "Set TMPDIR to a folder with more room."
            ) from None

    @property
    def schema(self) -> Schema:
        """What the rows are encoded by."""
        return self._schema

    @property
    def n_rows(self) -> int:
        """Number of rows, active or not."""
        return self._n_rows

    def total(self, work: RowWork, *, one_thread: bool = False) -> list[NDArray[Any]]:
        """Return the exact totals of ``work`` over all batches."""
        if not self._lengths:
            return add_up([work(0, unpack(b"", 0, len(self._schema.features)))])
        threads = 1 if one_thread else min(self._threads, len(self._lengths))

        def every(first: int) -> list[NDArray[Any]]:
            mine = range(first, len(self._lengths), threads)
            return add_up(work(self._firsts[k], self._batch(k)) for k in mine)

        if threads == 1:
            return every(0)
        return combine(list(kept_threads("passes", threads).map(every, range(threads))), len(self._lengths))

    def _batch(self, k: int) -> Rows:
        n_rows, n_features = self._lengths[k], len(self._schema.features)
        if self._file is None:
            return unpack(self._held[k], n_rows, n_features)
        size = packed_size(n_rows, n_features)
        return unpack(_read(self._file.fileno(), size, self._places[k]), n_rows, n_features)

    def held(self) -> Rows:
        """Return all rows in memory, however many: to refuse would tell how many there are."""
        n_features = len(self._schema.features)
        return joined([self._batch(k) for k in range(len(self._lengths))], n_features)


def _read(file: int, size: int, place: int) -> bytes:
    """Return ``size`` bytes from a place in a file, whichever threads read it meanwhile."""
    parts = []
    while size > 0:
        part = os.pread(file, size, place)
        if not part:
            raise TableError("the temporary file of encoded rows was cut short.")
        parts.append(part)
        size, place = size - len(part), place + len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)
