"""Mixtures: secret coins cost no more than the worst part."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcate.accounting import EpsilonDelta, Gaussian, Identity, Laplace, PiecewiseLinear, mixture, parallel, sequential
from dpcate.errors import ParameterError

ALPHAS = np.linspace(0.0, 1.0, 101)
SKEWED = PiecewiseLinear([(0.0, 0.9), (0.1, 0.4), (0.5, 0.1), (1.0, 0.0)])

members = st.one_of(
    st.builds(Gaussian, st.floats(0.0, 4.0)),
    st.builds(EpsilonDelta, st.floats(0.0, 4.0), st.floats(0.0, 0.5)),
    st.builds(Laplace, st.floats(0.0, 4.0)),
    st.just(SKEWED),
)


@st.composite
def parts(draw):
    functions = draw(st.lists(members, min_size=1, max_size=4))
    raw = draw(st.lists(st.floats(0.01, 1.0), min_size=len(functions), max_size=len(functions)))
    return functions, [weight / sum(raw) for weight in raw]


@given(parts(), st.floats(-5.0, 5.0))
def test_delta_is_the_weighted_mean(part, epsilon):
    functions, weights = part
    truth = sum(w * f.delta(epsilon) for f, w in zip(functions, weights, strict=True))
    assert mixture(functions, weights).delta(epsilon) == pytest.approx(truth, rel=1e-12, abs=1e-15)


@given(parts())
@settings(deadline=None, max_examples=30)
def test_secret_coins_cost_no_more_than_the_worst_part(part):
    functions, weights = part
    mixed, worst = mixture(functions, weights), parallel(*functions)
    epsilons = np.linspace(-4.0, 6.0, 41)
    assert (mixed.delta(epsilons) <= worst.delta(epsilons) + 1e-12).all()
    assert (mixed(ALPHAS) >= worst(ALPHAS) - 1e-9).all()


@pytest.mark.parametrize("seed", range(20))
def test_the_law_of_a_mixed_mechanism_respects_the_bound_exactly(seed):
    """Two finite mechanisms behind a secret coin: the hockey-stick divergence of the mixed laws."""
    generator = np.random.default_rng(seed)
    laws = generator.dirichlet(np.ones(4), size=(2, 2))  # part, neighbour, outcome
    weights = generator.dirichlet(np.ones(2))
    functions = [_best_test(null, alternative) for null, alternative in laws]
    null, alternative = np.tensordot(weights, laws, axes=1)
    for epsilon in np.linspace(-2.0, 2.0, 21):
        truth = np.maximum(alternative - np.exp(epsilon) * null, 0.0).sum()
        assert truth <= mixture(functions, weights).delta(epsilon) + 1e-12


def _best_test(null, alternative):
    order = np.argsort(null / alternative)
    alphas = np.append(np.cumsum(null[order])[:-1], 1.0)
    betas = np.append(1.0 - np.cumsum(alternative[order])[:-1], 0.0)
    return PiecewiseLinear([(0.0, 1.0), *zip(alphas, betas, strict=True)])


def test_values_are_those_of_the_best_split_of_alpha_between_the_parts():
    first, second = Gaussian(1.0), EpsilonDelta(1.0, 0.01)
    f = mixture([first, second], [0.3, 0.7])
    for alpha in [0.05, 0.3, 0.6]:
        to_first = np.linspace(0.0, min(alpha / 0.3, 1.0), 200001)
        to_second = np.clip((alpha - 0.3 * to_first) / 0.7, 0.0, 1.0)
        truth = (0.3 * first(to_first) + 0.7 * second(to_second)).min()
        assert truth - 1e-6 <= f(alpha) <= truth + 1e-12


def test_equal_parts_and_certain_coins_need_no_mixture():
    assert mixture([Gaussian(1.0), Gaussian(1.0)], [0.4, 0.6]) == Gaussian(1.0)
    assert mixture([Gaussian(1.0), Laplace(1.0)], [0.0, 1.0]) == Laplace(1.0)
    assert mixture([Identity(), Gaussian(0)], [0.5, 0.5]) == Identity()


def test_order_does_not_matter():
    assert mixture([Gaussian(1.0), Laplace(1.0)], [0.4, 0.6]) == mixture([Laplace(1.0), Gaussian(1.0)], [0.6, 0.4])


def test_a_mixture_of_atoms_composes_exactly():
    f = mixture([Identity(), EpsilonDelta(1.0, 0.0)], [0.5, 0.5])
    truth = 0.25 * sequential(EpsilonDelta(1.0), EpsilonDelta(1.0)).delta(0.3) + 0.5 * EpsilonDelta(1.0).delta(0.3)
    assert sequential(f, f).delta(0.3) == pytest.approx(truth, rel=1e-9)


def test_epsilon_stays_on_the_safe_side_at_the_limit():
    f = mixture([Gaussian(1.0), EpsilonDelta(1.0, 1e-5)], [0.5, 0.5])
    assert np.isinf(f.epsilon(4e-6))
    for delta in [5.0001e-6, 1e-5, 1e-3]:
        assert f.delta(f.epsilon(delta)) <= delta


@pytest.mark.parametrize(
    ("weights", "message"),
    [([0.5, 0.4], "must sum to 1"), ([1.5, -0.5], r"\[0, 1\]"), ([1.0], "one number per member"), ("ab", "numbers")],
)
def test_weights_that_are_no_probabilities_are_refused(weights, message):
    with pytest.raises(ParameterError, match=message):
        mixture([Gaussian(1.0), Laplace(1.0)], weights)


def test_a_mixture_of_nothing_is_refused():
    with pytest.raises(ParameterError, match="one number per member"):
        mixture([], [])
