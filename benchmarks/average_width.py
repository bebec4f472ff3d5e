"""How wide the private interval of the average effect is, beside two non-private ones, on setup B at 4,000 rows and epsilon = 1.

DoubleML's IRM is for the average over the population, as ours is; EconML's LinearDRLearner averages over the people of the table and
leaves out that other people would have other effects. Both have the same gradient-boosted first stages.

Beside the width stands how wide an interval of exactly the right length would be: 3.92 times the real error over the runs. No honest
interval around the same estimate is shorter.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
from joblib import Parallel, delayed

from benchmarks.coverage import AVERAGES
from benchmarks.report import Report, markdown_table
from dpcate import AverageEffect
from dpcate.experiments import make_setup

__all__ = ["run"]

N_ROWS = 4_000
EXACT = 2 * 1.959964
IRM, DR = "DoubleML's IRM, not private", "EconML's LinearDRLearner, not private"


def run(*, quick: bool = False) -> Report:
    truth, runs = AVERAGES["B"], 2 if quick else 200
    ways = {
        "AverageEffect, propensity known (0.5 by design)": known_by_design,
        "AverageEffect, propensity estimated": estimated,
        IRM: doubleml_irm,
        DR: econml_dr,
    }
    done = Parallel(n_jobs=2)(delayed(one_run)(tuple(ways.values()), seed) for seed in range(runs))
    found = {name: [each[k] for each in done] for k, name in enumerate(ways)}
    widths = {name: float(np.mean([high - low for low, high in each])) for name, each in found.items()}
    covers = {name: float(np.mean([low <= truth <= high for low, high in each])) for name, each in found.items()}
    errors = {
        name: np.sqrt(np.mean([((low + high) / 2 - truth) ** 2 for low, high in each])) for name, each in found.items()
    }
    exact = {name: float(EXACT * error) for name, error in errors.items()}
    lines = [
        [
            name,
            f"{widths[name]:.3f}",
            f"{widths[name] / widths[IRM]:.3f} ± {2 * doubt(found[name], found[IRM]):.3f}",
            f"{widths[name] / widths[DR]:.2f}",
            f"{100 * covers[name]:.0f}",
            f"{exact[name]:.3f}",
            f"{exact[name] / widths[IRM]:.2f} ± {exact[name] / widths[IRM] * np.sqrt(2 / runs):.2f}",
        ]
        for name in ways
    ]
    header = [
        "interval",
        "mean width",
        "times the IRM's",
        "times EconML's",
        "covers, %",
        "3.92 real errors",
        "those, times the IRM's width",
    ]
    table = markdown_table(header, lines)
    text = f"# Width of the average effect's interval\n\nSetup B, {N_ROWS:,} rows, epsilon = 1, delta = 1e-5, {runs} runs (± two standard errors).\n\n{table}"
    return Report("average_width", text, {"widths": widths, "covers": covers, "exact": exact, "runs": runs})


def one_run(ways: tuple, seed: int) -> list[tuple[float, float]]:
    """Return the limits that each way gives on the same rows."""
    rows = make_setup("B").draw(N_ROWS, seed)
    return [way(rows, seed) for way in ways]


def doubt(one: list, other: list) -> float:
    """Return the standard error of the ratio of two mean widths over the same runs."""
    first, second = (np.array([high - low for low, high in each]) for each in (one, other))
    ratio = first.mean() / second.mean()
    return float((first - ratio * second).std(ddof=1) / second.mean() / np.sqrt(len(first)))


def known_by_design(rows, seed: int) -> tuple[float, float]:
    return private(replace(make_setup("B").schema, propensity=0.5), rows, seed)


def estimated(rows, seed: int) -> tuple[float, float]:
    return private(make_setup("B").schema, rows, seed)


def private(schema, rows, seed: int) -> tuple[float, float]:
    return AverageEffect(schema, epsilon=1.0, random_state=seed).fit(rows.Y, rows.T, X=rows.X).ate_interval()


def first_stages(seed: int) -> tuple:
    from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor

    outcome = GradientBoostingRegressor(n_estimators=60, random_state=seed)
    return outcome, GradientBoostingClassifier(n_estimators=30, random_state=seed)


def doubleml_irm(rows, seed: int) -> tuple[float, float]:
    from doubleml import DoubleMLData, DoubleMLIRM

    np.random.seed(seed)  # noqa: NPY002 - the library cuts its folds with it
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = DoubleMLData.from_arrays(np.asarray(rows.X), np.asarray(rows.Y), np.asarray(rows.T))
        low, high = DoubleMLIRM(data, *first_stages(seed), n_folds=5).fit().confint().to_numpy()[0]
    return float(low), float(high)


def econml_dr(rows, seed: int) -> tuple[float, float]:
    from econml.dr import LinearDRLearner

    outcome, propensity = first_stages(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LinearDRLearner(model_regression=outcome, model_propensity=propensity, random_state=seed)
        model.fit(rows.Y, rows.T, X=rows.X)
        low, high = model.ate_interval(rows.X, T0=0, T1=1)
    return float(low), float(high)
