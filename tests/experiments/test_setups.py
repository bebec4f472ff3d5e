"""The paper's setups: formulas against a plain row-by-row reading of the paper's table, bounds, seeds."""

import math

import numpy as np
import pytest

from dpcate.errors import ParameterError
from dpcate.experiments import SETUP_NAMES, make_setup
from dpcate.schema import Category

each_setup = pytest.mark.parametrize("name", SETUP_NAMES)


def expit(value):
    return 1 / (1 + math.exp(-value))


def trim(value):
    return min(max(value, 0.1), 0.9)


PLAIN = {
    "A": lambda a, b, c, d, e, f: (trim(math.sin(math.pi * a * b)), (a + b) / 2),
    "B": lambda a, b, c, d, e, f: (0.5, a + math.log(1 + math.exp(b))),
    "C": lambda a, b, c, d, e, f: (1 / (1 + math.exp(b + c)), 1.0),
    "D": lambda a, b, c, d, e, f: (1 / (1 + math.exp(-a) + math.exp(-b)), max(a + b + c, 0) - max(d + e, 0)),
    "D-published": lambda a, b, c, d, e, f: (1 / (1 + math.exp(-a) + math.exp(-b)), max(a + b + c, 0) - max(d + e, 0)),
    "E": lambda a, b, c, d, e, f: (1 / (1 + math.exp(a + f)), 1 / (1 + math.exp(a)) - b + c + d + e + f),
    "E-published": lambda a, b, c, d, e, f: (trim(expit(a + f)), b - c + d + e + f + 5 * expit(a)),
}
BASELINE = {
    "A": lambda a, b, c, d, e, f: math.sin(math.pi * a * b) + 2 * (c - 0.5) ** 2 + d + 0.5 * e,
    "B": lambda a, b, c, d, e, f: max(a + b, c, 0) + max(d + e, 0),
    "C": lambda a, b, c, d, e, f: 2 * math.log(1 + math.exp(a + b + c)),
    "D": lambda a, b, c, d, e, f: max(a + b + c, 0) + max(d + e, 0),
    "D-published": lambda a, b, c, d, e, f: max(a + b, 0) + max(d + e, 0),
    "E": lambda a, b, c, d, e, f: a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + a * f + (-0.5 < c < 0.5),
    "E-published": lambda a, b, c, d, e, f: (
        0.6 * b + 1.2 * c + 1.8 * d + 2.4 * e + 3 * f + a * f + (0.8 if -0.5 < c < 0.5 else 0.2)
    ),
}


@each_setup
def test_effects_and_propensities_are_the_paper_s(name):
    sample = make_setup(name).draw(200, 1)
    plain = np.array([PLAIN[name](*row) for row in sample.X.tolist()])
    assert sample.propensity == pytest.approx(plain[:, 0])
    assert sample.effect == pytest.approx(plain[:, 1])


@each_setup
def test_outcomes_scatter_around_baseline_plus_effect(name):
    sample = make_setup(name).draw(20_000, 2)
    baseline = np.array([BASELINE[name](*row) for row in sample.X.tolist()])
    residual = sample.Y - baseline - sample.T * sample.effect
    scale = np.sqrt(1 + (sample.X[:, 0] + 1) ** 2) if name == "E-published" else 1.0
    standard = residual / scale
    assert abs(standard.mean()) < 0.04
    assert standard.std() == pytest.approx(1.0, abs=0.03)


@each_setup
def test_treatment_follows_the_propensity(name):
    sample = make_setup(name).draw(20_000, 3)
    assert abs((sample.T - sample.propensity).mean()) < 0.015
    assert set(sample.T) == {0, 1}


@each_setup
def test_public_bounds_hold_nearly_all_outcomes_and_are_not_absurd(name):
    setup = make_setup(name)
    Y = setup.draw(20_000, 4).Y
    low, high = setup.schema.outcome.low, setup.schema.outcome.high
    assert np.mean((low > Y) | (high < Y)) < 1e-3
    assert high - low < 15 * Y.std()


@each_setup
def test_the_same_seed_gives_the_same_rows_and_another_others(name):
    setup = make_setup(name)
    first, second, other = setup.draw(10, 5), setup.draw(10, np.random.default_rng(5)), setup.draw(10, 6)
    assert np.array_equal(first.Y, second.Y)
    assert not np.array_equal(first.Y, other.Y)


def test_setup_e_has_correlated_covariates_of_unit_variance_and_a_fixed_sigma():
    first, second = (make_setup("E").draw(50_000, seed).X for seed in (1, 2))
    assert first.std(axis=0) == pytest.approx(np.ones(6), abs=0.02)
    assert np.corrcoef(first.T) == pytest.approx(np.corrcoef(second.T), abs=0.03)
    assert np.abs(np.corrcoef(first.T) - np.eye(6)).max() > 0.3


def test_published_setup_e_has_three_binary_covariates():
    setup = make_setup("E-published")
    assert set(setup.draw(1000, 0).X[:, 3:].ravel()) == {0.0, 1.0}
    assert [isinstance(column, Category) for column in setup.schema.features] == [False] * 3 + [True] * 3


def test_an_unknown_setup_is_refused_by_name():
    with pytest.raises(ParameterError, match="A, B, C, D, E"):
        make_setup("F")
