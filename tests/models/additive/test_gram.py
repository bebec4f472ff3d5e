import numpy as np
import pytest

from dpcate.models.additive.equations import Equations
from dpcate.models.additive.gram import estimate_gram, positive
from dpcate.models.additive.products import BENT, PAIR

ORDERS = np.array([-1, 0, 1, 2, 0, 1, 2, PAIR, BENT])
LEAST, MOST = 0.02, 0.15  # shares of the level that eigenvalues are raised to: with no noise, with much
SIZE, LEVEL = len(ORDERS), 1000.0
PREDICTED = LEVEL * np.eye(SIZE)


def correlated(strength=0.5):
    truth = PREDICTED.copy()
    truth[1, 4] = truth[4, 1] = strength * LEVEL
    return truth


def seen(gram, noise):
    spread = noise * np.where(np.eye(SIZE) > 0, np.sqrt(2), 1.0)
    return Equations(np.zeros(SIZE), np.ones(SIZE), gram, spread, 1.0, 1.0)


def noisy(truth, noise, seed=0):
    draw = np.triu(np.random.default_rng(seed).normal(size=(SIZE, SIZE)), 1)
    return truth + noise * (draw + draw.T)


def test_without_noise_the_matrix_is_what_was_seen():
    found = estimate_gram(seen(correlated(), 1e-6), PREDICTED, LEVEL, ORDERS)
    assert found.matrix == pytest.approx(correlated(), abs=1e-6 * LEVEL)
    assert found.variance.max() < 1e-6


def test_with_noise_only_the_matrix_is_what_was_predicted():
    found = estimate_gram(seen(noisy(PREDICTED, 50 * LEVEL), 50 * LEVEL), PREDICTED, LEVEL, ORDERS)
    assert np.abs(found.matrix - PREDICTED).max() < 0.2 * LEVEL


def test_at_moderate_noise_the_estimate_is_nearer_to_the_truth_than_either_source():
    ours, raw = [], []
    for seed in range(40):
        released = noisy(correlated(), 0.15 * LEVEL, seed)
        found = estimate_gram(seen(released, 0.15 * LEVEL), PREDICTED, LEVEL, ORDERS)
        ours.append(((found.matrix - correlated()) ** 2).sum())
        raw.append(((released - correlated()) ** 2).sum())
    assert np.mean(ours) < 0.6 * np.mean(raw)
    assert np.mean(ours) < ((PREDICTED - correlated()) ** 2).sum()


@pytest.mark.parametrize("noise", [1e-3, 0.1, 1.0, 100.0])
def test_the_matrix_is_symmetric_and_positive_definite_at_any_noise(noise):
    for seed in range(5):
        found = estimate_gram(
            seen(noisy(correlated(0.9), noise * LEVEL, seed), noise * LEVEL), PREDICTED, LEVEL, ORDERS
        )
        assert found.matrix == pytest.approx(found.matrix.T, abs=1e-9 * LEVEL)
        assert np.linalg.eigvalsh(found.matrix).min() > 0.01 * LEVEL
        assert found.variance.min() >= 0
        assert (found.variance <= (noise * LEVEL) ** 2 * 2.001).all(), "an estimate is not worse than what was seen"


@pytest.mark.parametrize("noise", [1e-6, 0.1, 10.0])
def test_entries_that_were_not_released_are_those_predicted_and_stay_in_doubt(noise):
    equations = seen(noisy(correlated(), noise * LEVEL), noise * LEVEL)
    hidden = np.zeros((SIZE, SIZE), dtype=bool)
    hidden[2, 5] = hidden[5, 2] = True
    equations.gram[hidden], equations.gram_noise[hidden] = 0.0, np.inf
    predicted = PREDICTED.copy()
    predicted[hidden] = 0.3 * LEVEL
    found = estimate_gram(equations, predicted, LEVEL, ORDERS)
    assert np.isfinite(found.matrix).all()
    assert np.isfinite(found.variance).all()
    assert found.variance[2, 5] >= (0.01 * LEVEL) ** 2
    if noise < 1e-3:
        assert found.matrix[2, 5] == pytest.approx(0.3 * LEVEL, rel=1e-6)
        assert found.variance[~hidden].max() < 1e-3 * found.variance[2, 5]


def test_eigenvalues_are_raised_and_a_positive_matrix_is_left_alone():
    assert np.array_equal(positive(correlated(), 0.15 * LEVEL), correlated())
    for lowest in (0.02 * LEVEL, 0.15 * LEVEL):
        raised = positive(correlated(1.5), lowest)
        before, after = (np.linalg.eigvalsh(matrix) for matrix in (correlated(1.5), raised))
        assert before.min() < 0
        assert after == pytest.approx(np.maximum(before, lowest))


@pytest.mark.parametrize("noise", [1e-9, 1e-3, 0.01, 0.03, 0.1, 1.0, 100.0])
def test_eigenvalues_are_raised_to_between_a_fiftieth_and_a_seventh_of_the_level(noise):
    for seed in range(5):
        released = noisy(correlated(0.999), noise * LEVEL, seed)
        found = estimate_gram(seen(released, noise * LEVEL), PREDICTED, LEVEL, ORDERS)
        assert LEAST <= found.least <= MOST
        assert np.linalg.eigvalsh(found.matrix).min() >= found.least * LEVEL * (1 - 1e-9)


def test_the_less_noise_the_less_eigenvalues_are_raised():
    """Up to where noise wins: from there on the prediction is trusted instead, which has no noise."""
    least = [
        np.mean([estimate_gram(seen(noisy(correlated(), n, s), n), PREDICTED, LEVEL, ORDERS).least for s in range(20)])
        for n in LEVEL * np.array([1e-4, 0.012, 0.03, 0.1, 0.3])
    ]
    assert least[0] == pytest.approx(LEAST, rel=1e-12)
    assert (np.diff(least) > 0.01).all()
    assert least[-1] > 0.8 * MOST


def test_what_eigenvalues_are_raised_to_is_the_size_of_the_remaining_noise_s_own_eigenvalues():
    """A symmetric matrix of k noisy entries per line has eigenvalues of sqrt(k) times their size, and no larger."""
    noise = 0.012 * LEVEL
    found = estimate_gram(seen(noisy(correlated(), noise), noise), PREDICTED, LEVEL, ORDERS)
    assert found.least == pytest.approx(np.sqrt(SIZE * found.variance.mean()) / LEVEL, rel=1e-9)
    draws = [np.linalg.norm(noisy(np.zeros((SIZE, SIZE)), noise, seed), 2) / LEVEL for seed in range(50)]
    assert 0.4 * found.least < np.mean(draws) < 2.5 * found.least


@pytest.mark.parametrize("strength", [0.9, 0.97])
def test_strongly_correlated_columns_keep_their_smallest_eigenvalue_where_noise_is_small(strength):
    """Raised to a seventh of the level whatever the noise, it biased all that was known of their difference."""
    truth = correlated(strength)
    smallest = np.linalg.eigvalsh(truth).min()
    assert smallest == pytest.approx((1 - strength) * LEVEL)
    found = estimate_gram(seen(noisy(truth, 1e-4 * LEVEL), 1e-4 * LEVEL), PREDICTED, LEVEL, ORDERS)
    assert np.linalg.eigvalsh(found.matrix).min() == pytest.approx(smallest, rel=0.05)
    difference = np.zeros(SIZE)
    difference[1], difference[4] = 1.0, -1.0
    z = truth @ difference
    assert np.linalg.solve(found.matrix, z) == pytest.approx(difference, abs=0.05)
    assert np.linalg.solve(positive(truth, 0.15 * LEVEL), z)[1] < 0.7, "what raising further would make of it"


def test_entries_of_products_with_bends_count_as_products():
    """They share the estimate of how far predictions are off with other products, not with curves."""
    truth = PREDICTED.copy()
    truth[1, 7] = truth[7, 1] = truth[1, 8] = truth[8, 1] = 0.4 * LEVEL
    noise = 0.1 * LEVEL
    found = estimate_gram(seen(noisy(truth, noise), noise), PREDICTED, LEVEL, ORDERS)
    trust = 1 - found.variance / noise**2
    assert trust[1, 8] == pytest.approx(trust[1, 7])
    assert found.variance[1, 8] == pytest.approx(found.variance[1, 7])
    assert found.variance[1, 8] > 1.5 * found.variance[1, 2]
