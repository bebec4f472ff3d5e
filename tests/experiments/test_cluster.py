"""The same command over a cluster: two worker processes reached by their scheduler's address."""

import pytest

from dpcate.experiments.grid import Cell, make_cells
from dpcate.experiments.runner import run_grid
from dpcate.experiments.store import RunStore

distributed = pytest.importorskip("distributed")
CELLS = make_cells(("A", "B"), (500,), (1.0, None), learners=("R", "DR"))


@pytest.fixture(scope="module")
def address():
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster:
        yield cluster.scheduler_address


@pytest.fixture
def store(tmp_path):
    with RunStore(tmp_path / "cluster.db") as opened:
        yield opened


@pytest.mark.slow
def test_a_cluster_gives_exactly_the_numbers_of_this_machine(address, store, tmp_path):
    assert run_grid(CELLS, 2, store, backend="dask", scheduler=address, progress=False) == 16
    with RunStore(tmp_path / "local.db") as local:
        run_grid(CELLS, 2, local, jobs=2, progress=False)
        here = {record.key: (record.status, record.mse, record.points) for record in local.records()}
    there = {record.key: (record.status, record.mse, record.points) for record in store.records()}
    assert there == here
    assert {status for status, _, _ in there.values()} == {"ok"}


@pytest.mark.slow
def test_a_cluster_skips_what_is_recorded(address, store):
    run_grid(CELLS[:1], 1, store, backend="dask", scheduler=address, progress=False)
    before = store.records()
    assert run_grid(CELLS[:2], 1, store, backend="dask", scheduler=address, progress=False) == 1
    assert [record for record in store.records() if record.cell == CELLS[0]] == before


@pytest.mark.slow
def test_failures_come_back_from_a_cluster_as_failures(address, store):
    cell = Cell("A", 500, 1e-300, "R")  # too small a budget for exact noise
    run_grid([cell], 1, store, backend="dask", scheduler=address, progress=False)
    assert [(record.status, record.error) for record in store.records()] == [("failed", "ParameterError")]


@pytest.mark.slow
def test_a_run_whose_workers_die_is_recorded_as_failed(address, store, monkeypatch):
    class Dead:
        def __init__(self, key):
            self.key = key

        def result(self):
            raise distributed.KilledWorker(self.key, None, 3)

    monkeypatch.setattr(distributed, "as_completed", lambda futures, loop: [Dead(future.key) for future in futures])
    run_grid(CELLS[:1], 2, store, backend="dask", scheduler=address, progress=False)
    assert {record.replicate: record.error for record in store.records()} == {0: "KilledWorker", 1: "KilledWorker"}
