"""Killed in the middle and started again: nothing recorded is lost, nothing is run twice, the numbers are the same."""

import os
import signal
import subprocess
import sys
import time

import pytest

from dpcate.experiments.grid import make_cells
from dpcate.experiments.runner import run_grid
from dpcate.experiments.store import RunStore

CELLS = make_cells(("A",), (500,), (1.0, 4.0), learners=("R", "S"))
REPLICATES = 8
START = f"""
import sys
from dpcate.experiments.grid import make_cells
from dpcate.experiments.runner import run_grid
from dpcate.experiments.store import RunStore

cells = make_cells(("A",), (500,), (1.0, 4.0), learners=("R", "S"))
run_grid(cells, {REPLICATES}, RunStore(sys.argv[1]), jobs=2, progress=False)
"""


def wait_for_records(path, wanted, process):
    end = time.monotonic() + 90
    while time.monotonic() < end and process.poll() is None:
        if path.exists():
            with RunStore(path) as store:
                if len(store.done()) >= wanted:
                    return
        time.sleep(0.02)
    pytest.fail("the grid ended, or the time did, before it could be killed")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs process groups")
def test_a_killed_grid_resumes_where_it_stopped(tmp_path):
    pytest.importorskip("joblib")
    path = tmp_path / "killed.db"
    process = subprocess.Popen([sys.executable, "-c", START, str(path)], start_new_session=True)
    try:
        wait_for_records(path, 3, process)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    with RunStore(path) as store, RunStore(tmp_path / "whole.db") as whole:
        kept = store.records()
        assert 3 <= len(kept) < len(CELLS) * REPLICATES
        made = run_grid(CELLS, REPLICATES, store, jobs=1, progress=False)
        after = {record.key: record for record in store.records()}
        assert made == len(CELLS) * REPLICATES - len(kept)
        assert [after[record.key] for record in kept] == kept  # finished times and all
        run_grid(CELLS, REPLICATES, whole, jobs=1, progress=False)
        numbers = {record.key: (record.mse, record.points, record.seed) for record in whole.records()}
    assert {key: (record.mse, record.points, record.seed) for key, record in after.items()} == numbers
