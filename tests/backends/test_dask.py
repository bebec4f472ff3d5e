"""Dask data frames on a real local cluster of two worker processes."""

import os
import signal
from functools import partial

import numpy as np
import pandas as pd
import pytest
from tests.backends.conftest import SCHEMA, fit

from dpcate import AverageEffect, Category, Number, Schema
from dpcate.errors import TableError
from dpcate.tables import open_table
from dpcate.tables.packing import digest_of, pack

distributed = pytest.importorskip("distributed", reason='Dask is not installed: pip install "dpcate[dask]"')
dd = pytest.importorskip("dask.dataframe", reason='Dask is not installed: pip install "dpcate[dask]"')
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def cluster():
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def frame(table):
    return dd.from_pandas(table.to_pandas(), npartitions=5, sort=False)


@pytest.mark.parametrize("plan", ["shared", "split"])
@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_a_cluster_gives_the_bits_of_one_machine(cluster, frame, expected, plan, neighbours):
    assert fit(frame, plan, neighbours) == expected[plan, neighbours]


def test_mixed_functions_of_features_that_hang_together_have_the_same_bits(cluster):
    generator = np.random.default_rng(0)
    common, own = generator.normal(size=(1500, 1)), generator.normal(size=(1500, 3))
    columns = {f"x{j}": (common + 0.3 * own)[:, j] for j in range(3)}
    rows = pd.DataFrame({**columns, "t": generator.integers(0, 2, 1500), "y": own[:, 0] - own[:, 1]})
    features = [Number(name, -4, 4) for name in columns]
    learner = AverageEffect(Schema(Number("y", -6, 6), Category("t", [0, 1]), features), epsilon=2.0, random_state=3)
    here = learner.fit_table(rows).ate_interval()
    assert learner.fit_table(dd.from_pandas(rows, npartitions=4, sort=False)).ate_interval() == here


def test_without_a_cluster_dask_s_own_threads_do_it(frame, expected):
    import dask

    with dask.config.set(scheduler="threads"):
        assert fit(frame) == expected["shared", "replace"]


@pytest.mark.parametrize("parts", [1, 3, 40])
def test_partitions_do_not_show(cluster, table, expected, parts):
    frame = dd.from_pandas(table.to_pandas(), npartitions=parts, sort=False)
    assert fit(frame, "split") == expected["split", "replace"]


def test_a_worker_killed_in_the_middle_does_not_show(cluster, frame, expected, monkeypatch):
    """Right after the rows were encoded one worker is killed: its partitions are encoded again elsewhere."""
    from dpcate.tables import dask_rows

    total, calls = dask_rows.DaskRows.total, []

    def killing(self, work, **options):
        calls.append(1)
        if len(calls) == 3:
            pids = cluster.run(os.getpid)
            os.kill(next(iter(pids.values())), signal.SIGKILL)
        return total(self, work, **options)

    monkeypatch.setattr(dask_rows.DaskRows, "total", killing)
    assert fit(frame) == expected["shared", "replace"]
    assert len(calls) > 3


def test_only_sums_come_to_the_driver(cluster, frame):
    source = open_table(frame, SCHEMA)
    seen = source.total(partial(_count_rows))
    assert [array.tolist() for array in seen] == [[source.n_rows]]


def _count_rows(first, rows):
    return [np.array([len(rows)], dtype=np.int64)]


class _WrittenDownByTheDriverAlone:
    """A worker that hands on an object which it is using fails now and then, and all wait for ever."""

    def __init__(self):
        self.driver = os.getpid()

    def __getstate__(self):
        if os.getpid() != self.driver:
            raise RuntimeError("dictionary changed size during iteration")
        return self.__dict__

    def __call__(self, first, rows):
        return _count_rows(first, rows)


def test_work_is_written_down_once_on_the_driver(cluster, frame):
    source = open_table(frame, SCHEMA)
    assert source.total(_WrittenDownByTheDriverAlone())[0].tolist() == [source.n_rows]


def test_a_failing_task_says_nothing_of_the_rows(cluster, frame):
    source = open_table(frame, SCHEMA)

    def failing(first, rows):
        raise ValueError(f"outcome {rows.Y[0]} of 987654")

    with pytest.raises(TableError, match="ValueError") as caught:
        source.total(failing)
    assert "987654" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_partition_that_comes_back_in_another_order_is_refused(table):
    """As when a lost partition is computed again from a source without a fixed order."""
    import dask

    pandas = table.slice(0, 2_000).to_pandas()
    frame = dd.from_pandas(pandas, npartitions=2, sort=False)
    with dask.config.set(scheduler="synchronous"):
        source = open_table(frame, SCHEMA)
        assert source.total(_count_rows)[0].tolist() == [2_000]
        (rows, _), *others = (part.compute() for part in source._parts)
        shuffled = rows.take(np.random.default_rng(0).permutation(len(rows)))
        source._parts = [dask.delayed((shuffled, digest_of(pack(shuffled), source._key))), *map(dask.delayed, others)]
        with pytest.raises(TableError, match="another order"):
            source.total(_count_rows)


def test_an_unreadable_partition_says_nothing_of_its_rows(table):
    import dask

    frame = dd.from_pandas(table.slice(0, 100).to_pandas(), npartitions=1, sort=False)

    def failing(part):
        raise ValueError("could not convert string to float: 'HIV John'")

    with dask.config.set(scheduler="synchronous"), pytest.raises(TableError, match="ValueError") as caught:
        open_table(frame.map_partitions(failing, meta=frame._meta), SCHEMA)
    assert "John" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
