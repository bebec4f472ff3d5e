import numpy as np
import pytest

from dpcate.models.additive.basis import PAIR
from dpcate.models.additive.equations import Equations
from dpcate.models.additive.gram import estimate_gram, positive

ORDERS = np.array([-1, 0, 1, 2, 0, 1, 2, PAIR])
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
    assert positive(correlated(), LEVEL) == pytest.approx(correlated(), abs=1e-9 * LEVEL)
    raised = positive(correlated(1.5), LEVEL)
    assert np.linalg.eigvalsh(correlated(1.5)).min() < 0
    assert np.linalg.eigvalsh(raised).min() == pytest.approx(0.15 * LEVEL)
