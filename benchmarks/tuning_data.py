"""Made-up data for choosing the additive model's constants: unlike setups A to E on purpose.

Other dimensions, other laws of the features, other effects, other noise, a yes/no outcome, rare treatment, an effect with an
interaction. Nothing of the benchmark is used to choose anything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from dpcate import Category, Number, Schema

__all__ = ["AVERAGE_CASES", "CASES", "Case", "Draw"]


@dataclass(frozen=True)
class Draw:
    """Features, and what holds given them: baseline, propensity, effect and outcome noise."""

    X: np.ndarray
    baseline: np.ndarray
    propensity: np.ndarray
    effect: np.ndarray
    noise: np.ndarray


@dataclass(frozen=True)
class Case:
    """A way to make data: its law, the public bounds of the features and of the outcome."""

    law: Callable[[int, np.random.Generator], Draw]
    bounds: tuple[float, float]
    outcome: tuple[float, float]
    binary: bool = False

    def draw(self, n: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return X, T, Y and the effect."""
        made = self.law(n, generator)
        T = (generator.uniform(size=n) < made.propensity).astype(float)
        mean = made.baseline + T * made.effect
        Y = (generator.uniform(size=n) < mean).astype(float) if self.binary else mean + made.noise
        return made.X, T, Y, made.effect

    def mirrored(self) -> Case:
        """Return the case with treated and untreated people exchanged: what confounding adds it now takes away."""

        def law(n: int, generator: np.random.Generator) -> Draw:
            made = self.law(n, generator)
            return replace(made, propensity=1.0 - made.propensity)

        return replace(self, law=law)

    def schema(self) -> Schema:
        """Return the public facts: columns of zeros and ones are categories."""
        X = self.law(200, np.random.default_rng(0)).X
        features = [
            Category(f"x{j}", [0, 1]) if set(np.unique(column)) <= {0.0, 1.0} else Number(f"x{j}", *self.bounds)
            for j, column in enumerate(X.T)
        ]
        return Schema(Number("y", *self.outcome), Category("t", [0, 1]), features)


def _ramp(n, g):
    X = g.uniform(-1, 1, (n, 4))
    baseline = np.cos(2 * X[:, 0]) + X[:, 1] ** 2 - X[:, 2]
    return Draw(X, baseline, expit(1.2 * X[:, 1]), 0.5 + np.clip(2 * X[:, 3], -0.5, 1), 0.8 * g.normal(size=n))


def _skew(n, g):
    X = np.minimum(g.gamma(2, 1, (n, 5)), 10)
    baseline = np.sqrt(X[:, 0]) + 0.3 * X[:, 1] * (X[:, 2] > 2)
    return Draw(
        X, baseline, np.clip(0.25 + 0.06 * X[:, 0], 0.1, 0.9), np.log1p(X[:, 2]) - 0.2 * X[:, 4], g.normal(size=n)
    )


def _null(n, g):
    X = np.clip(g.normal(size=(n, 6)), -4, 4)
    baseline = X[:, 0] + 0.5 * X[:, 1] * X[:, 2]
    return Draw(X, baseline, expit(0.8 * X[:, 0] - 0.4 * X[:, 3]), np.zeros(n), 1.5 * g.normal(size=n))


def _dense(n, g):
    X = np.clip(g.multivariate_normal(np.zeros(7), 0.5 * np.ones((7, 7)) + 0.5 * np.eye(7), n), -4, 4)
    baseline = X @ np.array([1, -1, 0.5, 0, 0, 0.5, -0.5]) + np.abs(X[:, 3])
    effect = 1 + X @ np.array([0.3, -0.3, 0.2, -0.2, 0.3, 0, 0])
    return Draw(X, baseline, expit(0.5 * X[:, 4] + 0.5 * X[:, 5]), effect, g.normal(size=n))


def _steps(n, g):
    X = np.column_stack([g.uniform(0, 1, (n, 3)), g.integers(0, 2, (n, 2))])
    effect = (X[:, 1] > 0.3) - 1.5 * X[:, 4]
    return Draw(X, 2 * (X[:, 0] > 0.5) + X[:, 3], 0.15 + 0.2 * X[:, 4], effect, g.normal(size=n))


def _binary(n, g):
    X = np.column_stack([g.beta(2, 5, (n, 3)), g.integers(0, 2, (n, 2))])
    effect = 0.25 * X[:, 4] - 0.2 * X[:, 1]
    return Draw(X, 0.2 + 0.3 * X[:, 3] + 0.2 * X[:, 0], np.full(n, 0.5), effect, np.zeros(n))


def _heavy(n, g):
    X = g.uniform(-2, 2, (n, 8))
    baseline = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] / 2
    return Draw(X, baseline, expit(X[:, 2]), X[:, 5] ** 2 / 2 - 0.5, 0.8 * g.standard_t(4, size=n))


def _big(n, g):
    X = np.clip(g.normal(size=(n, 4)), -4, 4)
    baseline = 4 * X[:, 0] + 2 * np.tanh(2 * X[:, 1])
    return Draw(X, baseline, expit(X[:, 0]), 1 + 0.8 * X[:, 1], g.normal(size=n))


def _interaction(n, g):
    X = np.clip(g.normal(size=(n, 5)), -4, 4)
    baseline = X[:, 0] + np.sin(X[:, 1]) + 0.5 * X[:, 2] * X[:, 3]
    effect = 0.5 + 0.5 * X[:, 0] * X[:, 1] + 0.4 * X[:, 4]
    return Draw(X, baseline, expit(0.7 * X[:, 0] + 0.3 * X[:, 2]), effect, g.normal(size=n))


def _crossed(n, g):
    X = g.uniform(-1, 1, (n, 5))
    wave = np.tanh(2 * X[:, 0] * X[:, 1]) + 0.5 * np.abs(X[:, 2])
    return Draw(X, wave + X[:, 3], expit(1.5 * wave - 0.5), 0.4 + 0.5 * X[:, 3], 0.8 * g.normal(size=n))


def _bowl(n, g):
    X = np.clip(g.normal(size=(n, 5)), -4, 4)
    baseline = 0.6 * X[:, 0] ** 2 + X[:, 1] - 0.5 * np.maximum(X[:, 2], 0.5)
    e = expit(0.4 * X[:, 0] ** 2 - 0.6 + 0.5 * X[:, 1])
    return Draw(X, baseline, e, 0.4 * X[:, 0] ** 2 - 0.3 * X[:, 3], g.normal(size=n))


def _dose(n, g):
    X = np.minimum(g.gamma(3, 0.7, (n, 4)), 8)
    baseline = np.maximum(X[:, 0] - 2, 0) + 0.5 * X[:, 1]
    return Draw(X, baseline, expit(0.6 * (X[:, 0] - 2)), 1 - 0.6 * np.maximum(X[:, 2] - 2.5, 0), g.normal(size=n))


CASES = {
    "ramp": Case(_ramp, (-1, 1), (-4, 6)),
    "skew": Case(_skew, (0, 10), (-4, 10)),
    "null": Case(_null, (-4, 4), (-8, 8)),
    "dense": Case(_dense, (-4, 4), (-7, 12)),
    "steps": Case(_steps, (0, 1), (-4, 7)),
    "binary": Case(_binary, (0, 1), (0, 1), binary=True),
    "heavy": Case(_heavy, (-2, 2), (-7, 7)),
    "big": Case(_big, (-4, 4), (-18, 18)),
    "interaction": Case(_interaction, (-4, 4), (-8, 10)),
    "crossed": Case(_crossed, (-1, 1), (-4, 6)),
    "bowl": Case(_bowl, (-4, 4), (-8, 16)),
    "wide": Case(_bowl, (-12, 12), (-8, 16)),
    "dose": Case(_dose, (0, 8), (-6, 12)),
}


def _both(n, g):
    X = np.clip(g.normal(size=(n, 5)), -3, 3)
    both = expit(3 * X[:, 0]) * expit(3 * X[:, 1])
    return Draw(X, 2 * both + X[:, 2] + 0.5 * X[:, 3] ** 2, 0.1 + 0.75 * both, 0.5 + 0.4 * X[:, 2], g.normal(size=n))


def _labs(n, g):
    severity, age = g.normal(size=(2, n, 1))
    X = severity * [0.9, 0.8, -0.85, 0.2, 0.0] + age * [0.0, 0.3, 0.2, 0.9, 0.8]
    X = np.clip(X + g.normal(size=(n, 5)) * [0.43, 0.52, 0.48, 0.38, 0.6], -4, 4)
    baseline = X @ np.array([2.0, -1.5, 1.0, 1.5, -1.0]) + np.abs(X[:, 3])
    effect = 0.5 + 0.4 * X[:, 0] - 0.3 * X[:, 4]
    return Draw(X, baseline, expit(0.8 * X[:, 0] - 0.6 * X[:, 4]), effect, g.normal(size=n))


def _chain(n, g):
    X = g.normal(size=(n, 6))
    for j in range(1, 6):
        X[:, j] = 0.85 * X[:, j - 1] + 0.53 * X[:, j]
    X = np.clip(X, -4, 4)
    baseline = X @ np.array([1.5, -1.0, 1.0, -0.5, 1.0, -1.0]) + 0.5 * X[:, 5] ** 2
    return Draw(
        X, baseline, expit(X[:, 0] - X[:, 1] + 0.5 * X[:, 4]), 0.6 + 0.5 * (X[:, 2] - X[:, 3]), g.normal(size=n)
    )


def _costs(n, g):
    X, costs = np.clip(g.normal(size=(n, 4)), -4, 4), g.exponential(4, n)
    return Draw(X, 6 + X[:, 0] + 0.7 * X[:, 1], expit(0.6 * X[:, 0] - 0.7), 0.5 * costs, costs)


AVERAGE_CASES = {
    **CASES,
    "both": Case(_both, (-3, 3), (-6, 12)),
    "labs": Case(_labs, (-4, 4), (-14, 14)),
    "chain": Case(_chain, (-4, 4), (-12, 16)),
    "costs": Case(_costs, (-4, 4), (0, 60)),
}
"""For the average effect, four more: a confounder that is two features together, measurements that are nearly the same,
features each of which is mostly the one before, where differences between neighbours matter, and costs, whose long tail
lies on one side and is longer where treated."""
