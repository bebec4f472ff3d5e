"""The checks on held-out rows, on a folder of files and on a cluster: the bits of one machine."""

import pyarrow.parquet as pq
import pytest
from tests.backends.conftest import SCHEMA

from dpcate import RLearner

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def told(source, neighbours):
    learner = RLearner(SCHEMA, neighbours=neighbours, validate=0.2, random_state=11).fit_table(source)
    return learner.uplift_curve(), learner.calibration()


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_files_give_the_curve_of_the_table_in_memory(table, tmp_path, neighbours):
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=40_000)
    assert told(tmp_path / "rows.parquet", neighbours) == told(table, neighbours)


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_a_cluster_gives_the_curve_of_one_machine(table, neighbours):
    distributed = pytest.importorskip("distributed", reason='Dask is not installed: pip install "dpcate[dask]"')
    frames = pytest.importorskip("dask.dataframe", reason='Dask is not installed: pip install "dpcate[dask]"')
    frame = frames.from_pandas(table.to_pandas(), npartitions=5, sort=False)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        distributed.Client(cluster),
    ):
        assert told(frame, neighbours) == told(table, neighbours)
