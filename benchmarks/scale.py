"""Large tables: time per row and memory from 1 to 50 million rows, against a plain NumPy pass, on Dask and on Spark.

Tables are made up and written to a temporary folder (about 2.6 GB for 50 million rows), which is removed afterwards. Each fit runs in a
process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.report import Report, markdown_table
from dpcate import Category, Number, RLearner, Schema

__all__ = ["run"]

FEATURES = 11
PART = 1_000_000
NAMES = [f"x{j}" for j in range(FEATURES)]
SCHEMA = Schema(
    outcome=Number("y", -8, 8),
    treatment=Category("t", [0, 1]),
    features=[Number(name, -4, 4) for name in NAMES],
)


def run(*, quick: bool = False) -> Report:
    small, large, cluster = (50_000, 400_000, 200_000) if quick else (1_000_000, 50_000_000, 10_000_000)
    with tempfile.TemporaryDirectory(prefix="dpcate-scale-") as folder:
        tables = {n: write_table(Path(folder) / f"rows-{n}", n) for n in sorted({small, cluster, large})}
        fits = [fit_apart("file", tables[n], n) for n in tables]
        plain = measure_plain(small)
        engines = in_turn(tables[cluster], cluster, repeats=1 if quick else 3)
    numbers = {"fits": fits, "plain": plain, "engines": engines}
    return Report("scale", render(numbers), numbers)


def make_part(seed: int, n_rows: int) -> pa.Table:
    """Return some rows of the made-up table."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(FEATURES, n_rows)).astype(np.float32)
    T = generator.integers(2, size=n_rows).astype(np.int8)
    Y = (X[0] + T * X[1] + generator.normal(size=n_rows)).astype(np.float32)
    return pa.table({**dict(zip(NAMES, X, strict=True)), "t": T, "y": Y})


def write_table(folder: Path, n_rows: int) -> Path:
    """Write a table as a folder of Parquet files of a million rows at most."""
    folder.mkdir()
    for k, start in enumerate(range(0, n_rows, PART)):
        rows = make_part(k, min(PART, n_rows - start))
        pq.write_table(rows, folder / f"part-{k:04d}.parquet", compression="none", use_dictionary=False)
    return folder


def measure_plain(n_rows: int) -> dict:
    """Return the time of one NumPy pass that reads every value once, and of a whole fit of the same table in memory."""
    table = make_part(0, n_rows)
    X = np.column_stack([table[name].to_numpy().astype(np.float64) for name in [*NAMES, "t", "y"]])
    weight = np.random.default_rng(1).normal(size=X.shape[1])
    frame = pa.table(dict(zip([*NAMES, "t", "y"], X.T.copy(), strict=True)))
    RLearner(SCHEMA).fit_table(frame.slice(0, 500))
    passes, fits = [], []
    for _ in range(5):
        start = time.perf_counter()
        float((X * weight).sum())
        passes.append(time.perf_counter() - start)
        start = time.perf_counter()
        RLearner(SCHEMA).fit_table(frame)
        fits.append(time.perf_counter() - start)
    ratios = np.array(fits) / np.array(passes)
    return {
        "rows": n_rows,
        "pass": float(np.median(passes)),
        "fit": float(np.median(fits)),
        "ratio": float(np.median(ratios)),
        "low": float(ratios.min()),
        "high": float(ratios.max()),
    }


def fit_apart(engine: str, folder: Path, n_rows: int) -> dict:
    """Fit in a process of its own; return seconds and peak memory."""
    command = [sys.executable, "-m", "benchmarks.scale", engine, str(folder)]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    found = json.loads(done.stdout.strip().splitlines()[-1])
    return {"engine": engine, "rows": n_rows, **found, "per_row": found["seconds"] / n_rows}


def in_turn(folder: Path, n_rows: int, *, repeats: int) -> list[dict]:
    """Return each engine's median time, and its ratio to our own in the same turn."""
    names = ("file", "dask", "spark")
    turns = [{name: fit_apart(name, folder, n_rows)["seconds"] for name in names} for _ in range(repeats)]
    found = []
    for name in names:
        ratios = [turn[name] / turn["file"] for turn in turns]
        seconds = float(np.median([turn[name] for turn in turns]))
        ends = {"ratio": float(np.median(ratios)), "low": min(ratios), "high": max(ratios)}
        found.append({"engine": name, "rows": n_rows, "seconds": seconds, **ends})
    return found


def main(engine: str, folder: str) -> None:
    """Fit one table and print what it took: what the process started by :func:`fit_apart` does."""
    import resource

    fit = {"file": fit_files, "dask": fit_dask, "spark": fit_spark}[engine]
    seconds = fit(folder)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"seconds": seconds, "peak_bytes": peak}))


def timed(table) -> float:
    RLearner(SCHEMA).fit_table(make_part(0, 500))
    start = time.perf_counter()
    RLearner(SCHEMA).fit_table(table() if callable(table) else table)
    return time.perf_counter() - start


def fit_files(folder: str) -> float:
    return timed(folder)


def fit_dask(folder: str) -> float:
    import dask
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    for name in ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"):  # see docs/scale.md
        dask.config.set({f"distributed.nanny.pre-spawn-environ.{name}": 2**28})
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        client.run(warm)
        return timed(lambda: dd.read_parquet(folder))


def fit_spark(folder: str) -> float:
    from pyspark.sql import SparkSession

    options = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.log.level": "OFF",
        "spark.sql.files.maxPartitionBytes": "512m",  # a partition per core; see docs/scale.md
    }
    builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", "3g")
    for name, value in options.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        first = sorted(Path(folder).iterdir())[0]
        some = session.read.parquet(str(first)).repartition(4)  # both Python processes are up, and the JVM has compiled
        RLearner(SCHEMA).fit_table(some)
        return timed(lambda: session.read.parquet(folder))
    finally:
        session.stop()


def warm() -> None:
    """Import what a worker needs before the clock starts, as on a cluster that is up."""
    RLearner(SCHEMA).fit_table(make_part(0, 500))


def render(numbers: dict) -> str:
    fits = [
        [f"{f['rows']:,}", f"{f['seconds']:.2f}", f"{1e6 * f['per_row']:.2f}", f"{f['peak_bytes'] / 1e9:.2f}"]
        for f in numbers["fits"]
    ]
    engines = [
        [e["engine"], f"{e['rows']:,}", f"{e['seconds']:.1f}", f"{e['ratio']:.2f} ({e['low']:.2f} to {e['high']:.2f})"]
        for e in numbers["engines"]
    ]
    plain = numbers["plain"]
    return f"""# Large tables

## One machine, Parquet files
Whole `RLearner(schema).fit_table(folder)` with {FEATURES} features, rows encoded once and passed over once for each histogram and round of moments; each fit in a process of its own.

{markdown_table(["rows", "s", "microseconds per row", "peak memory, GB"], fits)}

## Against a plain NumPy pass
At {plain["rows"]:,} rows in memory, a pass `(X * weight).sum()` over the {FEATURES + 2} columns takes {1e3 * plain["pass"]:.0f} ms, and the whole R-learner
{1e3 * plain["fit"]:.0f} ms: {plain["ratio"]:.1f} times as long ({plain["low"]:.1f} to {plain["high"]:.1f} in five interleaved repeats).

## Dask and Spark on the same two cores
Dask with two worker processes (which may keep freed memory, see docs/scale.md), Spark with `local[2]` after a fit of the first million rows; both up before the clock starts, reading the same Parquet files; in turn, median of three and the range.

{markdown_table(["engine", "rows", "s", "times our own"], engines)}"""


if __name__ == "__main__":
    if shutil.which("java") is None and sys.argv[1] == "spark":
        sys.exit("Spark needs Java")
    main(*sys.argv[1:])
