"""Planning before spending: made-up studies are what was assumed, and the answer says what it should."""

import inspect

import numpy as np
import pytest

from dpcate import Category, Number, Schema
from dpcate.errors import ParameterError
from dpcate.experiments import make_setup
from dpcate.planning import Assumptions, plan_release
from dpcate.planning.world import World
from dpcate.splitting import public_generator

SCHEMA = Schema(
    outcome=Number("y", -8, 8),
    treatment=Category("arm", ["placebo", "drug"]),
    features=[Number("age", 18, 98), Category("sex", ["female", "male"]), Number("dose", 0, 10)],
)


def test_a_made_up_study_has_the_spreads_that_were_assumed():
    assumed = Assumptions.of(SCHEMA, effect_sd=0.7, noise_sd=0.5, baseline_sd=1.2, average_effect=0.3)
    study = World(SCHEMA, assumed, public_generator()).draw(40_000)
    treated = study.T == "drug"
    assert study.effect.mean() == pytest.approx(0.3, abs=0.05)
    assert study.effect.std() == pytest.approx(0.7, rel=0.05)
    left = study.Y - np.where(treated, 0.5, -0.5) * study.effect
    assert left.std() == pytest.approx(np.hypot(0.5, 1.2), rel=0.05)
    assert set(study.T) == {"placebo", "drug"}
    assert set(study.X[:, 1]) == {"female", "male"}
    ages = study.X[:, 0].astype(float)
    assert 18 <= ages.min() < ages.max() <= 98
    assert ages.std() == pytest.approx(10, rel=0.05)  # bounds at four standard deviations


def test_uniform_features_fill_their_bounds():
    assumed = Assumptions.of(SCHEMA, features="uniform")
    ages = World(SCHEMA, assumed, public_generator()).draw(20_000).X[:, 0].astype(float)
    assert np.quantile(ages, [0.25, 0.75]) == pytest.approx([38, 78], abs=2)


def test_a_propensity_is_as_rough_as_the_baseline_unless_told():
    assert Assumptions.of(SCHEMA, roughness=0.2).propensity_roughness == 0.2
    world = World(SCHEMA, Assumptions.of(SCHEMA, roughness=0.9, propensity_roughness=0.1), public_generator())
    assert (world.baseline.shares[2], world.propensity.surface.shares[2]) == (0.9, 0.1)


FOUR = Schema(SCHEMA.outcome, SCHEMA.treatment, [Number(name, -4, 4) for name in "abcd"])


def beyond_curves(values, scores):
    """Return the share of the variance that no sum of curves has."""
    powers = np.column_stack([np.ones(len(scores)), *(scores**k for k in range(1, 7)), np.abs(scores)])
    return float((values - powers @ np.linalg.lstsq(powers, values, rcond=None)[0]).var() / values.var())


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("confounding", [-0.6, 0.0, 0.3])
def test_treatment_follows_the_baseline_as_much_as_was_told_however_features_hang_together(confounding, correlation):
    """Features that hang together make any two functions of them alike; what is told is the whole correlation."""
    told = {"confounding": confounding, "correlation": correlation, "propensity_sd": 1.0}
    assumed, generator = Assumptions.of(FOUR, roughness=0.0, **told), public_generator()
    for _ in range(4):
        world = World(FOUR, assumed, generator)
        scores = world._scores(20_000)[0]
        found = np.corrcoef(world.logit(scores), world.baseline.of(scores))[0, 1]
        assert found == pytest.approx(confounding, abs=0.06)


@pytest.mark.parametrize("curved", [0.0, 0.3])
def test_an_effect_is_as_curved_as_was_told(curved):
    assumed = Assumptions.of(FOUR, together=0.0, curved=curved)
    world = World(FOUR, assumed, public_generator())
    scores = world._scores(20_000)[0]
    lines, effect = np.column_stack([np.ones(len(scores)), scores]), world.effect.of(scores)
    bent = effect - lines @ np.linalg.lstsq(lines, effect, rcond=None)[0]
    assert bent.var() / effect.var() == pytest.approx(curved, abs=0.02)


@pytest.mark.parametrize(("propensity", "share"), [(0.0, 0.0), (0.5, 0.25), (1.0, 1.0)])
def test_what_treatment_follows_of_the_baseline_is_as_rough_as_the_propensity(propensity, share):
    assumed = Assumptions.of(FOUR, roughness=1.0, propensity_roughness=propensity, confounding=0.6)
    world = World(FOUR, assumed, public_generator())
    scores = world._scores(20_000)[0]
    baseline, followed = world.baseline.of(scores), world.confounders.of(scores)
    rough = beyond_curves(baseline, scores)
    assert rough > 0.1, "a hinge of two features is no sum of curves"
    assert beyond_curves(followed, scores) == pytest.approx(share * rough, abs=0.03)
    assert (followed.mean(), followed.std()) == pytest.approx((0.0, 1.0), abs=0.05)
    logit = world.confounding * followed
    assert np.cov(logit, baseline)[0, 1] == pytest.approx(0.6, abs=0.03)


@pytest.mark.parametrize("correlation", [0.0, 0.6])
def test_features_hang_together_as_strongly_as_assumed(correlation):
    schema = Schema(SCHEMA.outcome, SCHEMA.treatment, [Number(name, 0, 1) for name in "abcd"])
    X = World(schema, Assumptions.of(schema, correlation=correlation), public_generator()).draw(20_000).X
    found = np.corrcoef(X.T.astype(float))[np.triu_indices(4, 1)]
    assert np.abs(found) == pytest.approx(correlation, abs=0.03)
    assert X.astype(float).std(axis=0) == pytest.approx(1 / 8, rel=0.05)


def test_a_known_propensity_is_taken_and_an_unknown_one_follows_the_features():
    trial = Schema(SCHEMA.outcome, SCHEMA.treatment, SCHEMA.features, propensity=0.2)
    treated = World(trial, Assumptions.of(trial), public_generator()).draw(20_000).T == "drug"
    assert treated.mean() == pytest.approx(0.2, abs=0.02)
    study = World(SCHEMA, Assumptions.of(SCHEMA, confounding=0.9), public_generator()).draw(20_000)
    control = study.T == "placebo"
    assert study.Y[~control].mean() - study.Y[control].mean() > study.effect.mean() + 0.5


@pytest.mark.parametrize("propensity_sd", [0.0, 0.8, 3.0])
@pytest.mark.parametrize("share", [0.1, 0.36, 0.5, 0.9])
def test_as_many_are_treated_as_was_told(share, propensity_sd):
    assumed = Assumptions.of(SCHEMA, treated=share, propensity_sd=propensity_sd)
    treated = World(SCHEMA, assumed, public_generator()).draw(20_000).T == "drug"
    assert treated.mean() == pytest.approx(share, abs=0.02)


def test_where_few_are_treated_more_error_is_expected():
    few, even = (Assumptions.of(SCHEMA, treated=share, propensity_sd=0.3) for share in (0.1, 0.5))
    errors = [plan_release(SCHEMA, 4000, [4.0], runs=4, assumed=a).expected[0].average_error for a in (few, even)]
    assert errors[0] > 1.2 * errors[1]


def test_more_budget_and_more_rows_are_expected_to_err_less():
    few = plan_release(SCHEMA, 1000, [0.3, 8.0], runs=4)
    many = plan_release(SCHEMA, 8000, [8.0], runs=4)
    errors = [row.effect_error for row in (*few.expected, *many.expected)]
    widths = [row.average_width for row in (*few.expected, *many.expected)]
    assert errors == sorted(errors, reverse=True)
    assert widths == sorted(widths, reverse=True)


def test_it_says_when_only_the_average_is_worth_releasing():
    small = Assumptions.of(SCHEMA, effect_sd=0.05)
    large = Assumptions.of(SCHEMA, effect_sd=2.0)
    assert [plan_release(SCHEMA, 2000, [1.0], runs=3, assumed=a).expected[0].average_only for a in (small, large)] == [
        True,
        False,
    ]


def test_planning_for_the_average_says_nothing_of_single_effects():
    row = plan_release(SCHEMA, 1000, [1.0], learner="average", runs=2).expected[0]
    assert (row.effect_error, row.effect_width, row.average_only) == (None, None, True)
    assert 0 < row.average_error < row.average_width < 16


def test_the_same_question_has_the_same_answer_and_no_table_can_be_passed():
    assert plan_release(SCHEMA, 500, [1.0], runs=2) == plan_release(SCHEMA, 500, [1.0], runs=2)
    names = set(inspect.signature(plan_release).parameters)
    assert not names & {"table", "X", "Y", "T", "rows", "random_state"}


@pytest.mark.parametrize(
    "wrong",
    [{"n": 0}, {"n": 10**9}, {"epsilons": []}, {"epsilons": [-1.0]}, {"learner": "s"}, {"runs": 0}, {"delta": 2.0}],
)
def test_wrong_questions_are_refused_before_anything_is_simulated(wrong, monkeypatch):
    monkeypatch.setattr("dpcate.planning.release.World", None)
    asked = {"n": 500, "epsilons": [1.0]} | wrong
    with pytest.raises(ParameterError):
        plan_release(SCHEMA, asked.pop("n"), asked.pop("epsilons"), **asked)


@pytest.mark.parametrize(
    "wrong",
    [
        {"effect_sd": -1.0},
        {"noise_sd": 0.0},
        {"features": "odd"},
        {"together": 1.5},
        {"curved": -0.1},
        {"confounding": 2.0},
        {"treated": 0.0},
        {"treated": 0.99},
        {"treated": np.nan},
        {"correlation": -0.1},
        {"propensity_roughness": 1.5},
        {"correlation": 1.1},
        {"effect_features": 0},
        {"average_effect": np.nan},
    ],
)
def test_impossible_assumptions_are_refused(wrong):
    with pytest.raises(ParameterError):
        Assumptions.of(SCHEMA, **wrong)


@pytest.mark.slow
def test_the_prediction_is_near_the_realised_error():
    """One cell of ``benchmarks/planner.py`` with fewer runs, hence a factor 2."""
    from dpcate import RLearner

    setup = make_setup("D")
    assumed = Assumptions.of(
        setup.schema, effect_sd=1.31, noise_sd=1.0, baseline_sd=1.57, effect_features=5, together=1.0
    )
    predicted = plan_release(setup.schema, 4000, [4.0], runs=4, assumed=assumed).expected[0].effect_error
    test, errors = setup.draw(5000, 99), []
    for seed in range(4):
        sample = setup.draw(4000, seed)
        learner = RLearner(setup.schema, epsilon=4.0, random_state=seed).fit(sample.Y, sample.T, X=sample.X)
        errors.append(np.mean((learner.effect(test.X) - test.effect) ** 2))
    assert 1 / 2 < predicted / np.sqrt(np.mean(errors)) < 2
