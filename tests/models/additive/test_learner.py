import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from tests.models.stages import altered

from dpcate import DRLearner, RLearner, Schema, SLearner, load
from dpcate.accounting import Gaussian
from dpcate.mechanisms import SeededNoise
from dpcate.models import Additive, AdditiveFunction, Budget, StageData
from dpcate.schema import Category, Number
from dpcate.tables import GRID

COLUMNS = (Number("age", 0, 1), Number("income", 0, 1), Category("sex", ["f", "m"]))
SCHEMA = Schema(outcome=Number("y", -6, 8), treatment=Category("t", [0, 1]), features=COLUMNS)
HUGE = 1e4
each_relation = pytest.mark.parametrize("neighbours", ["replace", "add_remove"])


def make_codes(n_rows, seed=0):
    generator = np.random.default_rng(seed)
    numbers = generator.integers(1, GRID + 1, (n_rows, 2))
    return np.asfortranarray(np.column_stack([numbers, generator.integers(1, 3, n_rows)]), dtype=np.uint16)


def make_stage(function, n_rows=20_000, *, noise=0.5, seed=0, low=-4.0, high=5.0, **changes):
    codes = make_codes(n_rows, seed)
    target = function(*unit(codes)) + np.random.default_rng(seed + 1).normal(scale=noise, size=n_rows)
    data = StageData.of_arrays(
        columns=COLUMNS, codes=codes, target=target.clip(low, high), low=low, high=high, n_rows=n_rows, n_features=3
    )
    return altered(data, **changes)


def unit(codes):
    return (codes[:, 0] - 0.5) / GRID, (codes[:, 1] - 0.5) / GRID, codes[:, 2] - 1.0


def fit(data, *, mu=HUGE, neighbours="replace", noise=None, released=None, **options):
    budget = Budget(mu=mu, epsilon=1.0, delta=1e-5, neighbours=neighbours)
    data = data if neighbours == "replace" else altered(data, n_rows=None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return Additive(**options).fit(data, budget=budget, noise=noise or SeededNoise(3), released=released or {})


def r_squared(function, truth, codes):
    expected = truth(*unit(codes))
    return 1 - np.mean((function.predict(codes) - expected) ** 2) / np.var(expected)


def line(age, income, sex):
    return 2 * age - income + 0.7 * sex


def curve(age, income, sex):
    return np.sin(2 * np.pi * age) + (income - 0.5) ** 2 - 0.3 * sex


def product(age, income, sex):
    return 6 * (age - 0.5) * (income - 0.5) + age


@each_relation
@pytest.mark.parametrize("truth", [line, curve])
def test_a_huge_budget_recovers_lines_and_smooth_curves(truth, neighbours):
    function = fit(make_stage(truth), neighbours=neighbours)
    assert r_squared(function, truth, make_codes(5000, seed=9)) > 0.95


def test_a_huge_budget_recovers_probabilities():
    def chance(age, income, sex):
        return 0.2 + 0.5 * age + 0.1 * sex

    codes = make_codes(20_000)
    arm = (np.random.default_rng(2).uniform(size=len(codes)) < chance(*unit(codes))).astype(float)
    data = make_stage(line, codes=codes, target=arm, low=0.0, high=1.0, kind="probability")
    function = fit(data)
    assert r_squared(function, chance, make_codes(5000, seed=9)) > 0.95
    assert function.predict(codes).min() >= 0
    assert function.predict(codes).max() <= 1


@each_relation
def test_a_loading_is_divided_out(neighbours):
    codes = make_codes(20_000)
    arm = np.random.default_rng(4).integers(0, 2, len(codes)) - 0.5
    target = arm * line(*unit(codes)) + np.random.default_rng(5).normal(scale=0.3, size=len(codes))
    data = make_stage(line, codes=codes, target=target, loading=arm, loading_bound=0.5)
    data = altered(data, loading_law=lambda codes: (np.full(len(codes), 0.5), np.full(len(codes), 0.25)))
    function = fit(data, neighbours=neighbours)
    assert r_squared(function, line, make_codes(5000, seed=9)) > 0.95


@pytest.mark.parametrize("mu", [1e2, 1e4, 1e5])
def test_a_second_round_does_no_harm_where_noise_is_next_to_nothing(mu):
    """Rounds shorten rows differently: taken for exact, their small disagreement would be blown up."""
    data, fresh = make_stage(line), make_codes(5000, seed=9)
    once, twice = (fit(data, mu=mu, rounds=rounds) for rounds in ((1.0,), (0.5, 0.5)))
    assert 1 - r_squared(twice, line, fresh) <= 1.2 * (1 - r_squared(once, line, fresh)) + 1e-3


def test_an_ordinary_budget_finds_a_strong_line():
    assert r_squared(fit(make_stage(line), mu=0.5), line, make_codes(5000, seed=9)) > 0.7


@pytest.mark.parametrize("mu", [0.05, 0.5])
def test_without_signal_the_function_is_nearly_a_constant(mu):
    spreads, errors = [], []
    for seed in range(5):
        data = make_stage(lambda age, income, sex: 1.0 + 0 * age, 2000, noise=1.0, seed=seed)
        predicted = fit(data, mu=mu, noise=SeededNoise(seed)).predict(data.held.codes)
        spreads.append(predicted.std())
        errors.append(abs(predicted.mean() - 1.0))
    assert np.median(spreads) < 0.15
    assert np.median(errors) < 0.5


def first_stage(n_rows):
    return fit(make_stage(line, n_rows, low=-5.0))


def test_products_are_found_when_rows_and_budget_are_plenty_and_only_when_asked_for():
    data, earlier = make_stage(product, 30_000), {"propensity": first_stage(30_000)}
    function, without = fit(data, released=earlier), fit(data, released=earlier, pairs=False)
    fresh = make_codes(5000, seed=9)
    assert len(function.products) > 0
    assert without.products == ()
    assert r_squared(function, product, fresh) > 0.9
    assert r_squared(without, product, fresh) < 0.6


def test_the_intercept_is_the_average_also_when_products_have_a_mean():
    """With correlated features a product does not average zero: what the average effect reports must know."""
    n_rows = 30_000
    codes = make_codes(n_rows)
    codes[::2, 1] = codes[::2, 0]
    data = make_stage(line, n_rows, codes=codes, target=product(*unit(codes)))
    earlier = fit(altered(data, target=line(*unit(codes)), low=-5.0))
    function = fit(data, released={"propensity": earlier})
    assert len(function.products) > 0
    assert max(abs(term.mean) for term in function.products) > 0.05
    assert function.intercept == pytest.approx(function.predict(codes).mean(), abs=0.03)


def test_a_function_with_products_survives_json_and_knows_its_extremes():
    function = fit(make_stage(product), released={"propensity": first_stage(20_000)})
    again = AdditiveFunction.from_dict(json.loads(json.dumps(function.to_dict(), allow_nan=False)))
    codes = make_codes(3000, seed=8)
    assert np.array_equal(again.predict(codes), function.predict(codes))
    low, high = replace(function, low=-np.inf, high=np.inf).extremes()
    score = function.score(codes)
    assert low <= score.min() < score.max() <= high


def test_products_of_a_released_function_cannot_be_written_to():
    function = fit(make_stage(product), released={"propensity": first_stage(20_000)})
    for term in function.products:
        for values in (term.left, term.right):
            with pytest.raises(ValueError, match="read-only"):
                values[0] = 1.0


@each_relation
@pytest.mark.parametrize("n_rows", [0, 1, 2, 10])
@pytest.mark.parametrize("mu", [1e-3, 1.0, HUGE])
def test_hardly_any_rows_give_a_finite_function(n_rows, neighbours, mu):
    function = fit(make_stage(line, n_rows), neighbours=neighbours, mu=mu)
    assert np.isfinite(function.predict(make_codes(50))).all()


@each_relation
@pytest.mark.parametrize("mu", [0.3, HUGE])
def test_columns_that_are_missing_throughout_do_no_harm(neighbours, mu):
    data = make_stage(lambda age, income, sex: 1.5 * sex, 5000)
    codes = data.held.codes.copy(order="F")
    codes[:, 0] = 0
    function = fit(altered(data, codes=codes), neighbours=neighbours, mu=mu)
    known = make_codes(500, seed=7)
    assert np.isfinite(function.predict(known)).all()
    assert r_squared(function, lambda age, income, sex: 1.5 * sex, np.where(np.arange(3) == 0, 0, known)) > 0.8


def test_a_category_with_500_levels_works():
    town = Category("town", [f"t{i}" for i in range(500)])
    generator = np.random.default_rng(0)
    towns = np.minimum(generator.geometric(0.02, 20_000), 500)
    towns[:4000] = 7
    codes = np.asfortranarray(np.column_stack([make_codes(20_000)[:, 0], towns]), dtype=np.uint16)
    target = 2.0 * (towns == 7) + generator.normal(scale=0.5, size=20_000)
    data = make_stage(line, columns=(COLUMNS[0], town), codes=codes, target=target, n_features=2)
    function = fit(data, mu=1.0)
    assert len(function.tables[1]) == 501
    effect = function.tables[1] - function.tables[1].min()
    assert effect[7] == max(effect)
    assert effect[7] > 1.0


@pytest.mark.parametrize("n_features", [0, 2])
def test_the_treatment_s_term_is_hardly_shrunk(n_features):
    """As an input beside two features, or alone, the last column is the treatment."""
    data = make_stage(lambda age, income, sex: 0.4 * sex, 4000, noise=1.0, n_features=n_features)
    if n_features == 0:
        data = altered(data, columns=COLUMNS[2:], codes=np.asfortranarray(data.held.codes[:, 2:]))
    jumps = [np.diff(fit(data, mu=1.0, noise=SeededNoise(seed)).tables[-1][1:])[0] for seed in range(10)]
    assert np.mean(jumps) == pytest.approx(0.4, abs=0.1)


def test_details_are_json_and_few_whatever_the_number_of_rows():
    sizes = []
    for n_rows in (500, 5000):
        function = fit(make_stage(line, n_rows), mu=1.0)
        sizes.append(len(json.dumps(function.details, allow_nan=False)))
    assert max(sizes) < 20_000
    assert max(sizes) < 1.3 * min(sizes)


def make_table(n_rows=20_000, seed=0):
    generator = np.random.default_rng(seed)
    age, income, sex = (
        generator.uniform(size=n_rows),
        generator.uniform(size=n_rows),
        generator.choice(["f", "m"], n_rows),
    )
    t = (generator.uniform(size=n_rows) < 0.3 + 0.4 * age).astype(int)
    y = age + income + t * (0.5 + 2 * age) + generator.normal(scale=0.7, size=n_rows)
    return {"y": y, "t": t, "age": age, "income": income, "sex": sex}


@pytest.mark.parametrize("learner", [RLearner, DRLearner])
def test_learners_find_a_linear_effect_at_a_generous_budget(learner):
    table = make_table()
    fitted = learner(SCHEMA, epsilon=1000.0, model=Additive(), random_state=1).fit_table(table)
    truth = 0.5 + 2 * table["age"]
    assert 1 - np.mean((fitted.effect(table) - truth) ** 2) / np.var(truth) > 0.95
    assert fitted.ate() == pytest.approx(1.5, abs=0.1)


@pytest.mark.parametrize("learner", [RLearner, DRLearner, SLearner])
@pytest.mark.parametrize(("plan", "neighbours"), [("shared", "replace"), ("split", "add_remove")])
def test_every_learner_keeps_its_budget_under_both_relations_and_plans(learner, plan, neighbours, tmp_path):
    table = make_table(3000)
    fitted = learner(SCHEMA, epsilon=4.0, plan=plan, neighbours=neighbours, model="additive").fit_table(table)
    assert not fitted.guarantee_.void
    assert fitted.guarantee_.neighbours == neighbours
    assert fitted.guarantee_.epsilon(1e-5) == pytest.approx(4.0, rel=1e-5)
    assert all(isinstance(model.guarantee_.f, Gaussian) for model in fitted.models_.values())
    assert fitted.ate() == pytest.approx(1.5, abs=1.2)
    fitted.save(tmp_path / "model.json")
    assert np.array_equal(load(tmp_path / "model.json").effect(table), fitted.effect(table))


@pytest.mark.parametrize("levels", [range(60), [0]])
def test_columns_without_a_single_leading_term_work_in_every_stage(levels):
    """Categories of many levels, or of one, have no correlations: later stages must not look for any."""
    from dpcate import Category, DRLearner, Number, RLearner, Schema

    schema = Schema(Number("y", 0, 1), Category("t", [0, 1]), [Category("z", levels)])
    generator = np.random.default_rng(0)
    table = {"y": generator.uniform(size=400), "t": generator.integers(0, 2, 400), "z": generator.integers(0, 60, 400)}
    for learner in (RLearner, DRLearner):
        assert np.isfinite(learner(schema, random_state=0).fit_table(table).effect(table)).all()


@pytest.mark.parametrize("propensity", [1e-12, 1e-6, 1 - 1e-9])
def test_a_known_propensity_near_zero_or_one_gives_a_valid_release(propensity):
    from dpcate import Category, DRLearner, Number, RLearner, Schema

    schema = Schema(Number("y", 0, 1), Category("t", [0, 1]), [Number("x", 0, 1)], propensity=propensity)
    generator = np.random.default_rng(0)
    table = {"y": generator.uniform(size=300), "t": generator.integers(0, 2, 300), "x": generator.uniform(size=300)}
    for learner in (RLearner, DRLearner):
        assert np.isfinite(learner(schema, random_state=0).fit_table(table).effect(table)).all()
