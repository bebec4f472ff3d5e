"""The average effect by the doubly robust score: right where the naive difference is wrong, with valid intervals."""

import numpy as np
import pytest
from tests.learners.confounded import ATE, ATT, SCHEMA, draw, with_known_propensity

from dpcate import AverageEffect, Category, Number, Schema, load
from dpcate.errors import NotAvailableError, ParameterError

TRUTHS = {"all": ATE, "treated": ATT}
HUGE = 500.0


@pytest.fixture(scope="module")
def fits():
    return {
        population: [
            AverageEffect(SCHEMA, epsilon=HUGE, population=population, random_state=seed).fit_table(draw(8000, seed))
            for seed in range(20)
        ]
        for population in TRUTHS
    }


def test_the_naive_difference_is_far_from_the_truth_in_this_example():
    table = draw(20_000, 0)
    naive = table["y"][table["t"] == 1].mean() - table["y"][table["t"] == 0].mean()
    assert naive - ATE > 0.1


@pytest.mark.parametrize("population", TRUTHS)
def test_at_a_huge_budget_the_average_is_close_to_the_truth(fits, population):
    found = np.array([fit.ate() for fit in fits[population]])
    assert found.mean() == pytest.approx(TRUTHS[population], abs=0.006)
    assert found.std() < 0.02


def test_the_two_populations_differ_by_what_the_truth_says(fits):
    differences = [one.ate() - other.ate() for one, other in zip(fits["treated"], fits["all"], strict=True)]
    assert np.mean(differences) == pytest.approx(ATT - ATE, abs=0.006)


@pytest.mark.parametrize("population", TRUTHS)
def test_intervals_cover_in_most_of_twenty_draws_and_are_not_wide(fits, population):
    limits = np.array([fit.ate_interval() for fit in fits[population]])
    covered = (limits[:, 0] <= TRUTHS[population]) & (TRUTHS[population] <= limits[:, 1])
    assert covered.sum() >= 16  # 95 % gives fewer in one of 400
    spread = np.std([fit.ate() for fit in fits[population]])
    assert (limits[:, 1] - limits[:, 0]).mean() < 2 * 1.96 * 2.0 * spread


def test_half_the_level_would_not_do(fits):
    limits = np.array([fit.ate_interval(alpha=0.5) for fit in fits["all"]])
    covered = (limits[:, 0] <= ATE) & (limits[:, 1] >= ATE)
    assert 3 <= covered.sum() <= 17


def test_the_effect_is_the_same_for_everybody(fits):
    fitted, table = fits["all"][0], draw(50, 99)
    assert set(fitted.effect(table)) == {fitted.ate()}
    low, high = fitted.effect_interval(table)
    assert fitted.ate_interval() == (low[0], high[0])
    assert low.max() == low.min()
    groups = fitted.group_effects("town")
    assert {group.effect for group in groups} == {fitted.ate()}
    assert groups.reach == pytest.approx(1.959964), "errors of a constant are one error"


@pytest.mark.parametrize("population", TRUTHS)
def test_a_saved_average_comes_back_with_its_interval(fits, population, tmp_path):
    fitted = fits[population][0]
    fitted.save(tmp_path / "average.json")
    loaded = load(tmp_path / "average.json")
    assert isinstance(loaded, AverageEffect)
    assert loaded.population == population
    assert (loaded.ate(), loaded.ate_interval()) == (fitted.ate(), fitted.ate_interval())


@pytest.mark.parametrize("population", ["controls", "", None, 1])
def test_an_unknown_population_is_refused_before_anything_is_released(population):
    with pytest.raises(ParameterError, match="population"):
        AverageEffect(SCHEMA, population=population, random_state=0).fit_table(draw(100, 0))


def test_a_small_budget_costs_width_and_nothing_else():
    table = draw(4000, 3)
    widths = []
    for epsilon in (0.3, 3.0):
        fitted = AverageEffect(SCHEMA, epsilon=epsilon, random_state=1).fit_table(table)
        low, high = fitted.ate_interval()
        assert -5.0 <= low < high <= 5.0
        assert fitted.guarantee_.epsilon(1e-5) <= epsilon * (1 + 1e-6)
        widths.append(high - low)
    assert widths[0] > 1.5 * widths[1]


def test_a_known_propensity_leaves_one_stage_out():
    table = draw(4000, 0)
    table["t"] = np.random.default_rng(5).integers(0, 2, 4000)
    for population in TRUTHS:
        fitted = AverageEffect(with_known_propensity(), population=population, random_state=0).fit_table(table)
        assert set(fitted.models_) == {"outcome", "difference", "effect"}
        assert fitted.ate_inference().stderr_mean > 0


def test_a_model_that_does_not_know_its_error_gives_a_number_without_interval():
    fitted = AverageEffect(SCHEMA, model="ebm", random_state=0).fit_table(draw(400, 0))
    assert np.isfinite(fitted.ate())
    with pytest.raises(NotAvailableError, match="not available"):
        fitted.ate_interval()


def test_the_share_of_the_treated_of_a_model_of_logits_is_a_share():
    """Once its intercept, a logit, was taken for one: an effect of 1 came out as 8."""
    fitted = AverageEffect(SCHEMA, epsilon=HUGE, model="ebm", population="treated", random_state=0)
    assert fitted.fit_table(draw(8000, 0)).ate() == pytest.approx(ATT, abs=0.05)


def test_the_mean_knows_the_errors_of_all_that_its_arms_are_made_of():
    stages = {stage.name: stage for stage in AverageEffect(SCHEMA)._stages()}
    assert list(stages) == ["propensity", "outcome", "difference", "effect"]
    assert stages["effect"].first_stage == ("propensity", "outcome", "difference")
    assert stages["effect"].residual_of == "difference", "what is left after both, not after the outcome alone"
    assert stages["difference"].residual_of == "outcome"


@pytest.mark.parametrize("schema", [SCHEMA, with_known_propensity()])
def test_the_whole_budget_and_all_rows_are_used_and_the_difference_gets_the_least(schema):
    stages = AverageEffect(schema)._stages()
    assert sum(stage.weight for stage in stages) == pytest.approx(1.0)
    assert min(stages, key=lambda stage: stage.weight).name == "difference"
    assert min(stages, key=lambda stage: stage.share).name == "difference"
    assert max(stages, key=lambda stage: stage.share).name == "effect", "only its noise stays in the mean as it is"


def test_arms_are_right_beyond_the_floor_too():
    """A floor bounds weights. Arms made with it would be nearer to each other than they are: 3.6 came out for 4."""
    schema = Schema(Number("y", -2, 8), Category("t", [0, 1]), [Number("x", 0, 1)])
    generator = np.random.default_rng(2)
    x = generator.uniform(size=40_000)
    t = (generator.uniform(size=40_000) < 0.05 + 0.9 * x).astype(int)
    table = {"y": x + 4.0 * t + 0.3 * generator.normal(size=40_000), "t": t, "x": x}
    for population in TRUTHS:
        options = {"epsilon": HUGE, "propensity_floor": 0.3, "population": population, "random_state": 0}
        assert AverageEffect(schema, **options).fit_table(table).ate() == pytest.approx(4.0, abs=0.05)


@pytest.mark.parametrize("propensity", [0.5, None])
def test_a_yes_or_no_outcome_is_not_clipped_on_one_side(propensity):
    """Scores of a yes or no are lopsided alike in both arms: a bound just beyond their spread would cut one side."""
    schema = Schema(Number("y", 0, 1), Category("t", [0, 1]), [Number("x", 0, 1)], propensity=propensity)
    errors = []
    for seed in range(6):
        generator = np.random.default_rng(seed)
        T, X = generator.integers(2, size=20_000), generator.uniform(size=(20_000, 1))
        Y = (generator.uniform(size=20_000) < 0.35 + 0.3 * T).astype(float)
        errors.append(AverageEffect(schema, epsilon=1.0, random_state=seed).fit(Y, T, X=X).ate() - 0.3)
    assert np.mean(errors) == pytest.approx(0.0, abs=0.012)
    assert np.abs(errors).max() < 0.03
