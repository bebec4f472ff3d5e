"""Errors of the command line: one line, the right exit code, and no value from the table."""

import errno
import os
import resource
import subprocess
import sys

import pyarrow.parquet
import pytest

from dpcate import RLearner, load
from dpcate.cli import writing
from dpcate.report import release as release_module

SECRET = "secret-4711"


@pytest.fixture
def arguments(csv_table, schema_file, ledger, tmp_path):
    budget = ["--epsilon", "1", "--ledger", ledger, "--dataset", "people"]
    return ["fit", csv_table, "--schema", schema_file, *budget, "--out", tmp_path / "release"]


def write_broken(path, frame, how):
    """Write a table that breaks in its rows, its footer, or as a whole."""
    if how == "ragged":
        path.write_text(f"vote,called,age,sex,income\n1,0,30,female,2\n{SECRET},1\n", encoding="utf-8")
        return
    if how == "empty rows":
        path.write_text("vote,called,age,sex,income\n", encoding="utf-8")
        return
    if how == "empty":
        path.write_bytes(b"")
        return
    pyarrow.parquet.write_table(frame, path, compression="none")
    raw = bytearray(path.read_bytes())
    pages = slice(4, len(raw) - pyarrow.parquet.read_metadata(path).serialized_size - 8)
    if how == "pages":
        raw[pages] = b"\xee" * (pages.stop - pages.start)
    else:
        raw = raw[: len(raw) // 2]
    path.write_bytes(raw)


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("t.csv", "ragged"),
        ("t.csv", "empty"),
        ("t.csv", "empty rows"),
        ("t.parquet", "pages"),
        ("t.parquet", "truncated"),
        ("t.parquet", "empty"),
    ],
)
def test_a_table_that_breaks_anywhere_costs_nothing(refused, arguments, tmp_path, frame, spent, files, name, how):
    write_broken(tmp_path / name, frame, how)
    before = files()
    line = refused("fit", tmp_path / name, *arguments[2:])
    assert SECRET not in line
    assert spent() == 0
    assert files() == before


def test_a_missing_column_is_named(refused, arguments, tmp_path, spent):
    (tmp_path / "t.csv").write_text(f"vote,called,age,sex\n{SECRET},0,30,female\n", encoding="utf-8")
    line = refused("fit", tmp_path / "t.csv", *arguments[2:])
    assert "missing: 'income'" in line
    assert spent() == 0


def no_space(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_is_noticed_before_anything_is_spent(refused, arguments, spent, files, monkeypatch):
    before = files()
    monkeypatch.setattr(writing.os, "fsync", no_space)
    assert "No space left on device" in refused(*arguments)
    assert spent() == 0
    assert files() == before


def test_a_limit_of_the_system_is_noticed_before_anything_is_spent(arguments, spent, files):
    """No file may grow beyond 1 MB: the system itself refuses to write, in the middle of holding room."""
    before = files()
    call = [sys.executable, "-c", "from dpcate.cli import main; main()", *map(str, arguments)]
    limit = (2**20, resource.getrlimit(resource.RLIMIT_FSIZE)[1])
    done = subprocess.run(
        call,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit),
    )
    assert done.returncode == 2
    assert "File too large" in done.stderr
    assert done.stderr.count("\n") == 1
    assert spent() == 0
    assert files() == before


def test_a_disk_that_fills_while_writing_leaves_nothing_and_says_that_the_cost_stays(
    refused, quick_page, arguments, spent, files, monkeypatch
):
    before = files()
    monkeypatch.setattr(release_module, "_flush", no_space)
    line = refused(*arguments)
    assert "No space left on device" in line
    assert "stays spent" in line
    assert spent() == 1
    assert files() == before


@pytest.mark.parametrize("command", ["init", "effect", "report"])
def test_no_command_leaves_half_a_file(refused, quick_page, csv_table, model, tmp_path, files, monkeypatch, command):
    before = files()
    monkeypatch.setattr(writing.os, "fsync", no_space)
    calls = {
        "init": ["init", csv_table, "--out", tmp_path / "new.toml"],
        "effect": ["effect", model, csv_table, "--out", tmp_path / "new.csv"],
        "report": ["report", model, "--out", tmp_path / "new.html"],
    }
    assert "No space left on device" in refused(*calls[command])
    assert files() == before


@pytest.mark.parametrize("command", ["init", "effect", "report"])
@pytest.mark.parametrize("folder", ["/proc", "people.csv", "nowhere"])
def test_a_place_that_cannot_be_written_to_is_refused(
    refused, csv_table, model, tmp_path, monkeypatch, command, folder
):
    monkeypatch.chdir(tmp_path)
    calls = {
        "init": ["init", csv_table, "--out", f"{folder}/new.toml"],
        "effect": ["effect", model, csv_table, "--out", f"{folder}/new.csv"],
        "report": ["report", model, "--out", f"{folder}/new.html"],
    }
    line = refused(*calls[command])
    assert "cannot write" in line or "folder that exists" in line


def broken_fit(self, table):
    raise ValueError(f"could not convert {SECRET}")


def test_an_unexpected_error_is_one_line_without_its_text(refused, arguments, monkeypatch, files):
    before = files()
    monkeypatch.setattr(RLearner, "fit_table", broken_fit)
    line = refused(*arguments, code=1)
    assert "unexpected error (ValueError)" in line
    assert SECRET not in line
    assert files() == before


def test_debugging_shows_the_place_and_still_not_the_text(call, arguments, monkeypatch):
    monkeypatch.setattr(RLearner, "fit_table", broken_fit)
    monkeypatch.setenv("DPCATE_DEBUG", "1")
    result = call(*arguments)
    assert result.code == 1
    assert "in broken_fit" in result.err
    assert SECRET not in result.err


def test_an_error_stays_one_line_whatever_a_name_holds(refused, tmp_path, csv_table):
    assert "no 'a\\nb'" in refused("init", csv_table, "--out", tmp_path / "s.toml", "--outcome", "a\nb")


def test_what_libraries_warn_of_is_not_shown(call, quick_page, arguments, monkeypatch, tmp_path):
    import warnings

    original = RLearner.fit_table

    def warns(self, table):
        warnings.warn(SECRET, stacklevel=1)
        return original(self, table)

    monkeypatch.setattr(RLearner, "fit_table", warns)
    result = call(*arguments)
    assert result.code == 0
    assert SECRET not in result.err
    assert load(tmp_path / "release" / "model.json").ate() is not None


def test_an_interrupt_is_one_line(call, arguments, monkeypatch):
    def interrupted(self, table):
        raise KeyboardInterrupt

    monkeypatch.setattr(RLearner, "fit_table", interrupted)
    result = call(*arguments)
    assert result.code == 130
    assert result.err.splitlines()[-1].startswith("dpcate: stopped.")
