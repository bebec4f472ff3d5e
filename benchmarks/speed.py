"""How long a whole R-learner takes, against the paper's DR-learner on interpret; how it grows; how much memory it needs.

Ratios are measured in one process, interleaved; seconds depend on the machine.
"""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
import pyarrow as pa

from benchmarks.paper_dr import fit_paper_dr
from benchmarks.report import Report, markdown_table
from dpcate import Category, Number, RLearner, Schema

__all__ = ["run"]

FEATURES = 11
RATIO_SIZES = {4_000: 7, 32_000: 7, 1_000_000: 3}
GROWTH_SIZES = (100_000, 1_000_000, 10_000_000)


def run(*, quick: bool = False) -> Report:
    ratios = measure_ratios({4_000: 2, 32_000: 2} if quick else RATIO_SIZES)
    growth = measure_growth((20_000, 100_000) if quick else GROWTH_SIZES)
    wide = measure_wide(10_000 if quick else 100_000)
    memory = measure_memory(100_000 if quick else 1_000_000)
    numbers = {"ratios": ratios, "growth": growth, "wide": wide, "memory": memory}
    return Report("speed", render(numbers), numbers)


def make_table(n_rows: int, n_features: int = FEATURES) -> tuple[pa.Table, Schema]:
    """Return a made-up table and its schema."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(n_rows, n_features))
    T = generator.integers(2, size=n_rows)
    Y = X[:, 0] + T * X[:, 1] + generator.normal(size=n_rows)
    columns = {f"x{j}": X[:, j] for j in range(n_features)}
    schema = Schema(
        outcome=Number("y", -8, 8),
        treatment=Category("t", [0, 1]),
        features=[Number(name, -4, 4) for name in columns],
    )
    return pa.table({**columns, "t": T, "y": Y}), schema


def seconds(act) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def measure_ratios(sizes: dict[int, int]) -> list[dict]:
    """Return our seconds and interpret's, fit by fit in turn."""
    results = []
    for n_rows, repeats in sizes.items():
        table, schema = make_table(n_rows)
        X = np.column_stack([table[f"x{j}"].to_numpy() for j in range(FEATURES)])
        T, Y = table["t"].to_numpy(), table["y"].to_numpy()
        RLearner(schema).fit_table(table.slice(0, 500))
        ours, theirs = [], []
        for _ in range(repeats):
            ours.append(seconds(lambda: RLearner(schema).fit_table(table)))  # noqa: B023 - called at once
            theirs.append(
                seconds(lambda: fit_paper_dr(X, T, Y, epsilon=1, delta=1e-5, bound=4, outcome=(-8, 8)))  # noqa: B023
            )
        ratio = np.array(theirs) / np.array(ours)
        results.append(
            {
                "rows": n_rows,
                "ours": float(np.median(ours)),
                "interpret": float(np.median(theirs)),
                "ratio": float(np.median(ratio)),
                "ratio_low": float(ratio.min()),
                "ratio_high": float(ratio.max()),
            }
        )
    return results


def measure_growth(sizes: tuple[int, ...]) -> list[dict]:
    """Return the time per row, and the time that does not depend on the rows (a fit of 100 rows with the same n)."""
    fixed_table, schema = make_table(100)
    RLearner(schema).fit_table(fixed_table)
    fixed = float(np.median([seconds(lambda: RLearner(schema).fit_table(fixed_table)) for _ in range(5)]))
    results = []
    for n_rows in sizes:
        table, schema = make_table(n_rows)
        taken = [seconds(lambda: RLearner(schema).fit_table(table)) for _ in range(2)]  # noqa: B023 - called at once
        results.append({"rows": n_rows, "seconds": min(taken), "per_row": min(taken) / n_rows, "fixed": fixed})
    return results


def measure_wide(n_rows: int) -> list[dict]:
    """Return the time with 50 numbers, and with a category of 500 levels."""
    table, schema = make_table(n_rows, 50)
    numbers = seconds(lambda: RLearner(schema).fit_table(table))
    levels = [f"level {k}" for k in range(500)]
    chosen = np.random.default_rng(1).integers(500, size=n_rows)
    table, schema = make_table(n_rows)
    table = table.append_column("c", pa.array(np.array(levels)[chosen]))
    wide = Schema(schema.outcome, schema.treatment, [*schema.features, Category("c", levels)])
    category = seconds(lambda: RLearner(wide).fit_table(table))
    return [
        {"what": "50 numbers", "rows": n_rows, "seconds": numbers},
        {"what": "11 numbers and a category of 500 levels", "rows": n_rows, "seconds": category},
    ]


def measure_memory(n_rows: int) -> dict:
    """Return the peak of what Python and numpy allocate during a fit, against the table's own size."""
    table, schema = make_table(n_rows)
    RLearner(schema).fit_table(table.slice(0, 500))
    tracemalloc.start()
    RLearner(schema).fit_table(table)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {"rows": n_rows, "table_bytes": table.nbytes, "peak_bytes": peak, "ratio": peak / table.nbytes}


def render(numbers: dict) -> str:
    ratios = [
        [
            f"{r['rows']:,}",
            f"{r['ours']:.3g}",
            f"{r['interpret']:.3g}",
            f"{r['ratio']:.1f} ({r['ratio_low']:.1f} to {r['ratio_high']:.1f})",
        ]
        for r in numbers["ratios"]
    ]
    growth = [
        [
            f"{g['rows']:,}",
            f"{g['seconds']:.3g}",
            f"{1e6 * g['per_row']:.2f}",
            f"{1e6 * (g['seconds'] - g['fixed']) / g['rows']:.2f}",
        ]
        for g in numbers["growth"]
    ]
    wide = [[w["what"], f"{w['rows']:,}", f"{w['seconds']:.2f}"] for w in numbers["wide"]]
    memory = numbers["memory"]
    return f"""# Speed and size

## Against the paper's DR-learner on interpret
Whole `RLearner(schema).fit_table(table)` (plan shared, model additive, system noise), {FEATURES} features, against the DR-learner with interpret's
private boosting machines at their defaults, three fits on disjoint rows. Interleaved; median ratio and its range.

{markdown_table(["rows", "ours, s", "interpret, s", "times faster"], ratios)}

## Growth
{markdown_table(["rows", "s", "microseconds per row", "microseconds per row beyond the fixed part"], growth)}

The fixed part (planning, noise, posterior; everything after the moments are known) is that of a fit on 100 rows:
{numbers["growth"][0]["fixed"]:.3f} s, whatever the number of rows.

## Wide tables
{markdown_table(["table", "rows", "s"], wide)}

## Memory
At {memory["rows"]:,} rows the peak of what a fit allocates is {memory["peak_bytes"] / 1e6:.0f} MB, {memory["ratio"]:.2f} times the table's own
{memory["table_bytes"] / 1e6:.0f} MB."""
