"""The rehearsal refuses whatever makes a row's value depend on the company it is in, in any stage."""

from dataclasses import replace

import numpy as np
import pytest

from dpcate import AverageEffect, DRLearner, MultiStage, RLearner, Stage
from dpcate.errors import TransformationError
from dpcate.learners import rehearsal
from dpcate.learners.rehearsal import _stand_in, rehearse
from dpcate.models import AdditiveFunction

WIDE = lambda *_: (-9.0, 9.0)  # noqa: E731
FINE = Stage(name="fine", target=lambda rows, released: rows.Y, bounds=WIDE)

LOOKS_AROUND = {
    "mean": lambda rows, _: rows.Y - rows.Y.mean(),
    "largest": lambda rows, _: rows.Y - rows.Y.max(initial=0.0),
    "number of rows": lambda rows, _: np.full(len(rows), 1.0 / max(len(rows), 1)),
    "place": lambda rows, _: np.arange(len(rows)) * 0.01,
    "neighbour": lambda rows, _: np.roll(rows.T, 1).astype(float),
    "only if somebody is missing a feature": lambda rows, _: rows.Y + (rows.codes == 0).any(),
    "only for the treated": lambda rows, _: np.where(rows.T == 1, rows.T.mean() if len(rows) else 0.0, 0.0),
    "only in large batches": lambda rows, _: rows.Y + (len(rows) > 500),
}


@pytest.mark.parametrize("name", LOOKS_AROUND)
@pytest.mark.parametrize("before", [0, 1, 2])
@pytest.mark.parametrize("after", [0, 1])
def test_a_stage_that_looks_around_is_refused_wherever_it_stands(schema, name, before, after):
    stage = Stage(name="effect", target=LOOKS_AROUND[name], bounds=WIDE)
    with pytest.raises(TransformationError, match="'effect' must treat each row by itself"):
        rehearse([FINE] * before + [stage] + [FINE] * after, schema)


@pytest.mark.parametrize("name", LOOKS_AROUND)
def test_a_loading_that_looks_around_is_refused(schema, name):
    stage = Stage(
        name="effect",
        target=lambda rows, released: rows.Y,
        bounds=WIDE,
        loading=LOOKS_AROUND[name],
        loading_bound=lambda *_: 9.0,
    )
    with pytest.raises(TransformationError, match="'effect' must treat each row by itself"):
        rehearse([stage], schema)


def test_a_stage_that_treats_each_row_by_itself_passes(schema):
    second = Stage(
        name="effect",
        target=lambda rows, released: rows.Y - released.predict("fine", rows),
        bounds=lambda schema, released: (-9.0 - released["fine"].extremes()[1], 9.0 - released["fine"].extremes()[0]),
    )
    rehearse([FINE, second], schema)


def test_a_stand_in_knows_its_extremes(schema):
    made_up = _stand_in(FINE, schema, -2.0, 3.0, np.random.default_rng(0))
    assert made_up.extremes() == AdditiveFunction.extremes(made_up)
    assert made_up.extremes() == made_up.extremes()
    assert -2.0 <= made_up.extremes()[0] < made_up.extremes()[1] <= 3.0


class Counted(RLearner):
    """A learner that somebody else wrote: whatever it is called, it is rehearsed every time."""


def n_rehearsals(monkeypatch, learners, rows):
    calls = []
    monkeypatch.setattr(rehearsal, "_passed", set())
    monkeypatch.setattr(rehearsal, "_rehearse", lambda stages, schema: calls.append(len(stages)))
    for learner in learners:
        learner.fit(*rows[:2], X=rows[2])
    return len(calls)


def test_shipped_learners_are_rehearsed_once_per_schema_and_option(schema, monkeypatch):
    generator = np.random.default_rng(0)
    X = np.column_stack([generator.uniform(size=60) for _ in schema.features])
    rows = generator.uniform(size=60), generator.integers(2, size=60), X
    twice = [RLearner(schema, random_state=seed) for seed in (0, 1)]
    assert n_rehearsals(monkeypatch, twice, rows) == 1
    different = [RLearner(schema, random_state=0), DRLearner(schema, random_state=0)]
    different.append(RLearner(schema, propensity_floor=0.2, random_state=0))
    different.append(RLearner(schema, validate=0.3, random_state=0))
    different += [AverageEffect(schema, population=one, random_state=0) for one in ("all", "treated")]
    assert n_rehearsals(monkeypatch, different, rows) == 6
    assert n_rehearsals(monkeypatch, [Counted(schema, random_state=0)] * 2, rows) == 2


def test_stages_of_ones_own_are_rehearsed_every_time(schema, monkeypatch):
    generator = np.random.default_rng(0)
    X = np.column_stack([generator.uniform(size=60) for _ in schema.features])
    rows = generator.uniform(size=60), generator.integers(2, size=60), X
    learner = MultiStage(schema, [replace(FINE, name="effect")], random_state=0)
    assert n_rehearsals(monkeypatch, [learner, learner], rows) == 2


BAD_SCORE_LAWS = {
    "two of three": lambda rows, released, propensity, control, treated: (treated, control),
    "no column per guess": lambda rows, released, *truth: tuple(each[:, 0] for each in truth),
    "fails": lambda rows, released, *truth: 1 / 0,
    "writes": lambda rows, released, *truth: tuple(np.multiply(each, 2, out=each) for each in truth),
    "divides by a propensity of zero": lambda rows, released, propensity, *means: (
        propensity,
        *(m / propensity for m in means),
    ),
    "not a number": lambda rows, released, *truth: tuple(each * np.nan for each in truth),
}


@pytest.mark.parametrize("name", BAD_SCORE_LAWS)
def test_a_law_of_the_score_of_another_form_is_refused_before_anything_is_spent(schema, name):
    stage = Stage(name="effect", target=lambda rows, _: rows.Y, bounds=WIDE, score_law=BAD_SCORE_LAWS[name])
    with pytest.raises(TransformationError, match="`score_law` of stage 'effect'"):
        rehearse([FINE, stage], schema)


def test_a_law_of_the_treatment_that_is_no_chance_is_refused(schema):
    options = {"target": lambda rows, _: rows.Y, "bounds": WIDE, "treatment_law": lambda rows, _: -(rows.Y**2)}
    with pytest.raises(TransformationError, match="and `treatment_law` of stage 'effect'"):
        rehearse([FINE, Stage(name="effect", with_treatment=True, **options)], schema)


BAD_WEIGHTS = {
    "a chance of zero": lambda rows, _: (np.zeros(len(rows)), np.ones(len(rows)), np.ones(len(rows))),
    "a weight of zero": lambda rows, _: (np.full(len(rows), 0.5), np.ones(len(rows)), np.zeros(len(rows))),
    "two of three": lambda rows, _: (np.full(len(rows), 0.5), np.ones(len(rows))),
}


@pytest.mark.parametrize("name", BAD_WEIGHTS)
def test_weights_of_residuals_that_no_law_can_have_are_refused_before_anything_is_spent(schema, name):
    stage = Stage(name="effect", target=lambda rows, _: rows.Y, bounds=WIDE, residual_weights=BAD_WEIGHTS[name])
    with pytest.raises(TransformationError, match="`residual_weights` of stage 'effect'"):
        rehearse([FINE, stage], schema)
