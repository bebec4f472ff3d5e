"""The store: what goes in comes out, once, and a damaged or foreign file is refused."""

import sqlite3
from dataclasses import replace

import numpy as np
import pytest

from dpcate.errors import DocumentError, ParameterError
from dpcate.experiments.record import RunRecord
from dpcate.experiments.store import RunStore

RECORD = RunRecord(
    study="A",
    n=500,
    epsilon=1.0,
    learner="R",
    model="additive",
    plan="shared",
    replicate=0,
    seed=2**63 - 1,
    status="ok",
    error=None,
    seconds=0.1,
    mse=0.25,
    points=np.array([0.5, -1.5], dtype="<f4").tobytes(),
    versions="{}",
    finished="2024-01-01T00:00:00+00:00",
)
FAILED = replace(RECORD, replicate=1, status="failed", error="ValueError", mse=None, points=b"")
WITHOUT = replace(RECORD, epsilon=None)


@pytest.fixture
def store(tmp_path):
    with RunStore(tmp_path / "folder" / "runs.db") as opened:
        yield opened


def test_records_come_back_as_they_went_in_also_after_reopening(store):
    store.add([RECORD, FAILED, WITHOUT])
    with RunStore(store.path) as again:
        assert again.records() == [RECORD, FAILED, WITHOUT]
        assert again.records()[0].predictions.tolist() == [0.5, -1.5]


def test_what_is_done_includes_failures_and_runs_without_privacy(store):
    store.add([FAILED, WITHOUT])
    assert store.done() == {FAILED.key, WITHOUT.key}
    assert WITHOUT.key[2] is None


def test_a_run_is_recorded_once_and_a_second_try_changes_nothing(store):
    store.add([WITHOUT])
    with pytest.raises(ParameterError, match="already recorded"):
        store.add([replace(WITHOUT, mse=9.0)])
    assert store.records() == [WITHOUT]


def test_each_record_is_a_transaction_of_its_own(store):
    with pytest.raises(ParameterError):
        store.add([RECORD, RECORD, FAILED])
    assert store.records() == [RECORD]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"epsilon": None}, [WITHOUT]),
        ({"epsilon": (None, 1.0), "status": "ok"}, [RECORD, WITHOUT]),
        ({"status": "failed"}, [FAILED]),
        ({"study": "B"}, []),
    ],
)
def test_records_are_chosen_by_their_columns(store, wanted, found):
    store.add([RECORD, FAILED, WITHOUT])
    assert store.records(**wanted) == found


def test_an_unknown_column_is_refused(store):
    with pytest.raises(ParameterError, match="no column 'drop'"):
        store.records(drop="runs")


def test_a_file_that_is_no_store_is_refused_and_left_as_it_was(tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("not a database, but long enough to be read as one" * 50)
    before = text.read_bytes()
    with pytest.raises(DocumentError, match=r"notes\.txt"):
        RunStore(text)
    assert text.read_bytes() == before


def test_a_database_with_another_table_of_runs_is_refused(tmp_path):
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE runs (a, b)")
    connection.close()
    with pytest.raises(DocumentError):
        RunStore(path)
