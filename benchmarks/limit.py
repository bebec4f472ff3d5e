"""Without privacy noise: is the model itself as good as the usual non-private estimators?

Our R-learner at a very large epsilon, and EconML's causal forest and DR-learner with gradient boosting, on the same rows.
"""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.report import Report, markdown_table
from dpcate import RLearner
from dpcate.experiments import make_setup

__all__ = ["run"]

SETUPS = ("A", "B", "C", "D-published")
ROWS, TEST_ROWS, EPSILON = 16_000, 50_000, 1e6


def run(*, quick: bool = False) -> Report:
    runs = 1 if quick else 3
    errors = {setup: measure(setup, runs, 2_000 if quick else ROWS) for setup in SETUPS}
    numbers = {"runs": runs, "epsilon": EPSILON, "mse": errors}
    return Report("limit", render(numbers), numbers)


def measure(setup: str, runs: int, n_rows: int) -> dict[str, list[float]]:
    """Return the mean squared error of each estimator and run."""
    made = make_setup(setup)
    test = made.draw(TEST_ROWS, 987_654)
    errors: dict[str, list[float]] = {"ours": [], "CausalForestDML": [], "DRLearner": []}
    for seed in range(runs):
        sample = made.draw(n_rows, seed)
        ours = RLearner(made.schema, epsilon=EPSILON, random_state=seed).fit(sample.Y, sample.T, X=sample.X)
        predictions = {"ours": ours.effect(test.X), **econml_effects(sample, test.X, seed)}
        for name, effect in predictions.items():
            errors[name].append(float(np.mean((effect - test.effect) ** 2)))
    return errors


def econml_effects(sample, X: np.ndarray, seed: int) -> dict[str, np.ndarray]:
    """Return what EconML estimates for the rows of ``X``."""
    from econml.dml import CausalForestDML
    from econml.dr import DRLearner
    from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        forest = CausalForestDML(
            model_y=GradientBoostingRegressor(random_state=seed),
            model_t=GradientBoostingClassifier(random_state=seed),
            discrete_treatment=True,
            n_estimators=500,
            random_state=seed,
        ).fit(sample.Y, sample.T, X=sample.X)
        robust = DRLearner(
            model_propensity=GradientBoostingClassifier(random_state=seed),
            model_regression=GradientBoostingRegressor(random_state=seed),
            model_final=GradientBoostingRegressor(random_state=seed),
            min_propensity=0.05,
            random_state=seed,
        ).fit(sample.Y, sample.T, X=sample.X)
        return {"CausalForestDML": forest.effect(X).ravel(), "DRLearner": robust.effect(X).ravel()}


def render(numbers: dict) -> str:
    rows = [
        [setup, *(f"{np.mean(error):.4f} ± {np.std(error) / np.sqrt(len(error)):.4f}" for error in by_name.values())]
        for setup, by_name in numbers["mse"].items()
    ]
    return f"""# In the non-private limit

Mean squared error of the effect at {ROWS:,} rows, mean of {numbers["runs"]} runs ± its standard error; ours with epsilon = {EPSILON:g}, EconML without privacy,
gradient-boosting nuisances, same rows.

{markdown_table(["setup", "RLearner", "CausalForestDML", "EconML's DRLearner"], rows)}"""
