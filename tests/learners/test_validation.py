"""Held-out rows: no other stage reads them, they cost no budget, and they tell a right effect from a wrong one."""

from dataclasses import replace

import numpy as np
import pytest

from dpcate import AverageEffect, DRLearner, RLearner, load
from dpcate.errors import NotAvailableError, ParameterError
from dpcate.experiments import make_setup
from dpcate.learners.validation import CURVE, MEAN, SLOPE, held_out
from dpcate.mechanisms import make_noise
from dpcate.splitting import Plan, row_parts

SETUP = make_setup("B")
CHECKS = {MEAN, SLOPE, CURVE}


class Doubled(RLearner):
    """A learner that claims twice the effect, for everybody."""

    def _stages(self):
        *first, effect = super()._stages()
        right = effect.target

        def wide(schema, released):
            low, high = effect.bounds(schema, released)
            return 2 * low, 2 * high

        def twice(rows, released):
            return 2 * right(rows, released)

        return (*first, replace(effect, target=twice, bounds=wide, residual_of=None))


def fitted(kind, n=6000, epsilon=8.0, seed=1, **options):
    sample = SETUP.draw(n, seed)
    learner = kind(SETUP.schema, epsilon=epsilon, random_state=seed, **options)
    return learner.fit(sample.Y, sample.T, X=sample.X)


def same(one, other):
    return one.intercept == other.intercept and all(
        np.array_equal(left, right) for left, right in zip(one.tables, other.tables, strict=True)
    )


@pytest.mark.parametrize("plan", ["shared", "split"])
def test_held_out_rows_reach_the_checks_alone_and_the_others_never_do(plan):
    sample, n = SETUP.draw(800, 4), 800
    options = {"epsilon": 4.0, "validate": 0.25, "plan": plan, "random_state": 4}
    base = RLearner(SETUP.schema, **options)
    run, _ = base._prepare()
    last = len(run.plan.shares) - 1
    own = row_parts(0, n, shares=run.plan.shares, key=make_noise(4).key()) == last
    assert 0.15 * n < own.sum() < 0.35 * n
    base.fit(sample.Y, sample.T, X=sample.X)

    def changed(rows):
        Y, T, X = sample.Y.copy(), sample.T.copy(), sample.X.copy()
        Y[rows], T[rows], X[rows] = 3.0, 1, 0.5
        return RLearner(SETUP.schema, **options).fit(Y, T, X=X).models_

    others = changed(own)
    assert all(same(base.models_[name], others[name]) for name in others if name not in CHECKS)
    assert not any(same(base.models_[name], others[name]) for name in (MEAN, CURVE))
    rest = changed(~own)
    assert not any(same(base.models_[name], rest[name]) for name in rest if name not in CHECKS)


@pytest.mark.parametrize("plan", ["shared", "split"])
@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_validation_costs_no_budget(plan, neighbours):
    asked = {"epsilon": 1.0, "delta": 1e-6, "plan": plan, "neighbours": neighbours, "random_state": 0}
    with_checks = RLearner(SETUP.schema, validate=0.2, **asked)
    cost, without = with_checks.planned_cost(), RLearner(SETUP.schema, **asked).planned_cost()
    assert cost.epsilon(1e-6) == pytest.approx(without.epsilon(1e-6), rel=1e-6) == pytest.approx(1.0, rel=1e-6)
    sample = SETUP.draw(500, 0)
    spent = with_checks.fit(sample.Y, sample.T, X=sample.X).guarantee_
    assert spent.epsilon(1e-6) == pytest.approx(1.0, rel=1e-6)


def test_the_checks_share_the_whole_budget_of_their_part_and_leave_that_of_the_others_alone():
    plan = Plan.shared(("propensity", "outcome", "effect"), weights=(1, 1, 2))
    fractions = held_out(plan, 0.2).fractions()
    assert sum(fractions[name] for name in CHECKS) == pytest.approx(1.0)
    assert {name: fractions[name] for name in plan.fractions()} == plan.fractions()


@pytest.mark.parametrize("kind", [RLearner, DRLearner])
def test_a_right_effect_is_called_right(kind):
    found = fitted(kind, validate=0.3).calibration(0.01)
    assert found.slope_interval[0] < 1.0 < found.slope_interval[1]
    assert found.slope_interval[0] > 0.5, "and it is told from no effect at all"
    truth = SETUP.draw(50_000, 9).effect.mean()
    assert found.mean_interval[0] < truth < found.mean_interval[1]
    assert found.mean_interval[1] - found.mean_interval[0] < 1.0
    assert min(found.p_mean, found.p_slope) > 0.01


def test_an_effect_that_is_twice_too_large_is_called_wrong():
    found = fitted(Doubled, validate=0.3).calibration()
    assert found.slope == pytest.approx(0.5, abs=0.15)
    assert found.slope_interval[1] < 1.0
    assert found.p_slope < 1e-3
    assert found.expected_mean == pytest.approx(2 * found.mean, rel=0.3)
    assert found.p_mean < 1e-3


def test_a_saved_learner_tells_the_same(tmp_path):
    learner = fitted(RLearner, n=1000, validate=0.2)
    learner.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.validate == 0.2
    assert again.calibration() == learner.calibration()


def test_where_nothing_differs_there_is_no_slope():
    setup = make_setup("C")
    sample = setup.draw(500, 3)
    learner = RLearner(setup.schema, epsilon=0.3, random_state=3, validate=0.2).fit(sample.Y, sample.T, X=sample.X)
    effect = learner.models_["effect"]
    flat = replace(effect, tables=tuple(np.zeros_like(table) for table in effect.tables), products=())
    learner.models_ = {**learner.models_, "effect": flat}
    found = learner.calibration()
    assert (found.slope, found.slope_interval, found.p_slope) == (None, None, None)
    assert found.mean_interval[0] < found.mean < found.mean_interval[1]


def test_without_held_out_rows_there_is_nothing_to_tell():
    learner = fitted(RLearner, n=500)
    assert not CHECKS & set(learner.models_)
    with pytest.raises(NotAvailableError, match="validate"):
        learner.calibration()
    assert "validate" not in AverageEffect(SETUP.schema).get_params()


@pytest.mark.parametrize("wrong", [{"validate": 0.6}, {"validate": -0.1}, {"validate": True}, {"model": "ebm"}])
def test_wrong_options_are_refused_before_any_row_is_read(wrong):
    learner = RLearner(SETUP.schema, **({"validate": 0.2} | wrong))
    with pytest.raises(ParameterError, match="validate"):
        learner.planned_cost()


@pytest.mark.slow
@pytest.mark.parametrize("kind", [RLearner, DRLearner])
def test_the_mean_is_covered(kind):
    truth = SETUP.draw(200_000, 9).effect.mean()  # the propensity is 1/2, so the weights are even
    inside = []
    for seed in range(40):
        low, high = fitted(kind, n=3000, epsilon=4.0, seed=seed, validate=0.3).calibration(0.1).mean_interval
        inside.append(low <= truth <= high)
    assert np.mean(inside) >= 0.75
