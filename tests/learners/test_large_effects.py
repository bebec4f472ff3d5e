"""Effects many times larger than what models leave unexplained: scores are clipped around what is expected of them."""

import numpy as np
import pytest

from dpcate import AverageEffect, Category, DRLearner, Number, RLearner, Schema, SLearner

LEARNERS = {
    "R": RLearner,
    "DR": DRLearner,
    "S": SLearner,
    "all": lambda *args, **options: AverageEffect(*args, population="all", **options),
    "treated": lambda *args, **options: AverageEffect(*args, population="treated", **options),
}


def draw(effect, propensity, seed, n=20_000):
    generator = np.random.default_rng(seed)
    a, b = generator.uniform(size=(2, n))
    t = (generator.uniform(size=n) < (0.2 + 0.6 * a if propensity is None else propensity)).astype(int)
    y = (3 if effect > 0 else 8) + effect * t + a + 0.3 * generator.normal(size=n)
    return {"y": y, "t": t, "a": a, "b": b}


@pytest.mark.parametrize("propensity", [None, 0.5])
@pytest.mark.parametrize("effect", [4.0, -5.0])
@pytest.mark.parametrize("name", LEARNERS)
def test_a_large_effect_is_found_and_its_interval_holds_it(name, effect, propensity):
    features = [Number("a", 0, 1), Number("b", 0, 1)]
    schema = Schema(Number("y", 0, 10), Category("t", [0, 1]), features, propensity=propensity)
    fits = [
        LEARNERS[name](schema, epsilon=4.0, random_state=seed).fit_table(draw(effect, propensity, seed))
        for seed in range(3)
    ]
    assert [fit.ate() for fit in fits] == pytest.approx([effect] * 3, abs=0.06)
    assert sum(low <= effect <= high for low, high in (fit.ate_interval() for fit in fits)) >= 2
