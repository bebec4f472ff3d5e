"""`dpcate fit`: checks first, then the ledger, then noise, then a whole folder."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from dpcate import RLearner, load
from dpcate.cli import fit as fit_module
from dpcate.ledger import Ledger
from dpcate.report import check_card

RELEASE = {"model.json", "card.json", "report.html"}


@pytest.fixture
def arguments(csv_table, schema_file, ledger, tmp_path):
    """The arguments of a fit that works."""
    budget = ["--epsilon", "1", "--ledger", ledger, "--dataset", "people"]
    return ["fit", csv_table, "--schema", schema_file, *budget, "--out", tmp_path / "release"]


def changed(arguments, **options):
    """Return the arguments with other values."""
    made = list(arguments)
    for name, value in options.items():
        made[1 if name == "table" else made.index(f"--{name}") + 1] = value
    return made


def test_a_fit_writes_a_release_and_enters_its_cost(call, arguments, tmp_path, ledger, files):
    before = files()
    result = call(*arguments, "--title", "Who votes?")
    assert result.code == 0, result.err
    release = tmp_path / "release"
    assert {path.name for path in release.iterdir()} == RELEASE
    assert files() - before == {"release"} | {f"release/{name}" for name in RELEASE}
    learner = load(release / "model.json")
    assert not learner.guarantee_.void
    assert learner.guarantee_.epsilon(1e-5) == pytest.approx(1.0, rel=1e-6)
    card = json.loads((release / "card.json").read_text(encoding="utf-8"))
    check_card(card)
    assert card["title"] == "Who votes?"
    status = Ledger.open(ledger).status("people")
    assert status.spent_epsilon == pytest.approx(1.0, rel=1e-4)
    assert status.entries[0].options["learner"] == "r"
    assert status.head in result.out
    assert f"{learner.ate():+.4g}" in result.out


@pytest.mark.parametrize(
    ("options", "learner", "expected"),
    [
        (["--learner", "s", "--neighbours", "add-remove"], "SLearner", {"neighbours": "add_remove"}),
        (["--learner", "s", "--neighbours", "add_remove"], "SLearner", {"neighbours": "add_remove"}),
        (["--learner", "dr", "--plan", "split", "--delta", "1e-6"], "DRLearner", {"plan": "split", "delta": 1e-6}),
        (["--model", "ebm"], "RLearner", {"model": "ebm"}),
    ],
)
def test_options_reach_the_learner(call, quick_page, parquet_table, schema_file, tmp_path, options, learner, expected):
    base = ["fit", parquet_table, "--schema", schema_file, "--epsilon", "2", "--out", tmp_path / "release"]
    result = call(*base, *options)
    assert result.code == 0, result.err
    fitted = load(tmp_path / "release" / "model.json")
    assert type(fitted).__name__ == learner
    assert {name: fitted.options_[name] for name in expected} == expected


def test_a_seed_voids_the_guarantee_and_says_so_first(call, quick_page, csv_table, schema_file, tmp_path):
    base = ["fit", csv_table, "--schema", schema_file, "--epsilon", "1", "--seed", "3", "--out"]
    first, second = call(*base, tmp_path / "a"), call(*base, tmp_path / "b")
    assert first.out.startswith("Guarantee: VOID")
    assert json.loads((tmp_path / "a" / "card.json").read_text(encoding="utf-8"))["void"] is True
    assert (tmp_path / "a" / "model.json").read_bytes() == (tmp_path / "b" / "model.json").read_bytes()
    assert second.code == 0


def test_over_budget_is_refused_with_code_3_before_a_row_is_read(
    refused, call, quick_page, arguments, monkeypatch, spent, tmp_path
):
    assert call(*changed(arguments, epsilon="1.9")).code == 0

    def unread(*_):
        pytest.fail("the table was read")

    monkeypatch.setattr(fit_module, "open_table", unread)
    monkeypatch.setattr(RLearner, "fit_table", unread)
    line = refused(*changed(arguments, out=tmp_path / "second"), code=3)
    assert all(word in line for word in ("spent epsilon = 1.9", "requested 1", "left "))
    assert spent() == 1
    assert not (tmp_path / "second").exists()


def test_the_cost_is_entered_before_the_fit_begins(call, quick_page, arguments, monkeypatch, spent):
    seen = []
    original = RLearner.fit_table
    monkeypatch.setattr(RLearner, "fit_table", lambda self, table: (seen.append(spent()), original(self, table))[1])
    assert spent() == 0
    assert call(*arguments).code == 0
    assert seen == [1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"epsilon": "-1"}, "`epsilon` must be a positive finite number"),
        ({"epsilon": "nan"}, "`epsilon`"),
        ({"epsilon": "1e-9"}, "too little"),
        ({"epsilon": "one"}, "'one' is not a valid float"),
        ({"table": "nowhere.csv"}, "there is none at 'nowhere.csv'"),
        ({"table": "people.xlsx"}, "must end in .csv or .parquet"),
        ({"schema": "nowhere.toml"}, "No such file"),
        ({"dataset": "others"}, "no data set 'others'"),
        ({"ledger": "nowhere.sqlite"}, "There is no ledger"),
        ({"ledger": "schema.toml"}, "cannot be used"),
        ({"out": "schema.toml"}, "not overwritten"),
        ({"out": "schema.toml/release"}, "folder that exists"),
        ({"out": "no/such/folder/release"}, "folder that exists"),
        ({"out": "/proc/release"}, "cannot write"),
    ],
)
def test_bad_input_is_one_line_and_costs_nothing(
    refused, arguments, spent, files, tmp_path, monkeypatch, options, words
):
    monkeypatch.chdir(tmp_path)
    before = files()
    assert words in refused(*changed(arguments, **options))
    assert spent() == 0
    assert files() == before


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--seed", "1"], "voids the guarantee"),
        (["--neighbours", "add-remove"], "add_remove"),
        (["--learner", "t"], "'t' is not one of"),
        (["--colour", "red"], "No such option"),
    ],
)
def test_options_that_do_not_fit_are_refused(refused, arguments, spent, more, words):
    assert words in refused(*arguments, *more)
    assert spent() == 0


def test_a_ledger_without_a_data_set_is_refused(refused, csv_table, schema_file, tmp_path, ledger):
    base = ["fit", csv_table, "--schema", schema_file, "--epsilon", "1", "--out", tmp_path / "release"]
    assert "go together" in refused(*base, "--ledger", ledger)
    assert "go together" in refused(*base, "--dataset", "people")


def test_an_incomplete_schema_points_to_check(refused, arguments, schema_file, spent):
    schema_file.write_text('[outcome]\nname = "vote"\n', encoding="utf-8")
    assert "dpcate check" in refused(*arguments)
    assert spent() == 0


def test_a_killed_fit_leaves_no_release_and_its_cost_stays_entered(arguments, tmp_path, spent, files):
    """The fit is held up in its middle, in a process of its own, and killed there."""
    before = files()
    program = (
        "import sys, time\n"
        "from dpcate import RLearner\n"
        "RLearner.fit_table = lambda self, table: (print('fitting', flush=True), time.sleep(60))\n"
        "from dpcate.cli import main\n"
        "main()\n"
    )
    call = [sys.executable, "-c", program, *map(str, arguments)]
    with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout.readline() == "fitting\n"
        os.kill(process.pid, signal.SIGKILL)
        process.wait(timeout=30)
    assert spent() == 1
    assert files() == before


@pytest.mark.slow
def test_a_release_killed_at_any_time_is_whole_or_absent(arguments, tmp_path):
    """Killed at moments spread over the run, at least one of them after the start and one near the end."""
    folders = []
    for wait in (0.5, 1.5, 2.5, 3.5, 60.0):
        folder = tmp_path / f"release-{wait}"
        fit = changed(arguments, out=folder, epsilon="0.3")
        call = [sys.executable, "-c", "from dpcate.cli import main; main()", *map(str, fit)]
        with subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            end = time.monotonic() + wait
            while process.poll() is None and time.monotonic() < end:
                time.sleep(0.01)
            process.kill()
            process.wait(timeout=30)
        folders.append(folder)
    assert folders[-1].exists()
    assert all({path.name for path in folder.iterdir()} == RELEASE for folder in folders if folder.exists())
