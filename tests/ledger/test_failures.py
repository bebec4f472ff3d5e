"""Files that cannot be read or written: one clear line, nothing spent."""

import os
import resource
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from dpcate.accounting import Gaussian, Guarantee
from dpcate.errors import LedgerError
from dpcate.ledger import Ledger
from dpcate.ledger.storage import Storage

COST = Guarantee(Gaussian(0.01), "replace")
NOBODY = 65534


@pytest.fixture
def folder():
    """A folder that every account may enter, which tmp_path is not."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


@pytest.fixture
def path(folder):
    path = folder / "ledger.sqlite"
    ledger = Ledger.open(path)
    ledger.create("trial", epsilon=2.0, delta=1e-5, neighbours="replace")
    ledger.reserve("trial", COST, what="first")
    return path


@contextmanager
def without_root():
    """Root may write to everything: be nobody for a while."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(before)


def check_nothing_was_spent(path):
    ledger = Ledger.open(path)
    assert [entry.what for entry in ledger.status("trial").entries] == ["first"]
    assert ledger.verify() == []


def test_a_file_that_is_read_only_can_be_shown_but_not_spent_from(path):
    path.chmod(0o444)
    path.parent.chmod(0o555)
    with without_root():
        ledger = Ledger.open(path)
        assert len(ledger.status("trial").entries) == 1
        with pytest.raises(LedgerError, match=r"cannot be used: attempt to write a readonly database\.$"):
            ledger.reserve("trial", COST, what="second")
    path.parent.chmod(0o755)
    check_nothing_was_spent(path)


def test_a_file_that_may_not_be_read_is_an_error(path):
    path.chmod(0o000)
    with without_root(), pytest.raises(LedgerError, match="cannot be used: unable to open database file"):
        Ledger.open(path).status("trial")


def test_a_folder_that_may_not_be_written_is_an_error_that_leaves_nothing(folder):
    folder.chmod(0o555)
    with without_root(), pytest.raises(LedgerError, match="cannot be used: Permission denied"):
        Ledger.open(folder / "ledger.sqlite").create("trial", epsilon=1.0, delta=1e-5, neighbours="replace")
    folder.chmod(0o755)
    assert list(folder.iterdir()) == []


def test_a_full_disk_is_an_error_and_nothing_is_spent(path):
    storage = Storage(path)
    # SQLite then meets the same error as on a disk without space
    sa.event.listen(storage.engine, "connect", lambda made, _: made.execute("PRAGMA max_page_count = 1"))
    with pytest.raises(LedgerError, match=r"cannot be used: database or disk is full\.$"):
        Ledger(storage).reserve("trial", COST, what="large", options={"note": "x" * 50_000})
    check_nothing_was_spent(path)


def test_a_file_that_may_not_grow_is_an_error_and_nothing_is_spent(path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, hard))
    try:
        with pytest.raises(LedgerError, match=r"cannot be used: (disk I/O error|database or disk is full)"):
            Ledger.open(path).reserve("trial", COST, what="large", options={"note": "x" * 50_000})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    check_nothing_was_spent(path)


def test_a_busy_ledger_is_an_error(path, monkeypatch):
    monkeypatch.setattr("dpcate.ledger.storage._SECONDS_TO_WAIT", 0.05)
    with Storage(path).writing(), pytest.raises(LedgerError, match="cannot be used: database is locked"):
        Ledger.open(path).reserve("trial", COST, what="second")
    check_nothing_was_spent(path)


@pytest.mark.parametrize("content", [b"name,age\nAnn,40\n" * 100, b""], ids=["another file", "an empty file"])
def test_a_file_that_is_no_ledger_is_an_error_and_stays_as_it_is(folder, content):
    path = folder / "table.csv"
    path.write_bytes(content)
    with pytest.raises(LedgerError, match=r"There is no ledger at|cannot be used: file is not a database"):
        Ledger.open(path).reserve("trial", COST, what="first")
    assert path.read_bytes() == content
    if content:
        with pytest.raises(LedgerError, match="file is not a database"):
            Ledger.open(path).create("trial", epsilon=1.0, delta=1e-5, neighbours="replace")
        assert path.read_bytes() == content


def test_a_damaged_file_is_found(path):
    content = bytearray(path.read_bytes())
    content[4096 + 8 : 4096 + 400] = b"\xff" * 392
    path.write_bytes(content)
    try:
        problems = Ledger.open(path).verify()
    except LedgerError as problem:
        problems = [str(problem)]
    assert problems
    assert "malformed" in problems[0] or "damaged" in problems[0]


def test_nothing_is_read_from_a_damaged_file(path, monkeypatch):
    """SQLite may give rows of nothing from a broken page, depending on what memory holds beyond it."""
    found = ["the file is damaged: On tree page 2 cell 0: Offset 65535 out of range 3850..4092"]
    monkeypatch.setattr(Storage, "damage", lambda *_: found)
    monkeypatch.setattr(Storage, "names", lambda *_: [None])
    assert Ledger.open(path).verify() == found


def test_spends_are_on_disk_when_they_are_promised(path):
    with Storage(path).engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 3
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "delete"


def test_a_server_whose_commits_are_lazy_is_told_to_wait(postgresql):
    Ledger.open(postgresql).create("trial", epsilon=2.0, delta=1e-5, neighbours="replace")
    storage = Storage(f"{postgresql}%20-csynchronous_commit%3Doff")
    with storage.engine.connect() as connection:
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "off"
    with storage.writing() as connection:
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"
