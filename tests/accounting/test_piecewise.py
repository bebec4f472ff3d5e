"""Piecewise linear functions: validation, inverse, and both conversions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcate.accounting import EpsilonDelta, Gaussian, Identity, PiecewiseLinear
from dpcate.errors import ParameterError

ALPHAS = np.linspace(0.0, 1.0, 501)
SKEWED = PiecewiseLinear([(0.0, 0.9), (0.1, 0.4), (0.5, 0.1), (1.0, 0.0)])


@st.composite
def random_tradeoffs(draw):
    """Best tests between two random laws on a few outcomes."""
    size = draw(st.integers(1, 6))
    weight = st.one_of(st.just(0.0), st.floats(1e-6, 1.0))
    weights = st.lists(weight, min_size=size, max_size=size).filter(lambda w: sum(w) > 0.1)
    null, alternative = (np.array(draw(weights)) for _ in range(2))
    null, alternative = null / null.sum(), alternative / alternative.sum()
    order = np.argsort(np.arctan2(null, alternative))
    alphas = np.concatenate([[0.0], np.cumsum(null[order])])
    betas = 1.0 - np.concatenate([[0.0], np.cumsum(alternative[order])])
    lowest: dict[float, float] = {1.0: 0.0}
    for alpha, beta in zip(np.clip(alphas, 0, 1), np.clip(betas, 0, 1), strict=True):
        lowest[alpha] = min(beta, lowest.get(alpha, 1.0))
    return PiecewiseLinear(list(lowest.items()))


@given(f=random_tradeoffs(), epsilon=st.floats(-5.0, 5.0))
def test_delta_is_the_largest_gap_over_the_corners(f, epsilon):
    truth = max(1.0 - beta - np.exp(epsilon) * alpha for alpha, beta in f.points)
    assert f.delta(epsilon) == pytest.approx(truth, abs=1e-12)


@given(f=random_tradeoffs(), delta=st.floats(0.0, 1.0))
def test_epsilon_is_the_smallest_that_meets_the_target(f, delta):
    epsilon = f.epsilon(delta)
    if np.isinf(epsilon):
        assert f.infinite_loss > delta
    else:
        assert f.delta(epsilon) <= delta
        assert epsilon == 0.0 or f.delta(epsilon - 1e-9 * (1 + epsilon)) >= delta * (1 - 1e-12)


@given(f=random_tradeoffs())
def test_lines_of_all_orders_rebuild_the_function(f):
    epsilons = np.linspace(-45.0, 45.0, 3001)
    alphas = np.linspace(0.0, 1.0, 23)
    lines = 1.0 - f.delta(epsilons) - np.exp(epsilons) * alphas[:, np.newaxis]
    rebuilt = np.maximum(lines.max(axis=1), 0.0)
    assert (rebuilt <= f(alphas) + 1e-12).all()
    assert rebuilt == pytest.approx(f(alphas), abs=0.02)


@given(f=random_tradeoffs())
def test_the_inverse_of_the_inverse_is_the_function(f):
    assert f.reverse().reverse()(ALPHAS) == pytest.approx(f(ALPHAS), abs=1e-9)


def test_the_inverse_exchanges_the_two_errors():
    inner = ALPHAS[(ALPHAS > 0.0) & (ALPHAS < 1.0)]
    assert SKEWED.reverse()(SKEWED(inner)) == pytest.approx(inner, abs=1e-12)
    assert not SKEWED.symmetric
    assert PiecewiseLinear([(0, 1), (0.2, 0.2), (1, 0)]).symmetric


def test_exchanging_hypotheses_relates_delta_at_both_signs_of_epsilon():
    epsilons = np.linspace(-4.0, 4.0, 81)
    mirrored = 1.0 - np.exp(epsilons) + np.exp(epsilons) * SKEWED.reverse().delta(-epsilons)
    assert SKEWED.delta(epsilons) == pytest.approx(mirrored, abs=1e-14)


def test_corners_of_epsilon_delta_give_the_same_function():
    epsilon, delta = 1.3, 0.01
    middle = (1 - delta) / (1 + np.exp(epsilon))
    f = PiecewiseLinear([(0, 1 - delta), (middle, middle), (1 - delta, 0), (1, 0)])
    assert f(ALPHAS) == pytest.approx(EpsilonDelta(epsilon, delta)(ALPHAS), abs=1e-14)
    assert f.delta(ALPHAS) == pytest.approx(EpsilonDelta(epsilon, delta).delta(ALPHAS), abs=1e-14)


def test_corners_come_in_any_order_and_needless_ones_do_not_matter():
    f = PiecewiseLinear([(1, 0), (0.5, 0.125), (0, 1), (0.25, 0.1875 + 0.0)])
    assert f == PiecewiseLinear([(0, 1), (0.25, 0.1875), (1, 0), (0.5, 0.125), (0.75, 0.0625)])
    assert PiecewiseLinear([(0, 1), (0.5, 0.5), (1, 0)]) == Identity()


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([(0, 1), (0.5, 0.6), (1, 0)], "below 1 - alpha"),
        ([(0, 0.5), (0.3, 0.4), (0.5, 0.1), (1, 0)], "convex"),
        ([(0, 0.2), (0.5, 0.3), (1, 0)], "non-increasing"),
        ([(0, 1), (0.5, -0.1), (1, 0)], "below 0"),
        ([(0, 1), (0.5, 0.2)], "reach from alpha = 0 to alpha = 1"),
        ([(0, 1), (0.5, 0.2), (0.5, 0.1), (1, 0)], "distinct"),
        ([(0, 1)], "at least two pairs"),
        ([(0, 1, 2), (1, 0, 2)], "at least two pairs"),
        ([(0, float("nan")), (1, 0)], "NaN"),
        ("corners", "array of numbers"),
    ],
)
def test_points_that_are_no_tradeoff_function_are_refused(points, message):
    with pytest.raises(ParameterError, match=message):
        PiecewiseLinear(points)


def test_supporting_lines_of_a_gaussian_are_accepted_as_corners():
    alphas = np.linspace(0.0, 1.0, 2001)
    f = PiecewiseLinear(np.column_stack([alphas, Gaussian(1.0)(alphas)]))
    assert f(0.30005) == pytest.approx(Gaussian(1.0)(0.30005), abs=1e-6)
