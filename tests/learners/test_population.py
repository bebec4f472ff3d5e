"""The average effect is that of the population, which the released shares of the features know only so well."""

from dataclasses import replace

import numpy as np
import pytest

from dpcate import AverageEffect, Category, Number, RLearner, Schema, SLearner, load
from dpcate.accounting import mu_for
from dpcate.errors import DocumentError
from dpcate.mechanisms import make_noise
from dpcate.models import Additive, Budget, StageData
from dpcate.models.additive.share_errors import SHARES, variance_by_shares
from dpcate.tables import encode_features

AGE, INCOME, TOWN = Number("age", -4, 4), Number("income", 0, 16), Category("town", ["a", "b", "c"])
SCHEMA = Schema(Number("y", -9, 9), Category("t", [0, 1]), [AGE, INCOME, TOWN])
MIDDLES = (np.arange(1024) + 0.5) / 1024
EFFECTS = (
    np.append(0.0, 8.0 * MIDDLES - 4.0),
    np.append(-3.0, np.minimum(16.0 * MIDDLES, 2.0)),
    np.array([2.0, 1.0, 0.0, 0.0]),
)
"""What each code of each column adds to the effect; the first one is of those whose feature is missing."""


def rows_of(n_rows, seed, *, missing=0.0, incomplete=0.0):
    """Rows whose ages are bell-shaped and incomes lopsided; some features, or some outcomes, may be missing."""
    generator = np.random.default_rng(seed)
    age, income = generator.normal(1.0, 1.0, n_rows), generator.exponential(1.5, n_rows)
    town = generator.choice(["a", "b", "c"], n_rows, p=[0.5, 0.3, 0.2]).astype(object)
    treated = generator.integers(2, size=n_rows)
    outcome = np.clip(treated * age + generator.normal(size=n_rows), -9, 9)
    income[generator.uniform(size=n_rows) < missing] = np.nan
    town[generator.uniform(size=n_rows) < missing] = "elsewhere"
    outcome[generator.uniform(size=n_rows) < incomplete] = np.nan
    return {"y": outcome, "t": treated, "age": age, "income": income, "town": town}


def known_exactly(fitted, which):
    """The same release with an effect that is known, of some columns, and its average as released."""
    effect = fitted.models_["effect"]
    tables = [added * (name in which) for name, added in zip(("age", "income", "town"), EFFECTS, strict=True)]
    average = sum(float(share @ table) for table, share in zip(tables, effect.shares, strict=True))
    fitted.models_ = {**fitted.models_, "effect": replace(effect, tables=tuple(tables), products=())}
    return average


def average_in_population(which, missing):
    codes = [encode_features(table_of_features(seed, missing), SCHEMA) for seed in range(3)]
    found = [
        sum(EFFECTS[j][code[:, j]] for j, name in enumerate(("age", "income", "town")) if name in which)
        for code in codes
    ]
    return float(np.mean(found))


def table_of_features(seed, missing):
    rows = rows_of(200_000, 10_000 + seed, missing=missing)
    return {name: rows[name] for name in ("age", "income", "town")}


CASES = {
    "a line in a bell, little budget": (("age",), {"epsilon": 1.5}, {}),
    "a line in a bell": (("age",), {"epsilon": 4.0}, {}),
    "hardly any noise: people are a sample": (("age", "town"), {"epsilon": 300.0}, {}),
    "where a lopsided number is steep": (("income",), {"epsilon": 4.0}, {}),
    "levels": (("town",), {"epsilon": 2.0}, {}),
    "levels, some missing": (("town",), {"epsilon": 2.0}, {"missing": 0.3}),
    "numbers, some missing": (("income",), {"epsilon": 2.0}, {"missing": 0.3}),
    "half the outcomes missing": (("age", "town"), {"epsilon": 4.0}, {"incomplete": 0.5}),
    "a part of the rows": (("age", "town"), {"epsilon": 4.0, "plan": "split"}, {}),
    "how many is private": (("age", "town"), {"epsilon": 4.0, "neighbours": "add_remove"}, {}),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_an_average_over_released_shares_is_as_far_from_the_population_s_as_stated(case):
    """The effect is known exactly here, so that all that is wrong is who is averaged over."""
    which, options, holes = CASES[case]
    truth, found, stated = average_in_population(which, holes.get("missing", 0.0)), [], []
    for seed in range(60):
        fitted = RLearner(SCHEMA, random_state=seed, **options).fit_table(rows_of(1_500, seed, **holes))
        found.append(known_exactly(fitted, which) - truth)
        stated.append(variance_by_shares(fitted.models_["effect"], fitted.models_))
    ratio = np.mean(np.square(found)) / np.mean(stated)
    assert 0.5 < ratio < 1.7, "60 runs tell it to a third or so either way"


def test_more_rows_and_more_budget_leave_less_doubt_about_people():
    def doubt(n_rows, epsilon):
        fits = [RLearner(SCHEMA, epsilon=epsilon, random_state=k).fit_table(rows_of(n_rows, k)) for k in range(5)]
        return np.mean([variance_by_shares(fit.models_["effect"], fit.models_) for fit in fits])

    assert doubt(1_000, 2.0) > 2.0 * doubt(8_000, 2.0) > 0.0
    assert doubt(4_000, 1.0) > 1.2 * doubt(4_000, 16.0)


@pytest.mark.parametrize("kind", [AverageEffect, SLearner])
def test_an_effect_that_is_the_same_for_everybody_has_no_doubt_about_people(kind):
    fitted = kind(SCHEMA, random_state=0).fit_table(rows_of(1_000, 0))
    assert variance_by_shares(fitted.models_["effect"], fitted.models_) == 0.0


def test_a_release_from_before_shares_had_errors_says_what_it_said():
    fitted = RLearner(SCHEMA, random_state=0).fit_table(rows_of(2_000, 0))
    now = fitted.ate_inference().stderr_mean
    first = fitted.models_["propensity"]
    fitted.models_["propensity"] = replace(first, details={k: v for k, v in first.details.items() if k != SHARES})
    before = fitted.ate_inference().stderr_mean
    assert before < now
    assert before**2 == pytest.approx(fitted._uncertainty().average_variance)


def test_errors_are_told_by_the_stage_that_released_the_shares_and_by_no_other():
    fitted = RLearner(SCHEMA, random_state=0).fit_table(rows_of(2_000, 0))
    telling = [name for name, model in fitted.models_.items() if SHARES in model.details]
    assert telling == ["propensity"]
    told = fitted.models_["propensity"].details[SHARES]
    assert 0.5 * 2_000 < told["rows"] <= 2_000, "as far as noise tells, and no more than there are"
    assert told["columns"] == ["age", "income", "town"]


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_the_rows_that_are_told_are_those_that_are_complete_as_noise_tells(neighbours):
    table = rows_of(4_000, 0, incomplete=0.5)
    fitted = RLearner(SCHEMA, epsilon=8.0, neighbours=neighbours, random_state=0).fit_table(table)
    told = fitted.models_["propensity"].details[SHARES]["rows"]
    complete = np.isfinite(table["y"]).sum()
    assert told != complete
    assert told == pytest.approx(complete, rel=0.1)


def test_a_saved_release_says_the_same_and_a_damaged_one_is_refused(tmp_path):
    fitted = RLearner(SCHEMA, random_state=0).fit_table(rows_of(2_000, 0))
    fitted.save(tmp_path / "model.json")
    loaded = load(tmp_path / "model.json")
    assert loaded.ate_interval() == fitted.ate_interval()
    first = loaded.models_["propensity"]
    told = first.details[SHARES]
    damaged = [
        None,
        [],
        {"columns": told["columns"]},
        {**told, "rows": 0.0},
        {**told, "rows": float("nan")},
        {**told, "rows": "many"},
        {**told, "columns": 7},
        {**told, "noise": -1.0},
        {**told, "noise": None},
        {**told, "rows": 1e308},
        {**told, "noise": 1e200},
        {**told, "rows": 1e-300, "noise": 1e-300},
    ]
    for document in damaged:
        loaded.models_["propensity"] = replace(first, details={**first.details, SHARES: document})
        with pytest.raises(DocumentError, match="damaged"):
            loaded.ate_interval()


def test_levels_whose_shares_are_large_have_the_noise_of_the_counts_and_the_sampling():
    budget = Budget(mu=mu_for(8.0, 1e-5), epsilon=8.0, delta=1e-5, neighbours="replace")
    codes = np.random.default_rng(0).integers(1, 4, size=(30_000, 1)).astype(np.uint16)
    data = StageData.of_arrays(
        codes=codes, target=(codes[:, 0] == 1) * 1.0, columns=(TOWN,), low=-1.0, high=2.0, n_rows=30_000, n_features=1
    )
    model = Additive().fit(data, budget=budget, noise=make_noise(0), released={})
    told, centred = model.details[SHARES], model.tables[0] - model.shares[0] @ model.tables[0]
    expected = (told["noise"] / told["rows"]) ** 2 * centred[1:] @ centred[1:]
    expected += model.shares[0] @ centred**2 / told["rows"]
    assert variance_by_shares(model, {"y": model}) == pytest.approx(expected, rel=0.3), "128 draws"
    twice = variance_by_shares(model, {"y": model, "again": model})
    assert twice == variance_by_shares(model, {"y": model}), "believed once"
