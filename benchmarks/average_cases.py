"""On which made-up cases does AverageEffect's interval hold? The tuning data, as they are and mirrored.

In most cases people who would fare well are treated more often, and the effect is positive. What is left of confounding then
raises the estimate, what the propensity's squared error takes of the effect lowers it, and the two cancel in part. Mirrored,
with the chance of treatment e(x) replaced by 1 - e(x), they add. Whoever fits an interval to one of the two kinds only fits luck.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from joblib import Parallel, delayed

from benchmarks.report import Report, markdown_table
from benchmarks.tuning_data import AVERAGE_CASES as CASES
from dpcate import AverageEffect

__all__ = ["run"]

SIZES, EPSILONS, PLANS, RUNS = (1_000, 4_000), (1.0, 4.0), ("shared", "split"), 20
KINDS = ("as they are", "mirrored")


def run(*, quick: bool = False) -> Report:
    runs = 1 if quick else RUNS
    names = list(CASES)[: 2 if quick else None]
    truths = {name: float(CASES[name].draw(200_000, np.random.default_rng(5))[3].mean()) for name in names}
    jobs = list(product(names, KINDS, SIZES, EPSILONS, PLANS))
    done = Parallel(n_jobs=2)(delayed(cell)(*job, runs, truths[job[0]]) for job in jobs)
    found = np.array(done).reshape(len(names), len(KINDS), -1, 2)
    rows = [[name, *_columns(found[k : k + 1])] for k, name in enumerate(names)]
    text = f"""# Where AverageEffect's interval holds

Made-up cases unlike setups A to E (`benchmarks/tuning_data.py`), n in {SIZES}, epsilon in {EPSILONS}, both plans, {runs} runs per cell: {found.shape[2]} runs per case and kind.
"Mirrored" has the chance of treatment e(x) replaced by 1 - e(x). Coverage of 95 % intervals; mean of error over stated standard error; root mean square of it,
which is one where the standard error is what it says.

{markdown_table(_HEADER, [*rows, ["**all**", *_columns(found)]])}"""
    return Report("average_cases", text, {"runs": runs, "jobs": [list(job) for job in jobs], "errors": done})


_HEADER = ["case", *(f"{kind}: {what}" for kind in KINDS for what in ("covers, %", "mean", "rms"))]


def _columns(found: np.ndarray) -> list[str]:
    """Return coverage, mean and root mean square of standardised errors, for either kind."""
    shown = []
    for k in range(len(KINDS)):
        z = found[:, k, :, 0] / found[:, k, :, 1]
        shown += [f"{100 * (np.abs(z) <= 1.96).mean():.1f}", f"{z.mean():+.2f}", f"{np.sqrt((z**2).mean()):.2f}"]
    return shown


def cell(case: str, kind: str, n: int, epsilon: float, plan: str, runs: int, truth: float) -> list[list[float]]:
    """Return error and stated standard error of every run."""
    found = []
    data = CASES[case] if kind == KINDS[0] else CASES[case].mirrored()
    for seed in range(runs):
        place = [list(CASES).index(case), KINDS.index(kind), PLANS.index(plan)]
        generator = np.random.default_rng([seed, n, int(10 * epsilon), *place])
        X, T, Y, _ = data.draw(n, generator)
        learner = AverageEffect(data.schema(), epsilon=epsilon, plan=plan, random_state=generator).fit(Y, T, X=X)
        answer = learner.ate_inference()
        found.append([answer.mean_point - truth, answer.stderr_mean])
    return found
