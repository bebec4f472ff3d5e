"""One run: same rows for all learners, honest failures, and dispatch to each kind of model."""

import sys
from types import ModuleType
from typing import ClassVar

import numpy as np
import pytest

from dpcate import RLearner, SLearner
from dpcate.errors import NotAvailableError, ParameterError, TableError
from dpcate.experiments import run
from dpcate.experiments.grid import Cell
from dpcate.experiments.not_private import InterpretWithoutPrivacy
from dpcate.experiments.run import N_POINTS, run_once, true_effects
from dpcate.experiments.studies import StudyPaths, make_study

CELL = Cell("A", 500, 1.0, "R")


class Fake:
    """A learner that remembers what it was given, and knows a constant."""

    seen: ClassVar[list] = []

    def __init__(self, schema, **options):
        self.options = options

    def fit_table(self, table):
        self.seen.append((table, self.options))
        return self

    def effect(self, X):
        return np.full(len(X["x1"]), 0.5)


class Broken(Fake):
    def fit_table(self, table):
        raise ZeroDivisionError(f"the oldest is {max(table['x1'])}")


class NotFinite(Fake):
    def effect(self, X):
        return np.full(len(X["x1"]), np.nan)


class Missing(Fake):
    def fit_table(self, table):
        raise NotAvailableError("install it")


@pytest.fixture
def learners(monkeypatch):
    monkeypatch.setattr(Fake, "seen", [])
    return lambda kind: monkeypatch.setattr(run, "_LEARNERS", dict.fromkeys(("DR", "R", "S"), kind))


def test_a_run_gives_the_same_numbers_again():
    first, second, other = run_once(CELL, 0), run_once(CELL, 0), run_once(CELL, 1)
    assert (first.mse, first.points, first.seed) == (second.mse, second.points, second.seed)
    assert first.mse != other.mse
    assert first.status == "ok"


def test_the_error_is_the_mean_square_over_the_test_sample(learners):
    learners(Fake)
    record = run_once(CELL, 0)
    effect = run.prepare_study("A", StudyPaths())[2]
    assert len(effect) == 50_000
    assert record.mse == pytest.approx(np.mean((effect - 0.5) ** 2))
    assert record.predictions.tolist() == [0.5] * N_POINTS
    assert true_effects(["A"])["A"].tolist() == effect[:N_POINTS].tolist()


def test_learners_see_the_same_rows_with_noise_of_their_own(learners):
    learners(Fake)
    for learner in ("DR", "R"):
        run_once(Cell("A", 500, 1.0, learner), 0)
    (first, one), (second, two) = Fake.seen
    assert {name: column.tolist() for name, column in first.items()} == {n: c.tolist() for n, c in second.items()}
    assert one["random_state"] != two["random_state"]


def test_a_fit_that_raises_is_recorded_as_failed_without_its_message(learners):
    learners(Broken)
    record = run_once(CELL, 0)
    assert (record.status, record.error, record.mse, record.points) == ("failed", "ZeroDivisionError", None, b"")
    assert "oldest" not in repr(record)


def test_effects_that_are_not_finite_are_a_failed_run(learners):
    learners(NotFinite)
    assert run_once(CELL, 0).error == "FloatingPointError"


def test_a_missing_extra_is_not_a_failed_run(learners):
    learners(Missing)
    with pytest.raises(NotAvailableError, match="install it"):
        run_once(CELL, 0)


@pytest.mark.parametrize(
    ("study", "paths", "error"),
    [
        ("F", StudyPaths(), ParameterError),
        ("GOTV", StudyPaths(), ParameterError),
        ("GOTV", StudyPaths(gotv="nowhere.parquet"), TableError),
        ("voting", StudyPaths(voting="nowhere.csv"), TableError),
    ],
)
def test_a_study_that_cannot_be_made_is_not_a_failed_run(study, paths, error):
    with pytest.raises(error):
        run_once(Cell(study, 500, 1.0, "R"), 0, paths)


def test_without_privacy_our_models_get_a_huge_budget(learners):
    learners(Fake)
    run_once(Cell("A", 500, None, "R"), 0)
    assert Fake.seen[0][1]["epsilon"] == 1e6
    assert Fake.seen[0][1]["model"] == "additive"


def test_without_privacy_errors_are_smaller():
    private, without = ([run_once(Cell("A", 2000, e, "R"), i).mse for i in range(3)] for e in (1.0, None))
    assert np.mean(without) < np.mean(private)


def test_without_privacy_interpret_is_its_own_machine(learners):
    learners(Fake)
    for epsilon in (None, 1.0):
        run_once(Cell("A", 500, epsilon, "R", "interpret", "split"), 0)
    without, private = (options["model"] for _, options in Fake.seen)
    assert (without, private) == (InterpretWithoutPrivacy(), "interpret")


@pytest.mark.slow
def test_interpret_without_privacy_finds_the_effect_and_is_marked_void():
    pytest.importorskip("interpret")
    study = make_study("C")  # its effect is 1 for everybody
    model = InterpretWithoutPrivacy(bags=2)
    learner = SLearner(study.schema, epsilon=1e6, model=model, random_state=1).fit_table(study.draw(2000, 1).table)
    assert learner.guarantee_.void
    assert learner.ate() == pytest.approx(1.0, abs=0.3)


def test_interpret_without_privacy_refuses_what_might_be_taken_for_private(schema, columns):
    with pytest.raises(NotAvailableError, match="random_state"):
        RLearner(schema, model=InterpretWithoutPrivacy()).fit_table(columns)


def test_published_cells_go_to_the_learners_as_published(monkeypatch):
    calls = []

    def fit_published(schema, table, epsilon, learner, seed):
        calls.append((schema.outcome.name, len(table["y"]), epsilon, learner, seed))
        return Fake(schema)

    module = ModuleType("dpcate.experiments.published")
    module.fit_published = fit_published
    monkeypatch.setitem(sys.modules, "dpcate.experiments.published", module)
    cell = Cell("B", 500, 2.0, "DR", "published")
    assert run_once(cell, 4).status == "ok"
    assert calls == [("y", 500, 2.0, "DR", cell.seed(4))]
