"""Our learners against the published table, cell by cell, at the same privacy.

Public bounds, replace-one, delta = 1e-5, unknown propensity. Every cell is the mean over runs of the mean squared error of
the effect on a test sample; ratios are the published mean over ours.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from joblib import Parallel, delayed

from benchmarks.report import Report, markdown_table
from dpcate import DRLearner, RLearner, SLearner
from dpcate.experiments import make_setup
from dpcate.experiments.published_values import published

__all__ = ["run", "study"]

SETUPS = {"A": "A", "B": "B", "C": "C", "D": "D-published", "E": "E-published"}
SIZES = (500, 1000, 2000, 4000, 8000, 16000)
EPSILONS = (1.0, 2.0, 4.0, 8.0, 16.0)
LEARNERS = {"R": RLearner, "DR": DRLearner, "S": SLearner}
PLANS = ("shared", "split")
RIVALS = {
    "the paper's DR": ("DR",),
    "the better of its DR and R": ("DR", "R"),
    "the best of its DR, R, S": ("DR", "R", "S"),
}
TEST_ROWS = 50_000


def run(*, quick: bool = False) -> Report:
    sizes, epsilons, runs = ((1000, 8000), (1.0, 8.0), 2) if quick else (SIZES, EPSILONS, 10)
    cells = study(sizes=sizes, epsilons=epsilons, runs=runs)
    return Report("accuracy", render(cells, runs), {"runs": runs, "cells": cells})


def study(
    *, sizes, epsilons, runs: int, learners=tuple(LEARNERS), plans=PLANS, model="additive", n_jobs=2
) -> list[dict]:
    """Return one record per setup, size, epsilon, learner and plan."""
    jobs = list(product(SETUPS, sizes, epsilons, learners, plans))
    errors = Parallel(n_jobs=n_jobs)(delayed(cell_errors)(*job, runs, model) for job in jobs)
    records = []
    for (setup, n, epsilon, learner, plan), error in zip(jobs, errors, strict=True):
        known = published_errors(setup, n, epsilon)
        records.append(
            {
                "setup": setup,
                "n": n,
                "epsilon": epsilon,
                "learner": learner,
                "plan": plan,
                "mse": float(np.mean(error)),
                "standard_error": float(np.std(error, ddof=1) / np.sqrt(runs)),
                "published": known,
            }
        )
    return records


def cell_errors(setup: str, n: int, epsilon: float, learner: str, plan: str, runs: int, model) -> list[float]:
    """Return the mean squared error of each run."""
    made = make_setup(SETUPS[setup])
    test = made.draw(TEST_ROWS, 987_654)
    errors = []
    for seed in range(runs):
        generator = np.random.default_rng([seed, n, int(10 * epsilon)])
        sample = made.draw(n, generator)
        fitted = LEARNERS[learner](
            made.schema, epsilon=epsilon, delta=1e-5, plan=plan, model=model, random_state=generator
        ).fit(sample.Y, sample.T, X=sample.X)
        errors.append(float(np.mean((fitted.effect(test.X) - test.effect) ** 2)))
    return errors


def published_errors(setup: str, n: int, epsilon: float) -> dict[str, float]:
    """Return the published errors of a cell by learner."""
    found = {learner: published(SETUPS[setup], n, learner, epsilon) for learner in LEARNERS}
    return {learner: values.mse for learner, values in found.items() if values is not None}


def ratios(cells: list[dict], rival: tuple[str, ...]) -> np.ndarray:
    """Return published over ours, for each cell in which the rival was published."""
    values = [
        min(cell["published"][name] for name in rival if name in cell["published"]) / cell["mse"]
        for cell in cells
        if any(name in cell["published"] for name in rival)
    ]
    return np.array(values)


def render(cells: list[dict], runs: int) -> str:
    rows = []
    for learner, plan in product(LEARNERS, PLANS):
        mine = [cell for cell in cells if cell["learner"] == learner and cell["plan"] == plan]
        if mine:
            found = [ratios(mine, rival) for rival in RIVALS.values()]
            means = [f"{np.exp(np.log(ratio).mean()):.1f}" for ratio in found]
            rows.append([learner, plan, *means, f"{found[-1].min():.2f}", f"{np.exp(_mean_log(mine)):.3f}"])
    header = ["learner", "plan", *RIVALS, "worst cell against the best", "geometric mean MSE"]
    return f"""# Error at equal privacy, against the published table

Setups A, B, C, D-published, E-published; {runs} runs per cell; test sample of {TEST_ROWS:,}; delta = 1e-5; replace-one; public bounds;
unknown propensity; model `additive`. Each number is the geometric mean over all cells of (published MSE / our MSE): larger is better.

{markdown_table(header, rows)}

"The best of its DR, R, S" is chosen per cell after the fact, which no user could do.

## R-learner, plan shared: MSE by cell
{_by_cell(cells, "R", "shared")}

## R-learner, plan split: MSE by cell
{_by_cell(cells, "R", "split")}"""


def _mean_log(cells: list[dict]) -> float:
    return float(np.mean([np.log(cell["mse"]) for cell in cells]))


def _by_cell(cells: list[dict], learner: str, plan: str) -> str:
    mine = {(c["setup"], c["n"], c["epsilon"]): c for c in cells if c["learner"] == learner and c["plan"] == plan}
    epsilons = sorted({key[2] for key in mine})
    rows = []
    for setup, n in sorted({key[:2] for key in mine}):
        row = [mine[setup, n, epsilon] for epsilon in epsilons]
        rows.append([setup, f"{n:,}", *(f"{c['mse']:.3g} ± {c['standard_error']:.1g}" for c in row)])
    return markdown_table(["setup", "n", *(f"epsilon {epsilon:g}" for epsilon in epsilons)], rows)
