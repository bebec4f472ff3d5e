"""The surface of the design, as written, on every kind of table."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

from dpcate import DRLearner, MultiStage, Number, Plan, RLearner, SLearner, Stage, load
from dpcate.errors import DocumentError, NotAvailableError, NotFittedError, ParameterError, SchemaError
from dpcate.models import Ebm

LEARNERS = (DRLearner, RLearner, SLearner)


def as_tables(columns, folder):
    frame = pd.DataFrame(columns)
    frame.to_csv(folder / "people.csv", index=False)
    frame.to_parquet(folder / "people.parquet")
    return {
        "pandas": frame,
        "polars": pl.from_pandas(frame),
        "pyarrow": pa.Table.from_pandas(frame),
        "csv": folder / "people.csv",
        "parquet": str(folder / "people.parquet"),
        "dict": columns,
    }


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_kind_of_table_gives_the_same_release(learner, schema, columns, tmp_path):
    effects = {}
    for kind, table in as_tables(columns, tmp_path).items():
        fitted = learner(schema, random_state=3).fit_table(table)
        effects[kind] = fitted.effect(pd.DataFrame(columns))
    for kind, effect in effects.items():
        np.testing.assert_array_equal(effect, effects["pandas"], err_msg=kind)


def test_arrays_in_schema_order_equal_frames_matched_by_name(schema, columns):
    X = np.column_stack([columns[name] for name in schema.feature_names]).astype(object)
    frame = pd.DataFrame(columns)[["sex", "income", "age"]]
    by_array = RLearner(schema, random_state=3).fit(columns["vote"], columns["called"], X=X)
    by_name = RLearner(schema, random_state=3).fit(
        frame.index * 0 + columns["vote"], pd.Series(columns["called"]), X=frame
    )
    np.testing.assert_array_equal(by_array.effect(X), by_name.effect(frame))
    assert by_array.effect(X).shape == (len(X),)


@pytest.mark.parametrize("model", ["ebm", "interpret"])
@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
@pytest.mark.parametrize("plan", ["split", "shared"])
@pytest.mark.parametrize("learner", LEARNERS)
def test_every_combination_keeps_its_budget(learner, plan, neighbours, model, schema, columns):
    model = model if model == "ebm" else _small_interpret()
    fitted = learner(schema, epsilon=2.0, plan=plan, neighbours=neighbours, model=model, random_state=1).fit_table(
        columns
    )
    assert fitted.guarantee_.neighbours == neighbours
    assert fitted.guarantee_.epsilon(1e-5) <= 2.0 * (1 + 1e-6)
    assert fitted.guarantee_.epsilon(1e-5) > 1.0
    assert fitted.guarantee_.void
    assert fitted.guarantee_.nominal == (model != "ebm")
    assert np.isfinite(fitted.effect(columns)).all()
    assert np.isfinite(fitted.ate())
    assert set(fitted.shapes()) == set(schema.feature_names)


def _small_interpret():
    from dpcate.models import Interpret

    return Interpret(rounds=5)


def test_system_noise_gives_a_guarantee_that_is_not_void_and_differs_from_run_to_run(schema, columns):
    first = RLearner(schema).fit_table(columns)
    second = RLearner(schema).fit_table(columns)
    assert not first.guarantee_.void
    assert first.guarantee_.epsilon(1e-5) == pytest.approx(1.0, rel=1e-6)
    assert 0 < first.guarantee_.tradeoff(0.05) < 0.95
    assert first.ate() != second.ate()


def test_released_stage_models_are_there_by_name(schema, columns):
    fitted = DRLearner(schema, random_state=0).fit_table(columns)
    assert set(fitted.models_) == {"propensity", "outcome", "effect"}
    assert set(fitted.shapes("outcome")) == {*schema.feature_names, "called"}
    single = SLearner(schema, random_state=0).fit_table(columns)
    assert len(set(single.effect(columns))) == 1, "the S-learner's effect is a constant"
    assert single.ate() == pytest.approx(single.effect(columns)[0])


def test_a_known_propensity_removes_a_stage(schema, columns):
    known = type(schema)(schema.outcome, schema.treatment, schema.features, propensity=0.5)
    for learner in (DRLearner, RLearner):
        for plan in ("split", "shared"):
            fitted = learner(known, plan=plan, random_state=0).fit_table(columns)
            assert set(fitted.models_) == {"outcome", "effect"}


@pytest.mark.parametrize("learner", LEARNERS)
def test_clone_copies_options_and_not_the_fit(learner, schema, columns):
    original = learner(schema, epsilon=3.0, plan="split", model=Ebm(rounds=3), random_state=1).fit_table(columns)
    copy = clone(original)
    assert copy.get_params()["epsilon"] == 3.0
    assert copy.plan == "split"
    assert not hasattr(copy, "models_")
    np.testing.assert_array_equal(copy.fit_table(columns).effect(columns), original.effect(columns))
    assert "epsilon=3.0" in repr(copy)


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_saved_learner_predicts_identically_and_holds_no_row(learner, schema, columns, tmp_path):
    marked = {**columns, "income": columns["income"].copy()}
    marked["income"][0] = 41.73219477
    fitted = learner(schema, random_state=2).fit_table(marked)
    path = tmp_path / "model.json"
    fitted.save(path)
    loaded = load(path)
    assert type(loaded) is learner
    np.testing.assert_array_equal(loaded.effect(marked), fitted.effect(marked))
    assert loaded.ate() == fitted.ate()
    assert loaded.guarantee_ == fitted.guarantee_
    assert loaded.schema == schema
    text = path.read_text()
    assert "41.732194" not in text
    assert "random_state" not in json.loads(text)["options"]


def test_a_saved_multistage_predicts_but_cannot_be_fitted_again(schema, columns, tmp_path):
    stage = Stage(name="effect", target=lambda rows, released: rows.Y * (2 * rows.T - 1), bounds=lambda *_: (-1, 1))
    fitted = MultiStage(schema, [stage], random_state=0).fit_table(columns)
    fitted.save(tmp_path / "own.json")
    loaded = load(tmp_path / "own.json")
    np.testing.assert_array_equal(loaded.effect(columns), fitted.effect(columns))
    with pytest.raises(ParameterError, match="stages"):
        loaded.fit_table(columns)


@pytest.mark.parametrize("text", ["", "[1]", '{"format": "other"}', '{"format": "dpcate-model", "version": 99}'])
def test_a_file_that_is_not_ours_is_refused(text, tmp_path):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(DocumentError):
        load(path)


def test_a_damaged_file_is_refused(schema, columns, tmp_path):
    path = tmp_path / "model.json"
    RLearner(schema, random_state=2).fit_table(columns).save(path)
    document = json.loads(path.read_text())
    document["models"]["effect"]["tables"][0] = [[3, 0.0]]
    path.write_text(json.dumps(document))
    with pytest.raises(DocumentError):
        load(path)
    with pytest.raises(DocumentError):
        load(tmp_path / "absent.json")


def test_results_before_fit_raise_a_clear_error(schema):
    learner = RLearner(schema)
    for ask in (learner.ate, learner.shapes, lambda: learner.effect([[1, "male", 2]]), lambda: learner.save("x.json")):
        with pytest.raises(NotFittedError, match="not fitted"):
            ask()


def test_intervals_that_a_model_cannot_give_are_refused_clearly(schema, columns):
    fitted = RLearner(schema, model="ebm", random_state=0).fit_table(columns)
    with pytest.raises(NotAvailableError, match="not available"):
        fitted.effect_interval(columns)
    with pytest.raises(NotAvailableError, match="not available"):
        fitted.ate_interval()


def test_a_plan_of_the_users_own_is_followed(schema, columns):
    plan = Plan(
        shares=(0.5, 0.5), reads=(("propensity", (0,)), ("outcome", (0,)), ("effect", (0, 1))), weights=(1.0, 1.0, 2.0)
    )
    fitted = RLearner(schema, plan=plan, random_state=0).fit_table(columns)
    assert fitted.guarantee_.epsilon(1e-5) <= 1.0 + 1e-6
    with pytest.raises(ParameterError, match="stages"):
        SLearner(schema, plan=plan).fit_table(columns)


def test_a_saved_file_tells_the_options_of_the_fit_and_not_later_ones(schema, columns, tmp_path):
    fitted = RLearner(schema, epsilon=50.0, random_state=0).fit_table(columns)
    effects = fitted.effect(columns)
    fitted.set_params(epsilon=0.01, neighbours="add_remove", schema=None)
    np.testing.assert_array_equal(fitted.effect(columns), effects)
    fitted.save(tmp_path / "model.json")
    loaded = load(tmp_path / "model.json")
    assert (loaded.epsilon, loaded.neighbours, loaded.schema) == (50.0, "replace", schema)


def test_an_outcome_of_extraordinary_size_is_refused_before_any_noise(schema, columns):
    for high in (1e-99, 1e99):
        tiny = type(schema)(Number("vote", 0, high), schema.treatment, schema.features)
        with pytest.raises(SchemaError, match="ordinary size"):
            RLearner(tiny, random_state=0).fit_table(columns)
