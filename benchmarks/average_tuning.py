"""How AverageEffect's choices were made: variants compared on data unlike the benchmark, by error, width and coverage."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
from joblib import Parallel, delayed

from benchmarks.report import Report, markdown_table
from benchmarks.tuning import Variant, Varied, by_rank, constants_of, denied
from benchmarks.tuning_data import AVERAGE_CASES as CASES
from dpcate import AverageEffect
from dpcate.learners.arms import ArmsOfOutcome
from dpcate.learners.dr import Score
from dpcate.models.additive.first_stage import EarlierErrors
from dpcate.models.additive.scales import _by_itself

__all__ = ["VARIANTS", "run"]

SIZES, EPSILONS, RUNS = (1_000, 4_000, 16_000), (1.0, 4.0), 8


def apart(_likely):
    return _by_itself


def never(_data):
    """Return that no stage looks at correlations first."""
    return False


def as_expected(_likely, expected, _known):
    return expected


def guessed(_stage, _last, _seen, law, _mean):
    return law


class CentredErrors(EarlierErrors):
    """What earlier stages' errors do, without what all draws have in common."""

    def draws(self, clip, kept):
        errors = super().draws(clip, kept)
        return None if errors is None else errors - errors.mean()


class UnmovedErrors(EarlierErrors):
    """The same errors, of which a bound takes no heed."""

    def moved(self, _clip, _kept):
        return 0.0


_TIGHT = {"propensity": {"loose": False}, "outcome": {"loose": False}}


def weighted(**shares: float) -> Variant:
    return Variant(stages={name: {"weight": share} for name, share in shares.items()})


def shared_out(*shares: float) -> Variant:
    names = "propensity", "outcome", "difference", "effect"
    return Variant(stages={name: {"share": share} for name, share in zip(names, shares, strict=True)})


def misreading(allowed: float | None) -> Variant:
    return Variant(stages={name: {"misread": allowed} for name in ("outcome", "difference")})


ONE_OUTCOME = "one outcome of treatment and features instead of outcome and difference"

VARIANTS = {
    "shipped": Variant(),
    ONE_OUTCOME: Variant(),
    "features measured as they are, however they hang together": Variant(constants={("mixing", "HARDLY"): 0.0}),
    "no first look at correlations": Variant(constants={("learner", "looks_first"): never}),
    "products of features in the difference": Variant(stages={"difference": {"interactions": "plain"}}),
    "what the propensity's squared error takes left out of the spread": Variant(
        constants={("learner", "EarlierErrors"): CentredErrors}
    ),
    "bounds that take no heed of earlier stages' errors": Variant(
        constants={("learner", "EarlierErrors"): UnmovedErrors}
    ),
    "the outcome shrunk alike in all directions": Variant(constants={("leaning", "_SIGNAL"): 0.0}),
    "products all alike": Variant(constants={("heredity", "_EXPECTED"): -np.inf}),
    "two rounds of the outcome": Variant(constants={("learner", "LOOSE_ROUNDS"): (0.5, 0.5)}),
    "one round of the propensity": Variant(constants={("learner", "BENT_ROUNDS"): (1.0,)}),
    "each column's scale judged by itself": Variant(constants={("scales", "_among_alike"): apart}),
    "first stages shrunk as is best for themselves": Variant(stages=_TIGHT),
    "the propensity shrunk as is best for itself": Variant(stages={"propensity": {"loose": False}}),
    "first stages shrunk less still": Variant(
        constants={("rounds", "LOOSE"): {"probability": (6.0, 3.0), "mean": (6.0, 3.0)}}
    ),
    "the mean's law never wider than it was guessed": Variant(constants={("leftover", "MOST_LEFT"): 1.0}),
    "first stages' scales as expected": Variant(constants={("confidence", "_towards"): as_expected}),
    "effects that differ as far as the R-learner expects": Variant(stages={"difference": {"signal": 0.1}}),
    "curves in the rank": Variant(constants={("curves", "_coordinate"): by_rank}),
    "tails as long as the law says": Variant(constants={("target", "LONGER"): 1.0}),
    "of what is cut evenly 0.05 counts": Variant(constants={("target", "EVENLY"): 0.05}),
    "of what is cut evenly 0.4 counts": Variant(constants={("target", "EVENLY"): 0.4}),
    "outcome and difference clipped as fairly as elsewhere": misreading(None),
    "what regressions leave guessed before the mean, too": Variant(constants={("rounds", "law_to_release"): guessed}),
    "targets with as many modes as noise shows": Variant(constants={("target_histogram", "has_one_mode"): denied}),
    "stage weights 0.28, 0.34, 0.06, 0.32 however many rows": weighted(
        propensity=0.28, outcome=0.34, difference=0.06, effect=0.32
    ),
    "stage weights 0.33, 0.39, 0.06, 0.22 however many rows": weighted(
        propensity=0.33, outcome=0.39, difference=0.06, effect=0.22
    ),
}

OWN_ROWS = {
    "shipped, plan split": Variant(),
    "shares of rows 0.26, 0.26, 0.08, 0.4 however many there are, plan split": shared_out(0.26, 0.26, 0.08, 0.4),
    "shares of rows 0.32, 0.32, 0.08, 0.28 however many there are, plan split": shared_out(0.32, 0.32, 0.08, 0.28),
}
"""The same for plan split, compared with the first of these."""


def run(*, quick: bool = False) -> Report:
    runs = 1 if quick else RUNS
    truths = {name: float(case.draw(200_000, np.random.default_rng(5))[3].mean()) for name, case in CASES.items()}
    names = [*list(VARIANTS)[: 2 if quick else None], *list(OWN_ROWS)[: 1 if quick else None]]
    found = {name: study(name, runs, truths) for name in names}
    rows = [[name, *summary(errors, widths)] for name, (errors, widths) in found.items()]
    text = f"""# How AverageEffect's choices were made

{len(CASES)} made-up cases unlike setups A to E (`benchmarks/tuning_data.py`), n in {SIZES}, epsilon in {EPSILONS}, plan shared (the last rows: split), {runs} runs per cell. Geometric means over
cells of root mean squared error and of mean width; mean of the coverage of 95 % intervals, over all cells and without the cases "crossed", "steps" and "both", whose
functions no model here can follow; and cells of {len(CASES) * len(SIZES) * len(EPSILONS)} with less than 90 % covered.

{markdown_table(["variant", "error", "width", "covers, %", "without three cases, %", "cells below 90 %"], rows)}"""
    return Report(
        "average_tuning",
        text,
        {"runs": runs, "cells": {name: [e.tolist(), w.tolist()] for name, (e, w) in found.items()}},
    )


def study(variant: str, runs: int, truths: dict[str, float]) -> tuple[np.ndarray, np.ndarray]:
    """Return errors and widths, cases by cells by runs."""
    jobs = list(product(CASES, SIZES, EPSILONS))
    found = Parallel(n_jobs=2)(delayed(cell)(*job, runs, variant, truths[job[0]]) for job in jobs)
    shape = len(CASES), len(SIZES) * len(EPSILONS), runs
    return tuple(np.array([each[k] for each in found]).reshape(shape) for k in (0, 1))


def cell(case: str, n: int, epsilon: float, runs: int, name: str, truth: float) -> tuple[list, list]:
    """Return the error of the average, and the width of its interval, in every run."""
    errors, widths = [], []
    variant, kind = (VARIANTS | OWN_ROWS)[name], _OneOutcome if name == ONE_OUTCOME else _VariedAverage
    plan = "split" if name in OWN_ROWS else "shared"
    with constants_of(variant):
        for seed in range(runs):
            generator = np.random.default_rng([seed, n, int(10 * epsilon), list(CASES).index(case)])
            X, T, Y, _ = CASES[case].draw(n, generator)
            learner = kind(CASES[case].schema(), epsilon=epsilon, plan=plan, random_state=generator)
            learner.changes = variant.stages
            low, high = learner.fit(Y, T, X=X).ate_interval()
            errors.append(learner.ate() - truth)
            widths.append(high - low)
    return errors, widths


def summary(errors: np.ndarray, widths: np.ndarray) -> list[str]:
    """Return error, width and coverage over all cells."""
    covered = (np.abs(errors) <= widths / 2).mean(axis=2)
    easy = [k for k, name in enumerate(CASES) if name not in ("crossed", "steps", "both")]
    error, width = (float(np.exp(np.log(x).mean())) for x in (np.sqrt((errors**2).mean(axis=2)), widths.mean(axis=2)))
    low = int((covered < 0.9).sum())
    return [
        f"{error:.4f}",
        f"{width:.3f}",
        f"{100 * covered.mean():.1f}",
        f"{100 * covered[easy].mean():.1f}",
        str(low),
    ]


class _VariedAverage(Varied, AverageEffect):
    def _plan_for(self, run, n_rows):
        fixed = any({"weight", "share"} & change.keys() for change in self.changes.values())
        return run.plan if fixed else super()._plan_for(run, n_rows)


class _OneOutcome(_VariedAverage):
    """The other way to the arms: an outcome regressed on treatment and features, with stage weights of its own."""

    def _stages(self):
        stages = {stage.name: stage for stage in super()._stages()}
        score = Score(self._propensity(), ArmsOfOutcome())
        facts = {"target": score.of, "bounds": score.bounds, "middle": score.middle, "score_law": score.law}
        facts |= {"residual_of": "outcome", "first_stage": ("propensity", "outcome")}
        return (
            replace(stages["propensity"], weight=0.28),
            replace(stages["outcome"], weight=0.4, with_treatment=True, interactions="treated"),
            replace(stages["effect"], weight=0.32, **facts),
        )

    def _effect_model(self, released):
        return super()._effect_model(released.with_model("outcome", released["propensity"]))  # columns are features
