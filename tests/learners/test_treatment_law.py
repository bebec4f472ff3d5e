"""How treatment goes with the features is released before the outcome is regressed on both, and is used there."""

from dataclasses import replace

import numpy as np
import pytest

from dpcate import AverageEffect, Category, DRLearner, MultiStage, Number, Schema, SLearner
from dpcate.errors import TransformationError
from dpcate.learners import average, dr
from dpcate.learners.nuisances import outcome_stage
from dpcate.tables.encoding import encode_features

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


def without_law(treatment_law, **options):
    """Return the outcome's stage as if treatment had nothing to do with the features."""
    return outcome_stage(**options)


def test_the_outcomes_treatment_term_does_not_take_what_belongs_to_the_features(monkeypatch):
    bias = missing(DRLearner)
    assert abs(bias) < 0.15
    monkeypatch.setattr(dr, "outcome_stage", without_law)
    assert missing(DRLearner) > 1.5 * abs(bias) + 0.03


WIDE = Schema(SCHEMA.outcome, SCHEMA.treatment, [Number(f"x{j}", -3, 3) for j in range(6)])


def draw_wide(seed, n=4000):
    """Four of six features move chance and outcome together, each a little: their sum is what matters."""
    generator = np.random.default_rng(seed)
    X = np.clip(generator.normal(size=(n, 6)), -3, 3)
    along = 0.5 * X[:, :4].sum(axis=1)
    t = (generator.uniform(size=n) < 1 / (1 + np.exp(along))).astype(int)
    return X, t, along + t + generator.normal(size=n), along


def slopes(runs=12):
    """How steep the released outcome of AverageEffect is along that sum: 0.8 in truth."""
    found = []
    for seed in range(runs):
        X, T, Y, _ = draw_wide(seed)
        outcome = AverageEffect(WIDE, epsilon=0.3, random_state=seed).fit(Y, T, X=X).models_["outcome"]
        X, _, _, along = draw_wide(1000 + seed)
        found.append(np.cov(outcome.predict(encode_features(X, WIDE)), along)[0, 1] / along.var())
    return float(np.mean(found))


def test_an_outcome_of_the_features_alone_is_hardly_shrunk_along_the_propensity(monkeypatch):
    following = slopes()
    assert 0.66 < following < 0.86
    monkeypatch.setattr(average, "outcome_stage", without_law)
    assert slopes() < following - 0.06


def test_only_an_estimated_propensity_is_a_law_of_the_treatment():
    def laws(learner):
        return {stage.name: stage.treatment_law is not None for stage in learner._stages()}

    assert laws(DRLearner(SCHEMA))["outcome"]
    assert laws(AverageEffect(SCHEMA))["outcome"]
    assert not laws(AverageEffect(replace(SCHEMA, propensity=0.5)))["outcome"]
    assert not laws(SLearner(SCHEMA))["outcome"]


@pytest.mark.parametrize("chance", [0.0, 1.5, np.nan])
def test_a_law_that_gives_no_chances_is_refused(chance):
    stage = outcome_stage(with_treatment=False, treatment_law=lambda rows, released: np.full(len(rows), chance))
    with pytest.raises(TransformationError, match="treatment_law"):
        MultiStage(SCHEMA, [replace(stage, name="effect")], model="additive", random_state=0).fit_table(draw(0))
