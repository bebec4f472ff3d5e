"""What a row contributes: bounded for every row and score, unbiased at the root, and the same wherever it stands."""

import numpy as np
import pytest
from scipy.optimize import brentq

from dpcate.models.ebm.losses import LogisticLoss, SquaredLoss

EXTREME_SCORES = np.array([0.0, -0.0, 5e-324, 1.0, -1.0, 1e3, -1e3, 1e15, -1e15, 1e300, -1e300])


def squared(target, *, reach=1.0, loading=None, loading_bound=1.0):
    return SquaredLoss(
        target=np.asarray(target, dtype=float),
        reach=reach,
        target_variance=1.0,
        loading=None if loading is None else np.asarray(loading, dtype=float),
        loading_bound=loading_bound,
    )


@pytest.mark.parametrize("target", [-1.0, 0.0, 1.0])
@pytest.mark.parametrize("loading", [-0.9, 0.0, 1e-300, 0.9])
def test_no_score_and_no_row_exceeds_the_bound(target, loading):
    n = len(EXTREME_SCORES)
    loss = squared(np.full(n, 3.5 * target), reach=3.5, loading=np.full(n, loading), loading_bound=0.9)
    assert (np.abs(loss.contributions(EXTREME_SCORES)) <= loss.bound * (1 + 1e-12)).all()


@pytest.mark.parametrize("target", [0.0, 0.3, 1.0])
def test_no_score_exceeds_the_logistic_bound(target):
    loss = LogisticLoss(target=np.full(len(EXTREME_SCORES), target))
    assert (np.abs(loss.contributions(EXTREME_SCORES)) <= loss.bound).all()


def test_the_bound_is_reached_so_it_could_not_be_smaller():
    assert np.abs(squared([1.0]).contributions(np.array([-7.0])))[0] == pytest.approx(1.0)
    assert LogisticLoss(target=np.array([1.0])).contributions(np.array([-20.0]))[0] == pytest.approx(1.0)


@pytest.mark.parametrize("mean", [0.1, 0.5, 0.97])
def test_a_yes_or_no_outcome_is_fitted_at_its_mean_and_not_where_clipping_would_put_it(mean):
    target = (np.arange(1000) < 1000 * mean) - 0.5
    loss = squared(target, reach=0.5)
    root = brentq(lambda score: loss.contributions(np.full(1000, score)).sum(), -0.5, 0.5)
    assert root + 0.5 == pytest.approx(mean, abs=1e-9)


def test_probabilities_are_fitted_at_the_share_of_ones():
    loss = LogisticLoss(target=(np.arange(1000) < 200).astype(float))
    root = brentq(lambda score: loss.contributions(np.full(1000, score)).sum(), -5, 5, xtol=1e-3)
    assert 1 / (1 + np.exp(-root)) == pytest.approx(0.2, abs=1e-3)


def test_with_a_loading_the_root_is_the_weighted_least_squares_slope():
    loading = np.tile([0.8, -0.2], 500)
    loss = squared(1.7 * loading, reach=2.0, loading=loading, loading_bound=0.8)
    assert np.abs(loss.contributions(np.full(1000, 1.7))).max() < 1e-12


@pytest.mark.parametrize("kind", ["squared", "loaded", "logistic"])
def test_a_row_contributes_the_same_wherever_it_stands(kind):
    generator = np.random.default_rng(0)
    n = 1001
    score, target, loading = generator.normal(size=n), generator.uniform(-1, 1, n), generator.uniform(-1, 1, n)

    def contributions(index):
        if kind == "logistic":
            return LogisticLoss(target=np.abs(target[index])).contributions(score[index])
        return squared(target[index], loading=loading[index] if kind == "loaded" else None).contributions(score[index])

    whole = contributions(np.arange(n))
    order = generator.permutation(n)
    assert np.array_equal(contributions(order), whole[order])
    assert np.array_equal(np.concatenate([contributions(np.array([i])) for i in range(n)]), whole)
    assert np.array_equal(contributions(np.arange(3, n)), whole[3:])
