"""Calibration: the most mu that a target allows, never more."""

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcate.accounting import Gaussian, covers, mu_for, sequential
from dpcate.errors import ParameterError


@given(epsilon=st.one_of(st.just(0.0), st.floats(1e-4, 1e3)), delta=st.floats(1e-30, 0.999))
def test_the_target_is_met_and_not_a_millionth_more_would_meet_it(epsilon, delta):
    mu = mu_for(epsilon, delta)
    assert Gaussian(mu).delta(epsilon) <= delta
    assert Gaussian(mu * (1.0 + 1e-6)).delta(epsilon) > delta


@pytest.mark.parametrize("epsilon", [0.0, 1e-3, 1.0, 30.0, 1e3])
@pytest.mark.parametrize("delta", [0.9, 1e-5, 1e-30])
def test_the_target_is_met_in_exact_arithmetic_too(epsilon, delta):
    with mpmath.workdps(80):
        mu = mpmath.mpf(mu_for(epsilon, delta))
        truth = mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)
        assert truth <= delta
        assert truth > delta * (1 - mpmath.mpf("1e-10"))


@given(epsilon=st.floats(0.01, 50.0), delta=st.floats(1e-12, 0.1), shares=st.lists(st.floats(0.01, 1.0), min_size=1))
def test_stages_that_share_mu_squared_stay_inside_the_target(epsilon, delta, shares):
    mu = mu_for(epsilon, delta)
    stages = [Gaussian(mu * (share / sum(shares)) ** 0.5) for share in shares]
    assert covers(sequential(*stages), epsilon, delta)


@pytest.mark.parametrize("delta", [0.0, 1.0, 1.5, -1e-9, float("nan"), "tiny", None])
def test_a_delta_outside_the_open_unit_interval_is_refused(delta):
    with pytest.raises(ParameterError, match="`delta` must"):
        mu_for(1.0, delta)


@pytest.mark.parametrize("epsilon", [-1.0, float("inf"), float("nan"), "one", True])
def test_an_epsilon_that_is_no_finite_nonnegative_number_is_refused(epsilon):
    with pytest.raises(ParameterError, match="`epsilon` must"):
        mu_for(epsilon, 1e-5)


def test_the_message_names_the_interval_and_the_value():
    with pytest.raises(ParameterError) as caught:
        mu_for(1.0, 1.5)
    assert str(caught.value) == "`delta` must lie in (0, 1); got 1.5."


def test_an_answer_that_was_kept_does_not_let_bad_targets_through():
    mu_for(1.0, 0.5)
    with pytest.raises(ParameterError):
        mu_for(True, 0.5)
