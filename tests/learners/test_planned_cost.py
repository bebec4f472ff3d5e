"""What a fit will cost is known before any row is read, and it is what the fit costs."""

import numpy as np
import pytest

from dpcate import AverageEffect, DRLearner, RLearner, SLearner
from dpcate.models import Ebm


@pytest.mark.parametrize("kind", [AverageEffect, DRLearner, RLearner, SLearner])
@pytest.mark.parametrize("plan", ["shared", "split"])
@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
@pytest.mark.parametrize("model", ["additive", Ebm(rounds=2)], ids=["additive", "ebm"])
def test_the_planned_cost_is_what_the_fit_reports(schema, columns, kind, plan, neighbours, model):
    learner = kind(schema, epsilon=0.7, delta=1e-6, plan=plan, neighbours=neighbours, model=model, random_state=1)
    planned = learner.planned_cost()
    spent = learner.fit_table(columns).guarantee_
    assert planned.neighbours == spent.neighbours == neighbours
    assert planned.void
    alphas = np.linspace(0.0, 1.0, 21)
    assert np.allclose(planned.tradeoff(alphas), spent.tradeoff(alphas), atol=1e-9)
    assert planned.epsilon(1e-6) == pytest.approx(0.7, rel=1e-6)


def test_without_a_seed_the_planned_cost_is_not_void(schema):
    assert not RLearner(schema).planned_cost().void
