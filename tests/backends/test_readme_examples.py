"""The README's Dask and Spark examples, run as they are printed."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpcate import Category, Number, RLearner, Schema

README = Path(__file__).parents[2] / "README.md"
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
SCHEMA = Schema(
    outcome=Number("vote", 0, 1),
    treatment=Category("called", [0, 1]),
    features=[Number("age", 18, 105), Category("sex", ["female", "male"])],
)


def example(engine):
    """The code block that the README marks with an engine's name."""
    found = re.search(rf"```python {engine}\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert found, f"the README has no example for {engine}"
    return found.group(1)


@pytest.fixture
def people(tmp_path, monkeypatch):
    generator = np.random.default_rng(0)
    n_rows = 3000
    table = pa.table(
        {
            "age": generator.integers(18, 90, n_rows),
            "sex": generator.choice(["female", "male"], n_rows),
            "called": generator.integers(0, 2, n_rows),
            "vote": generator.integers(0, 2, n_rows),
        }
    )
    (tmp_path / "people").mkdir()
    pq.write_table(table.slice(0, 1500), tmp_path / "people" / "a.parquet")
    pq.write_table(table.slice(1500), tmp_path / "people" / "b.parquet")
    monkeypatch.chdir(tmp_path)
    return {"RLearner": RLearner, "schema": SCHEMA}


def test_the_dask_example_runs(people):
    distributed = pytest.importorskip("distributed", reason='Dask is not installed: pip install "dpcate[dask]"')
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        names = {**people, "scheduler_address": cluster.scheduler_address}
        exec(example("dask"), names)
        names["client"].close()
    assert names["learner"].guarantee_.epsilon(1e-5) == pytest.approx(1.0, rel=1e-6)


@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java, which is not installed")
def test_the_spark_example_runs(people, tmp_path):
    """In a process of its own: Spark resolves paths where its machine was first started, perhaps by another test."""
    pytest.importorskip("pyspark", reason='Spark is not installed: pip install "dpcate[spark]"')
    script = tmp_path / "example.py"
    before = f"from dpcate import Category, Number, RLearner, Schema\nschema = Schema({SCHEMA.outcome!r}, "
    before += f"{SCHEMA.treatment!r}, {list(SCHEMA.features)!r})\n"
    script.write_text(
        before + example("spark") + "\nprint('epsilon', learner.guarantee_.epsilon(1e-5))\nspark.stop()\n"
    )
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    ran = subprocess.run(
        [sys.executable, script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    told = re.search(r"epsilon (\S+)", ran.stdout)
    assert told, ran.stderr[-2000:]
    assert float(told.group(1)) == pytest.approx(1.0, rel=1e-6)
