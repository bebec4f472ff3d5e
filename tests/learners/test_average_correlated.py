"""The average effect where features are nearly the same, and treatment and outcome follow what they differ by."""

import numpy as np
import pytest
from scipy.special import expit

from dpcate import AverageEffect, Category, Number, Schema
from dpcate.models.additive import mixing

N_FEATURES, EFFECT = 4, 0.5
SCHEMA = Schema(
    outcome=Number("y", -12, 12),
    treatment=Category("t", [0, 1]),
    features=[Number(f"x{j}", -4, 4) for j in range(N_FEATURES)],
)


def draw(seed, n_rows=6000):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows, 1)) + 0.3 * generator.normal(size=(n_rows, N_FEATURES))
    difference = (X[:, 0] - X[:, 1]) / 0.42
    T = (generator.uniform(size=n_rows) < expit(difference)).astype(int)
    Y = 2 * difference + X[:, 2] + EFFECT * T + generator.normal(size=n_rows)
    return X, T, Y


def errors_and_holds(n_runs):
    errors, holds = [], []
    for seed in range(n_runs):
        X, T, Y = draw(seed)
        learner = AverageEffect(SCHEMA, epsilon=1.0, random_state=seed).fit(Y, T, X=X)
        low, high = learner.ate_interval()
        errors.append(learner.ate() - EFFECT)
        holds.append(low <= EFFECT <= high)
    return np.array(errors), np.array(holds)


@pytest.mark.slow
def test_confounding_by_a_difference_is_adjusted_for(monkeypatch):
    errors, holds = errors_and_holds(20)
    assert holds.sum() >= 17
    monkeypatch.setattr(mixing, "HARDLY", 0.0)  # features measured as they are
    plain, _ = errors_and_holds(8)
    assert np.sqrt(np.mean(errors**2)) < 0.35 * np.sqrt(np.mean(plain**2))
