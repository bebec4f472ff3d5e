"""Real processes: spending at the same time, and killed while spending."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dpcate.accounting import Gaussian, covers, mu_for

SCRIPT = Path(__file__).with_name("processes.py")
BROKEN = 99  # exit code of a process that raised


def run(*arguments):
    call = [sys.executable, str(SCRIPT), *map(str, arguments)]
    done = subprocess.run(call, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    codes = [int(word) for word in done.stdout.split()]
    assert BROKEN not in codes, done.stderr
    return codes


def test_processes_at_the_same_time_spend_the_budget_and_not_more(where, ledger):
    # Twelve of these Gaussians fill the budget and a thirteenth does not fit
    mu = mu_for(2.0, 1e-5) / 12.5**0.5
    successes = run("together", where, 6, mu)
    status = ledger.status("trial")
    assert len(successes) == 6
    assert sum(successes) == len(status.entries) == 12
    assert covers(status.spent.f, 2.0, 1e-5)
    assert not covers(Gaussian(mu * 13**0.5), 2.0, 1e-5)
    assert len({entry.what for entry in status.entries}) >= 4, "each may spend three times"
    assert ledger.verify() == []


@pytest.mark.slow
def test_a_killed_process_loses_no_spend_and_leaves_the_ledger_intact(where, ledger, tmp_path):
    notes = tmp_path / "returned"
    ends = run("killed", where, 30, notes)
    assert ends == [-signal.SIGKILL] * 30
    returned = notes.read_text().split()
    recorded = [entry.hash for entry in ledger.status("trial").entries]
    assert set(returned) <= set(recorded)
    assert len(returned) >= 30
    assert len(recorded) - len(returned) <= 30, "a process has at most one spend that it did not learn of"
    assert ledger.verify(seen=returned) == []


def test_a_process_killed_at_any_call_before_the_commit_spends_nothing_and_blocks_nobody(where, ledger):
    *ends, last = run("stepped", where, 100, 0.01)
    assert ends == [-signal.SIGKILL] * len(ends)
    assert last == 0
    assert len(ends) >= 9, "a reservation is at least four statements, before and after, and the commit"
    assert [entry.what for entry in ledger.status("trial").entries] == [f"step {len(ends)}"]
    assert ledger.verify() == []
