"""Duality: the trade-off function from its deltas, and back."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcate.accounting import EpsilonDelta, Gaussian, Identity, Laplace, PiecewiseLinear, mixture, parallel, sequential
from dpcate.accounting.duality import biconjugate

ALPHAS = np.concatenate([[0.0], np.geomspace(1e-15, 1e-2, 60), np.linspace(0.011, 1.0, 100)])
SKEWED = PiecewiseLinear([(0.0, 0.9), (0.1, 0.4), (0.5, 0.1), (1.0, 0.0)])

members = st.one_of(
    st.builds(Gaussian, st.floats(0.0, 6.0)),
    st.builds(EpsilonDelta, st.floats(0.0, 20.0), st.floats(0.0, 1.0)),
    st.builds(Laplace, st.floats(0.0, 20.0)),
    st.just(SKEWED),
    st.just(Identity()),
)


@given(members)
@settings(deadline=None, max_examples=50)
def test_the_best_supporting_line_gives_the_function_back(f):
    found = biconjugate(f, ALPHAS[1:])
    assert (found <= f(ALPHAS[1:]) + 1e-13).all()
    assert found == pytest.approx(f(ALPHAS[1:]), abs=1e-9)


EVERY_KIND = [
    Identity(),
    Gaussian(0.7),
    Laplace(1.2),
    EpsilonDelta(0.8, 0.05),
    SKEWED,
    parallel(Gaussian(1.0), EpsilonDelta(1.0, 1e-3), SKEWED),
    mixture([Gaussian(1.0), SKEWED], [0.3, 0.7]),
    sequential(EpsilonDelta(0.5, 0.01), SKEWED),
    sequential(Laplace(0.5), SKEWED),
]


@pytest.mark.parametrize("f", EVERY_KIND, ids=lambda f: f.kind)
def test_delta_is_the_conjugate_of_the_function(f):
    grid = np.unique(np.concatenate([[0.0], np.geomspace(1e-9, 0.1, 3000), np.linspace(0.1, 1.0, 6001)]))
    values = f(grid)
    for epsilon in np.linspace(-3.0, 3.0, 13):
        truth = (1.0 - values - np.exp(epsilon) * grid).max()
        assert truth - 1e-9 <= f.delta(epsilon) <= truth + 5e-4


@pytest.mark.parametrize("f", EVERY_KIND, ids=lambda f: f.kind)
def test_delta_at_both_signs_of_epsilon_belongs_to_the_two_orders_of_the_hypotheses(f):
    epsilons = np.linspace(-5.0, 5.0, 101)
    mirrored = 1.0 - np.exp(epsilons) + np.exp(epsilons) * f.reverse().delta(-epsilons)
    assert f.delta(epsilons) == pytest.approx(mirrored, abs=1e-8)  # e^5 times the slack of a numeric member


@pytest.mark.parametrize("f", EVERY_KIND, ids=lambda f: f.kind)
def test_infinite_epsilon_and_alpha_zero_agree(f):
    assert f.delta(np.inf) == f.infinite_loss
    assert f(0.0) == 1.0 - f.infinite_loss
    assert f.delta(-np.inf) == 1.0
    assert f(1.0) == 0.0
