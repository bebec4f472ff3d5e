"""The reproduce command, run as a user would, on grids of a few seconds."""

import sqlite3
import subprocess
import sys

import pytest
from click.testing import CliRunner

from dpcate.cli.main import commands
from dpcate.errors import DpcateError, NotAvailableError

pytest.importorskip("matplotlib")
pytest.importorskip("joblib")

TINY = ["--sizes", "500", "--epsilons", "1,none", "--runs", "2", "--jobs", "1"]


def call(*options):
    return CliRunner().invoke(commands, ["reproduce", *map(str, options)])


def runs(folder):
    with sqlite3.connect(folder / "runs.sqlite") as connection:
        return connection.execute("SELECT study, n, epsilon, learner, model, replicate, finished FROM runs").fetchall()


def test_all_figures_and_the_tables_are_written(tmp_path):
    result = call(*TINY, "--setups", "A,C", "--learners", "DR,S", "--models", "additive", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    names = {"figure1", "figure2", "figure2-C", "figure3"}
    assert {path.name for path in tmp_path.glob("figure*")} == {f"{n}.{s}" for n in names for s in ("png", "svg")}
    assert len(runs(tmp_path)) == 2 * 2 * 2 * 2  # studies, budgets, learners, runs
    page = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert "| 500 | 1 |" in page
    assert "615" in page or "616" in page  # the published error of this cell
    assert "not real people" in page
    assert "Geometric means" in page
    assert "runs that failed" in page


def test_a_second_call_repeats_nothing_and_more_runs_are_added(tmp_path):
    options = ["--figure", "all", *TINY, "--setups", "A", "--learners", "R", "--models", "additive", "--out", tmp_path]
    assert call(*options).exit_code == 0
    first, shapes = runs(tmp_path), (tmp_path / "shapes.jsonl").read_bytes()
    assert call(*options).exit_code == 0
    assert runs(tmp_path) == first
    assert (tmp_path / "shapes.jsonl").read_bytes() == shapes
    assert call(*options, "--runs", "3").exit_code == 0
    assert set(runs(tmp_path)) > set(first)
    assert len(runs(tmp_path)) == 6


def test_one_figure_runs_its_own_cells_only(tmp_path):
    options = [*TINY, "--setups", "A", "--models", "additive", "--out", tmp_path]
    assert call("--figure", "3", *options).exit_code == 0
    assert {row[3] for row in runs(tmp_path)} == {"DR"}
    assert not (tmp_path / "figure1.png").exists()
    assert not (tmp_path / "figure2.png").exists()


def test_the_papers_learner_stands_beside_ours(tmp_path):
    pytest.importorskip("interpret")
    options = ["--sizes", "500", "--epsilons", "4,8", "--runs", "2", "--jobs", "1", "--setups", "B"]
    assert call("--figure", "3", *options, "--out", tmp_path).exit_code == 0
    assert {row[4] for row in runs(tmp_path)} == {"additive", "published"}
    assert "the paper's learner, rerun" in (tmp_path / "figure3.svg").read_text(encoding="utf-8")
    assert "rerun / published" in (tmp_path / "summary.md").read_text(encoding="utf-8")


def test_without_interpret_the_papers_columns_are_left_out_and_it_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr("dpcate.experiments.reproduction.find_spec", lambda _: None)
    options = [*TINY, "--setups", "A", "--learners", "S", "--out", tmp_path]
    assert call("--figure", "2", *options).exit_code == 0
    assert {row[4] for row in runs(tmp_path)} == {"additive"}
    assert "interpret is not installed" in (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert isinstance(call(*options, "--models", "published").exception, NotAvailableError)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--figure", "4"], "--figure must be 1, 2, 3 or all; got '4'."),
        (["--setups", "A,Z"], "`setups` must be of A, B, C, D, E"),
        (["--learners", "T"], "`learners` must be of DR, R, S; got 'T'."),
        (["--models", "forest"], "`models` must be of additive, ebm, interpret, published; got 'forest'."),
        (["--plans", "both"], "`plans` must be of shared, split; got 'both'."),
        (["--sizes", "many"], "--sizes must be whole numbers, separated by commas; got 'many'."),
        (["--sizes", "0"], "`n` must be at least 1; got 0."),
        (["--epsilons", "-1"], "`epsilon` must be positive and finite"),
        (["--epsilons", ","], "--epsilons must be positive numbers or none, separated by commas; got ','."),
        (["--runs", "0"], "--runs must be a whole number of at least 1; got '0'."),
        (["--jobs", "two"], "--jobs must be a whole number of at least 1; got 'two'."),
        (["--setups", "GOTV"], "the study GOTV needs data that do not come with dpcate"),
        (["--gotv", "nowhere.parquet", "--figure", "1"], "GOTV must be a Parquet file"),
        (["--backend", "cloud"], "`backend` must be one of local, dask; got 'cloud'."),
        (["--backend", "dask"], "`scheduler` must be given"),
    ],
)
def test_a_bad_option_is_refused_before_any_run(tmp_path, options, message):
    result = call("--out", tmp_path, *options)
    assert isinstance(result.exception, DpcateError)
    assert message in str(result.exception)
    assert "\n" not in str(result.exception)
    assert not (tmp_path / "runs.sqlite").exists() or runs(tmp_path) == []


def test_a_bad_option_is_one_line_with_exit_code_2(tmp_path):
    code = "from dpcate.cli import main; main()"
    command = [sys.executable, "-c", code, "reproduce", "--learners", "T", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "dpcate: `learners` must be of DR, R, S; got 'T'.\n"


def test_out_must_not_be_a_file(tmp_path):
    (tmp_path / "taken").write_text("", encoding="utf-8")
    assert "--out must be a folder" in str(call("--out", tmp_path / "taken").exception)


def test_stopping_it_says_that_nothing_recorded_is_lost(tmp_path, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("dpcate.experiments.reproduction.run_grid", stopped)
    result = call(*TINY, "--out", tmp_path)
    assert result.exit_code == 130
    assert "call again to resume" in result.output
