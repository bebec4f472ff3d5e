"""Spark data frames on a real local session with two executor threads."""

import os
import shutil
import sys

import pytest
from tests.backends.conftest import SCHEMA, fit

pyspark = pytest.importorskip("pyspark", reason='Spark is not installed: pip install "dpcate[spark]"')
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java, which is not installed"),
]


@pytest.fixture(scope="module")
def spark():
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable  # executors need dpcate too
    session = (
        SparkSession.builder.master("local[2,4]")
        .appName("dpcate-tests")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.execution.arrow.pyspark.enabled", "true")
        .config("spark.log.level", "OFF")
        .getOrCreate()
    )
    yield session
    session.stop()


@pytest.fixture(scope="module")
def frame(spark, table, tmp_path_factory):
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


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_spark_gives_the_bits_of_one_machine(frame, expected, neighbours):
    assert fit(union(frame[0]), "shared", neighbours) == expected["shared", neighbours]


def test_with_files_in_order_the_split_plan_gives_the_same_bits_too(frame, expected):
    assert fit(union(frame[0]), "split") == expected["split", "replace"]


@pytest.mark.parametrize("parts", [1, 7])
def test_partitions_do_not_show(frame, expected, parts):
    assert fit(union(frame[0]).repartition(parts)) == expected["shared", "replace"]


def test_a_task_that_dies_is_repeated_and_does_not_show(frame, expected, monkeypatch, tmp_path):
    """The Python worker of one task is killed once, in the middle of a pass."""
    from dpcate.tables import spark_rows

    summer, calls, mark = spark_rows._summer, [], str(tmp_path / "died")

    def deadly(work, firsts, n_features):
        calls.append(1)
        inner, now = summer(work, firsts, n_features), len(calls) == 3

        def total(batches):
            if now and not os.path.exists(mark):
                with open(mark, "w", encoding="utf-8"):
                    pass
                os._exit(1)
            yield from inner(batches)

        return total

    monkeypatch.setattr(spark_rows, "_summer", deadly)
    assert fit(union(frame[0])) == expected["shared", "replace"]
    assert os.path.exists(mark)


def test_the_columns_are_checked_by_name_before_anything_runs(spark):
    from dpcate.errors import TableError
    from dpcate.tables import open_table

    with pytest.raises(TableError, match="missing"):
        open_table(spark.range(3), SCHEMA)
