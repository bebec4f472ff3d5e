"""Parallel composition: Theorem 1, remark 1 and the convex envelope."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcate.accounting import (
    EpsilonDelta,
    Gaussian,
    Identity,
    Laplace,
    Parallel,
    PiecewiseLinear,
    is_at_least_as_private,
    mixture,
    mu_for,
    parallel,
    sequential,
)
from dpcate.errors import ParameterError

ALPHAS = np.linspace(0.0, 1.0, 201)
SKEWED = PiecewiseLinear([(0.0, 0.9), (0.1, 0.4), (0.5, 0.1), (1.0, 0.0)])

members = st.one_of(
    st.builds(Gaussian, st.floats(0.0, 4.0)),
    st.builds(EpsilonDelta, st.floats(0.0, 4.0), st.floats(0.0, 0.5)),
    st.builds(Laplace, st.floats(0.0, 4.0)),
    st.just(SKEWED),
)


def best_test(null, alternative):
    """Corners of the trade-off function of two laws on finitely many outcomes, by sorting likelihood ratios."""
    order = np.argsort(np.arctan2(null, alternative))
    alphas = np.concatenate([[0.0], np.cumsum(null[order])])
    betas = np.concatenate([np.cumsum(alternative[order][::-1])[::-1], [0.0]])
    return np.minimum(alphas, 1.0), betas


def as_function(null, alternative):
    alphas, betas = best_test(null, alternative)
    lowest = {1.0: 0.0}
    for alpha, beta in zip(alphas, np.minimum(betas, 1.0), strict=True):
        lowest[alpha] = min(beta, lowest.get(alpha, 1.0))
    return PiecewiseLinear(list(lowest.items()))


def brute_force_envelope(functions, queries):
    """Lower hull of the pointwise minimum on a fine grid that is dense at both ends; never below the true envelope."""
    ends = np.geomspace(1e-12, 1e-3, 2000)
    inner = np.linspace(1e-3, 0.999, 40001)
    grid = np.unique(np.concatenate([[0.0], ends, inner, 1.0 - ends, [1.0], *map(corners, functions)]))
    lowest = np.min([f(grid) for f in functions], axis=0)
    hull = []
    for point in zip(grid, lowest, strict=True):
        while len(hull) > 1 and cross(hull[-2], hull[-1], point) <= 0.0:
            hull.pop()
        hull.append(point)
    return np.interp(queries, *np.array(hull).T)


def corners(f):
    """Where a piecewise linear function bends."""
    if isinstance(f, EpsilonDelta):
        middle = (1.0 - f.failure) / (1.0 + np.exp(f.level))
        return [middle, 1.0 - f.failure]
    return [alpha for alpha, _ in f.points] if isinstance(f, PiecewiseLinear) else []


def cross(o, a, b):
    return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])


def random_channel(generator, n_outcomes):
    """Law of an outcome for each of two values of one row, sometimes with impossible outcomes."""
    laws = generator.dirichlet(np.full(n_outcomes, 0.5), size=2)
    laws[generator.random(laws.shape) < 0.1] = 0.0
    laws[:, 0] += 0.01
    return laws / laws.sum(axis=1, keepdims=True)


class TwoStages:
    """Stage 1 reads row 1; stage 2 reads row 2 and what stage 1 released. All laws are explicit."""

    def __init__(self, seed, adaptive=True):
        generator = np.random.default_rng(seed)
        self.first = random_channel(generator, 3)
        fixed = random_channel(generator, 4)
        self.second = [random_channel(generator, 4) if adaptive else fixed for _ in range(3)]

    def law(self, row1, row2):
        return np.concatenate([self.first[row1][h] * self.second[h][row2] for h in range(3)])

    def neighbours(self):
        for a, b in itertools.permutations([0, 1]):
            for c in [0, 1]:
                yield (a, c), (b, c)
                yield (c, a), (c, b)

    def stage_costs(self):
        both = [(0, 1), (1, 0)]
        first = parallel(*(as_function(self.first[a], self.first[b]) for a, b in both))
        second = parallel(*(as_function(s[a], s[b]) for s in self.second for a, b in both))
        return first, second


@given(seed=st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_theorem_1_two_adaptive_stages_on_disjoint_rows_cost_no_more_than_the_envelope(seed):
    stages = TwoStages(seed)
    cost = parallel(*stages.stage_costs())
    for one, other in stages.neighbours():
        alphas, betas = best_test(stages.law(*one), stages.law(*other))
        assert (betas >= cost(alphas) - 1e-12).all()


@given(seed=st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_theorem_1_is_tight_when_the_second_stage_ignores_the_first(seed):
    stages = TwoStages(seed, adaptive=False)
    cost = parallel(*stages.stage_costs())
    joint = [as_function(stages.law(*one), stages.law(*other)) for one, other in stages.neighbours()]
    assert parallel(*joint)(ALPHAS) == pytest.approx(cost(ALPHAS), abs=1e-9)


def test_theorem_1_needs_the_envelope_as_a_random_coin_beats_the_pointwise_minimum():
    first, second = EpsilonDelta(2.0, 0.0), EpsilonDelta(0.0, 0.3)
    coin = mixture([first, second], [0.86, 0.14])
    assert parallel(first, second)(0.2) <= coin(0.2) < min(first(0.2), second(0.2)) - 1e-3


@given(epsilon=st.floats(0.0, 10.0), delta=st.floats(0.0, 1.0), count=st.integers(1, 6))
def test_remark_1_parts_with_one_epsilon_and_delta_cost_exactly_that(epsilon, delta, count):
    part = EpsilonDelta(epsilon, delta)
    assert parallel(*[part] * count) == part


@given(st.lists(st.floats(0.0, 10.0), min_size=1, max_size=6))
def test_gaussian_parts_cost_the_largest_mu(mus):
    assert parallel(*map(Gaussian, mus)) == Gaussian(max(mus))


MIXED = [
    [Gaussian(1.0), EpsilonDelta(1.0, 1e-3)],
    [Gaussian(1.0), Laplace(2.5)],
    [EpsilonDelta(2.0, 0.0), EpsilonDelta(0.5, 0.1)],
    [EpsilonDelta(3.0, 0.0), EpsilonDelta(1.0, 0.05), EpsilonDelta(0.0, 0.2)],
    [Gaussian(0.7), Laplace(1.5), EpsilonDelta(0.3, 0.1), SKEWED],
    [SKEWED, SKEWED.reverse()],
    [sequential(Laplace(0.5), EpsilonDelta(0.5, 1e-4)), Gaussian(0.4)],
]


@pytest.mark.parametrize("functions", MIXED, ids=lambda fs: "+".join(type(f).__name__ for f in fs))
def test_mixed_kinds_give_the_convex_envelope_of_a_brute_force_search(functions):
    queries = np.concatenate([np.geomspace(1e-9, 1e-2, 40), np.linspace(0.011, 0.989, 200)])
    truth = brute_force_envelope(functions, queries)
    found = parallel(*functions)(queries)
    assert (found <= truth + 1e-12).all(), "more private than the truth"
    assert found == pytest.approx(truth, abs=2e-6)


@given(st.lists(members, min_size=1, max_size=4), st.floats(-6.0, 6.0))
def test_delta_is_the_largest_of_the_parts(functions, epsilon):
    largest = max(f.delta(epsilon) for f in functions)
    assert parallel(*functions).delta(epsilon) == pytest.approx(largest, rel=1e-9, abs=1e-14)


@given(st.lists(members, min_size=1, max_size=4), st.floats(1e-9, 1.0))
def test_epsilon_is_the_largest_of_the_parts(functions, delta):
    largest = max(f.epsilon(delta) for f in functions)
    assert parallel(*functions).epsilon(delta) == pytest.approx(largest, rel=1e-9, abs=1e-9)


@given(st.lists(members, min_size=1, max_size=4))
@settings(deadline=None, max_examples=50)
def test_the_envelope_is_a_tradeoff_function_below_every_part(functions):
    values = parallel(*functions)(ALPHAS)
    assert (values <= np.min([f(ALPHAS) for f in functions], axis=0) + 1e-12).all()
    assert (np.diff(values) <= 1e-12).all()
    assert (np.diff(values, 2) >= -1e-10).all()
    assert ((values >= 0.0) & (values <= 1.0 - ALPHAS)).all()


@given(st.lists(members, min_size=1, max_size=3))
@settings(deadline=None, max_examples=25)
def test_disjoint_rows_cost_no_more_than_shared_rows(parts):
    epsilons = np.linspace(0.0, 10.0, 41)
    assert (parallel(*parts).delta(epsilons) <= sequential(*parts).delta(epsilons) * (1 + 1e-9) + 1e-13).all()


@given(st.lists(members, min_size=1, max_size=4), st.randoms())
@settings(deadline=None, max_examples=40)
def test_order_and_grouping_do_not_matter(functions, random):
    shuffled = functions[:]
    random.shuffle(shuffled)
    assert parallel(*functions) == parallel(*shuffled)
    nested = parallel(parallel(*functions[:1]), *functions[1:])
    assert nested(0.2) == pytest.approx(parallel(*functions)(0.2), abs=1e-9)


def test_the_simplest_exact_value_is_returned():
    mu = mu_for(1.0, 1e-5)
    assert parallel() == Identity()
    assert parallel(Laplace(1.0)) == Laplace(1.0)
    assert parallel(Gaussian(1.0), Identity(), Gaussian(0)) == Gaussian(1.0)
    assert parallel(Laplace(1.0), Laplace(2.0)) == Laplace(2.0)
    assert parallel(Gaussian(mu), EpsilonDelta(1.0, 1e-5)) == EpsilonDelta(1.0, 1e-5)
    assert parallel(Gaussian(5.0), EpsilonDelta(0.1, 0.0)) == Gaussian(5.0)
    assert parallel(Laplace(1.0), EpsilonDelta(1.0, 0.0)) == EpsilonDelta(1.0, 0.0)
    assert parallel(EpsilonDelta(1.0, 1e-6), EpsilonDelta(0.9, 1e-7)) == EpsilonDelta(1.0, 1e-6)


def test_a_tiny_delta_is_not_swallowed_by_a_gaussian():
    f = parallel(Gaussian(5.0), EpsilonDelta(0.1, 1e-25))
    assert isinstance(f, Parallel)
    assert f.delta(1e3) == 1e-25
    assert np.isinf(f.epsilon(0.5e-25))


def test_a_bounded_loss_just_beyond_that_of_a_numeric_member_is_not_swallowed():
    numeric = sequential(Laplace(1.0), Laplace(0.7))
    beyond = Laplace(1.7 + 1e-5)
    assert parallel(numeric, beyond).epsilon(0.0) == 1.7 + 1e-5


def test_piecewise_linear_parts_join_into_one():
    other = PiecewiseLinear([(0.0, 1.0), (0.3, 0.05), (1.0, 0.0)])
    joint = parallel(SKEWED, other)
    assert isinstance(joint, PiecewiseLinear)
    assert joint(ALPHAS) == pytest.approx(brute_force_envelope([SKEWED, other], ALPHAS), abs=1e-6)


def test_an_asymmetric_part_and_its_inverse_are_symmetric_together():
    f = parallel(SKEWED, SKEWED.reverse())
    assert f.symmetric
    inner = f(ALPHAS) > 1e-9
    assert f(f(ALPHAS))[inner] == pytest.approx(ALPHAS[inner], abs=1e-9)
    assert is_at_least_as_private(SKEWED, f)


def test_what_is_no_tradeoff_function_is_refused():
    with pytest.raises(ParameterError, match="must be a trade-off function; got float"):
        parallel(Gaussian(1.0), 0.5)
