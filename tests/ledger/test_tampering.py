"""Every change of what was written is found, by ``verify`` and before the next spend."""

import dataclasses
import json
import sqlite3
from contextlib import closing

import pytest
import sqlalchemy as sa

from dpcate.accounting import Gaussian, Guarantee
from dpcate.errors import LedgerError
from dpcate.ledger import Ledger
from dpcate.ledger.entry import LedgerEntry, canonical
from dpcate.ledger.storage import Storage

SMALL = canonical(Guarantee(Gaussian(0.001), "replace").to_dict())
BIG = canonical(Guarantee(Gaussian(0.6), "replace").to_dict())


@pytest.fixture
def spent(ledger):
    for number in range(1, 4):
        ledger.reserve("trial", Guarantee(Gaussian(0.1), "replace"), what=f"fit {number}", options={"number": number})
    assert ledger.verify() == []
    return ledger


def edit(where, *statements):
    """Change the database behind the ledger's back."""
    with Storage(where).engine.connect() as connection:
        for statement, values in statements:
            connection.execute(sa.text(statement), values)
        connection.commit()


EDITS = {
    "an amount": [("UPDATE dpcate_entries SET guarantee_json = :new WHERE number = 2", {"new": SMALL})],
    "the last amount": [("UPDATE dpcate_entries SET guarantee_json = :new WHERE number = 3", {"new": SMALL})],
    "a flag": [
        ("UPDATE dpcate_entries SET guarantee_json = replace(guarantee_json, :old, :new) WHERE number = 1",
         {"old": '"void":false', "new": '"void":true'}),
    ],
    "what was asked for": [("UPDATE dpcate_entries SET what = 'nothing' WHERE number = 1", {})],
    "the options": [("UPDATE dpcate_entries SET options_json = '{}' WHERE number = 1", {})],
    "the time": [("UPDATE dpcate_entries SET recorded = '2020-01-01T00:00:00+00:00' WHERE number = 1", {})],
    "a middle entry deleted": [("DELETE FROM dpcate_entries WHERE number = 2", {})],
    "a middle entry deleted and the rest renumbered": [
        ("DELETE FROM dpcate_entries WHERE number = 2", {}),
        ("UPDATE dpcate_entries SET number = 2 WHERE number = 3", {}),
        ("UPDATE dpcate_datasets SET count = 2", {}),
    ],
    "the first entry deleted": [("DELETE FROM dpcate_entries WHERE number = 1", {})],
    "the last entry deleted": [("DELETE FROM dpcate_entries WHERE number = 3", {})],
    "the last entry deleted and the count lowered": [
        ("DELETE FROM dpcate_entries WHERE number = 3", {}),
        ("UPDATE dpcate_datasets SET count = 2", {}),
    ],
    "all entries deleted": [("DELETE FROM dpcate_entries", {}), ("UPDATE dpcate_datasets SET count = 0", {})],
    "two entries reordered": [
        ("UPDATE dpcate_entries SET number = 9 WHERE number = 1", {}),
        ("UPDATE dpcate_entries SET number = 1 WHERE number = 2", {}),
        ("UPDATE dpcate_entries SET number = 2 WHERE number = 9", {}),
    ],
    "the budget": [
        ("UPDATE dpcate_datasets SET budget_json = replace(budget_json, :old, :new)",
         {"old": '"epsilon":2.0', "new": '"epsilon":9.0'}),
    ],
    "the head": [("UPDATE dpcate_datasets SET head = 'abc'", {})],
    "the format": [("UPDATE dpcate_datasets SET format = 7", {})],
}  # fmt: skip


@pytest.mark.parametrize("change", EDITS)
def test_a_change_is_found_and_stops_spending(where, spent, change):
    before = spent.status("trial").entries, spent.status("trial").budget
    edit(where, *EDITS[change])
    problems = spent.verify()
    assert problems
    assert all("data set 'trial'" in problem for problem in problems)
    assert spent.status("trial").problems
    with pytest.raises(LedgerError, match="does not verify"):
        spent.reserve("trial", Guarantee(Gaussian(0.01), "replace"), what="next")
    after = spent.status("trial").entries, spent.status("trial").budget
    assert after != before or change in ("the head", "the format")


def test_a_budget_raised_before_the_first_spend_is_found(where, ledger):
    edit(where, *EDITS["the budget"])
    assert ledger.status("trial").budget_epsilon == 9.0
    assert len(ledger.verify()) == 1


def rewritten(entry, **changes):
    made = dataclasses.replace(entry, **changes)
    return dataclasses.replace(made, hash=made.own_hash())


def test_a_changed_entry_with_its_hash_made_new_is_found(where, spent):
    entry = rewritten(spent.status("trial").entries[1], guarantee_json=SMALL)
    values = {"text": entry.guarantee_json, "hash": entry.hash}
    edit(where, ("UPDATE dpcate_entries SET guarantee_json = :text, hash = :hash WHERE number = 2", values))
    assert spent.verify() == ["data set 'trial': entry 3 does not follow entry 2 as it now reads."]


@pytest.mark.parametrize(("text", "problem"), [(BIG, "exceed the budget"), ('{"kind":"x"}', "did not write")])
def test_an_entry_smuggled_in_with_right_hashes_is_found_if_it_breaks_the_budget(where, spent, text, problem):
    last = spent.status("trial").entries[2]
    made = rewritten(last, number=4, previous=last.hash, guarantee_json=text)
    columns = [field.name for field in dataclasses.fields(LedgerEntry)]
    insert = f"INSERT INTO dpcate_entries ({','.join(columns)}) VALUES ({','.join(':' + name for name in columns)})"
    head = "UPDATE dpcate_datasets SET head = :hash, count = 4"
    edit(where, (insert, dataclasses.asdict(made)), (head, {"hash": made.hash}))
    assert [problem in line for line in spent.verify()] == [True]


def test_entries_without_their_data_set_are_found(tmp_path):
    ledger = Ledger.open(tmp_path / "ledger.sqlite")
    ledger.create("trial", epsilon=2.0, delta=1e-5, neighbours="replace")
    ledger.reserve("trial", Guarantee(Gaussian(0.1), "replace"), what="fit")
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite", isolation_level=None)) as connection:
        connection.execute("DELETE FROM dpcate_datasets")  # this driver leaves foreign keys unchecked
    assert ledger.verify() == ["data set 'trial': there are entries, but the budget is gone."]


def test_a_field_of_another_type_is_found(tmp_path):
    ledger = Ledger.open(tmp_path / "ledger.sqlite")
    ledger.create("trial", epsilon=2.0, delta=1e-5, neighbours="replace")
    ledger.reserve("trial", Guarantee(Gaussian(0.1), "replace"), what="fit")
    edit(tmp_path / "ledger.sqlite", ("UPDATE dpcate_entries SET what = x'00ff', number = 1e300", {}))
    assert ledger.verify()


def test_an_older_copy_looks_intact_unless_a_later_hash_was_noted(tmp_path):
    path = tmp_path / "ledger.sqlite"
    ledger = Ledger.open(path)
    ledger.create("trial", epsilon=2.0, delta=1e-5, neighbours="replace")
    first = ledger.reserve("trial", Guarantee(Gaussian(0.1), "replace"), what="first")
    older = path.read_bytes()
    second = ledger.reserve("trial", Guarantee(Gaussian(0.1), "replace"), what="second")
    assert ledger.verify(seen=[first.hash, second.hash]) == []
    path.write_bytes(older)
    assert ledger.verify(seen=[first.hash]) == []
    assert [second.hash in problem for problem in ledger.verify(seen=[first.hash, second.hash])] == [True]


def test_nothing_but_what_was_asked_for_is_stored(where, spent):
    with Storage(where).engine.connect() as connection:
        columns = {
            table: {column["name"] for column in sa.inspect(connection).get_columns(table)}
            for table in sa.inspect(connection).get_table_names()
        }
    assert columns == {
        "dpcate_datasets": {"name", "format", "budget_json", "created", "head", "count"},
        "dpcate_entries": {field.name for field in dataclasses.fields(LedgerEntry)},
    }
    assert json.loads(spent.status("trial").entries[0].options_json) == {"number": 1}


def test_on_postgresql_a_clerk_may_spend_without_the_right_to_rewrite(postgresql):
    Ledger.open(postgresql).create("trial", epsilon=2.0, delta=1e-5, neighbours="replace")
    schema = postgresql.rpartition("%3D")[2]
    clerk = f"clerk_of_{schema}"
    rights = (
        f"CREATE ROLE {clerk} LOGIN",
        f"GRANT USAGE ON SCHEMA {schema} TO {clerk}",
        f"GRANT SELECT, INSERT ON dpcate_entries TO {clerk}",
        f"GRANT SELECT, UPDATE ON dpcate_datasets TO {clerk}",
    )
    edit(postgresql, *((statement, {}) for statement in rights))
    where = postgresql.replace("//ledger@", f"//{clerk}@")
    Ledger.open(where).reserve("trial", Guarantee(Gaussian(0.1), "replace"), what="fit")
    for statement in ("DELETE FROM dpcate_entries", "UPDATE dpcate_entries SET what = 'nothing'"):
        with pytest.raises(sa.exc.ProgrammingError, match="permission denied"):
            edit(where, (statement, {}))
    assert Ledger.open(where).verify() == []
