"""Effects many times larger than what models leave unexplained: scores are clipped around what is expected of them."""

import numpy as np
import pytest

from dpcate import AverageEffect, Category, DRLearner, Number, RLearner, Schema, SLearner
from dpcate.models.additive import learner
from dpcate.models.additive.first_stage import EarlierErrors

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


def test_intervals_allow_for_what_an_unsure_propensity_takes_from_a_large_effect(monkeypatch):
    """Arms made with e lose a part of the effect where e is off; that is a bias which intervals have to know of."""
    schema = Schema(Number("y", -10, 30), Category("t", [0, 1]), [Number(f"x{j}", 0, 1) for j in range(8)])

    def held():
        inside = 0
        for seed in range(12):
            generator = np.random.default_rng(seed)
            X = generator.uniform(size=(4000, 8))
            chance = 1 / (1 + np.exp(-3 * (X[:, 0] - X[:, 1] + X[:, 2] - X[:, 3])))
            T = (generator.uniform(size=4000) < chance).astype(int)
            Y = 10.0 * T + generator.normal(size=4000)
            low, high = AverageEffect(schema, epsilon=1.0, random_state=seed).fit(Y, T, X=X).ate_interval()
            inside += low <= 10.0 <= high
        return inside

    assert held() >= 9  # 95 % gives fewer in one of 5,000

    class Centred(EarlierErrors):
        def draws(self, clip, kept):
            errors = super().draws(clip, kept)
            return None if errors is None else errors - errors.mean()

    monkeypatch.setattr(learner, "EarlierErrors", Centred)
    assert held() <= 8, "else there is nothing to allow for"
