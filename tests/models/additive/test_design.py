import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from dpcate.models.additive.design import plan_weights

PRIOR = np.array([1.0, 0.5, 0.5, 0.1, 0.02, 0.001])
positive = st.floats(1e-4, 10)


def error(log_squared, prior, sampling, noise):
    """Expected posterior variance with weights of unit length: what the plan minimises."""
    squared = np.exp(log_squared) / np.exp(log_squared).sum()
    variance = sampling + noise / squared
    return float((prior * variance / (prior + variance)).sum())


@pytest.mark.parametrize("noise", [1e-6, 1e-4, 1e-3])
def test_the_plan_is_as_good_as_what_a_general_optimiser_finds(noise):
    planned = plan_weights(PRIOR, 1e-3, noise)
    best = minimize(error, np.zeros(len(PRIOR)), (PRIOR, 1e-3, noise), method="Nelder-Mead", options={"maxiter": 4000})
    assert error(2 * np.log(np.maximum(planned, 1e-9)), PRIOR, 1e-3, noise) <= best.fun * (1 + 1e-4)


@pytest.mark.parametrize("noise", [1e-6, 1e-4, 1e-3])
def test_the_fixed_point_satisfies_the_stationarity_condition(noise):
    """The derivative of the error in w_j^2 is the same for all coefficients that have weight."""
    squared = plan_weights(PRIOR, 1e-3, noise) ** 2
    squared /= squared.sum()
    variance = 1e-3 + noise / squared
    slope = (PRIOR / (PRIOR + variance)) ** 2 / squared**2
    inside = squared > 1e-3
    assert slope[inside] == pytest.approx(np.full(inside.sum(), slope[inside][0]), rel=1e-2)


def test_more_noise_leaves_weight_to_fewer_coefficients():
    counts = [(plan_weights(PRIOR, 1e-3, noise) > 0.03).sum() for noise in (1e-8, 1e-3, 1e-1, 1.0)]
    assert counts[0] == len(PRIOR)
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] < len(PRIOR)


def test_without_noise_weights_are_even_and_with_it_they_follow_the_prior():
    assert plan_weights(np.array([1.0, 0.01]), 1e-9, 1e-12) == pytest.approx([1, 1], rel=1e-3)
    weights = plan_weights(PRIOR, 1e-3, 1e-2)
    assert (np.diff(weights) <= 1e-12).all()


@settings(deadline=None)
@given(prior=st.lists(positive, min_size=1, max_size=8), sampling=positive, noise=positive)
def test_weights_lie_in_the_unit_interval_and_the_largest_is_one(prior, sampling, noise):
    weights = plan_weights(np.array(prior), sampling, noise)
    assert weights.max() == pytest.approx(1.0)
    assert weights.min() >= 0
