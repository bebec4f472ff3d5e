"""Costs, incomes, days in hospital: outcomes whose tail lies on one side, longer in the arm that is rarer."""

import numpy as np
import pytest
from scipy.special import expit

from dpcate import AverageEffect, Category, Number, Schema

SCHEMA = Schema(Number("cost", 0, 60), Category("t", [0, 1]), [Number(f"x{j}", -4, 4) for j in range(4)])
EFFECT = 2.0


def draw(seed, n_rows=4000):
    generator = np.random.default_rng([seed, n_rows])
    X = generator.normal(size=(n_rows, 4))
    T = (generator.uniform(size=n_rows) < expit(-0.7 + 0.6 * X[:, 0])).astype(int)
    tail = generator.exponential(4.0, n_rows) * (1 + 0.5 * T)
    return np.clip(6 + X[:, 0] + 0.7 * X[:, 1] + tail, 0, 60), T, X


@pytest.fixture(scope="module")
def fits():
    found = []
    for seed in range(16):
        Y, T, X = draw(seed)
        found.append(AverageEffect(SCHEMA, epsilon=1.0, random_state=seed).fit(Y, T, X=X))
    return found


def test_the_interval_knows_what_bounds_take_of_the_effect(fits):
    """When half of all that a bound cuts was stated, errors were 1.4 times as large as stated."""
    intervals = np.array([fit.ate_interval() for fit in fits])
    errors, stated = intervals.mean(axis=1) - EFFECT, (intervals[:, 1] - intervals[:, 0]) / (2 * 1.96)
    assert np.sqrt(np.mean((errors / stated) ** 2)) < 1.2
    assert np.mean(errors) > -0.25 * EFFECT  # 48 tables: -0.22
    assert (np.abs(errors) <= 1.96 * stated).sum() >= 14  # 95 % gives fewer in one of 25


def test_the_interval_is_still_worth_having(fits):
    widths = [high - low for low, high in (fit.ate_interval() for fit in fits)]
    assert np.mean(widths) < 1.2 * EFFECT


def test_a_rare_outcome_of_a_large_trial_is_told_about_as_well_as_without_privacy():
    """Nothing lies beyond the outcome's bounds: there a bound takes nothing, however long tails are taken to be."""
    schema = Schema(Number("y", 0, 1), Category("t", [0, 1]), [Number("a", 0, 1), Number("b", 0, 1)], propensity=0.1)
    generator = np.random.default_rng(0)
    n = 100_000
    X = generator.uniform(size=(n, 2))
    T = (generator.uniform(size=n) < 0.1).astype(int)
    Y = (generator.uniform(size=n) < 0.05 + 0.03 * T).astype(float)
    low, high = AverageEffect(schema, epsilon=8.0, random_state=0).fit(Y, T, X=X).ate_interval()
    plain = 1.96 * np.sqrt(Y[T == 1].var() / T.sum() + Y[T == 0].var() / (n - T.sum()))
    assert (high - low) / 2 < 1.3 * plain
    assert low <= 0.03 <= high


@pytest.mark.parametrize("bounds", [(0.0, 1e18), (1.7e18, 1.7e18 + 1e14), (0.0, 1e-12)])
def test_outcomes_of_any_size_have_an_average_effect(bounds):
    low, high = bounds
    schema = Schema(Number("y", low, high), Category("t", [0, 1]), [Number("a", 0, 1)])
    generator = np.random.default_rng(1)
    X = generator.uniform(size=(2000, 1))
    T = generator.integers(2, size=2000)
    Y = low + (high - low) * np.clip(0.4 + 0.2 * T + 0.1 * generator.normal(size=2000), 0, 1)
    fit = AverageEffect(schema, epsilon=4.0, random_state=0).fit(Y, T, X=X)
    assert fit.ate() == pytest.approx(0.2 * (high - low), rel=0.15)
