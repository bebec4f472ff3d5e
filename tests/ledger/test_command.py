"""``dpcate ledger``, run as a user would."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from dpcate.accounting import Gaussian, Guarantee, mu_for
from dpcate.cli.main import commands
from dpcate.errors import LedgerError, ParameterError
from dpcate.ledger import Ledger
from dpcate.ledger.storage import Storage

COST = Guarantee(Gaussian(mu_for(1.0, 1e-5)), "replace")


def dpcate(*arguments):
    return CliRunner(env={"COLUMNS": "160"}).invoke(commands, ["ledger", *map(str, arguments)])


def shell(*arguments):
    call = [sys.executable, "-c", "from dpcate.cli import main; main()", "ledger", *map(str, arguments)]
    return subprocess.run(call, capture_output=True, text=True, check=False)


def test_create_show_and_verify(where):
    made = dpcate("create", where, "trial", "--epsilon", "2")
    assert made.exit_code == 0, made.output
    assert made.output.startswith("trial: epsilon = 2 at delta = 1e-05 for replacing one row, in ")
    ledger = Ledger.open(where)
    ledger.reserve("trial", COST, what="effect of [bold]letters")
    entry = ledger.reserve("trial", Guarantee(COST.f, "replace", void=True), what="rehearsal")
    shown = dpcate("show", where, "trial").output
    status = ledger.status("trial")
    for part in (
        "budget",
        "spent",
        "left",
        "sum of epsilons",
        "effect of [bold]letters",
        "VOID",
        "not a guarantee",
        entry.hash,
    ):
        assert part in shown
    assert f"{status.spent_epsilon:.4g}" == "1.465"
    totals = [line for line in shown.splitlines() if "1.465" in line]
    assert len(totals) == 1
    assert [cell.strip() for cell in totals[0].split("│")[1:-1]] == ["2", "1.465", f"{status.left_epsilon:.4g}", "2"]
    assert dpcate("verify", where, "--seen", entry.hash).output.endswith(": intact.\n")


def test_show_without_a_name_shows_every_data_set(tmp_path):
    path = tmp_path / "ledger.sqlite"
    for name in ("trial", "survey"):
        dpcate("create", path, name, "--epsilon", "1", "--neighbours", "add_remove")
    shown = dpcate("show", path).output
    assert "trial: epsilons at delta = 1e-05, for adding or removing one row" in shown
    assert "survey: epsilons at delta = 1e-05, for adding or removing one row" in shown


def test_tampering_shows(where):
    dpcate("create", where, "trial", "--epsilon", "2")
    ledger = Ledger.open(where)
    ledger.reserve("trial", COST, what="fit")
    with Storage(where).engine.connect() as connection:
        connection.exec_driver_sql("UPDATE dpcate_entries SET what = 'no\x1b[31mthing'")
        connection.commit()
    shown = dpcate("show", where).output
    assert "TAMPERED: data set 'trial': entry 1 was changed" in shown
    assert "\x1b[31mthing" not in shown
    verified = dpcate("verify", where)
    assert "entry 1 was changed after it was written." in verified.output
    assert isinstance(verified.exception, LedgerError)


def test_a_hash_that_is_gone_shows(tmp_path):
    path = tmp_path / "ledger.sqlite"
    dpcate("create", path, "trial", "--epsilon", "2")
    verified = dpcate("verify", path, "--seen", "abc")
    assert "no entry has the noted hash abc" in verified.output
    assert isinstance(verified.exception, LedgerError)


@pytest.mark.parametrize("options", [["--epsilon", "-1"], ["--epsilon", "1", "--neighbours", "both"]])
def test_a_budget_that_makes_no_sense_is_refused(tmp_path, options):
    result = dpcate("create", tmp_path / "ledger.sqlite", "trial", *options)
    assert isinstance(result.exception, ParameterError)
    assert list(tmp_path.iterdir()) == []


def test_errors_are_one_line_with_exit_code_2(tmp_path):
    done = shell("show", tmp_path / "nothing.sqlite")
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        f"dpcate: There is no ledger at {tmp_path / 'nothing.sqlite'}; make one with `dpcate ledger create`."
    ]
    assert done.stdout == ""


@pytest.mark.parametrize("command", [[], ["create"], ["show"], ["verify"]])
def test_help_says_what_a_ledger_is_for(command):
    result = dpcate(*command, "--help")
    assert result.exit_code == 0
    assert "LEDGER" in result.output
