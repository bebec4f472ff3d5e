"""The Spark settings that dpcate looks at: one is changed while rows are encoded, one forbids files of plain rows."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["batches_by_rows", "encrypts_disks", "one_task_per_core"]

_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
_NO_LIMIT = str(2**31 - 1)


@dataclass(slots=True)
class _Lifted:
    """The limit to put back, and how many fits of a session want it lifted."""

    limit: str | None
    n_inside: int = 0


_lock = threading.Lock()
_lifted: dict[int, _Lifted] = {}


@contextmanager
def batches_by_rows(session: Any) -> Iterator[None]:  # noqa: ANN401 - pyspark is optional
    """Let Spark end a batch by its number of rows alone, for as long as the context lasts.

    From 4.0 on Spark has a limit in bytes too and adds up all buffers after every row to keep it, which
    takes much of the time of handing over a table of numbers. Where rows are not limited, the limit in bytes stays.
    """
    with _lock:
        limit = _setting(session, _BYTES)
        lifted = _lifted.get(id(session))
        if lifted is None and (limit is None or int(_setting(session, _ROWS) or 0) <= 0):
            lifted = _Lifted(None)
        elif lifted is None:
            session.conf.set(_BYTES, _NO_LIMIT)
            lifted = _Lifted(limit)
        lifted.n_inside += 1
        _lifted[id(session)] = lifted
    try:
        yield
    finally:
        with _lock:
            lifted.n_inside -= 1
            if lifted.n_inside == 0:
                del _lifted[id(session)]
                if lifted.limit is not None:
                    session.conf.set(_BYTES, lifted.limit)


def encrypts_disks(session: Any) -> bool:  # noqa: ANN401 - pyspark is optional
    """Whether Spark was told to encrypt what it writes to local disks; then nobody else may write rows there."""
    return str(_setting(session, "spark.io.encryption.enabled")).lower() == "true"


def one_task_per_core(frame: Any) -> Any:  # noqa: ANN401 - pyspark is optional
    """Return the frame in as many partitions as there are cores, if it has more; what is where it is stays there.

    A task costs something whatever it does, so a pass over many small partitions is slow.
    """
    try:
        cores = int(frame.sparkSession.sparkContext.defaultParallelism)
    except Exception:  # Spark Connect does not tell
        return frame
    return frame.coalesce(max(cores, 1))


def _setting(session: Any, name: str) -> str | None:  # noqa: ANN401 - pyspark is optional
    """Return a setting's value, or None where this version of Spark does not have it."""
    try:
        return str(session.conf.get(name))
    except Exception:  # which one depends on Spark's version
        return None
