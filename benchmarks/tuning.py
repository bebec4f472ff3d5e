"""How the additive model's constants were chosen: variants compared on data unlike the benchmark.

Each variant changes one choice; its figure is the geometric mean, over cases, sizes and epsilons, of its error over that of
the shipped choice. Above one: the shipped choice is better.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np
from joblib import Parallel, delayed

from benchmarks.report import Report, markdown_table
from benchmarks.tuning_data import CASES
from dpcate import RLearner
from dpcate.models import Additive
from dpcate.models.additive import basis
from dpcate.models.additive.curves import RANK, _coordinate

__all__ = ["Variant", "Varied", "by_rank", "constants_of", "denied", "run", "weights"]

SIZES, EPSILONS, TEST_ROWS = (500, 2_000, 8_000), (1.0, 4.0, 16.0), 5_000
_ADDITIVE = "dpcate.models.additive."


@dataclass(frozen=True)
class Variant:
    """A change of options, module constants or stages."""

    options: dict = field(default_factory=dict)
    constants: dict = field(default_factory=dict)
    stages: dict = field(default_factory=dict)


def weights(*values: float) -> Variant:
    return Variant(
        stages={
            name: {"weight": value} for name, value in zip(("propensity", "outcome", "effect"), values, strict=True)
        }
    )


def by_rank(shares: np.ndarray, _power: float) -> np.ndarray:
    """Return the rank of each code, in which curves had no room in the tails."""
    return _coordinate(shares, RANK)


def by_square_root(shares: np.ndarray, _power: float) -> np.ndarray:
    return _coordinate(shares, 0.5)


def denied(_noisy: np.ndarray, _noise_scale: float) -> bool:
    """Return that no target has one mode."""
    return False


def misreading(allowed: float | None) -> Variant:
    return Variant(stages={name: {"misread": allowed} for name in ("outcome", "effect")})


VARIANTS = {
    "shipped": Variant(),
    "curves in the rank": Variant(constants={("curves", "_coordinate"): by_rank}),
    "curves in a coordinate with the square root of the density": Variant(
        constants={("curves", "_coordinate"): by_square_root}
    ),
    "targets with as many modes as noise shows": Variant(constants={("target_histogram", "has_one_mode"): denied}),
    "both first curves as likely": Variant(constants={("basis", "CURVE_SIZES"): (0.12, 0.12, 0.011, 0.004, 0.002)}),
    "one round of moments": Variant(options={"rounds": (1.0,)}),
    "three rounds": Variant(options={"rounds": (1 / 3, 1 / 3, 1 / 3)}),
    "no products of features": Variant(options={"pairs": False}),
    "no bends in the second round": Variant(stages={"outcome": {"shared_with": None}}),
    "bends of four pairs of either kind": Variant(constants={("bends", "MOST_CLEAR"): 4, ("bends", "MOST_SHARED"): 4}),
    "stage weights 0.2, 0.3, 0.5": weights(0.2, 0.3, 0.5),
    "stage weights 0.25, 0.35, 0.4": weights(0.25, 0.35, 0.4),
    "prior of scales around e^-2.5": Variant(
        constants={("evidence", "SCALE_MEAN"): -2.5, ("evidence", "SCALE_SD"): 3.0}
    ),
    "clip from 0.9 standard deviations": Variant(constants={("target", "LEAST_CLIP"): 0.9}),
    "clip from 2 standard deviations": Variant(constants={("target", "LEAST_CLIP"): 2.0}),
    "outcome and effect clipped as fairly as elsewhere": misreading(None),
    "shifts misread by up to 0.06 standard deviations": misreading(0.06),
    "shifts misread by up to 0.2 standard deviations": misreading(0.2),
    "columns' histogram 10 %": Variant(options={"columns_share": 0.1}),
    "columns' histogram 30 %": Variant(options={"columns_share": 0.3}),
    "target's histogram 7 %": Variant(options={"target_share": 0.07}),
    "curves half as large": Variant(constants={("basis", "CURVE_SIZES"): (0.03, 0.06, 0.0055, 0.002, 0.001)}),
    "curves that fall with their order": Variant(
        constants={("basis", "CURVE_SIZES"): tuple(0.5 / k**3.5 for k in range(1, 6))}
    ),
    "effects twice as large a priori": Variant(stages={"effect": {"signal": 0.2}}),
    "effects half as large a priori": Variant(stages={"effect": {"signal": 0.05}}),
}


def run(*, quick: bool = False) -> Report:
    runs = 1 if quick else 3
    logs = {name: study(variant, runs) for name, variant in list(VARIANTS.items())[: 2 if quick else None]}
    shipped = logs["shipped"]
    rows = []
    for name, log in logs.items():
        difference = log - shipped
        spread = float(np.exp(difference.mean(axis=1)).min()), float(np.exp(difference.mean(axis=1)).max())
        rows.append([name, f"{np.exp(difference.mean()):.3f}", f"{spread[0]:.2f} to {spread[1]:.2f}"])
    text = f"""# How the additive model's constants were chosen

R-learner, plan shared, {len(CASES)} made-up cases unlike setups A to E (`benchmarks/tuning_data.py`), n in {SIZES}, epsilon in {EPSILONS}, {runs} runs
per cell. Geometric mean of the error over that of the shipped choice, and its range over cases. Differences of a few percent are within
the noise of such a study; the choices are meant to be safe, not to be optimal.

{markdown_table(["variant", "error over shipped", "range over cases"], rows)}"""
    return Report("tuning", text, {"runs": runs, "log_mse": {name: log.tolist() for name, log in logs.items()}})


def study(variant: Variant, runs: int) -> np.ndarray:
    """Return the log of the mean error, cases by cells."""
    jobs = list(product(CASES, SIZES, EPSILONS))
    errors = Parallel(n_jobs=2)(delayed(cell_error)(*job, runs, variant) for job in jobs)
    return np.log(np.array(errors)).reshape(len(CASES), -1)


def cell_error(case: str, n: int, epsilon: float, runs: int, variant: Variant) -> float:
    """Return the mean error over runs with the variant's constants in force."""
    with constants_of(variant):
        return float(np.mean([one_error(case, n, epsilon, seed, variant) for seed in range(runs)]))


@contextmanager
def constants_of(variant: Variant) -> Iterator[None]:
    """Put the variant's constants in force, here and now."""
    old = {key: getattr(sys.modules[_ADDITIVE + key[0]], key[1]) for key in variant.constants}
    basis._basis_of.cache_clear()  # bases of another variant's constants
    try:
        for (module, name), value in variant.constants.items():
            setattr(sys.modules[_ADDITIVE + module], name, value)
        yield
    finally:
        for (module, name), value in old.items():
            setattr(sys.modules[_ADDITIVE + module], name, value)
        basis._basis_of.cache_clear()


def one_error(case: str, n: int, epsilon: float, seed: int, variant: Variant) -> float:
    generator = np.random.default_rng([seed, n, int(10 * epsilon), list(CASES).index(case)])
    X, T, Y, _ = CASES[case].draw(n, generator)
    test, _, _, effect = CASES[case].draw(TEST_ROWS, np.random.default_rng(99))
    learner = _VariedR(CASES[case].schema(), epsilon=epsilon, model=Additive(**variant.options), random_state=generator)
    learner.changes = variant.stages
    return float(np.mean((learner.fit(Y, T, X=X).effect(test) - effect) ** 2))


class Varied:
    """What makes a learner one with some of its stages' public facts changed: name it before the learner."""

    changes: dict

    def _stages(self):
        return tuple(replace(stage, **self.changes.get(stage.name, {})) for stage in super()._stages())


class _VariedR(Varied, RLearner):
    pass
