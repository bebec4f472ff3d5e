"""The ledger itself: create a budget, reserve a spend, look, verify.

A spend is on disk before ``reserve`` returns, so whoever draws noise only afterwards can never release more than the
ledger knows, whatever crashes.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Self

from dpcate.accounting import EpsilonDelta, Guarantee, Neighbours, check_neighbours
from dpcate.accounting.parameters import check_nonnegative, check_probability
from dpcate.errors import DpcateError, LedgerError, ParameterError
from dpcate.ledger.chain import chain_problems, new_dataset, next_entry
from dpcate.ledger.entry import DataSet, LedgerEntry, canonical, check_text
from dpcate.ledger.status import LedgerStatus, exceeds, over_budget
from dpcate.ledger.storage import Storage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from sqlalchemy import Connection

__all__ = ["Ledger"]


class Ledger:
    """Budgets of data sets and what was spent of them, safe against crashes and against several users at once.

    Parameters
    ----------
    storage : Storage
        Where the ledger is kept; use :meth:`open`.

    Examples
    --------
    >>> import tempfile
    >>> from dpcate.accounting import Gaussian
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger.open(f"{folder.name}/ledger.sqlite")
    >>> ledger.create("trial", epsilon=2.0, delta=1e-5, neighbours="replace")
    >>> cost = Guarantee(Gaussian(0.2), "replace")
    >>> entry = ledger.reserve("trial", cost, what="effect of the letter")
    >>> status = ledger.status("trial")
    >>> round(status.spent_epsilon, 3), round(status.left_epsilon, 3)
    (0.726, 1.816)
    >>> ledger.verify()
    []
    >>> folder.cleanup()
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    @classmethod
    def open(cls, where: str | Path) -> Self:
        """Return the ledger at a path (SQLite) or URL (PostgreSQL); nothing is read or made yet."""
        return cls(Storage(where))

    @property
    def label(self) -> str:
        """Where the ledger is, without a password."""
        return self._storage.label

    def create(self, dataset: str, *, epsilon: float, delta: float, neighbours: Neighbours) -> None:
        """Enter a data set with its whole budget, which cannot be changed afterwards; make the ledger if need be."""
        level = check_nonnegative("epsilon", epsilon)
        if level == 0.0:
            raise ParameterError(f"`epsilon` must be a positive finite number; got {epsilon!r}.")
        f = EpsilonDelta(level, check_probability("delta", delta, open_ends=True))
        made = new_dataset(check_text("dataset", dataset), Guarantee(f, check_neighbours(neighbours)))
        self._storage.make()
        with self._storage.writing() as connection:
            if self._storage.dataset(connection, dataset) is not None:
                raise LedgerError(f"The ledger {self.label} has a data set {dataset!r} already; its budget stays.")
            self._storage.add_dataset(connection, made)

    def datasets(self) -> list[str]:
        """Return the names of the data sets."""
        with self._storage.reading() as connection:
            return self._storage.names(connection)

    def status(self, dataset: str) -> LedgerStatus:
        """Return what is spent and left of a data set's budget."""
        with self._storage.reading() as connection:
            record = self._known(connection, dataset)
            entries = self._storage.entries(connection, dataset)
        return LedgerStatus.of(record, entries, chain_problems(record, entries))

    def reserve(
        self, dataset: str, guarantee: Guarantee, *, what: str, options: Mapping[str, Any] | None = None
    ) -> LedgerEntry:
        """Spend ``guarantee``, before anything is computed from the rows.

        **Privacy.** The entry is on disk when this returns. What is released afterwards must cost no more than
        ``guarantee``. ``what`` and ``options`` are stored as they are: nothing in them may come from the table. A
        spend is never given back, not even if the run fails (``docs/ledger.md``).

        Parameters
        ----------
        dataset : str
            A name that :meth:`create` was given.
        guarantee : Guarantee
            The most that the release will cost, e.g. ``learner.planned_cost()``. A void one counts in full.
        what : str
            What is asked for, in one line.
        options : mapping, optional
            The learner's options, as JSON values.

        Raises
        ------
        BudgetError
            If all entries and this one together would cost more than the budget; nothing is spent then.
        LedgerError
            If the data set is unknown, has another neighbour relation, was tampered with, or cannot be written.
        """
        check_text("what", what)
        stored = canonical(guarantee.to_dict())
        counted = Guarantee.from_dict(json.loads(stored))  # what is stored is what counts
        with self._storage.writing() as connection:
            record = self._known(connection, dataset, lock=True)
            entries = self._storage.entries(connection, dataset)
            self._check_sound(record, entries)
            _check_relation(record, counted)
            if exceeds(record, [*(entry.guarantee for entry in entries), counted]):
                raise over_budget(LedgerStatus.of(record, entries, ()), counted)
            entry = next_entry(record, stored, what, options or {})
            self._storage.add_entry(connection, entry)
        return entry

    def verify(self, *, seen: Iterable[str] = ()) -> list[str]:
        """Return every sign of tampering or damage, nothing if the ledger is sound.

        Of a damaged file nothing else is said: what a broken page seems to hold may be anything.

        Parameters
        ----------
        seen : iterable of str
            Hashes that were noted elsewhere, e.g. of heads; each must still be there. This is what shows that the
            whole ledger was replaced by an older copy.
        """
        with self._storage.reading() as connection:
            damage = self._storage.damage(connection)
            if damage:
                return damage
            problems, hashes = [], set()
            for name in self._storage.names(connection):
                record = self._known(connection, name)
                entries = self._storage.entries(connection, name)
                problems += chain_problems(record, entries) or _spending_problems(record, entries)
                hashes |= {record.first_hash, *(entry.hash for entry in entries)}
            strays = self._storage.strays(connection)
        problems += [f"data set {name!r}: there are entries, but the budget is gone." for name in strays]
        lost = [value for value in seen if value not in hashes]
        return problems + [
            f"no entry has the noted hash {value}: the ledger is not the one that had it." for value in lost
        ]

    def _known(self, connection: Connection, name: str, *, lock: bool = False) -> DataSet:
        record = self._storage.dataset(connection, name, lock=lock)
        if record is None:
            raise LedgerError(f"The ledger {self.label} has no data set {name!r}; `dpcate ledger create` enters one.")
        return record

    def _check_sound(self, record: DataSet, entries: list[LedgerEntry]) -> None:
        problems = chain_problems(record, entries)
        if problems:
            raise LedgerError(f"The ledger {self.label} does not verify, so nothing may be spent: {problems[0]}")


def _check_relation(record: DataSet, guarantee: Guarantee) -> None:
    relation = record.budget.neighbours
    if guarantee.neighbours != relation:
        raise LedgerError(
            f"The budget of data set {record.name!r} is for neighbours = {relation!r}; "
            f"the request is for {guarantee.neighbours!r}."
        )


def _spending_problems(record: DataSet, entries: list[LedgerEntry]) -> list[str]:
    """Return what is wrong with the amounts of a chain that is sound."""
    try:
        over = exceeds(record, [entry.guarantee for entry in entries])
    except DpcateError as problem:
        return [f"data set {record.name!r}: {problem}"]
    return [f"data set {record.name!r}: the entries together exceed the budget."] if over else []
