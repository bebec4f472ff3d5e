"""Do intervals hold where the outcome is yes or no, and yes is rare?

Three even features, treatment that follows the first of them, and an outcome that is twice as likely with treatment. What a
model leaves of such an outcome is not nearer to zero for being explained: bounds that expect it to be cut the rare yes away.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from joblib import Parallel, delayed

from benchmarks.report import Report, markdown_table
from dpcate import AverageEffect, Category, Number, RLearner, Schema

__all__ = ["draw", "run"]

SIZES, EPSILONS, PLANS, RUNS = (1_000, 4_000), (1.0, 4.0), ("shared", "split"), 60
RATES = (0.02, 0.05, 0.3)
"""How likely yes is without treatment; with treatment it is twice as likely."""
LEARNERS = {"AverageEffect": AverageEffect, "RLearner": RLearner}
SCHEMA = Schema(
    outcome=Number("y", 0, 1),
    treatment=Category("t", [0, 1]),
    features=[Number(name, 0, 1) for name in ("a", "b", "c")],
)


def draw(n: int, rate: float, generator: np.random.Generator):
    """Return features, treatment and outcome of ``n`` people."""
    X = generator.uniform(size=(n, 3))
    T = (generator.uniform(size=n) < 0.2 + 0.4 * X[:, 0]).astype(int)
    return X, T, (generator.uniform(size=n) < rate * (1 + T)).astype(float)


def run(*, quick: bool = False) -> Report:
    runs = 1 if quick else RUNS
    jobs = list(product(LEARNERS, RATES, PLANS, SIZES, EPSILONS))
    done = Parallel(n_jobs=2)(delayed(cell)(*job, runs) for job in jobs)
    rows = [_row(*each) for each in zip(jobs, done, strict=True)]
    header = [
        "learner",
        "yes, %",
        "plan",
        "rows",
        "epsilon",
        "covers, %",
        "bias / effect",
        "rms error / effect",
        "width / effect",
    ]
    text = f"""# A yes that is rare

Average effect of a treatment that doubles how likely yes is, from 2, 5 or 30 % on (`benchmarks/rare_outcomes.py`): coverage of 95 % intervals
by AverageEffect and by the R-learner, {runs} runs per cell; bias, root mean square error and mean width relative to the effect.

{markdown_table(header, rows)}"""
    return Report("rare_outcomes", text, {"runs": runs, "jobs": [list(job) for job in jobs], "found": done})


def cell(learner: str, rate: float, plan: str, n: int, epsilon: float, runs: int) -> list[list[float]]:
    """Return estimate and limits of every run, less the effect."""
    found = []
    for seed in range(runs):
        generator = np.random.default_rng([seed, n, int(10 * epsilon), int(1000 * rate), PLANS.index(plan)])
        X, T, Y = draw(n, rate, generator)
        fitted = LEARNERS[learner](SCHEMA, epsilon=epsilon, plan=plan, random_state=generator).fit(Y, T, X=X)
        found.append([value - rate for value in (fitted.ate(), *fitted.ate_interval())])
    return found


def _row(job: tuple, found: list[list[float]]) -> list[str]:
    learner, rate, plan, n, epsilon = job
    error, low, high = np.array(found).T
    holds = (low <= 0) & (high >= 0)
    shown = (error.mean(), np.sqrt((error**2).mean()), (high - low).mean())
    return [
        learner,
        f"{100 * rate:g}",
        plan,
        f"{n:,}",
        f"{epsilon:g}",
        f"{100 * holds.mean():.0f}",
        *(f"{value / rate:.2f}" for value in shown),
    ]
