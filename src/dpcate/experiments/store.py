"""Where runs are kept: one SQLite file, one row per run, one transaction per row.

A process that is killed loses the runs in flight and nothing that was recorded. One process writes; workers hand their
records to it.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import astuple, fields, replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from dpcate.errors import DocumentError, ParameterError
from dpcate.experiments.record import RunRecord

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpcate.experiments.grid import Key

__all__ = ["RunStore"]

_COLUMNS = [field.name for field in fields(RunRecord)]
_KEY = ("study", "n", "epsilon", "learner", "model", "plan", "replicate")
_TABLE = f"""
CREATE TABLE IF NOT EXISTS runs (
    study TEXT NOT NULL, n INTEGER NOT NULL, epsilon REAL NOT NULL, learner TEXT NOT NULL, model TEXT NOT NULL,
    plan TEXT NOT NULL, replicate INTEGER NOT NULL, seed INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('ok', 'failed')), error TEXT, seconds REAL NOT NULL, mse REAL,
    points BLOB NOT NULL, versions TEXT NOT NULL, finished TEXT NOT NULL,
    PRIMARY KEY ({", ".join(_KEY)})
)"""


class RunStore:
    """Runs in a file; to be closed, or used in a ``with`` block.

    Parameters
    ----------
    path
        The file; made if it is not there, with its folder. Without privacy, the column ``epsilon`` holds infinity.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(self.path, timeout=30.0)
        try:
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = FULL")
            with self._connection:
                self._connection.execute(_TABLE)
            self._check()
        except (sqlite3.Error, DocumentError):
            self._connection.close()
            raise DocumentError(
                f"{self.path} must be a store of runs that this version wrote; choose another path."
            ) from None

    def _check(self) -> None:
        found = [row[1] for row in self._connection.execute("PRAGMA table_info(runs)")]
        if found != _COLUMNS:
            raise DocumentError("other columns")

    def add(self, records: Iterable[RunRecord]) -> None:
        """Keep records, each in a transaction of its own; a run that is already kept is refused."""
        marks = ", ".join("?" * len(_COLUMNS))
        for record in records:
            epsilon = inf if record.epsilon is None else record.epsilon
            try:
                with self._connection:
                    self._connection.execute(
                        f"INSERT INTO runs VALUES ({marks})",
                        astuple(replace(record, epsilon=epsilon)),
                    )
            except sqlite3.IntegrityError:
                raise ParameterError(f"the run {record.key} is already recorded, or its status is unknown.") from None

    def done(self) -> set[Key]:
        """Return what names each recorded run, failed ones included."""
        with closing(self._connection.execute(f"SELECT {', '.join(_KEY)} FROM runs")) as rows:
            return {(row[0], row[1], _budget(row[2]), *row[3:]) for row in rows}

    def records(self, **wanted: Any) -> list[RunRecord]:  # noqa: ANN401 - a column's value
        """Return the records whose columns have the wanted values, in the order of their keys.

        Parameters
        ----------
        **wanted
            A column's name and a value, or a list, tuple or set of values.
        """
        unknown = sorted(set(wanted) - set(_COLUMNS))
        if unknown:
            raise ParameterError(f"records have no column {unknown[0]!r}; there are {', '.join(_COLUMNS)}.")
        conditions, values = ["1"], []
        for name, value in wanted.items():
            among = list(value) if isinstance(value, list | tuple | set | frozenset) else [value]
            conditions.append(f"{name} IN ({', '.join('?' * len(among))})")
            values += [inf if name == "epsilon" and item is None else item for item in among]
        query = f"SELECT * FROM runs WHERE {' AND '.join(conditions)} ORDER BY {', '.join(_KEY)}"
        with closing(self._connection.execute(query, values)) as rows:
            found = [RunRecord(**dict(zip(_COLUMNS, row, strict=True))) for row in rows]
        return [replace(record, epsilon=_budget(record.epsilon)) for record in found]

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _budget(epsilon: float | None) -> float | None:
    """Return epsilon as a record has it: None for infinity."""
    return None if epsilon == inf else epsilon
