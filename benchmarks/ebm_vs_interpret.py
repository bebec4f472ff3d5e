"""Our boosting machine against interpret's, in the paper's DR-learner: speed and accuracy.

Both run in the same process, interleaved, on the same rows with the same schema, budget, plan and public bounds. Ratios
are reported, since seconds depend on the machine.
"""

from __future__ import annotations

import time

import numpy as np

from benchmarks.report import Report, markdown_table
from dpcate import Category, DRLearner, Number, Schema
from dpcate.experiments import make_setup

__all__ = ["run"]

MODELS = ("ebm", "interpret")
SPEED_ROWS, SPEED_FEATURES = 32_000, 11
CELLS = [(name, epsilon) for name in "ABC" for epsilon in (1.0, 4.0)]
ACCURACY_ROWS, TEST_ROWS = 8_000, 50_000
TITLE = """# `model="ebm"` against `model="interpret"` in the paper's DR-learner"""
EXPLANATION = """Why so much: a doubly robust score can be as large as the outcome's range over the smallest propensity,
and interpret scales its noise to that bound. Ours pays a little for a private histogram of the scores, holds them to
the range where they are, and shrinks what is left of the noise."""


def run(*, quick: bool = False) -> Report:
    speed = measure_speed(repeats=2 if quick else 7)
    accuracy = measure_accuracy(runs=2 if quick else 12)
    return Report("ebm_vs_interpret", render(speed, accuracy), {"speed": speed, "accuracy": accuracy})


def measure_speed(repeats: int) -> dict:
    """Return seconds of whole fits, interleaved; the first fit of each model (imports, samplers) does not count."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(SPEED_ROWS, SPEED_FEATURES))
    T = generator.integers(2, size=SPEED_ROWS)
    Y = X[:, 0] + T * X[:, 1] + generator.normal(size=SPEED_ROWS)
    features = [Number(f"x{j}", -4, 4) for j in range(SPEED_FEATURES)]
    schema = Schema(outcome=Number("y", -8, 8), treatment=Category("t", [0, 1]), features=features)
    seconds: dict[str, list[float]] = {model: [] for model in MODELS}
    for repeat in range(repeats + 1):
        for model in MODELS:
            learner = DRLearner(schema, epsilon=1.0, delta=1e-5, plan="split", model=model)
            start = time.perf_counter()
            learner.fit(Y, T, X=X)
            if repeat > 0:
                seconds[model].append(time.perf_counter() - start)
    ratios = np.array(seconds["interpret"]) / np.array(seconds["ebm"])
    return {
        "rows": SPEED_ROWS,
        "features": SPEED_FEATURES,
        "seconds": seconds,
        "ratio_median": float(np.median(ratios)),
        "ratio_low": float(ratios.min()),
        "ratio_high": float(ratios.max()),
    }


def measure_accuracy(runs: int) -> dict:
    """Return the mean squared error of the effect, per cell, model and run."""
    errors: dict[str, dict[str, list[float]]] = {}
    for name, epsilon in CELLS:
        setup = make_setup(name)
        test = setup.draw(TEST_ROWS, 999)
        cell = errors.setdefault(f"{name}, epsilon {epsilon:g}", {model: [] for model in MODELS})
        for seed in range(runs):
            sample = setup.draw(ACCURACY_ROWS, seed)
            for model in MODELS:
                learner = DRLearner(
                    setup.schema, epsilon=epsilon, delta=1e-5, plan="split", model=model, random_state=seed
                )
                learner.fit(sample.Y, sample.T, X=sample.X)
                cell[model].append(float(np.mean((learner.effect(test.X) - test.effect) ** 2)))
    logs = np.array([np.log(cell["interpret"]) - np.log(cell["ebm"]) for cell in errors.values()])
    per_run = logs.mean(axis=0)
    return {
        "rows": ACCURACY_ROWS,
        "runs": runs,
        "mse": errors,
        "log_ratio_mean": float(per_run.mean()),
        "log_ratio_standard_error": float(per_run.std(ddof=1) / np.sqrt(runs)),
        "ratio_geometric_mean": float(np.exp(per_run.mean())),
    }


def render(speed: dict, accuracy: dict) -> str:
    return "\n\n".join([TITLE, render_speed(speed), render_accuracy(accuracy), EXPLANATION])


def render_speed(speed: dict) -> str:
    ours, theirs = (float(np.median(speed["seconds"][model])) for model in MODELS)
    return f"""## Speed

Whole `fit` with {speed["rows"]:,} rows, {speed["features"]} features, plan split (0.25, 0.25, 0.5), noise from the
operating system: **{speed["ratio_median"]:.1f} times faster**. This is the median of \
{len(speed["seconds"]["ebm"])} interleaved repeats; the lowest is
{speed["ratio_low"]:.1f}, the highest {speed["ratio_high"]:.1f}.
Median seconds: {ours:.2f} against {theirs:.2f}."""


def render_accuracy(accuracy: dict) -> str:
    rows = [
        [cell, *(f"{np.mean(by_model[model]):.3g}" for model in MODELS), f"{geometric_ratio(by_model):.3g}"]
        for cell, by_model in accuracy["mse"].items()
    ]
    error = 2 * accuracy["log_ratio_standard_error"]
    low, high = (np.exp(accuracy["log_ratio_mean"] + shift) for shift in (-error, error))
    return f"""## Accuracy

Mean squared error of the effect: {accuracy["rows"]:,} rows, delta 1e-5, replace-one, plan split, public bounds, unknown
propensity, mean of {accuracy["runs"]} runs. The ratio is the geometric mean over runs of interpret's error over ours.

{markdown_table(["setup", "ebm", "interpret", "ratio"], rows)}

Geometric mean over all cells: **{accuracy["ratio_geometric_mean"]:.0f} times less error** \
(two standard errors: {low:.0f} to {high:.0f})."""


def geometric_ratio(by_model: dict[str, list[float]]) -> float:
    return float(np.exp(np.mean(np.log(by_model["interpret"]) - np.log(by_model["ebm"]))))
