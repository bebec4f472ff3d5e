"""Files, folders, streams, spilled rows: the same seed gives the same bits, whatever the table's form."""

import os

import numpy as np
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.backends.conftest import N_ROWS, SCHEMA, fit

from dpcate import RLearner
from dpcate.errors import TableError
from dpcate.models import Ebm
from dpcate.tables import HeldRows, Rows, encode_table
from dpcate.tables.packing import joined, pack, packed_size, unpack
from dpcate.tables.stored import StoredRows
from dpcate.tables.streams import store_files, table_files

each_plan = pytest.mark.parametrize("plan", ["shared", "split"])
each_relation = pytest.mark.parametrize("neighbours", ["replace", "add_remove"])


@pytest.fixture(scope="module")
def files(table, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    pq.write_table(table, folder / "one.parquet", row_group_size=40_000)
    pyarrow.csv.write_csv(table, folder / "one.csv")
    for kind in ("parquet", "csv"):
        (folder / kind).mkdir()
        for k, start in enumerate(range(0, N_ROWS, 61_000)):
            part = table.slice(start, 61_000)
            name = folder / kind / f"part-{k}.{kind}"
            pq.write_table(part, name) if kind == "parquet" else pyarrow.csv.write_csv(part, name)
    (folder / "parquet" / "_SUCCESS.parquet").write_text("not a table")
    return folder


@each_plan
@each_relation
@pytest.mark.parametrize("form", ["one.parquet", "one.csv", "parquet", "csv"])
def test_files_and_folders_give_the_bits_of_the_table_in_memory(files, expected, form, plan, neighbours):
    assert fit(files / form, plan, neighbours) == expected[plan, neighbours]


def test_frames_of_all_libraries_and_streams_give_the_same_bits(table, expected):
    import polars as pl

    for form in (table.to_pandas(), pl.from_arrow(table), table.to_reader(max_chunksize=7_001)):
        assert fit(form) == expected["shared", "replace"]


@each_plan
@pytest.mark.parametrize("hold_at_most", [0, 10**6])
def test_rows_in_a_temporary_file_give_the_same_bits(files, expected, monkeypatch, hold_at_most, plan):
    monkeypatch.setattr(
        "dpcate.tables.opening.store_files", lambda path, schema: store_files(path, schema, hold_at_most=hold_at_most)
    )
    assert fit(files / "one.parquet", plan) == expected[plan, "replace"]


@each_plan
@pytest.mark.parametrize(("batch", "threads"), [(1_000, 1), (4_096, 3), (65_536, 2), (50_001, 4)])
def test_batches_and_threads_do_not_show(table, expected, monkeypatch, plan, batch, threads):
    monkeypatch.setattr(
        "dpcate.tables.opening.HeldRows", lambda rows, schema: HeldRows(rows, schema, batch=batch, threads=threads)
    )
    assert fit(table, plan) == expected[plan, "replace"]


def test_the_temporary_file_has_no_name_and_is_gone_with_the_rows(table, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    source = StoredRows([encode_table(table, SCHEMA)], SCHEMA, hold_at_most=0)
    assert source.n_rows == N_ROWS
    assert os.listdir(tmp_path) == []
    assert source._file is not None
    assert np.array_equal(source.held().codes, encode_table(table, SCHEMA).codes)


def test_a_full_temporary_folder_is_one_clear_error(table, monkeypatch):
    class Full:
        def close(self):
            pass

        def write(self, view):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", lambda **options: Full())
    with pytest.raises(TableError, match="TMPDIR"):
        StoredRows([encode_table(table.slice(0, 100), SCHEMA)], SCHEMA, hold_at_most=0)


def test_packed_rows_come_back_as_they_were(table):
    rows = encode_table(table.slice(0, 2_500), SCHEMA)
    packed = pack(rows)
    assert len(packed) == packed_size(2_500, 3)
    for back in (unpack(packed, 2_500, 3), joined([rows[:1_000], rows[1_000:]], 3)):
        for name in ("codes", "Y", "T", "active"):
            assert np.array_equal(getattr(back, name), getattr(rows, name))
    assert len(joined([], 3)) == 0


def test_no_rows_at_all_work_under_add_remove(tmp_path, table):
    pq.write_table(table.slice(0, 0), tmp_path / "none.parquet")
    assert fit(tmp_path / "none.parquet", neighbours="add_remove") == fit(table.slice(0, 0), neighbours="add_remove")
    with pytest.raises(TableError, match="no rows"):
        fit(tmp_path / "none.parquet")


def test_models_that_need_all_rows_get_them_from_files_too(files, table):
    model = Ebm(rounds=2)
    one, other = (
        RLearner(SCHEMA, model=model, random_state=3).fit_table(form).effect(table.slice(0, 50))
        for form in (files / "parquet", table)
    )
    assert np.array_equal(one, other)


@pytest.mark.parametrize("names", [(), ("a.csv", "b.parquet"), ("a.txt",)])
def test_a_folder_without_files_of_one_kind_is_refused(tmp_path, names):
    for name in names:
        (tmp_path / name).write_text("x")
    with pytest.raises(TableError, match="one kind"):
        table_files(tmp_path)


def test_a_broken_file_in_a_folder_is_refused_by_name_without_its_content(tmp_path, table):
    pq.write_table(table.slice(0, 100), tmp_path / "a.parquet")
    (tmp_path / "b.parquet").write_text("secret value 12345")
    with pytest.raises(TableError, match=r"b\.parquet") as caught:
        fit(tmp_path)
    assert "12345" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_source_shows_nothing_of_its_rows(table):
    for source in (StoredRows([encode_table(table, SCHEMA)], SCHEMA), HeldRows(encode_table(table, SCHEMA), SCHEMA)):
        assert str(N_ROWS) not in repr(source)
    assert isinstance(source.held(), Rows)
