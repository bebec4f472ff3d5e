"""Bad input: a clear error before anything is released, or a valid private release; never a value in a message."""

import re

import numpy as np
import pandas as pd
import pytest

from dpcate import Category, DRLearner, Number, RLearner, Schema, SLearner
from dpcate.errors import DpcateError, ParameterError, SchemaError, TableError
from dpcate.mechanisms import SeededNoise

SECRET = 73.1947205


class CountingNoise(SeededNoise):
    """A source that remembers whether any noise was drawn: drawing is releasing."""

    def __init__(self):
        super().__init__(0)
        self.draws = 0

    def discrete_gaussian(self, scale, size):
        self.draws += size
        return super().discrete_gaussian(scale, size)


def frame(columns):
    table = pd.DataFrame(columns).astype({"income": float})
    table.loc[0, "income"] = SECRET
    return table


REFUSED_TABLES = {
    "missing column": lambda t: t.drop(columns="age"),
    "missing treatment": lambda t: t.drop(columns="called"),
    "missing outcome": lambda t: t.drop(columns="vote"),
    "duplicate column names": lambda t: pd.concat([t, t[["income"]]], axis=1),
    "dates for a number": lambda t: t.assign(age=pd.Timestamp("2020-01-01")),
    "lists for a number": lambda t: t.assign(
        age=pd.Series(
            [[SECRET]] * len(t), dtype=pd.ArrowDtype(__import__("pyarrow").list_(__import__("pyarrow").float64()))
        )
    ),
    "empty table": lambda t: t.iloc[:0],
    "not a table": lambda t: SECRET,
    "a path that is not there": lambda t: "absent.parquet",
    "a path of unknown kind": lambda t: "absent.xlsx",
}

ACCEPTED_TABLES = {
    "single row": lambda t: t.iloc[:1],
    "all rows in one arm": lambda t: t.assign(called=1),
    "no row in any arm": lambda t: t.assign(called=7),
    "constant outcome": lambda t: t.assign(vote=1),
    "outcome missing everywhere": lambda t: t.assign(vote=np.nan),
    "NaN in a feature": lambda t: t.assign(age=t["age"].where(t["age"] > 50)),
    "values out of bounds": lambda t: t.assign(age=1e308, income=-np.inf),
    "text in a number": lambda t: t.assign(income=[f"x{SECRET}", *t["income"].astype(str)[1:]]),
    "unknown levels": lambda t: t.assign(sex="unknown"),
    "all features missing": lambda t: t.assign(age=None, sex=None, income=None),
    "treatment as text": lambda t: t.assign(called=t["called"].astype(str)),
    "treatment as booleans": lambda t: t.assign(called=t["called"].astype(bool)),
    "an extra column": lambda t: t.assign(extra="anything"),
}


@pytest.mark.parametrize("learner", [DRLearner, RLearner, SLearner])
@pytest.mark.parametrize("spoil", REFUSED_TABLES.values(), ids=REFUSED_TABLES)
def test_a_table_that_does_not_fit_is_refused_before_any_noise(learner, spoil, schema, columns):
    noise = CountingNoise()
    with pytest.raises(TableError) as caught:
        learner(schema, random_state=noise).fit_table(spoil(frame(columns)))
    assert noise.draws == 0
    assert_says_no_value(caught.value)


@pytest.mark.parametrize("model", ["ebm", "interpret"])
@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
@pytest.mark.parametrize("learner", [DRLearner, RLearner, SLearner])
@pytest.mark.parametrize("spoil", ACCEPTED_TABLES.values(), ids=ACCEPTED_TABLES)
def test_a_strange_table_still_gives_a_valid_release(learner, neighbours, model, spoil, schema, columns):
    from dpcate.models import Interpret

    model = Interpret(rounds=2) if model == "interpret" else model
    noise = CountingNoise()
    table = spoil(frame(columns))
    fitted = learner(schema, neighbours=neighbours, model=model, random_state=noise).fit_table(table)
    assert np.isfinite(fitted.effect(frame(columns))).all()
    assert fitted.guarantee_.epsilon(1e-5) <= 1.0 + 1e-6
    if model == "ebm":
        assert noise.draws > 0


def test_an_empty_table_is_a_valid_release_where_the_number_of_rows_is_private(schema, columns):
    fitted = RLearner(schema, neighbours="add_remove", random_state=0).fit_table(frame(columns).iloc[:0])
    assert np.isfinite(fitted.effect(frame(columns))).all()


REFUSED_OPTIONS = {
    "epsilon zero": {"epsilon": 0},
    "epsilon negative": {"epsilon": -1.0},
    "epsilon infinite": {"epsilon": np.inf},
    "epsilon not a number": {"epsilon": float("nan")},
    "epsilon text": {"epsilon": "1"},
    "delta zero": {"delta": 0},
    "delta one": {"delta": 1.0},
    "delta above one": {"delta": 1.5},
    "unknown relation": {"neighbours": "swap"},
    "unknown plan": {"plan": "stratified"},
    "unknown model": {"model": "forest"},
    "model class instead of object": {"model": dict},
    "bad random_state": {"random_state": "today"},
    "floor out of range": {"propensity_floor": 0.5},
}


@pytest.mark.parametrize("options", REFUSED_OPTIONS.values(), ids=REFUSED_OPTIONS)
def test_an_option_out_of_range_is_refused_before_any_noise(options, schema, columns):
    noise = CountingNoise()
    with pytest.raises(ParameterError, match=re.escape(next(iter(options)))) as caught:
        RLearner(schema, **{"random_state": noise, **options}).fit_table(frame(columns))
    assert noise.draws == 0
    assert_says_no_value(caught.value)


def test_an_unknown_option_is_refused(schema):
    with pytest.raises(TypeError):
        RLearner(schema, strength=3)
    with pytest.raises(ParameterError, match="strength"):
        RLearner(schema).set_params(strength=3)


def test_a_treatment_with_one_or_three_arms_is_refused(columns):
    for levels in ([1], [0, 1, 2]):
        with pytest.raises(SchemaError, match="called"):
            RLearner(Schema(Number("vote", 0, 1), Category("called", levels), [Number("age", 18, 105)])).fit_table(
                columns
            )


@pytest.mark.parametrize(
    "arrays",
    [
        lambda t: (t["vote"][:-1], t["called"], t[["age", "sex", "income"]]),
        lambda t: (t["vote"], t["called"], t[["age", "sex"]]),
        lambda t: (t["vote"], t["called"], np.zeros((len(t), 2))),
        lambda t: (t["vote"], t["called"], np.zeros((len(t), 3, 1))),
        lambda t: (t["vote"], t["called"], None),
    ],
    ids=["different lengths", "frame lacks a column", "array lacks a column", "three dimensions", "no features"],
)
def test_arrays_that_do_not_fit_are_refused_before_any_noise(arrays, schema, columns):
    noise = CountingNoise()
    Y, T, X = arrays(frame(columns))
    with pytest.raises(TableError) as caught:
        RLearner(schema, random_state=noise).fit(Y, T, X=X)
    assert noise.draws == 0
    assert_says_no_value(caught.value)


def assert_says_no_value(error: DpcateError):
    chain = [error]
    while (error := error.__cause__ or (None if error.__suppress_context__ else error.__context__)) is not None:
        chain.append(error)
    for link in chain:
        assert "73.19" not in str(link), "a value from the table reached a message"
