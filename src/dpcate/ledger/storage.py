"""Where a ledger is kept: a SQLite file, or a PostgreSQL database for several users, through the same code.

Every change is one transaction that holds a lock from its first read, and that is on disk when it ends. What the
database refuses becomes one line.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from dpcate.errors import LedgerError, NotAvailableError, ParameterError
from dpcate.ledger.entry import DataSet, LedgerEntry

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Storage"]

_SECONDS_TO_WAIT = 60.0
_LOCK = 0x6470_6361  # any number that the users of one server agree on

_TABLES = sa.MetaData()
_DATASETS = sa.Table(
    "dpcate_datasets",
    _TABLES,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("format", sa.Integer, nullable=False),
    sa.Column("budget_json", sa.Text, nullable=False),
    sa.Column("created", sa.Text, nullable=False),
    sa.Column("head", sa.Text, nullable=False),
    sa.Column("count", sa.Integer, nullable=False),
)
_ENTRIES = sa.Table(
    "dpcate_entries",
    _TABLES,
    sa.Column("dataset", sa.Text, sa.ForeignKey("dpcate_datasets.name"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("recorded", sa.Text, nullable=False),
    sa.Column("what", sa.Text, nullable=False),
    sa.Column("guarantee_json", sa.Text, nullable=False),
    sa.Column("options_json", sa.Text, nullable=False),
    sa.Column("previous", sa.Text, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
)


class Storage:
    """The tables of one ledger.

    Parameters
    ----------
    where
        Path of a SQLite file, or the URL of a PostgreSQL database. A password in it is never shown.
    """

    def __init__(self, where: str | Path) -> None:
        url = _url(where)
        self._file = Path(url.database or "").absolute() if url.get_backend_name() == "sqlite" else None
        self.label = str(where) if "://" not in str(where) else url.render_as_string(hide_password=True)
        self.engine = _postgresql(url) if self._file is None else _sqlite(self._file)

    def make(self) -> None:
        """Make the tables where there are none yet."""
        with self._plainly():
            if self._file is not None and not self._file.exists():
                self._file.touch()  # to SQLite, a database without tables
            with self._begun("BEGIN IMMEDIATE", f"SELECT pg_advisory_xact_lock({_LOCK})") as connection:
                _TABLES.create_all(connection)
                connection.commit()

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """Open a transaction that changes the ledger; it is on disk when the block has ended without an error."""
        with self._plainly(), self._begun("BEGIN IMMEDIATE", "SET LOCAL synchronous_commit TO on") as connection:
            self._check_made(connection)
            yield connection
            connection.commit()

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Open a transaction that sees one state of the ledger and changes nothing."""
        with (
            self._plainly(),
            self._begun("BEGIN", "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY") as connection,
        ):
            self._check_made(connection)
            yield connection

    @contextmanager
    def _begun(self, on_sqlite: str, on_postgresql: str) -> Iterator[sa.Connection]:
        if self._file is not None and not self._file.exists():
            raise self._not_made()
        with self.engine.connect() as connection:
            connection.exec_driver_sql(on_postgresql if self._file is None else on_sqlite)
            yield connection

    @contextmanager
    def _plainly(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as problem:
            reason = str(problem.orig).strip().split("\n", maxsplit=1)[0]
            raise LedgerError(f"The ledger {self.label} cannot be used: {reason}.") from problem
        except (SQLAlchemyError, OSError) as problem:
            reason = getattr(problem, "strerror", None) or type(problem).__name__
            raise LedgerError(f"The ledger {self.label} cannot be used: {reason}.") from problem

    def _check_made(self, connection: sa.Connection) -> None:
        if not sa.inspect(connection).has_table(_DATASETS.name):
            raise self._not_made()

    def _not_made(self) -> LedgerError:
        return LedgerError(f"There is no ledger at {self.label}; make one with `dpcate ledger create`.")

    def names(self, connection: sa.Connection) -> list[str]:
        """Return the names of the data sets, in their order of creation."""
        return list(connection.scalars(sa.select(_DATASETS.c.name).order_by(_DATASETS.c.created, _DATASETS.c.name)))

    def dataset(self, connection: sa.Connection, name: str, *, lock: bool = False) -> DataSet | None:
        """Return a data set; with ``lock`` nobody else can change it until the transaction has ended."""
        query = sa.select(_DATASETS).where(_DATASETS.c.name == name)
        row = connection.execute(query.with_for_update() if lock else query).mappings().first()
        return None if row is None else DataSet(**dict(row))

    def entries(self, connection: sa.Connection, name: str) -> list[LedgerEntry]:
        """Return the entries of a data set, oldest first."""
        query = sa.select(_ENTRIES).where(_ENTRIES.c.dataset == name).order_by(_ENTRIES.c.number)
        return [LedgerEntry(**dict(row)) for row in connection.execute(query).mappings()]

    def add_dataset(self, connection: sa.Connection, dataset: DataSet) -> None:
        """Add a data set."""
        connection.execute(sa.insert(_DATASETS).values(asdict(dataset)))

    def add_entry(self, connection: sa.Connection, entry: LedgerEntry) -> None:
        """Add an entry and move the head of its data set to it."""
        connection.execute(sa.insert(_ENTRIES).values(asdict(entry)))
        moved = sa.update(_DATASETS).where(_DATASETS.c.name == entry.dataset)
        connection.execute(moved.values(head=entry.hash, count=entry.number))

    def strays(self, connection: sa.Connection) -> list[str]:
        """Return the names that entries give and no data set has."""
        known = sa.select(_DATASETS.c.name)
        query = sa.select(_ENTRIES.c.dataset).where(_ENTRIES.c.dataset.not_in(known)).distinct()
        return list(connection.scalars(query.order_by(_ENTRIES.c.dataset)))

    def damage(self, connection: sa.Connection) -> list[str]:
        """Return what SQLite's own check finds wrong with the file; PostgreSQL keeps its own checksums."""
        if self._file is None:
            return []
        found = [str(row[0]) for row in connection.exec_driver_sql("PRAGMA quick_check")]
        return [f"the file is damaged: {line}" for line in found if line != "ok"]


def _url(where: str | Path) -> sa.URL:
    """Return the address of a ledger; a text without ``://`` is a path."""
    if "://" not in str(where):
        return sa.URL.create("sqlite", database=str(where))
    try:
        url = sa.make_url(str(where))
    except (ArgumentError, ValueError):
        raise ParameterError("A ledger's URL must read like postgresql://user:password@host:5432/database.") from None
    if url.drivername in ("postgresql", "postgres", "postgresql+psycopg"):
        return url.set(drivername="postgresql+psycopg")
    if url.drivername == "sqlite" and url.database:
        return url
    raise ParameterError(f"A ledger is a SQLite file or a PostgreSQL database; got {url.drivername!r}.")


def _sqlite(file: Path) -> sa.Engine:
    address = f"{file.as_uri()}?mode=rw"  # never makes a file: a wrong path must not look like a new ledger

    def connect() -> sqlite3.Connection:
        made = sqlite3.connect(address, uri=True, timeout=_SECONDS_TO_WAIT, isolation_level=None)
        made.execute("PRAGMA synchronous = EXTRA")  # FULL, and the folder is on disk before a commit returns
        made.execute("PRAGMA foreign_keys = ON")
        return made

    return sa.create_engine("sqlite://", creator=connect, poolclass=NullPool)


def _postgresql(url: sa.URL) -> sa.Engine:
    try:
        return sa.create_engine(url, poolclass=NullPool, isolation_level="READ COMMITTED")
    except ImportError:
        raise NotAvailableError("A ledger on PostgreSQL needs a driver: pip install 'dpcate[postgres]'.") from None
