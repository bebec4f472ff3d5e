"""Yes or no, and yes is rare: estimates are not drawn to zero, and intervals hold."""

import numpy as np
import pytest
from benchmarks.rare_outcomes import SCHEMA, draw

from dpcate import AverageEffect, RLearner

RATE, ROWS, RUNS = 0.05, 2_000, 24


@pytest.mark.slow
@pytest.mark.parametrize("learner", [AverageEffect, RLearner])
def test_the_effect_on_a_rare_outcome_is_not_clipped_away(learner):
    errors, held = [], 0
    for seed in range(RUNS):
        X, T, Y = draw(ROWS, RATE, np.random.default_rng(seed))
        fitted = learner(SCHEMA, epsilon=1.0, random_state=seed).fit(Y, T, X=X)
        low, high = fitted.ate_interval()
        errors.append(fitted.ate() - RATE)
        held += low <= RATE <= high
    assert abs(np.mean(errors)) < 0.25 * RATE, "0.4 to 0.7 of it were lost when bounds followed what is explained"
    assert held >= 0.83 * RUNS
