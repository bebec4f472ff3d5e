"""Effects that grow in the tails of a bell-shaped feature: few rows are there, and they matter most."""

import numpy as np
import pytest
from scipy.special import expit

from dpcate import AverageEffect, Category, Number, RLearner, Schema


def schema(bound):
    features = [Number(f"x{j}", -bound, bound) for j in range(3)]
    return Schema(Number("y", -8, 16), Category("t", [0, 1]), features)


def draw(n, seed):
    generator = np.random.default_rng(seed)
    X = np.clip(generator.normal(size=(n, 3)), -4, 4)
    effect = 0.4 * X[:, 0] ** 2 - 0.3 * X[:, 2]
    T = (generator.uniform(size=n) < expit(0.4 * X[:, 0] ** 2 - 0.6 + 0.5 * X[:, 1])).astype(int)
    Y = 0.6 * X[:, 0] ** 2 + X[:, 1] + T * effect + generator.normal(size=n)
    return X, T, Y, effect


@pytest.mark.parametrize("bound", [4, 12])
def test_intervals_of_people_hold_where_an_effect_is_u_shaped(bound):
    X, _, _, effect = draw(4000, 99)
    held = []
    for seed in range(4):
        rows, T, Y, _ = draw(16_000, seed)
        low, high = RLearner(schema(bound), epsilon=8, random_state=seed).fit(Y, T, X=rows).effect_interval(X)
        held.append(np.mean((low <= effect) & (effect <= high)))
    assert np.mean(held) > 0.85, "with cosines of the rank it was a half"


def test_the_average_is_adjusted_for_u_shaped_confounding():
    """Who is far from the middle is treated more often and fares better; the effect is 0.4 on average."""
    errors = []
    for seed in range(4):
        X, T, Y, _ = draw(16_000, seed)
        learner = AverageEffect(schema(4), epsilon=4, random_state=seed).fit(Y, T, X=X)
        low, high = learner.ate_interval()
        errors.append((learner.ate() - 0.4) / ((high - low) / 3.92))
    assert np.sqrt(np.mean(np.square(errors))) < 1.8
