"""The demo command, run as a user would."""

import shlex
import time

import pytest

from dpcate import Schema, load
from dpcate.cli.demo import SCHEMA
from dpcate.ledger import Ledger

pytest.importorskip("causaldata")


def test_the_demo_goes_from_nothing_to_a_report_within_a_minute(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    start = time.monotonic()
    result = call("demo", "--epsilon", "2")
    assert result.code == 0, result.err
    assert time.monotonic() - start < 60
    folder = tmp_path / "demo"
    made = {"trial.csv", "people.csv", "schema.toml", "ledger.sqlite", "release"}
    assert {path.name for path in folder.iterdir()} == made
    assert {path.name for path in (folder / "release").iterdir()} == {"model.json", "card.json", "report.html"}
    assert "epsilon = 2 at delta = 1e-05" in result.out
    assert "VOID" not in result.out
    learner = load(folder / "release" / "model.json")
    assert 0.2 < learner.ate() < 0.8  # the trial found that about half as many again collect their result
    assert Schema.load(folder / "schema.toml") == SCHEMA
    assert Ledger.open(folder / "ledger.sqlite").status("trial").spent_epsilon == pytest.approx(2.0, rel=1e-4)


def test_the_commands_that_it_prints_are_commands(call, quick_page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    printed = call("demo").out
    lines = [shlex.split(line.removeprefix("$ dpcate ")) for line in printed.splitlines() if line.startswith("$ ")]
    assert [line[0] for line in lines] == ["ledger", "fit", "effect", "card", "ledger"]
    shown = call(*lines[2])
    assert shown.code == 0
    assert shown.out in printed


def test_a_second_demo_touches_nothing_of_the_first(call, quick_page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "mine").write_text("mine", encoding="utf-8")
    assert "demo-2/release/report.html" in call("demo").out
    assert [path.name for path in (tmp_path / "demo").iterdir()] == ["mine"]


def test_a_folder_that_exists_and_a_bad_budget_are_refused(refused, tmp_path, monkeypatch, files):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    assert "not overwritten" in refused("demo", "--out", "mine")
    assert "`epsilon` must be a positive finite number; got -1.0." in refused("demo", "--epsilon", "-1")
    assert files() == {"mine"}
