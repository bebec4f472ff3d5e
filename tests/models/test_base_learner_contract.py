"""What every base learner must do, whichever it is. A new one is added to LEARNERS and inherits the tests."""

import json
import warnings
from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.base import clone
from tests.models.stages import altered

from dpcate.accounting import EpsilonDelta, Gaussian
from dpcate.mechanisms import SeededNoise, SystemNoise
from dpcate.models import Additive, AdditiveFunction, BaseLearner, Budget, Ebm, Interpret, StageData
from dpcate.schema import Category, Number

COLUMNS = (Number("age", 0, 1), Number("income", -5, 5), Category("sex", ["f", "m"]))
LEARNERS = [Additive(), Additive(pairs=False), Ebm(), Ebm(rounds=4, learning_rate=0.5, range_share=0.0)]
if find_spec("interpret") is not None:
    LEARNERS.append(Interpret(rounds=20, learning_rate=0.1))
EXACT = [learner for learner in LEARNERS if not isinstance(learner, Interpret)]

each_learner = pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
each_exact_learner = pytest.mark.parametrize("learner", EXACT, ids=lambda learner: type(learner).__name__)
each_relation = pytest.mark.parametrize("neighbours", ["replace", "add_remove"])


def make_stage(n_rows=300, **changes):
    generator = np.random.default_rng(0)
    codes = np.column_stack(
        [generator.integers(1, 1025, n_rows), generator.integers(0, 1025, n_rows), generator.integers(0, 3, n_rows)]
    )
    data = StageData.of_arrays(
        columns=COLUMNS,
        codes=np.asfortranarray(codes, dtype=np.uint16),
        target=np.clip(codes[:, 0] / 1024 + generator.normal(size=n_rows), -1, 2),
        low=-1.0,
        high=2.0,
        n_rows=n_rows,
        n_features=len(COLUMNS),
    )
    return altered(data, **changes)


def make_probability_stage(target):
    return make_stage(target=np.asarray(target, dtype=float), low=0.0, high=1.0, kind="probability")


def fit(learner, data, *, mu=1.0, neighbours="replace", noise=None):
    budget = Budget(mu=mu, epsilon=1.0, delta=1e-5, neighbours=neighbours)
    data = data if neighbours == "replace" else altered(data, n_rows=None)
    return learner.fit(data, budget=budget, noise=noise or SeededNoise(3), released={})


STAGES = {
    "ordinary": make_stage(),
    "no rows": make_stage(0),
    "one row": make_stage(1),
    "constant target": make_stage(target=np.full(300, 0.25)),
    "target at its bound": make_stage(target=np.full(300, 2.0)),
    "all missing": make_stage(codes=np.zeros((300, 3), dtype=np.uint16, order="F")),
    "all rows alike": make_stage(codes=np.ones((300, 3), dtype=np.uint16, order="F")),
    "with loading": make_stage(loading=np.tile([0.4, -0.6, 0.5], 100), loading_bound=0.9),
    "loading of zero": make_stage(loading=np.zeros(300), loading_bound=0.9),
    "probability": make_probability_stage(np.arange(300) % 3 == 0),
    "one class": make_probability_stage(np.ones(300)),
    "one column": make_stage(columns=COLUMNS[:1], codes=make_stage().held.codes[:, :1], n_features=1),
    "one category": make_stage(columns=COLUMNS[2:], codes=make_stage().held.codes[:, 2:], n_features=1),
    "one level only": make_stage(columns=COLUMNS[2:], codes=np.ones((300, 1), dtype=np.uint16), n_features=1),
    "treatment alone": make_stage(columns=COLUMNS[2:], codes=make_stage().held.codes[:, 2:], n_features=0),
}


@each_learner
def test_it_satisfies_the_protocol_and_survives_cloning(learner):
    assert isinstance(learner, BaseLearner)
    assert repr(clone(learner, safe=False)) == repr(learner)


@each_learner
@each_relation
@pytest.mark.parametrize("name", STAGES)
def test_any_stage_gives_a_finite_function_and_no_warning(learner, neighbours, name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        function = fit(learner, STAGES[name], neighbours=neighbours)
    everything = np.column_stack([np.arange(3), np.arange(3), np.arange(3)])[:, : len(function.columns)]
    assert np.isfinite(function.predict(everything.astype(np.uint16))).all()
    for table, share in zip(function.tables, function.shares, strict=True):
        assert np.isfinite(table).all()
        assert share.min() >= 0
        assert share.sum() == pytest.approx(1.0)


@each_learner
@each_relation
def test_the_guarantee_is_the_budget_and_nothing_else(learner, neighbours):
    guarantee = fit(learner, STAGES["ordinary"], mu=0.7, neighbours=neighbours, noise=SystemNoise()).guarantee_
    assert guarantee.f in (Gaussian(0.7), EpsilonDelta(1.0, 1e-5))
    assert guarantee.neighbours == neighbours
    assert not guarantee.void


@each_learner
def test_a_seed_voids_the_guarantee_and_repeats_the_fit(learner):
    first, second = (fit(learner, STAGES["ordinary"]) for _ in range(2))
    assert first.guarantee_.void
    assert all(np.array_equal(a, b) for a, b in zip(first.tables, second.tables, strict=True))


@each_learner
def test_means_stay_in_the_target_s_bounds_and_probabilities_between_zero_and_one(learner):
    codes = STAGES["ordinary"].held.codes
    mean = fit(learner, STAGES["ordinary"], mu=0.05).predict(codes)
    assert mean.min() >= -1
    assert mean.max() <= 2
    probability = fit(learner, STAGES["probability"], mu=0.05).predict(codes)
    assert probability.min() >= 0
    assert probability.max() <= 1


@each_learner
def test_the_released_function_survives_json(learner):
    function = fit(learner, STAGES["probability"])
    again = AdditiveFunction.from_dict(json.loads(json.dumps(function.to_dict())))
    assert np.array_equal(again.predict(STAGES["ordinary"].held.codes), function.predict(STAGES["ordinary"].held.codes))


@each_exact_learner
@pytest.mark.parametrize("name", ["ordinary", "with loading", "probability"])
def test_the_order_of_rows_does_not_change_a_bit_of_the_release(learner, name):
    data = STAGES[name]
    order = np.random.default_rng(9).permutation(300)
    loading = None if data.held.loading is None else data.held.loading[order]
    shuffled = altered(
        data, codes=np.asfortranarray(data.held.codes[order]), target=data.held.target[order], loading=loading
    )
    first, second = fit(learner, data), fit(learner, shuffled)
    assert first.intercept == second.intercept
    assert all(np.array_equal(a, b) for a, b in zip(first.tables, second.tables, strict=True))


@each_exact_learner
def test_rows_that_break_their_bounds_are_held_to_them(learner):
    wild = np.tile([np.nan, np.inf, -np.inf, 1e308, 5e-324, 0.5], 50)
    tame = np.clip(np.where(np.isnan(wild), 0.5, wild), -1, 2)
    first = fit(learner, make_stage(target=wild, loading=wild, loading_bound=0.9))
    loading = np.clip(np.where(np.isnan(wild), 0.0, wild), -0.9, 0.9)
    second = fit(learner, make_stage(target=tame, loading=loading, loading_bound=0.9))
    assert all(np.array_equal(a, b) for a, b in zip(first.tables, second.tables, strict=True))
