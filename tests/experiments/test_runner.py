"""The grid: what is done is skipped, what fails is kept, workers use one thread."""

import json
import subprocess
import sys

import numpy as np
import pytest

from dpcate.errors import ParameterError
from dpcate.experiments import run
from dpcate.experiments.grid import Cell, make_cells
from dpcate.experiments.run import true_effects
from dpcate.experiments.runner import run_grid
from dpcate.experiments.store import RunStore
from dpcate.experiments.summary import summarise
from dpcate.learners import RLearner

CELLS = make_cells(("A",), (500,), (1.0, 4.0), learners=("R", "S"))


@pytest.fixture
def store(tmp_path):
    with RunStore(tmp_path / "runs.db") as opened:
        yield opened


class BrokenAtTwo(RLearner):
    """Raises at one of the budgets."""

    def fit_table(self, table):
        if self.epsilon == 2.0:
            raise ArithmeticError("no")
        return super().fit_table(table)


def test_a_grid_is_run_once(store):
    assert run_grid(CELLS, 2, store, jobs=1, progress=False) == 8
    before = store.records()
    assert {record.key for record in before} == {cell.key(replicate) for cell in CELLS for replicate in (0, 1)}
    assert run_grid(CELLS, 2, store, jobs=1, progress=False) == 0
    assert run_grid([*CELLS, *CELLS], 3, store, jobs=1, progress=False) == 4
    assert [record for record in store.records() if record.replicate < 2] == before


def test_failed_runs_are_recorded_counted_and_not_tried_again(store, monkeypatch):
    monkeypatch.setitem(run._LEARNERS, "R", BrokenAtTwo)
    cells = [Cell("A", 500, epsilon, "R") for epsilon in (1.0, 2.0)]
    assert run_grid(cells, 3, store, jobs=1, progress=False) == 6
    good, bad = summarise(store.records(), true_effects(["A"]))
    assert (good.runs, good.failed) == (3, 0)
    assert (bad.runs, bad.failed) == (0, 3)
    assert (bad.mse, bad.bias2, bad.variance_pairs) == (None, None, None)
    assert {record.error for record in store.records(status="failed")} == {"ArithmeticError"}
    assert run_grid(cells, 3, store, jobs=1, progress=False) == 0


def test_a_missing_file_shows_before_the_first_run(store):
    cells = [*CELLS, Cell("GOTV", 500, 1.0, "R")]
    with pytest.raises(ParameterError, match="GOTV"):
        run_grid(cells, 1, store, jobs=1, progress=False)
    assert store.records() == []


@pytest.mark.parametrize(("options", "name"), [({"backend": "spark"}, "backend"), ({"backend": "dask"}, "scheduler")])
def test_unknown_backends_and_missing_addresses_are_refused(store, options, name):
    with pytest.raises(ParameterError, match=f"`{name}`"):
        run_grid(CELLS, 1, store, **options)


def test_the_bar_shows_how_many_runs_are_done(store, capfd):
    run_grid(CELLS, 1, store, jobs=1)
    shown = capfd.readouterr()
    assert "4/4" in shown.err
    assert shown.out == ""


def test_processes_give_the_numbers_of_one_process(store, tmp_path):
    pytest.importorskip("joblib")
    run_grid(CELLS, 1, store, jobs=1, progress=False)
    with RunStore(tmp_path / "other.db") as other:
        run_grid(CELLS, 1, other, jobs=2, progress=False)
        pairs = list(zip(store.records(), other.records(), strict=True))
    assert [(one.mse, one.points) for one, _ in pairs] == [(two.mse, two.points) for _, two in pairs]


PROBE = """
import json, threading
from joblib import Parallel, delayed, parallel_config
from dpcate.experiments import runner
from dpcate.experiments.grid import Cell
from dpcate.experiments.studies import StudyPaths

def probe(replicate):
    from threadpoolctl import threadpool_info
    record = runner._work((Cell("A", 32_000, 1.0, "R"), replicate, StudyPaths()))
    libraries = [library["num_threads"] for library in threadpool_info()]
    return record.status, libraries, [thread.name for thread in threading.enumerate()]

with parallel_config(backend="loky", inner_max_num_threads=1):
    print(json.dumps(Parallel(n_jobs=2)(delayed(probe)(replicate) for replicate in range(2))))
"""


@pytest.mark.slow
def test_a_worker_uses_one_thread_for_algebra_and_one_for_passes():
    pytest.importorskip("joblib")
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True, timeout=120)
    for status, libraries, threads in json.loads(done.stdout):
        assert status == "ok"
        assert libraries
        assert set(libraries) == {1}
        assert [name for name in threads if name.startswith("dpcate-passes")] == []


def test_all_learners_of_a_replicate_share_their_rows_through_the_grid(store, monkeypatch):
    seen = {}

    class Remembering(RLearner):
        def fit_table(self, table):
            seen.setdefault(self.epsilon, []).append(np.asarray(table["y"]).tolist())
            return super().fit_table(table)

    monkeypatch.setitem(run._LEARNERS, "R", Remembering)
    run_grid([Cell("A", 500, epsilon, "R") for epsilon in (1.0, 4.0)], 2, store, jobs=1, progress=False)
    assert seen[1.0] == seen[4.0]
    assert seen[1.0][0] != seen[1.0][1]
