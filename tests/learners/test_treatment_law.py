"""How treatment goes with the features is released before the outcome is regressed on both, and is used there."""

from dataclasses import replace

import numpy as np
import pytest

from dpcate import AverageEffect, Category, DRLearner, Number, Schema, SLearner
from dpcate.learners import average, dr
from dpcate.learners.nuisances import outcome_stage

SCHEMA = Schema(
    outcome=Number("y", -10, 10),
    treatment=Category("t", [0, 1]),
    features=[Number(name, -3, 3) for name in "abc"],
)
EPSILON = 1.5


def draw(seed, n=4000):
    """Who is low on a and b is treated more often, and has a lower outcome: the arms differ by much more than 1."""
    generator = np.random.default_rng(seed)
    a, b, c = np.clip(generator.normal(size=(3, n)), -3, 3)
    t = (generator.uniform(size=n) < 1 / (1 + np.exp(a + b))).astype(int)
    return {"y": 1.5 * (a + b) + t + generator.normal(size=n), "t": t, "a": a, "b": b, "c": c}


def missing(learner, runs=12):
    """How much of the effect of 1 the treatment's term of the released outcome lacks, on average over fits."""
    found = []
    for seed in range(runs):
        outcome = learner(SCHEMA, epsilon=EPSILON, random_state=seed).fit_table(draw(seed)).models_["outcome"]
        found.append(1.0 - (outcome.tables[-1][2] - outcome.tables[-1][1]))
    return float(np.mean(found))


@pytest.mark.parametrize("learner", [DRLearner, AverageEffect])
def test_the_outcomes_treatment_term_does_not_take_what_belongs_to_the_features(learner, monkeypatch):
    bias = missing(learner)
    assert abs(bias) < 0.15
    for module in (dr, average):
        monkeypatch.setattr(module, "outcome_stage", lambda treatment_law, **options: outcome_stage(**options))
    assert missing(learner) > 1.5 * abs(bias) + 0.03, "as if treatment had nothing to do with the features"


def test_only_an_estimated_propensity_is_a_law_of_the_treatment():
    def laws(learner):
        return {stage.name: stage.treatment_law is not None for stage in learner._stages()}

    assert laws(DRLearner(SCHEMA))["outcome"]
    assert laws(AverageEffect(SCHEMA))["outcome"]
    assert not laws(AverageEffect(replace(SCHEMA, propensity=0.5)))["outcome"]
    assert not laws(SLearner(SCHEMA))["outcome"]
