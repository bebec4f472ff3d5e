"""Sequential composition against closed forms, exact binomials and privacy loss distributions."""

import math
from functools import reduce

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcate.accounting import (
    EpsilonDelta,
    Gaussian,
    Identity,
    Laplace,
    PiecewiseLinear,
    mixture,
    parallel,
    sequential,
)
from dpcate.accounting.convolution import sum_of_losses

ALPHAS = np.linspace(0.0, 1.0, 101)
SKEWED = PiecewiseLinear([(0.0, 0.9), (0.1, 0.4), (0.5, 0.1), (1.0, 0.0)])
INTERVAL = 1e-3


def optimal_delta(epsilon, delta, k, x):
    """Optimal composition of k (epsilon, delta) mechanisms, as an exact binomial sum."""
    with mpmath.workdps(120):
        epsilon, delta, x = map(mpmath.mpf, (epsilon, delta, x))
        up = 1 / (1 + mpmath.exp(-epsilon))
        excess = sum(
            mpmath.binomial(k, i) * up**i * (1 - up) ** (k - i) * max(0, 1 - mpmath.exp(x - (2 * i - k) * epsilon))
            for i in range(k + 1)
        )
        return float(1 - (1 - delta) ** k * (1 - excess))


@given(st.lists(st.floats(0.0, 10.0), min_size=1, max_size=6))
def test_gaussians_compose_to_a_gaussian(mus):
    f = sequential(*map(Gaussian, mus))
    assert f == Identity() or f.mu == pytest.approx(math.sqrt(sum(mu * mu for mu in mus)), rel=1e-14)


@pytest.mark.parametrize("k", [2, 3, 10, 47, 300])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 0.0), (1.0, 0.0), (0.3, 1e-6)])
def test_equal_epsilon_delta_stages_cost_what_the_optimal_composition_theorem_says(k, epsilon, delta):
    f = sequential(*[EpsilonDelta(epsilon, delta)] * k)
    for position in [0.0, 0.1, 0.37, 0.8]:
        x = position * k * epsilon
        truth = optimal_delta(epsilon, delta, k, x)
        assert truth * (1 - 1e-12) <= f.delta(x) <= truth * (1 + 1e-9) + 1e-300
    assert f.delta(k * epsilon * (1 + 1e-12)) == pytest.approx(1 - (1 - delta) ** k, rel=1e-9, abs=1e-15)


def test_pure_stages_add_up_to_a_pure_guarantee():
    f = sequential(*[EpsilonDelta(0.1, 0.0)] * 10)
    assert f.epsilon(0.0) == pytest.approx(1.0, rel=1e-12)
    assert sequential(Laplace(0.5), Laplace(0.25), EpsilonDelta(0.125)).epsilon(0.0) == 0.875
    assert sequential(*[Laplace(0.01)] * 500).epsilon(0.0) == pytest.approx(5.0, rel=1e-12)


def test_a_stage_that_may_fail_keeps_its_exact_limit():
    f = sequential(EpsilonDelta(1.0, 1e-5), EpsilonDelta(1.0, 0.0))
    assert f.delta(2.0) == 1e-5
    assert f.epsilon(1e-5) == 2.0
    assert math.isinf(f.epsilon(0.99e-5))


def test_different_epsilons_compose_as_the_product_of_their_outcomes_says():
    levels = [0.1, 0.25, 0.7, 1.1]
    f = sequential(*(EpsilonDelta(level) for level in levels))
    for x in [0.0, 0.4, 1.3, 2.0]:
        truth = 0.0
        for signs in np.ndindex(*[2] * len(levels)):
            loss = sum((2 * s - 1) * level for s, level in zip(signs, levels, strict=True))
            chance = math.prod(1 / (1 + math.exp(-(2 * s - 1) * lv)) for s, lv in zip(signs, levels, strict=True))
            truth += chance * max(0.0, 1.0 - math.exp(x - loss))
        assert f.delta(x) == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize(("mu", "times"), [(1.0, 1), (1.0, 2), (0.1, 10), (0.1, 100), (5.0, 3), (0.001, 4), (30.0, 2)])
def test_the_grid_is_never_more_private_than_a_gaussian_and_tight(mu, times):
    gridded, truth = sum_of_losses({Gaussian(mu): times}), Gaussian(mu * math.sqrt(times))
    for delta in [1e-2, 1e-5, 1e-10, 1e-25]:
        epsilon = truth.epsilon(delta)
        if epsilon == 0.0:
            continue
        found = gridded.delta(np.array([epsilon, epsilon + 1e-3 * max(1.0, 0.1 * epsilon)]))
        assert found[0] >= delta * (1 - 1e-9), "more private than the truth"
        assert found[1] <= delta, "loses 1e-3 of epsilon or more"


@pytest.mark.parametrize(("level", "times"), [(0.5, 2), (0.5, 10), (0.05, 50), (3.0, 2)])
def test_laplace_stages_agree_with_privacy_loss_distributions(level, times):
    f = sequential(*[Laplace(level)] * times)
    above = pld.from_laplace_mechanism(1 / level, value_discretization_interval=INTERVAL).self_compose(times)
    below = pld.from_laplace_mechanism(
        1 / level, value_discretization_interval=INTERVAL, pessimistic_estimate=False, use_connect_dots=False
    ).self_compose(times)
    for epsilon in np.array([0.05, 0.3, 0.6]) * level * times:
        assert f.delta(epsilon) >= below.get_delta_for_epsilon(epsilon) * (1 - 1e-9)
        assert f.delta(epsilon) == pytest.approx(above.get_delta_for_epsilon(epsilon), rel=2e-3, abs=1e-9)
    for delta in [1e-3, 1e-6]:
        assert f.epsilon(delta) == pytest.approx(above.get_epsilon_for_delta(delta), abs=1e-3)


@pytest.mark.parametrize("mu", [0.1, 1.0, 3.0])
def test_single_mechanisms_agree_with_privacy_loss_distributions(mu):
    gaussian = pld.from_gaussian_mechanism(1 / mu, value_discretization_interval=INTERVAL)
    laplace = pld.from_laplace_mechanism(1 / mu, value_discretization_interval=INTERVAL)
    for delta in [1e-2, 1e-5, 1e-8]:
        assert Gaussian(mu).epsilon(delta) == pytest.approx(gaussian.get_epsilon_for_delta(delta), abs=2e-4)
        assert Laplace(mu).epsilon(delta) == pytest.approx(laplace.get_epsilon_for_delta(delta), abs=2e-4)


def test_mixed_stages_agree_with_privacy_loss_distributions():
    f = sequential(Gaussian(1.0), Gaussian(0.5), Laplace(0.5), EpsilonDelta(0.3, 1e-7))
    parts = [
        pld.from_gaussian_mechanism(1.0, value_discretization_interval=INTERVAL),
        pld.from_gaussian_mechanism(2.0, value_discretization_interval=INTERVAL),
        pld.from_laplace_mechanism(2.0, value_discretization_interval=INTERVAL),
        pld.from_privacy_parameters(_parameters(0.3, 1e-7), value_discretization_interval=INTERVAL),
    ]
    oracle = reduce(lambda a, b: a.compose(b), parts)
    for delta in [1e-2, 1e-4, 1e-6]:
        assert f.epsilon(delta) == pytest.approx(oracle.get_epsilon_for_delta(delta), abs=1e-3)


def _parameters(epsilon, delta):
    from dp_accounting.pld.common import DifferentialPrivacyParameters

    return DifferentialPrivacyParameters(epsilon, delta)


def test_gaussian_and_epsilon_delta_stages_match_their_exact_average_from_above():
    """Given the outcome of the (epsilon, delta) stage, the rest is a shifted Gaussian."""
    mu, level, failure = 0.8, 0.7, 1e-6
    f = sequential(Gaussian(mu), EpsilonDelta(level, failure))
    up = (1 - failure) / (1 + math.exp(-level))
    down = (1 - failure) / (1 + math.exp(level))
    for epsilon in [0.0, 0.5, 1.0, 2.0, 4.0]:
        truth = failure + up * Gaussian(mu).delta(epsilon - level) + down * Gaussian(mu).delta(epsilon + level)
        assert truth * (1 - 1e-12) <= f.delta(epsilon) <= truth * (1 + 1e-4)


members = st.one_of(
    st.builds(Gaussian, st.floats(0.05, 3.0)),
    st.builds(EpsilonDelta, st.floats(0.05, 3.0), st.floats(0.0, 0.3)),
    st.builds(Laplace, st.floats(0.05, 3.0)),
    st.just(SKEWED),
)


@given(st.lists(members, min_size=2, max_size=3))
@settings(deadline=None, max_examples=25)
def test_a_composition_is_a_tradeoff_function_that_its_deltas_determine(functions):
    f = sequential(*functions)
    values = f(ALPHAS)
    assert (np.diff(values) <= 1e-12).all()
    assert (np.diff(values, 2) >= -1e-9).all()
    assert (values <= np.min([g(ALPHAS) for g in functions], axis=0) + 1e-12).all()
    epsilons = np.linspace(-12.0, 12.0, 4001)
    lines = 1.0 - f.delta(epsilons) - np.exp(epsilons) * ALPHAS[:, np.newaxis]
    assert (values >= lines.max(axis=1) - 1e-9).all()
    assert values[1:-1] == pytest.approx(np.maximum(lines.max(axis=1), 0.0)[1:-1], abs=5e-3)


@given(st.lists(members, min_size=2, max_size=3), st.floats(1e-9, 0.9))
@settings(deadline=None, max_examples=25)
def test_epsilon_inverts_delta_on_the_safe_side(functions, delta):
    f = sequential(*functions)
    epsilon = f.epsilon(delta)
    if math.isfinite(epsilon):
        assert f.delta(epsilon) <= delta
        assert epsilon == 0.0 or f.delta(epsilon - 1e-8) >= delta * (1 - 1e-9)


@given(st.lists(members, min_size=2, max_size=3))
@settings(deadline=None, max_examples=25)
def test_exchanging_hypotheses_commutes_with_composing(functions):
    f = sequential(*functions)
    epsilons = np.linspace(-3.0, 3.0, 25)
    mirrored = 1.0 - np.exp(epsilons) + np.exp(epsilons) * f.reverse().delta(-epsilons)
    assert f.delta(epsilons) == pytest.approx(mirrored, abs=1e-9)


def test_symmetric_members_stay_symmetric():
    f = sequential(Gaussian(0.5), Laplace(0.7), EpsilonDelta(0.2, 1e-3))
    assert f.symmetric
    inner = f(ALPHAS) > 1e-6
    assert f(f(ALPHAS))[inner] == pytest.approx(ALPHAS[inner], abs=1e-8)
    assert not sequential(Gaussian(0.5), SKEWED).symmetric


def test_identity_is_neutral_and_order_and_grouping_do_not_matter():
    a, b, c = Laplace(1.0), EpsilonDelta(0.5, 0.1), Gaussian(1.0)
    assert sequential() == Identity()
    assert sequential(a, Identity()) == a
    assert sequential(a, b, c) == sequential(c, sequential(b, a)) == sequential(Identity(), b, c, a)


def test_no_privacy_in_one_stage_is_no_privacy_in_all():
    f = sequential(Gaussian(1.0), EpsilonDelta(1.0, 1.0))
    assert f.delta(10.0) == 1.0


@pytest.mark.parametrize("times", [100, 300, 2000])
def test_stages_that_almost_surely_fail_leave_no_privacy_and_no_error(times):
    f = sequential(*[EpsilonDelta(1.0, 0.5)] * times, Gaussian(1.0))
    assert 1.0 - 1e-10 <= f.delta(1.0) <= 1.0
    assert f.delta(np.inf) == f.infinite_loss <= 1.0
    assert 0.0 <= f(0.5) <= 1e-10
    assert math.isinf(f.epsilon(0.5))


@pytest.mark.parametrize(("times", "failure"), [(1, 1e-3), (3, 1e-12), (7, 1e-30), (40, 1e-3), (40, 0.3)])
@pytest.mark.parametrize("mu", [1e-6, 0.1, 6.0])
def test_delta_is_not_below_the_truth_even_by_round_off(times, failure, mu):
    f = sequential(*[EpsilonDelta(0.1, failure)] * times, Gaussian(mu))
    for epsilon in [0.0, 0.05 * times, 0.1 * times + 3.0 * mu, 0.1 * times + 8.0 * mu, 1e3]:
        assert f.delta(epsilon) >= average_delta(0.1, failure, times, mu, epsilon)
    assert f.infinite_loss >= 1 - (1 - mpmath.mpf(failure)) ** times


def average_delta(level, failure, times, mu, epsilon):
    """Delta of (level, failure) stages with a Gaussian: its mean over their outcomes, in 60 digits."""
    with mpmath.workdps(60):
        level, mu, keep = mpmath.mpf(level), mpmath.mpf(mu), (1 - mpmath.mpf(failure)) ** times
        up = 1 / (1 + mpmath.exp(-level))
        excess = mpmath.mpf(0)
        for i in range(times + 1):
            x = mpmath.mpf(epsilon) - (2 * i - times) * level
            shifted = mpmath.ncdf(mu / 2 - x / mu) - mpmath.exp(x) * mpmath.ncdf(-mu / 2 - x / mu)
            excess += mpmath.binomial(times, i) * up**i * (1 - up) ** (times - i) * shifted
        return 1 - keep + keep * excess


def test_compositions_nest():
    part = sequential(Gaussian(0.5), Laplace(0.4))
    f = sequential(parallel(part, EpsilonDelta(0.8, 1e-6)), mixture([Laplace(0.3), Gaussian(0.2)], [0.5, 0.5]))
    worse = sequential(part, EpsilonDelta(0.8, 1e-6), Laplace(0.3), Gaussian(0.2))
    epsilons = np.linspace(0.0, 6.0, 13)
    assert (f.delta(epsilons) <= worse.delta(epsilons)).all()
    assert (f.delta(epsilons) >= part.delta(epsilons) * (1 - 1e-9)).all()


def test_many_atoms_fall_back_to_the_grid_on_the_safe_side():
    levels = 0.1 + 0.01 * np.sqrt(np.arange(20))
    f = sequential(*(EpsilonDelta(float(level)) for level in levels))
    halves = [sequential(*(EpsilonDelta(float(level)) for level in part)) for part in (levels[:10], levels[10:])]
    exact, shift = halves[0].losses(), halves[1]
    for epsilon in [0.2, 0.8, 1.5]:
        truth = float(exact.masses @ shift.delta(epsilon - exact.losses))
        assert truth * (1 - 1e-9) <= f.delta(epsilon) <= truth * (1 + 1e-3)
