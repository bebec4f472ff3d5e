"""Do the intervals hold? Coverage and width of 95 % intervals for single people and for the average effect.

For people the coverage is averaged over a test sample and over runs. Setup D has an effect that is no sum of curves; there the
target is its best additive approximation, and the effect is fitted without products of features, which would leave it. Which
approximation is best depends on whose errors count how much: by e (1 - e), as in the R-learner's loss, or all alike; both are shown.
(E's effect is a sum of curves, and so its own best approximation.)
The average effect is that of the population; its intervals are AverageEffect's and the R-learner's. Beside them stands how often an
interval without privacy holds on the same rows, made of the score with the true functions: what luck those rows had. Every cell
has rows of its own, so that luck is not repeated.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
from joblib import Parallel, delayed
from scipy.special import expit

from benchmarks.report import Report, markdown_table
from dpcate import AverageEffect, Category, Number, RLearner, Schema
from dpcate.experiments import make_setup
from dpcate.experiments.setups import Truth
from dpcate.models import Additive

__all__ = ["run", "study"]

SETUPS = ("A", "B", "C", "linear", "D", "E")
SIZES = (1000, 4000, 16000)
EPSILONS = (1.0, 4.0, 16.0)
PLANS = {"shared": (200, 500), "split": (200, 500)}
"""How many runs per cell each plan has, of the R-learner and of AverageEffect: one number per run tells less than two
thousand people do. The first plan is the default."""
TEST_ROWS = 2_000
TEST_SEEDS = 10**8
"""Seeds of test samples are beyond all seeds of rows."""
AVERAGES = {
    "A": 0.5,
    "B": 0.8060592,  # the mean of log(1 + exp(z)), z standard normal, by quadrature
    "C": 1.0,
    "linear": 1.05,
    "D": (3**0.5 - 2**0.5) / (2 * np.pi) ** 0.5,  # a normal's positive part is sd / sqrt(2 pi) on average
    "E": 0.5,
}
"""Average effects of the populations, exactly: that of a sample, however large, is off by a part of a standard error."""
_TAIL = np.array([0.0, 0.0005, 0.002, 0.005, 0.01, 0.02, 0.035])
KNOTS = np.concatenate([_TAIL, np.linspace(0.05, 0.95, 31), 1 - _TAIL[::-1]])
"""Where the best additive approximation may bend, as quantiles of a feature: curves matter most in its tails."""


class Linear:
    """A setup of our own: a linear effect, mild confounding, bell-shaped features, one of them yes or no."""

    schema = Schema(
        outcome=Number("y", -8, 8),
        treatment=Category("t", [0, 1]),
        features=[*(Number(f"x{j}", -4, 4) for j in range(1, 5)), Category("x5", [0, 1])],
    )

    def draw(self, n_rows: int, seed: int):
        """Return rows with their true effects."""
        generator = np.random.default_rng(seed)
        X = np.column_stack([generator.normal(size=(n_rows, 4)), generator.integers(2, size=n_rows)])
        truth = self.truth(X, generator)
        T = (generator.uniform(size=n_rows) < truth.propensity).astype(int)
        Y = truth.baseline + T * truth.effect + generator.normal(size=n_rows)
        return Drawn(X, T, Y, truth.effect)

    def truth(self, X: np.ndarray, _: np.random.Generator) -> Truth:
        """Return baseline, propensity and effect."""
        e = expit(0.5 * X[:, 2] - 0.3 * X[:, 0])
        return Truth(X[:, 2] + 0.5 * np.abs(X[:, 3]), e, 0.8 + 0.6 * X[:, 0] - 0.4 * X[:, 1] + 0.5 * X[:, 4])


class Drawn:
    """Rows of :class:`Linear`."""

    def __init__(self, X, T, Y, effect) -> None:
        self.X, self.T, self.Y, self.effect = X, T, Y, effect


def make(name: str):
    return Linear() if name == "linear" else make_setup(name)


def run(*, quick: bool = False) -> Report:
    if quick:
        cells = study(sizes=(4000,), epsilons=(4.0,), runs=6, average_runs=6)
    else:
        cells = [
            cell
            for plan, (runs, average) in PLANS.items()
            for cell in study(sizes=SIZES, epsilons=EPSILONS, runs=runs, average_runs=average, plans=(plan,))
        ]
    return Report("coverage", render(cells), {"cells": cells})


def study(
    *, sizes, epsilons, runs: int, average_runs: int, setups=SETUPS, plans=tuple(PLANS), n_jobs: int = 2
) -> list[dict]:
    """Return one record per plan, setup, size and epsilon."""
    jobs = list(product(plans, setups, sizes, epsilons))
    targets = {name: additive_target(name) for name in setups}
    effects = repeated(effect_run, jobs, targets, runs, n_jobs)
    averages = repeated(average_run, jobs, targets, average_runs, n_jobs)
    records = []
    for job, effect, average in zip(jobs, effects, averages, strict=True):
        record = dict(zip(("plan", "setup", "n", "epsilon"), job, strict=True))
        record |= {"runs": runs, "average_runs": average_runs}
        for found in (effect, average):
            record |= {key: float(np.mean([each[key] for each in found])) for key in found[0]}
        record["people_se"] = float(np.std([each["people"] for each in effect], ddof=1) / np.sqrt(runs))
        records.append(record)
    return records


def repeated(one_run, jobs: list[tuple], targets: dict, runs: int, n_jobs: int) -> list[list[dict]]:
    """Return what each run of each cell gives."""
    tasks = [(*job, seed, targets[job[1]]) for job in jobs for seed in seeds(*job, runs)]
    found = Parallel(n_jobs=n_jobs, batch_size=8)(delayed(one_run)(*task) for task in tasks)
    return [found[k * runs : (k + 1) * runs] for k in range(len(jobs))]


def seeds(plan: str, setup: str, n: int, epsilon: float, runs: int) -> range:
    """Return a cell's seeds, which no other cell has."""
    place = np.ravel_multi_index(
        (list(PLANS).index(plan), SETUPS.index(setup), SIZES.index(n), EPSILONS.index(epsilon)),
        (len(PLANS), len(SETUPS), len(SIZES), len(EPSILONS)),
    )
    start = 10_000 * int(place)
    return range(start, start + runs)


def average_run(plan: str, setup: str, n: int, epsilon: float, seed: int, target) -> dict:
    """Return whether the interval of the average effect by itself holds, and how wide it is."""
    source = make(setup)
    rows, options = source.draw(n, seed), {"epsilon": epsilon, "plan": plan, "random_state": seed}
    low, high = AverageEffect(source.schema, **options).fit(rows.Y, rows.T, X=rows.X).ate_interval()
    return {
        "aipw": float(low <= target.average <= high),
        "aipw_width": high - low,
        "aipw_square": float(((low + high) / 2 - target.average) / ((high - low) / (2 * 1.96))) ** 2,
        "oracle": float(oracle_holds(source, rows, seed, target.average)),
    }


def oracle_holds(source, rows, seed: int, average: float) -> bool:
    """Return whether an interval without privacy, by the score with the true functions, holds on the same rows."""
    truth = source.truth(rows.X, np.random.default_rng(seed))
    left, e = rows.Y - truth.baseline - rows.T * truth.effect, truth.propensity
    score = truth.effect + left * (rows.T / e - (1 - rows.T) / (1 - e))
    return abs(score.mean() - average) <= 1.96 * score.std() / np.sqrt(len(score))


def effect_run(plan: str, setup: str, n: int, epsilon: float, seed: int, target) -> dict:
    """Return whether the R-learner's intervals hold, of single people and of their average, and how wide they are."""
    source = make(setup)
    rows, test = source.draw(n, seed), source.draw(TEST_ROWS, TEST_SEEDS + seed)
    average = target.average
    options = {"epsilon": epsilon, "plan": plan, "random_state": seed}
    learner = RLearner(source.schema, **options).fit(rows.Y, rows.T, X=rows.X)
    curves = learner if target.additive else SumOfCurves(source.schema, **options).fit(rows.Y, rows.T, X=rows.X)
    low, high = curves.effect_interval(test.X)
    r_low, r_high = learner.ate_interval()
    truth, even = target(test), target(test, even=True)
    return {
        "people": float(np.mean((low <= truth) & (truth <= high))),
        "people_even": float(np.mean((low <= even) & (even <= high))),
        "people_width": float(np.mean(high - low)),
        "r": float(r_low <= average <= r_high),
        "r_width": r_high - r_low,
    }


class SumOfCurves(RLearner):
    """An R-learner whose effect has no products of features."""

    def _stages(self):
        plain = Additive(pairs=False)
        return tuple(replace(stage, learner=plain) if stage.name == "effect" else stage for stage in super()._stages())


class additive_target:  # noqa: N801 - called like a function
    """The effect, or for D its best additive approximation (least squares on broken lines of each feature)."""

    def __init__(self, name: str) -> None:
        self.average, self.additive = AVERAGES[name], name != "D"
        if not self.additive:
            sample = make(name).draw(200_000, 7)
            self.knots = [np.unique(np.quantile(column, KNOTS)) for column in sample.X.T]
            lines, weights = self._lines(sample.X), sample.propensity * (1 - sample.propensity)
            self.weighted, self.even = (_least_squares(lines, sample.effect, w) for w in (weights, np.ones(len(lines))))

    def _lines(self, X: np.ndarray) -> np.ndarray:
        """Return a constant, and a straight line and hats between knots per feature."""
        hats = [_hats(column, knots) for column, knots in zip(X.T, self.knots, strict=True)]
        return np.column_stack([np.ones(len(X)), X, *hats])

    def __call__(self, sample, *, even: bool = False) -> np.ndarray:
        if self.additive:
            return sample.effect
        return self._lines(sample.X) @ (self.even if even else self.weighted)


def _hats(values: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """Return how near each value is to each knot: between two knots the nearer one counts more, beyond the last it alone."""
    within = np.clip(values, knots[0], knots[-1])
    left = np.clip(np.searchsorted(knots, within, side="right") - 1, 0, len(knots) - 2)
    part = (within - knots[left]) / (knots[left + 1] - knots[left])
    hats, rows = np.zeros((len(values), len(knots))), np.arange(len(values))
    hats[rows, left], hats[rows, left + 1] = 1 - part, part
    return hats


def _least_squares(columns: np.ndarray, target: np.ndarray, weights: np.ndarray) -> np.ndarray:
    weighted = columns * weights[:, None]
    return np.linalg.lstsq(weighted.T @ columns, weighted.T @ target, rcond=1e-10)[0]


def render(cells: list[dict]) -> str:
    pages = []
    for plan in dict.fromkeys(cell["plan"] for cell in cells):
        lines = [
            [
                cell["setup"],
                f"{cell['n']:,}",
                f"{cell['epsilon']:g}",
                f"{100 * cell['people']:.1f} ± {200 * cell['people_se']:.1f}",
                f"{100 * cell['people_even']:.1f}",
                f"{cell['people_width']:.2f}",
                f"{100 * cell['aipw']:.1f}",
                f"{cell['aipw_width']:.3f}",
                f"{cell['aipw_square'] ** 0.5:.2f}",
                f"{100 * cell['oracle']:.1f}",
                f"{100 * cell['r']:.0f}",
                f"{cell['r_width']:.3f}",
            ]
            for cell in cells
            if cell["plan"] == plan
        ]
        header = [
            "setup",
            "rows",
            "epsilon",
            "people, %",
            "all alike, %",
            "width",
            "AIPW, %",
            "width",
            "error / stated",
            "true score, %",
        ]
        header += ["R's average, %", "width"]
        runs, average = next((cell["runs"], cell["average_runs"]) for cell in cells if cell["plan"] == plan)
        title = f"## Plan {plan} ({runs} runs per cell, {average} of AverageEffect)"
        pages.append(f"{title}\n{markdown_table(header, lines)}")
    inside = [cell for cell in cells if cell["setup"] in ("A", "B", "C", "linear")]
    others = [cell for cell in cells if cell["setup"] in ("D", "E")]
    good, good_others = (sum(0.93 <= cell["people"] <= 0.99 for cell in some) for some in (inside, others))
    good_even = sum(0.93 <= cell["people_even"] <= 0.99 for cell in others)
    low = sum(cell["people"] < 0.93 for cell in inside)
    return f"""# Coverage of 95 % intervals

Coverage in percent (± two standard errors), mean width, and root mean squared error over the stated standard error. Of {len(inside)} cells on A, B, C and the linear setup, {good}
have between 93 % and 99 % of people covered, {low} have fewer and {len(inside) - good - low} more; of {len(others)} cells on D and E, against the best additive
approximation as the R-learner weights people, {good_others} do, and {good_even} against the one with all alike. {held("AverageEffect's interval", "aipw", "average_runs", cells)} {held("The R-learner's own, of its average,", "r", "runs", cells)}

{chr(10).join(pages)}"""


def held(name: str, key: str, runs: str, cells: list[dict]) -> str:
    """Return in how many cells an average's interval covers as often as it should, and in how many clearly not."""
    found, n_runs = (np.array([cell[name] for cell in cells]) for name in (key, runs))
    error = 2 * np.sqrt(found * (1 - found) / n_runs)
    low, high = found < 0.93, found > 0.98
    clearly = (found + error < 0.93).sum(), (found - error > 0.98).sum()
    return (
        f"{name} covers between 93 % and 98 % in {(~low & ~high).sum()} of {len(cells)} cells, less in {low.sum()} ({(found < 0.9).sum()} of them less than 90 %), "
        f"more in {high.sum()}; by more than two standard errors less in {clearly[0]}, more in {clearly[1]}."
    )
