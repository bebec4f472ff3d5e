"""A Spark session with two executor threads, whose files are where a test can look at them; shared by Spark's tests."""

import os
import sys

import pytest

__all__ = ["disk_fixture", "frame_fixture", "spark_fixture", "union"]


@pytest.fixture(scope="module", name="disk")
def disk_fixture(tmp_path_factory):
    """Where the session's executors keep files."""
    return tmp_path_factory.mktemp("executor")


@pytest.fixture(scope="module", name="spark")
def spark_fixture(disk):
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable  # executors need dpcate too
    session = (
        SparkSession.builder.master("local[2,4]")
        .appName("dpcate-tests")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.execution.arrow.pyspark.enabled", "true")
        .config("spark.local.dir", str(disk))
        .config("spark.log.level", "OFF")
        .getOrCreate()
    )
    yield session
    session.stop()


@pytest.fixture(scope="module", name="frame")
def frame_fixture(spark, table, tmp_path_factory):
    """The table in four files, each a data frame, and the table itself."""
    import pyarrow.parquet as pq

    folder = tmp_path_factory.mktemp("spark")
    for k, start in enumerate(range(0, table.num_rows, 40_000)):
        pq.write_table(table.slice(start, 40_000), folder / f"part-{k}.parquet")
    return [spark.read.parquet(str(folder / f"part-{k}.parquet")) for k in range(4)], table


def union(parts):
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.union(part)
    return whole
