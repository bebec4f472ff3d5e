"""The paper's setups A to E, and D and E as the published code had them.

A setup knows the true effect and propensity of every row, and its schema states public bounds that were written down
from the formulas, never read from a draw.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from dpcate.errors import ParameterError
from dpcate.schema import Category, Number, Schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from dpcate.schema import Feature

__all__ = ["SETUP_NAMES", "Sample", "Setup", "make_setup"]

N_FEATURES = 6
E_SEED = 2023
"""Seed of setup E's covariance: Sigma is the correlation matrix of M M' with M = normal(6, 6) from this seed."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Rows of a simulated study, with what only a simulation knows.

    Parameters
    ----------
    X, T, Y
        Covariates (n x 6), treatment (0 or 1) and outcome.
    effect
        True effect of each row.
    propensity
        True probability of treatment of each row.
    """

    X: NDArray[np.float64]
    T: NDArray[np.int64]
    Y: NDArray[np.float64]
    effect: NDArray[np.float64]
    propensity: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Truth:
    """What a setup says of given covariates."""

    baseline: NDArray[np.float64]
    propensity: NDArray[np.float64]
    effect: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Setup:
    """A data-generating process: X by ``covariates``, T ~ Bernoulli(e(X)), Y = b(X) + T tau(X) + N(0, 1).

    Parameters
    ----------
    name
        One of :data:`SETUP_NAMES`.
    schema
        Public description of a draw.
    covariates, truth
        Draw X; baseline, propensity and effect at X (the published setup E draws part of its baseline).
    """

    name: str
    schema: Schema
    covariates: Callable[[int, np.random.Generator], NDArray[np.float64]]
    truth: Callable[[NDArray[np.float64], np.random.Generator], Truth]

    def draw(self, n_rows: int, random_state: int | np.random.Generator) -> Sample:
        """Return ``n_rows`` independent rows.

        Examples
        --------
        >>> sample = make_setup("C").draw(3, 0)
        >>> sample.X.shape, sample.effect.tolist()
        ((3, 6), [1.0, 1.0, 1.0])
        """
        generator = np.random.default_rng(random_state)
        X = self.covariates(n_rows, generator)
        truth = self.truth(X, generator)
        T = (generator.uniform(size=n_rows) < truth.propensity).astype(np.int64)
        Y = truth.baseline + T * truth.effect + generator.normal(size=n_rows)
        return Sample(X, T, Y, truth.effect, truth.propensity)


def _uniform(n_rows: int, generator: np.random.Generator) -> NDArray[np.float64]:
    return generator.uniform(size=(n_rows, N_FEATURES))


def _normal(n_rows: int, generator: np.random.Generator) -> NDArray[np.float64]:
    return generator.normal(size=(n_rows, N_FEATURES))


def _positive(values: NDArray[np.float64]) -> NDArray[np.float64]:
    positive: NDArray[np.float64] = np.maximum(values, 0.0)
    return positive


def _softplus(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log(1 + exp(values))."""
    softplus: NDArray[np.float64] = np.logaddexp(0.0, values)
    return softplus


def _truth_a(X: NDArray[np.float64], _: np.random.Generator) -> Truth:
    x1, x2, x3, x4, x5 = X.T[:5]
    wave = np.sin(np.pi * x1 * x2)
    return Truth(wave + 2 * (x3 - 0.5) ** 2 + x4 + 0.5 * x5, np.clip(wave, 0.1, 0.9), (x1 + x2) / 2)


def _truth_b(X: NDArray[np.float64], _: np.random.Generator) -> Truth:
    x1, x2, x3, x4, x5 = X.T[:5]
    baseline = _positive(np.maximum(x1 + x2, x3)) + _positive(x4 + x5)
    return Truth(baseline, np.full(len(X), 0.5), x1 + _softplus(x2))


def _truth_c(X: NDArray[np.float64], _: np.random.Generator) -> Truth:
    x1, x2, x3 = X.T[:3]
    return Truth(2 * _softplus(x1 + x2 + x3), expit(-(x2 + x3)), np.ones(len(X)))


def _truth_d(X: NDArray[np.float64], _: np.random.Generator) -> Truth:
    x1, x2, x3, x4, x5 = X.T[:5]
    first, second = _positive(x1 + x2 + x3), _positive(x4 + x5)
    return Truth(first + second, 1 / (1 + np.exp(-x1) + np.exp(-x2)), first - second)


def _truth_d_published(X: NDArray[np.float64], generator: np.random.Generator) -> Truth:
    x1, x2, _, x4, x5 = X.T[:5]
    table = _truth_d(X, generator)
    return Truth(_positive(x1 + x2) + _positive(x4 + x5), table.propensity, table.effect)


def _covariates_e(n_rows: int, generator: np.random.Generator) -> NDArray[np.float64]:
    mixing = np.random.default_rng(E_SEED).normal(size=(N_FEATURES, N_FEATURES))
    mixing /= np.linalg.norm(mixing, axis=1, keepdims=True)  # unit variances
    rows: NDArray[np.float64] = generator.normal(size=(n_rows, N_FEATURES)) @ mixing.T
    return rows


def _truth_e(X: NDArray[np.float64], _: np.random.Generator) -> Truth:
    x1, x2, x3, x6 = X[:, 0], X[:, 1], X[:, 2], X[:, 5]
    baseline = X @ np.arange(1.0, 7.0) + x1 * x6 + ((x3 > -0.5) & (x3 < 0.5))
    return Truth(baseline, expit(-(x1 + x6)), expit(-x1) - x2 + X[:, 2:].sum(axis=1))


def _covariates_e_published(n_rows: int, generator: np.random.Generator) -> NDArray[np.float64]:
    mixing = np.random.RandomState(1).uniform(-1, 1, size=(12, 12))  # the published code's generator
    covariance = (mixing @ mixing.T)[:N_FEATURES, :N_FEATURES]
    rows = generator.normal(size=(n_rows, N_FEATURES)) @ np.linalg.cholesky(covariance).T
    return np.column_stack([rows[:, :3], rows[:, 3:] > 1])


def _truth_e_published(X: NDArray[np.float64], generator: np.random.Generator) -> Truth:
    x1, x3, x6 = X[:, 0], X[:, 2], X[:, 5]
    baseline = X @ np.linspace(0, 3, N_FEATURES) + (x1 + 1) * generator.normal(size=len(X)) + x1 * x6
    baseline += np.where((x3 > -0.5) & (x3 < 0.5), 0.8, 0.2)
    effect = X @ np.array([0.0, 1.0, -1.0, 1.0, 1.0, 1.0]) + 5 * expit(x1)
    return Truth(baseline, np.clip(expit(x1 + x6), 0.1, 0.9), effect)


def _schema(low: float, high: float, outcome: tuple[float, float], n_binary: int = 0) -> Schema:
    names = [f"x{j}" for j in range(1, N_FEATURES + 1)]
    split = N_FEATURES - n_binary
    features: list[Feature] = [Number(name, low, high) for name in names[:split]]
    features += [Category(name, [0, 1]) for name in names[split:]]
    return Schema(outcome=Number("y", *outcome), treatment=Category("t", [0, 1]), features=features)


_SETUPS = {
    setup.name: setup
    for setup in (
        Setup("A", _schema(0, 1, (-3, 6)), _uniform, _truth_a),
        Setup("B", _schema(-4, 4, (-5, 12)), _normal, _truth_b),
        Setup("C", _schema(-4, 4, (-4, 16)), _normal, _truth_c),
        Setup("D", _schema(-4, 4, (-6, 12)), _normal, _truth_d),
        Setup("E", _schema(-4, 4, (-40, 40)), _covariates_e, _truth_e),
        Setup("D-published", _schema(-4, 4, (-6, 12)), _normal, _truth_d_published),
        Setup("E-published", _schema(-8, 8, (-20, 40), n_binary=3), _covariates_e_published, _truth_e_published),
    )
}

SETUP_NAMES = tuple(_SETUPS)
"""Names that :func:`make_setup` knows."""


def make_setup(name: str) -> Setup:
    """Return a setup by its name in the paper.

    Examples
    --------
    >>> make_setup("A").schema.outcome
    Number(name='y', low=-3.0, high=6.0)
    """
    if name not in _SETUPS:
        raise ParameterError(f"`name` must be one of {', '.join(SETUP_NAMES)}; got {name!r}.")
    return _SETUPS[name]
