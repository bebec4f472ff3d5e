"""A real table with a synthetic effect: does the private effect beat the best constant?

The rows are the control group of a get-out-the-vote trial (Gerber, Green and Larimer 2008); treatment is drawn by us with
probability 0.4, and the paper's spike-in flips outcomes so that the effect is known: -g2000 / (2 + 100 / age).
The file is not part of the project: set DPCATE_GOTV to its path.
"""

from __future__ import annotations

import os

import numpy as np

from benchmarks.report import Report, markdown_table
from dpcate import DRLearner, RLearner, SLearner
from dpcate.experiments.gotv import GOTV_SCHEMA, load_gotv
from dpcate.experiments.spiked import spike

__all__ = ["run"]

LEARNERS = {"R": RLearner, "DR": DRLearner, "S": SLearner}


def run(*, quick: bool = False) -> Report:
    path = os.environ.get("DPCATE_GOTV")
    if not path:
        return Report("gotv", "GOTV was not measured: set DPCATE_GOTV to the path of the trial's Parquet file.")
    people, effect = load_gotv(path)
    cells = [
        measure(people, effect, n, epsilon, runs=2 if quick else 10)
        for n in ((4_000,) if quick else (4_000, 16_000))
        for epsilon in (1.0, 4.0)
    ]
    numbers = {"constant": float(effect.var()), "cells": cells}
    return Report("gotv", render(numbers), numbers)


def draw(people: dict[str, np.ndarray], effect: np.ndarray, n: int, generator: np.random.Generator) -> dict:
    """Return n rows with a drawn treatment and spiked outcomes."""
    chosen = generator.choice(len(effect), size=n, replace=False)
    treated = (generator.uniform(size=n) < 0.4).astype(int)
    rows = {name: values[chosen] for name, values in people.items()}
    rows["voted"] = spike(rows["voted"], treated, effect[chosen], generator)
    return {**rows, "treated": treated}


def measure(people: dict, effect: np.ndarray, n: int, epsilon: float, runs: int) -> dict:
    """Return the mean squared error of each learner over all people."""
    errors: dict[str, list[float]] = {name: [] for name in LEARNERS}
    features = {name: people[name] for name in GOTV_SCHEMA.feature_names}
    for seed in range(runs):
        generator = np.random.default_rng([seed, n, int(epsilon)])
        rows = draw(people, effect, n, generator)
        for name, learner in LEARNERS.items():
            fitted = learner(GOTV_SCHEMA, epsilon=epsilon, random_state=generator).fit_table(rows)
            errors[name].append(float(np.mean((fitted.effect(features) - effect) ** 2)))
    summary = {k: [float(np.mean(v)), float(np.std(v, ddof=1) / np.sqrt(runs))] for k, v in errors.items()}
    return {"n": n, "epsilon": epsilon, "runs": runs, "mse": summary}


def render(numbers: dict) -> str:
    rows = [
        [f"{cell['n']:,}", f"{cell['epsilon']:g}", *(f"{m:.5f} ± {s:.5f}" for m, s in cell["mse"].values())]
        for cell in numbers["cells"]
    ]
    return f"""# GOTV: a real table with a synthetic effect

Control rows of Gerber, Green and Larimer (2008), T ~ Bernoulli(0.4) drawn by us, the paper's spike-in with g2000; delta = 1e-5, replace-one, plan
shared, model additive, {numbers["cells"][0]["runs"]} runs ± standard error. Best constant (variance of the true effect): **{numbers["constant"]:.5f}**.

{markdown_table(["n", "epsilon", *(f"{name}-learner" for name in LEARNERS)], rows)}"""
