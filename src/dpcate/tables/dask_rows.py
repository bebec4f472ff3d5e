"""Rows of a Dask data frame: every partition is encoded and passed over where it is; only whole-number sums come back.

Partitions keep their order and rows theirs, so a row's number is its partition's offset plus its place. If a worker is
lost, Dask computes its partitions again from their source, with the same numbers and the same sums.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcate.errors import TableError
from dpcate.kernels.totals import add_up, combine
from dpcate.tables.encoding import encode_table
from dpcate.tables.frames import check_names
from dpcate.tables.packing import joined
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

    def __init__(self, frame: Any, schema: Schema) -> None:  # noqa: ANN401 - dask is optional and has no stubs
        dask = _dask()

        check_names(list(frame.columns), needed=schema.column_names)
        self._schema = schema
        wanted = frame[list(schema.column_names)]
        parts = [dask.delayed(_encode)(part, schema) for part in wanted.to_delayed()]
        self._parts = list(dask.persist(*parts))
        try:
            lengths = dask.compute(*[dask.delayed(len)(part) for part in self._parts])
        except TableError:
            raise
        except Exception as error:
            raise _failure(error) from None
        self._firsts = [sum(lengths[:k]) for k in range(len(lengths))]
        self._lengths = lengths

    def __repr__(self) -> str:
        return "DaskRows()"

    @property
    def schema(self) -> Schema:
        """What the rows are encoded by."""
        return self._schema

    @property
    def n_rows(self) -> int:
        """Number of rows, active or not."""
        return int(sum(self._lengths))

    def total(self, work: RowWork, *, one_thread: bool = False) -> list[NDArray[Any]]:  # noqa: ARG002 - one thread per task
        """Return the exact totals of ``work``; partial sums are added on the workers."""
        dask = _dask()

        shipped = dask.delayed(work, traverse=False, pure=False)
        numbered = zip(self._firsts, self._parts, strict=True)
        sums = [dask.delayed(_total)(shipped, first, part) for first, part in numbered]
        while len(sums) > 1:
            sums = [dask.delayed(_join)(sums[k : k + _FAN_IN]) for k in range(0, len(sums), _FAN_IN)]
        try:
            totals: list[NDArray[Any]] = dask.compute(sums[0])[0]
        except Exception as error:
            raise _failure(error) from None
        return totals

    def held(self) -> Rows:
        """Return all rows on the driver, for models that need them at once."""
        dask = _dask()

        return joined(list(dask.compute(*self._parts)), len(self._schema.features))


def _dask() -> Any:  # noqa: ANN401 - dask has few stubs
    import dask

    return dask


def _failure(error: Exception) -> TableError:
    """Return an error without the cluster's text, which may quote rows."""
    return TableError(f"The Dask table must be one that its workers can read; a task ended in {type(error).__name__}.")


def _encode(part: Any, schema: Schema) -> Rows:  # noqa: ANN401 - a pandas frame
    return encode_table(part, schema)


def _total(work: RowWork, first: int, rows: Rows) -> list[NDArray[Any]]:
    starts = range(0, max(len(rows), 1), BATCH)
    return [
        array.astype(object) for array in add_up(work(first + start, rows[start : start + BATCH]) for start in starts)
    ]


def _join(sums: list[list[NDArray[Any]]]) -> list[NDArray[Any]]:
    return combine(sums, 2**62)
