"""Rows of a Dask data frame: every partition is encoded and passed over where it is; only whole-number sums come back.

Partitions keep their order and rows theirs, so a row's number is its partition's offset plus its place. If a worker is
lost, Dask computes its partitions again from their source. A partition that comes back with other rows, or in another
order, would give rows other numbers: every pass compares a digest with that of the first time and refuses.
"""

from __future__ import annotations

import pickle
import uuid
from typing import TYPE_CHECKING, Any

from dpcate.errors import TableError
from dpcate.kernels.threads import one_thread
from dpcate.kernels.totals import add_up, combine
from dpcate.tables.encoding import encode_table
from dpcate.tables.frames import check_names
from dpcate.tables.packing import CHANGED, digest_of, joined, pack
from dpcate.tables.sealing import sealed
from dpcate.tables.source import BATCH

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcate.schema import Schema
    from dpcate.tables.rows import Rows
    from dpcate.tables.source import RowWork

__all__ = ["DaskRows"]

_FAN_IN = 16
"""Partial sums that are added at a time on their way to the driver."""


class DaskRows:
    """A Dask data frame as a source of rows.

    Parameters
    ----------
    frame
        A ``dask.dataframe`` frame.
    schema
        The public description of the columns.
    """

    @sealed
    def __init__(self, frame: Any, schema: Schema) -> None:  # noqa: ANN401 - dask is optional and has no stubs
        dask = _dask()
        check_names(list(frame.columns), needed=schema.column_names)
        self._schema = schema
        wanted = frame[list(schema.column_names)]
        self._key = uuid.uuid4().bytes
        parts = [dask.delayed(_encode)(part, schema, self._key) for part in wanted.to_delayed()]
        self._parts = list(dask.persist(*parts))
        known = dask.compute(*[dask.delayed(_identity)(part) for part in self._parts])
        self._digests = [digest for _, digest in known]
        lengths = [length for length, _ in known]
        self._firsts = [sum(lengths[:k]) for k in range(len(lengths))]
        self._n_rows = int(sum(lengths))

    def __repr__(self) -> str:
        return "DaskRows()"

    @property
    def schema(self) -> Schema:
        """What the rows are encoded by."""
        return self._schema

    @property
    def n_rows(self) -> int:
        """Number of rows, active or not."""
        return self._n_rows

    @sealed
    def total(self, work: RowWork, *, one_thread: bool = False) -> list[NDArray[Any]]:  # noqa: ARG002 - one per task
        """Return the exact totals of ``work``; partial sums are added on the workers."""
        dask = _dask()
        shipped = dask.delayed(_packed(work), traverse=False, pure=False)
        numbered = zip(self._firsts, self._parts, self._digests, strict=True)
        sums = [dask.delayed(_total)(shipped, first, part, digest) for first, part, digest in numbered]
        while len(sums) > 1:
            sums = [dask.delayed(_join)(sums[k : k + _FAN_IN]) for k in range(0, len(sums), _FAN_IN)]
        totals: list[NDArray[Any]] = dask.compute(sums[0])[0]
        return totals

    @sealed
    def held(self) -> Rows:
        """Return all rows on the driver, for models that need them at once."""
        parts = _dask().compute(*self._parts)
        return joined(
            [_same(part, digest) for part, digest in zip(parts, self._digests, strict=True)], self._n_features
        )

    @property
    def _n_features(self) -> int:
        return len(self._schema.features)


def _dask() -> Any:  # noqa: ANN401 - dask has few stubs
    import dask

    return dask


def _encode(part: Any, schema: Schema, key: bytes) -> tuple[Rows, bytes]:  # noqa: ANN401 - a pandas frame
    rows = encode_table(part, schema)
    return rows, digest_of(pack(rows), key)


def _identity(part: tuple[Rows, bytes]) -> tuple[int, bytes]:
    return len(part[0]), part[1]


def _same(part: tuple[Rows, bytes], digest: bytes) -> Rows:
    """Return the rows if they are those of the first time, in that order."""
    rows, found = part
    if found != digest:
        raise TableError(CHANGED)
    return rows


def _packed(work: RowWork) -> bytes:
    """Return the work as bytes, made here and once.

    Workers hand it on to each other. Objects that remember what they worked out would be written down by one thread of
    a worker while another uses them, which fails now and then, and Dask then waits for ever.
    """
    import cloudpickle

    packed: bytes = cloudpickle.dumps(work)
    return packed


def _total(packed: bytes, first: int, part: tuple[Rows, bytes], digest: bytes) -> list[NDArray[Any]]:
    rows, work = _same(part, digest), pickle.loads(packed)  # of the driver's own making
    starts = range(0, max(len(rows), 1), BATCH)
    with one_thread():
        totals = add_up(work(first + start, rows[start : start + BATCH]) for start in starts)
    return [array.astype(object) for array in totals]


def _join(sums: list[list[NDArray[Any]]]) -> list[NDArray[Any]]:
    return combine(sums, 2**62)
