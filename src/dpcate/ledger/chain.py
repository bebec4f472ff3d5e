"""Whether a data set's entries are the ones that were written, all of them and in order.

Whoever can write to the ledger and knows this format can rewrite all of it; a hash that was noted elsewhere shows
that too (``docs/ledger.md``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dpcate.ledger.entry import FORMAT, DataSet, LedgerEntry, canonical, now

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from dpcate.accounting import Guarantee

__all__ = ["chain_problems", "new_dataset", "next_entry"]


def new_dataset(name: str, budget: Guarantee) -> DataSet:
    """Return a data set without entries, whose head is its own first hash."""
    budget_json = canonical(budget.to_dict())
    made = DataSet(name=name, format=FORMAT, budget_json=budget_json, created=now(), head="", count=0)
    return replace(made, head=made.first_hash)


def next_entry(dataset: DataSet, guarantee_json: str, what: str, options: Mapping[str, Any]) -> LedgerEntry:
    """Return the entry that follows the head of ``dataset``."""
    made = LedgerEntry(
        dataset=dataset.name,
        number=dataset.count + 1,
        recorded=now(),
        what=what,
        guarantee_json=guarantee_json,
        options_json=canonical(dict(options)),
        previous=dataset.head,
    )
    return replace(made, hash=made.own_hash())


def chain_problems(dataset: DataSet, entries: Sequence[LedgerEntry]) -> list[str]:
    """Return what is wrong with the entries of a data set, in the order of their numbers; nothing if they are sound."""
    name = f"data set {dataset.name!r}"
    if dataset.format != FORMAT:
        return [f"{name}: was written in format {dataset.format}; this version reads format {FORMAT}."]
    problems = []
    previous = dataset.first_hash
    for position, entry in enumerate(entries, start=1):
        if entry.number != position:
            problems.append(f"{name}: entry {position} is missing, or entries were renumbered.")
            break
        if entry.own_hash() != entry.hash:
            problems.append(f"{name}: entry {position} was changed after it was written.")
        if entry.previous != previous:
            before = "the budget" if position == 1 else f"entry {position - 1}"
            problems.append(f"{name}: entry {position} does not follow {before} as it now reads.")
        previous = entry.hash
    if dataset.count != len(entries):
        problems.append(f"{name}: {dataset.count} entries were written; {len(entries)} are there.")
    elif dataset.head != previous and not problems:
        problems.append(f"{name}: the last entry, or the budget, is not the one that was written last.")
    return problems
