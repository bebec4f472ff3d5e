"""Identity, (epsilon, delta) and Laplace: closed forms and round trips."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import laplace

from dpcate.accounting import EpsilonDelta, Gaussian, Identity, Laplace
from dpcate.errors import ParameterError

ALPHAS = np.linspace(0.0, 1.0, 401)


@given(epsilon=st.floats(0.0, 20.0), delta=st.floats(0.0, 1.0))
def test_epsilon_delta_is_the_largest_of_its_three_lines(epsilon, delta):
    lines = [0.0 * ALPHAS, 1 - delta - np.exp(epsilon) * ALPHAS, np.exp(-epsilon) * (1 - delta - ALPHAS)]
    assert EpsilonDelta(epsilon, delta)(ALPHAS) == pytest.approx(np.max(lines, axis=0), abs=1e-14)


@given(epsilon=st.floats(1e-6, 1e3), delta=st.one_of(st.just(0.0), st.floats(1e-30, 0.999)))
def test_epsilon_delta_returns_its_own_parameters_exactly(epsilon, delta):
    f = EpsilonDelta(epsilon, delta)
    assert f.delta(epsilon) == delta
    assert f.epsilon(delta) == epsilon


@given(epsilon=st.floats(0.1, 20.0), delta=st.floats(0.0, 0.9), other=st.floats(0.0, 1.0))
def test_epsilon_delta_profile_is_that_of_randomised_response_with_failures(epsilon, delta, other):
    x = other * epsilon
    truth = delta + (1 - delta) * (math.exp(epsilon) - math.exp(x)) / (1 + math.exp(epsilon))
    assert EpsilonDelta(epsilon, delta).delta(x) == pytest.approx(truth, rel=1e-9, abs=1e-15)


def test_a_smaller_delta_than_the_failure_probability_is_out_of_reach():
    assert math.isinf(EpsilonDelta(1.0, 1e-5).epsilon(9e-6))


def test_certain_failure_is_no_privacy_at_all():
    f = EpsilonDelta(1.0, 1.0)
    assert (f(ALPHAS) == 0.0).all()
    assert f.delta(5.0) == 1.0
    assert f.epsilon(1.0) == 0.0


@pytest.mark.parametrize("level", [0.01, 0.5, 1.0, 4.0])
def test_laplace_values_are_those_of_the_best_test_between_two_laplace_laws(level):
    alphas = np.linspace(0.001, 0.999, 99)
    truth = laplace.cdf(laplace.isf(alphas) - level)  # likelihood ratio is monotone: reject above a threshold
    assert Laplace(level)(alphas) == pytest.approx(truth, rel=1e-10)


@pytest.mark.parametrize("level", [0.3, 2.0])
@pytest.mark.parametrize("position", [-1.2, -0.4, 0.0, 0.5, 0.9, 1.0, 1.5])
def test_laplace_delta_is_the_hockey_stick_integral(level, position):
    epsilon = position * level

    def excess(x):
        return max(laplace.pdf(x - level) - math.exp(epsilon) * laplace.pdf(x), 0.0)

    truth = sum(quad(excess, a, b, limit=200)[0] for a, b in [(-40, 0), (0, level), (level, level + 40)])
    assert Laplace(level).delta(epsilon) == pytest.approx(truth, abs=1e-7)


@given(level=st.floats(0.01, 30.0), delta=st.floats(0.0, 1.0))
def test_laplace_epsilon_inverts_its_delta(level, delta):
    f = Laplace(level)
    assert f.delta(f.epsilon(delta)) <= delta
    expected = max(level + 2 * math.log1p(-delta), 0.0) if delta < 1.0 else 0.0
    conditioning = 1.0 / max(1.0 - delta, 1e-15)  # near 1 the last bit of delta moves epsilon
    assert f.epsilon(delta) == pytest.approx(expected, abs=1e-13 + 1e-15 * conditioning)


def test_identity_gives_nothing_away():
    assert (Identity()(ALPHAS) == 1.0 - ALPHAS).all()
    assert Identity().epsilon(0.0) == 0.0
    assert Identity().delta(-1.0) == pytest.approx(1.0 - math.exp(-1.0))


@pytest.mark.parametrize("f", [EpsilonDelta(0, 0), Laplace(0), Gaussian(0)])
def test_everything_without_a_cost_equals_the_identity(f):
    assert f == Identity()
    assert hash(f) == hash(Identity())


def test_values_are_frozen_hashable_and_print_their_parameters():
    f = EpsilonDelta(1, 1e-6)
    assert f == EpsilonDelta(1.0, 1e-6) != EpsilonDelta(1.0, 2e-6)
    assert f != Laplace(1)
    assert len({f, EpsilonDelta(1, 1e-6), Laplace(1.0), Laplace(1)}) == 2
    assert [repr(f), repr(Laplace(2)), repr(Gaussian(1)), repr(Identity())] == [
        "EpsilonDelta(epsilon=1.0, delta=1e-06)",
        "Laplace(epsilon=2.0)",
        "Gaussian(mu=1.0)",
        "Identity()",
    ]
    with pytest.raises(AttributeError):
        f.level = 2.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Gaussian(-1.0), "`mu` must be finite and at least 0; got -1.0."),
        (lambda: Gaussian(float("inf")), "`mu` must be finite and at least 0; got inf."),
        (lambda: Gaussian("1"), "`mu` must be a number; got '1'."),
        (lambda: EpsilonDelta(1.0, 1.5), "`delta` must lie in [0, 1]; got 1.5."),
        (lambda: EpsilonDelta(float("nan"), 0.0), "`epsilon` must be finite and at least 0; got nan."),
        (lambda: Laplace(-0.1), "`epsilon` must be finite and at least 0; got -0.1."),
        (lambda: Gaussian(1.0)(1.5), "`alpha` must lie in [0, 1]; got 1.5."),
        (lambda: Gaussian(1.0)([0.5, -2.0]), "`alpha` must lie in [0, 1]; got -2.0."),
        (lambda: Gaussian(1.0).epsilon(-0.5), "`delta` must lie in [0, 1]; got -0.5."),
        (lambda: Gaussian(1.0).delta(float("nan")), "`epsilon` must not contain NaN."),
        (lambda: Gaussian(1.0).delta("much"), "`epsilon` must be a number or an array of numbers; got 'much'."),
    ],
)
def test_parameters_that_make_no_sense_are_refused(make, message):
    with pytest.raises(ParameterError) as caught:
        make()
    assert str(caught.value) == message
