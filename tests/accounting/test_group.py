"""Group privacy: closed forms, the recursion, and the safe side."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcate.accounting import EpsilonDelta, Gaussian, Group, Identity, Laplace, PiecewiseLinear, group, parallel
from dpcate.errors import ParameterError

ALPHAS = np.linspace(0.0, 1.0, 201)
SKEWED = PiecewiseLinear([(0.0, 0.9), (0.1, 0.4), (0.5, 0.1), (1.0, 0.0)])


def recursion(f, k, alpha):
    for _ in range(k - 1):
        alpha = np.clip(1.0 - f(alpha), 0.0, 1.0)
    return f(alpha)


def test_noise_of_a_log_concave_shape_scales_with_the_group():
    assert group(Gaussian(0.5), 3) == Gaussian(1.5)
    assert group(Laplace(0.25), 4) == Laplace(1.0)
    assert group(Identity(), 5) == Identity()
    assert group(SKEWED, 1) == SKEWED
    assert group(group(SKEWED, 2), 3) == group(SKEWED, 6)


@given(
    f=st.one_of(st.builds(EpsilonDelta, st.floats(0.0, 3.0), st.floats(0.0, 0.3)), st.just(SKEWED)),
    k=st.integers(1, 7),
)
def test_piecewise_linear_functions_follow_the_recursion(f, k):
    assert group(f, k)(ALPHAS) == pytest.approx(recursion(f, k, ALPHAS), abs=1e-9)


@given(epsilon=st.floats(0.01, 1.0), delta=st.floats(1e-12, 1e-5), k=st.integers(2, 5))
def test_a_group_pays_k_epsilon_and_the_geometric_sum_of_delta(epsilon, delta, k):
    bound = delta * math.expm1(k * epsilon) / math.expm1(epsilon)
    f = group(EpsilonDelta(epsilon, delta), k)
    assert f.delta(k * epsilon) == pytest.approx(bound, rel=1e-6)
    assert f.epsilon(f.infinite_loss) == pytest.approx(k * epsilon, rel=1e-12)


def test_a_pure_guarantee_stays_pure_for_groups():
    assert group(EpsilonDelta(0.5, 0.0), 3).epsilon(0.0) == 1.5


@pytest.mark.parametrize(("f", "truth"), [(Gaussian(0.5), Gaussian(2.0)), (Laplace(0.5), Laplace(2.0))])
def test_the_numeric_path_is_never_more_private_than_the_closed_form_and_tight(f, truth):
    numeric = Group(f, 4)
    epsilons = np.linspace(-1.9, 1.9, 39)
    ratio = numeric.delta(epsilons) / truth.delta(epsilons)
    assert (ratio >= 1.0 - 1e-12).all()
    assert (ratio <= 1.0 + 1e-4).all()
    assert (numeric(ALPHAS) <= truth(ALPHAS) + 1e-12).all()
    assert numeric(ALPHAS) == pytest.approx(truth(ALPHAS), abs=1e-5)


@given(k=st.integers(2, 5))
@settings(deadline=None)
def test_groups_of_an_envelope_follow_the_recursion_from_below(k):
    f = parallel(Gaussian(0.3), EpsilonDelta(0.2, 1e-3))
    truth = recursion(f, k, ALPHAS)
    found = group(f, k)(ALPHAS)
    assert (found <= truth + 1e-9).all()
    assert found == pytest.approx(truth, abs=1e-4)


def test_exchanging_hypotheses_commutes_with_grouping():
    f = group(SKEWED, 3)
    inner = (ALPHAS > 0.0) & (f(ALPHAS) > 1e-6)
    assert f.reverse()(f(ALPHAS[inner])) == pytest.approx(ALPHAS[inner], abs=1e-8)


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "2"])
def test_a_group_size_that_is_no_positive_integer_is_refused(k):
    with pytest.raises(ParameterError, match="`k` must be an integer of at least 1"):
        group(Gaussian(1.0), k)
