"""Spark data frames on a real local session with two executor threads."""

import os
import shutil

import pytest
from tests.backends.conftest import SCHEMA, fit
from tests.backends.spark_session import disk_fixture, frame_fixture, spark_fixture, union  # noqa: F401 - fixtures

pyspark = pytest.importorskip("pyspark", reason='Spark is not installed: pip install "dpcate[spark]"')
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java, which is not installed"),
]


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

    visitor, calls, mark = spark_rows.visitor, [], str(tmp_path / "died")

    def deadly(*args):
        calls.append(1)
        inner, now = visitor(*args), len(calls) == 3

        def task(batches):
            if now and not os.path.exists(mark):
                with open(mark, "w", encoding="utf-8"):
                    pass
                os._exit(1)
            yield from inner(batches)

        return task

    monkeypatch.setattr(spark_rows, "visitor", deadly)
    assert fit(union(frame[0])) == expected["shared", "replace"]
    assert os.path.exists(mark)


def test_the_columns_are_checked_by_name_before_anything_runs(spark):
    from dpcate.errors import TableError
    from dpcate.tables import open_table

    with pytest.raises(TableError, match="missing"):
        open_table(spark.range(3), SCHEMA)
