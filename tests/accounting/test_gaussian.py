"""The Gaussian trade-off function against arbitrary-precision arithmetic."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from dpcate.accounting import Gaussian, Identity, mu_for

EPSILONS = [1e-3, 1e-2, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 100.0, 300.0, 1e3]
DELTAS = [0.5, 1e-1, 1e-3, 1e-5, 1e-8, 1e-12, 1e-18, 1e-24, 1e-30]


def exact_delta(mu, epsilon):
    """Delta from its textbook formula, with 80 digits to cancel in."""
    with mpmath.workdps(80):
        mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)


def relative_error(value, truth):
    return abs(float((mpmath.mpf(value) - truth) / truth))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
def test_delta_agrees_with_80_digit_arithmetic_over_the_whole_contract(epsilon, delta):
    mu = mu_for(epsilon, delta)
    assert relative_error(Gaussian(mu).delta(epsilon), exact_delta(mu, epsilon)) < 1e-11


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
def test_epsilon_agrees_with_80_digit_arithmetic_over_the_whole_contract(epsilon, delta):
    mu = mu_for(epsilon, delta)
    found = Gaussian(mu).epsilon(delta)
    assert found == pytest.approx(epsilon, rel=1e-9)
    assert exact_delta(mu, found) <= delta


@pytest.mark.parametrize("mu", [1e-8, 1e-4, 0.3, 0.999, 1.0, 1.001, 4.0, 50.0])
@pytest.mark.parametrize("position", [-30.0, -2.0, -1e-3, 0.0, 1e-3, 1.0, 6.0, 11.0])
def test_delta_is_accurate_for_negative_and_positive_epsilon_at_any_mu(mu, position):
    epsilon = position * mu
    assert relative_error(Gaussian(mu).delta(epsilon), exact_delta(mu, epsilon)) < 1e-11


@pytest.mark.parametrize("mu", [1e-8, 1e-5, 1e-3, 0.1, 0.5, 0.99, 1.0, 1.01, 2.0, 5.0, 20.0, 100.0])
@pytest.mark.parametrize("position", [0.0, 1e-6, 0.1, 0.5, 1.0, 3.0, 8.0, 12.0, 20.0, 36.0])
def test_delta_is_not_below_the_truth_even_by_round_off(mu, position):
    for epsilon in (position * mu, position * mu + 0.5 * mu * mu):
        assert Gaussian(mu).delta(epsilon) >= exact_delta(mu, epsilon) or Gaussian(mu).delta(epsilon) == 1.0


def test_log_delta_goes_on_where_delta_underflows():
    value = Gaussian(0.5).log_delta(40.0)
    with mpmath.workdps(60):
        truth = mpmath.log(mpmath.ncdf(mpmath.mpf("0.25") - 80) - mpmath.exp(40) * mpmath.ncdf(mpmath.mpf("-80.25")))
    assert Gaussian(0.5).delta(40.0) == 0.0
    assert value == pytest.approx(float(truth), rel=1e-12)


def test_log_delta_is_minus_infinity_for_absurdly_large_epsilon():
    assert Gaussian(1e-300).delta(1.0) == 0.0
    assert Gaussian(2.0).delta(1e300) == 0.0


@given(mu=st.floats(0.0, 20.0), alpha=st.floats(0.0, 1.0))
def test_values_are_those_of_the_normal_test(mu, alpha):
    assert Gaussian(mu)(alpha) == pytest.approx(norm.cdf(norm.isf(alpha) - mu), abs=1e-12)


def test_arrays_keep_their_shape_and_scalars_are_plain_floats():
    f = Gaussian(1.0)
    grid = np.array([[0.0, 0.2], [0.5, 1.0]])
    assert f(grid).shape == f.delta(grid).shape == f.log_delta(grid).shape == f.epsilon(grid).shape == (2, 2)
    assert type(f(0.5)) is type(f.delta(0.5)) is type(f.log_delta(0.5)) is type(f.epsilon(0.5)) is float
    assert f.delta([0.0, 1.0])[1] == f.delta(1.0)


def test_no_epsilon_reaches_delta_zero():
    assert math.isinf(Gaussian(1e-3).epsilon(0.0))


def test_a_large_delta_needs_no_epsilon():
    f = Gaussian(0.5)
    assert f.epsilon(1.0) == 0.0
    assert f.epsilon(f.delta(0.0)) == 0.0


def test_mu_zero_is_perfect_privacy():
    assert Gaussian(0) == Identity()
    assert hash(Gaussian(0)) == hash(Identity())
    assert Gaussian(0).delta([-1.0, 0.0, 1.0]) == pytest.approx(Identity().delta([-1.0, 0.0, 1.0]))
    assert Gaussian(0).epsilon(0.0) == 0.0
    assert Gaussian(0)(0.3) == 0.7


@given(mu=st.floats(1e-6, 1e2), delta=st.floats(1e-30, 0.999))
def test_epsilon_is_on_the_safe_side_and_tight(mu, delta):
    f = Gaussian(mu)
    epsilon = f.epsilon(delta)
    assert f.delta(epsilon) <= delta
    if epsilon > 1e-6 * mu:
        assert f.delta(epsilon * (1.0 - 1e-6)) > delta
