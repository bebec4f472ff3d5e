"""Does the planner predict the error that a fit then has? Setups A to E, epsilon 1 and 4, 1,000 to 16,000 rows.

The planner is told numbers about each setup's true functions (`benchmarks/planner_facts.py`), and reads no outcome. It is asked twice:
with all of them, and with the three standard deviations alone.
"""

from __future__ import annotations

import numpy as np

from benchmarks.planner_facts import forms, spreads
from benchmarks.report import Report, markdown_table
from dpcate import RLearner
from dpcate.experiments import make_setup
from dpcate.planning import Assumptions, plan_release

__all__ = ["run"]

ROWS, EPSILONS, TEST_ROWS = (1000, 4000, 16_000), (1.0, 4.0), 20_000
SETUPS, FACTOR = "ABCDE", 1.5


def run(*, quick: bool = False) -> Report:
    runs = 4 if quick else 40
    setups, rows = ("B", (1000,)) if quick else (SETUPS, ROWS)
    cells = [cell for name in setups for n in rows for cell in measure(name, n, runs)]
    numbers = {"runs": runs, "factor": FACTOR, "cells": cells}
    return Report("planner", render(numbers), numbers)


def measure(name: str, n: int, runs: int) -> list[dict]:
    """Return, per epsilon, what was realised and what was predicted."""
    schema = make_setup(name).schema
    told = spreads(name)
    whole = plan_release(schema, n, EPSILONS, runs=runs, assumed=Assumptions.of(schema, **told, **forms(name)))
    less = plan_release(schema, n, EPSILONS, runs=runs, assumed=Assumptions.of(schema, **told))
    return [
        {
            "setup": name,
            "n": n,
            "epsilon": epsilon,
            **realised(name, n, epsilon, runs),
            "told": {"effect": one.effect_error, "average": one.average_error},
            "spreads_only": {"effect": other.effect_error, "average": other.average_error},
        }
        for epsilon, one, other in zip(EPSILONS, whole.expected, less.expected, strict=True)
    ]


def realised(name: str, n: int, epsilon: float, runs: int) -> dict[str, float]:
    """Return the root mean squared errors of fits on the setup, for single effects and for their average."""
    setup = make_setup(name)
    test = setup.draw(TEST_ROWS, 987_654)
    errors = []
    for seed in range(runs):
        sample = setup.draw(n, seed)
        learner = RLearner(setup.schema, epsilon=epsilon, random_state=seed).fit(sample.Y, sample.T, X=sample.X)
        off = (learner.ate() - test.effect.mean()) ** 2
        errors.append([np.mean((learner.effect(test.X) - test.effect) ** 2), off])
    effect, average = np.sqrt(np.mean(errors, axis=0))
    return {"effect": float(effect), "average": float(average)}


def render(numbers: dict) -> str:
    lines, inside = [], {"told": 0, "spreads_only": 0}
    for cell in numbers["cells"]:
        line = [cell["setup"], f"{cell['n']:,}", f"{cell['epsilon']:g}", f"{cell['effect']:.3f}"]
        for key in inside:
            ratio = cell[key]["effect"] / cell["effect"]
            inside[key] += 1 / FACTOR <= ratio <= FACTOR
            line += [f"{cell[key]['effect']:.3f}", f"{ratio:.2f}"]
        line += [f"{cell['average']:.3f}", f"{cell['told']['average']:.3f}"]
        lines.append(line)
    header = ["setup", "rows", "epsilon", "realised", "predicted", "ratio", "predicted, sds only", "ratio"]
    header += ["average: realised", "predicted"]
    total = len(numbers["cells"])
    return f"""# What the planner predicts and what a fit then has

Root mean squared error of the R-learner's effects (and of their average), {numbers["runs"]} runs each. The planner was told, of the setups' true functions: the
standard deviations of effect, noise and mean regression and the shape of the features ("sds only"); and, in the other column, also the effect's mean, how many features
move it, how much of it, of the mean regression and of the logit of the propensity neither curves nor products of two features follow (next to what they leave of hinges of sums),
how bent the effect's curves are, how many are treated, how strongly treatment follows the features and the mean regression, and features each other. All of them are worked out from the formulas (`benchmarks/planner_facts.py`).

Within a factor {FACTOR:g}: {inside["told"]} of {total} cells told everything, {inside["spreads_only"]} of {total} told the standard deviations alone.

These cells are not a fresh test of the planner. The form of its made-up studies (smooth bends, hinges of sums, treatment that follows the baseline), and what it is told, were settled
while looking at them. Both sides have few runs, so part of each ratio is chance; how large a part was not measured.

{markdown_table(header, lines)}"""
