"""The files in which Spark's executors keep encoded rows: private, checked, replaced when lost, gone in the end."""

import os
import shutil
import time

import numpy as np
import pytest
from tests.backends.conftest import SCHEMA, fit
from tests.backends.spark_session import disk_fixture, frame_fixture, spark_fixture, union  # noqa: F401 - fixtures

from dpcate import MultiStage, Stage
from dpcate.errors import TableError, TransformationError
from dpcate.tables import open_table

pytest.importorskip("pyspark", reason='Spark is not installed: pip install "dpcate[spark]"')
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java, which is not installed"),
]


def files(folder):
    """The files of encoded rows, or those left of an earlier fit."""
    return sorted(path for path in folder.glob("**/dpcate-*/*") if path.is_file())


def folders(folder):
    return list(folder.glob("**/dpcate-*"))


def numbered():
    """A pass whose totals depend on every row's number and values; a closure, so that it travels by value."""

    def work(first, rows):
        values = rows.codes.astype(np.int64).sum(axis=1) + 7 * rows.T + (1000 * rows.Y).astype(np.int64)
        numbers = np.arange(first, first + len(rows)) % 1009
        return [np.array([len(rows), int((numbers * values).sum())], dtype=np.int64)]

    return work


def totals(source):
    return [array.tolist() for array in source.total(numbered())]


def cut_short(path):
    os.truncate(path, os.path.getsize(path) - 1)


def change(path):
    with open(path, "r+b") as file:
        first = file.read(1)
        file.seek(0)
        file.write(bytes([first[0] ^ 1]))


def swap_in_link(path):
    os.rename(path, f"{path}-moved")
    os.symlink(f"{path}-moved", path)


@pytest.fixture
def source(frame):
    return open_table(union(frame[0]), SCHEMA)


def test_an_encrypting_session_is_recognised():
    from dpcate.tables.spark_settings import encrypts_disks

    class Session:
        def __init__(self, **settings):
            self.conf = {name.replace("_", "."): value for name, value in settings.items()}
            self.conf = type("Conf", (), {"get": staticmethod(self.conf.__getitem__)})

    assert encrypts_disks(Session(spark_io_encryption_enabled="true"))
    assert not encrypts_disks(Session(spark_io_encryption_enabled="false"))
    assert not encrypts_disks(Session())


def test_only_the_owner_may_read_the_files(source, disk):
    assert source.n_rows == 150_000
    assert len(files(disk)) == 4
    assert {path.stat().st_mode & 0o777 for path in files(disk)} == {0o600}
    assert {path.parent.stat().st_mode & 0o777 for path in files(disk)} == {0o700}


@pytest.mark.parametrize("damage", [os.unlink, cut_short, change, swap_in_link])
def test_a_file_that_is_not_as_it_was_is_encoded_again(source, disk, table, damage):
    expected = totals(open_table(table, SCHEMA))
    if damage is not os.unlink:  # others when the executors have read the file and trust it
        assert totals(source) == expected
    harmed = files(disk)[:2]
    for path in harmed:
        damage(path)
    assert totals(source) == expected
    assert len(source._moved) == 2
    assert all(os.path.isfile(path) for path in source._moved.values())
    before = dict(source._moved)
    assert totals(source) == expected
    assert source._moved == before, "the new files serve the next pass"


def test_all_rows_can_be_held_when_files_are_lost(source, disk, table):
    expected = open_table(table, SCHEMA).held()
    files(disk)[1].unlink()
    rows = source.held()
    assert np.array_equal(rows.codes, expected.codes)
    assert np.array_equal(rows.Y, expected.Y)
    assert np.array_equal(rows.T, expected.T)
    assert np.array_equal(rows.active, expected.active)


def test_a_fit_whose_files_all_vanish_after_every_pass_gives_the_same_bits(frame, expected, disk, monkeypatch):
    from dpcate.tables.spark_rows import SparkRows

    asked, harmed = SparkRows._answers, []

    def vanishing(self, visit):
        harmed.extend(files(disk))
        for path in files(disk):
            path.unlink()
        return asked(self, visit)

    monkeypatch.setattr(SparkRows, "_answers", vanishing)
    assert fit(union(frame[0]), "split") == expected["split", "replace"]
    assert len(harmed) >= 8


def test_rows_that_come_back_in_another_order_are_refused(spark, table, tmp_path, disk):
    """A file of the table is rewritten during the fit, and then its encoded rows are lost."""
    import pyarrow.parquet as pq

    path = str(tmp_path / "part.parquet")
    pq.write_table(table.slice(0, 2_000), path)
    source = open_table(spark.read.parquet(path), SCHEMA)
    before = totals(source)
    shuffled = np.random.default_rng(0).permutation(2_000)
    pq.write_table(table.slice(0, 2_000).take(shuffled), path)
    spark.catalog.refreshByPath(path)
    assert before == totals(open_table(table.slice(0, 2_000), SCHEMA))
    for file in files(disk):
        file.unlink()
    with pytest.raises(TableError, match="another order"):
        source.total(numbered())


def test_no_files_are_left_after_a_fit(frame, disk):
    fit(union(frame[0]))
    assert folders(disk) == []


def test_no_files_are_left_after_a_fit_that_fails_in_a_pass(source, disk):
    def failing(first, rows):
        if len(rows):
            raise ValueError(f"outcome {rows.Y[0]} of 987654")
        return [np.zeros(1, dtype=np.int64)]

    assert len(files(disk)) == 4
    with pytest.raises(TableError) as caught:
        source.total(failing)
    assert "987654" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert folders(disk) == []


def test_no_files_are_left_after_a_fit_that_fails_in_the_first_pass(frame, disk):
    whole = union(frame[0])

    def failing(batches):
        for k, batch in enumerate(batches):
            yield batch
            if k == 2:
                time.sleep(1)  # until other partitions have written something
                raise ValueError("could not convert string to float: 'HIV John'")

    with pytest.raises(TableError) as caught:
        fit(whole.mapInArrow(failing, whole.schema))
    assert "John" not in str(caught.value)
    until = time.monotonic() + 10
    while folders(disk) and time.monotonic() < until:  # tasks that Spark is about to kill
        time.sleep(0.1)
    assert folders(disk) == []


def test_a_disk_that_cannot_be_written_is_refused_in_so_many_words(frame, monkeypatch):
    from dpcate.tables import spark_rows

    encoder = spark_rows.encoder

    def nowhere(*given):
        inner = encoder(*given)

        def task(batches):
            os.environ["SPARK_LOCAL_DIRS"], before = "/dev/null", os.environ["SPARK_LOCAL_DIRS"]
            try:
                yield from inner(batches)
            finally:
                os.environ["SPARK_LOCAL_DIRS"] = before

        return task

    monkeypatch.setattr(spark_rows, "encoder", nowhere)
    with pytest.raises(TableError, match=r"spark\.local\.dir"):
        open_table(union(frame[0]), SCHEMA)


def test_where_disks_are_to_be_encrypted_no_file_is_written(frame, expected, disk, monkeypatch):
    from dpcate.tables import spark_rows

    seen = []
    asked = spark_rows.SparkRows._answers

    def looking(self, visit):
        found = asked(self, visit)
        seen.append(folders(disk))
        return found

    monkeypatch.setattr(spark_rows, "encrypts_disks", lambda session: True)
    monkeypatch.setattr(spark_rows.SparkRows, "_answers", looking)
    assert fit(union(frame[0])) == expected["shared", "replace"]
    assert len(seen) >= 5
    assert not any(seen)


def test_spark_s_limits_are_as_they_were_after_a_fit(spark, frame):
    name = "spark.sql.execution.arrow.maxBytesPerBatch"
    spark.conf.set(name, "12345678")
    try:
        fit(union(frame[0]))
        assert spark.conf.get(name) == "12345678"
    finally:
        spark.conf.unset(name)


def test_files_go_when_a_fit_fails_even_if_its_error_is_kept(frame, disk):
    """As a notebook keeps it, and with it everything that was alive where it was raised."""

    def broken(rows, released):
        raise ValueError

    learner = MultiStage(SCHEMA, [Stage(name="effect", target=broken, bounds=lambda *_: (-1, 1))])
    with pytest.raises(TransformationError) as kept:
        learner.fit_table(union(frame[0]))
    assert kept.value is not None
    assert folders(disk) == []


def test_two_fits_at_once_put_the_limit_of_a_batch_back(frame):
    """The one in force: whether somebody had set it before is not told apart from Spark's own."""
    from dpcate.tables.spark_settings import _setting, batches_by_rows

    name = "spark.sql.execution.arrow.maxBytesPerBatch"
    session = union(frame[0]).sparkSession
    before = _setting(session, name)
    one, other = batches_by_rows(session), batches_by_rows(session)
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    during = _setting(session, name)
    other.__exit__(None, None, None)
    assert _setting(session, name) == before
    assert before is None or during != before
