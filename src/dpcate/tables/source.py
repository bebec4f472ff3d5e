"""Where the rows are: a source lets a function see them batch by batch and adds up what it returns.

A pass hands every batch, with the number of its first row, to a pure function whose result is a few whole-number
arrays; only their exact totals come back. Totals of integers do not depend on batches, order or threads, so each
backend gives the same release.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dpcate.kernels.pool import available_cores, kept_threads
from dpcate.kernels.totals import add_up, combine
from dpcate.tables.rows import Rows

if TYPE_CHECKING:
    from dpcate.schema import Schema

__all__ = ["BATCH", "HeldRows", "RowSource", "RowWork"]

BATCH = 2**16
"""Most rows per batch: few enough to stay in a processor's cache, enough that threads seldom wait for each other."""

_SMALLEST = 2**15

RowWork = Callable[[int, Rows], Sequence[NDArray[np.int64]]]
"""Gets the number of a batch's first row and the batch (of at most BATCH rows); returns whole-number arrays."""


@runtime_checkable
class RowSource(Protocol):
    """Rows that can be passed over as often as needed; private."""

    @property
    def schema(self) -> Schema:
        """What the rows are encoded by."""
        ...

    @property
    def n_rows(self) -> int:
        """Number of rows, active or not."""
        ...

    def total(self, work: RowWork, *, one_thread: bool = False) -> list[NDArray[Any]]:
        """Return the exact totals of ``work`` over all batches.

        Parameters
        ----------
        work
            Row by row, and the same shapes for every batch, an empty one included.
        one_thread
            Call ``work`` for one batch after the other, here in the calling thread: for functions that nobody promised
            to be safe in several threads at once.
        """
        ...

    def held(self) -> Rows:
        """Return all rows in memory, for models that need them at once; raises where they do not fit."""
        ...


class HeldRows:
    """Encoded rows in this machine's memory, passed over with all cores.

    Parameters
    ----------
    rows
        The encoded rows.
    schema
        What they are encoded by.
    batch
        Rows per batch, at most BATCH; None gives every thread something to do.
    threads
        How many batches are worked on at once; None is the number of cores.
    """

    def __init__(self, rows: Rows, schema: Schema, *, batch: int | None = None, threads: int | None = None) -> None:
        self._rows = rows
        self._schema = schema
        self._threads = threads or available_cores()
        each = max(-(-len(rows) // self._threads), _SMALLEST) if batch is None else batch
        self._batch = min(each, BATCH)

    def __repr__(self) -> str:
        return "HeldRows()"

    @property
    def schema(self) -> Schema:
        """What the rows are encoded by."""
        return self._schema

    @property
    def n_rows(self) -> int:
        """Number of rows, active or not."""
        return len(self._rows)

    def total(self, work: RowWork, *, one_thread: bool = False) -> list[NDArray[Any]]:
        """Return the exact totals of ``work`` over all batches."""
        starts = range(0, max(self.n_rows, 1), self._batch)
        threads = 1 if one_thread else min(self._threads, len(starts))

        def every(first: int) -> list[NDArray[Any]]:
            mine = starts[first::threads]
            return add_up(work(start, self._rows[start : start + self._batch]) for start in mine)

        if threads == 1:
            return every(0)
        return combine(list(kept_threads("passes", threads).map(every, range(threads))), len(starts))

    def held(self) -> Rows:
        """Return the rows."""
        return self._rows
