"""Limits of effects, averages and curves: inside what is possible, ordered by level, saved with the model."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.learners.confounded import ATE, SCHEMA, draw, effect, shifted

from dpcate import DRLearner, RLearner, SLearner, load
from dpcate.errors import NotAvailableError, NotFittedError, ParameterError
from dpcate.learners.intervals import limits_around, quantile
from dpcate.models import POSTERIOR, uncertainty_of, variance_by_shares
from dpcate.tables import encode_features

LEARNERS = (SLearner, DRLearner, RLearner)
WIDEST = 5.0  # of the outcome's bounds


@pytest.fixture(scope="module")
def fits():
    return {learner: learner(SCHEMA, epsilon=2.0, random_state=0).fit_table(draw(3000, 0)) for learner in LEARNERS}


@pytest.fixture(scope="module")
def people():
    return draw(200, 77)


each_learner = pytest.mark.parametrize("learner", LEARNERS)


@pytest.mark.parametrize("learner", [DRLearner, RLearner])
def test_an_average_that_noise_drove_beyond_what_is_possible_is_brought_back(learner, people):
    """Hardly anybody is a control, so that noise is divided by next to nothing."""
    schema = replace(SCHEMA, propensity=0.999)
    for seed in range(6):
        fitted = learner(schema, epsilon=0.3, random_state=seed).fit_table(draw(3000, seed))
        low, high = fitted.ate_interval()
        assert -WIDEST <= low <= fitted.ate() <= high <= WIDEST


@each_learner
def test_limits_enclose_the_effect(learner, fits, people):
    low, high = fits[learner].effect_interval(people)
    assert (low < fits[learner].effect(people)).all()
    assert (fits[learner].effect(people) < high).all()
    below, above = fits[learner].ate_interval()
    assert below < fits[learner].ate() < above


@each_learner
def test_no_limit_goes_beyond_what_the_bounds_allow(learner, people):
    fitted = learner(SCHEMA, epsilon=0.1, random_state=2).fit_table(draw(300, 2))
    low, high = fitted.effect_interval(people, alpha=1e-30)
    assert low.min() == -WIDEST, "at this budget little is known, and the trivial interval is all that is left"
    assert high.max() == WIDEST
    assert fitted.ate_interval(alpha=1e-30) == (-WIDEST, WIDEST)
    assert fitted.ate_interval(people, alpha=1e-30) == (-WIDEST, WIDEST)
    for group in fitted.group_effects("x", alpha=1e-30):
        assert (group.lower, group.upper) == (-WIDEST, WIDEST)


@each_learner
def test_a_smaller_alpha_gives_wider_limits_in_the_normal_proportion(learner, fits, people):
    widths = []
    for alpha in (0.05, 0.32):
        low, high = fits[learner].effect_interval(people, alpha=alpha)
        widths.append(high - low)
    assert widths[0] / widths[1] == pytest.approx(quantile(0.05) / quantile(0.32))


@each_learner
@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1, 1.5, float("nan"), "0.05", None])
def test_a_level_outside_the_open_unit_interval_is_refused(learner, alpha, fits, people):
    fitted = fits[learner]
    for ask in (
        lambda: fitted.effect_interval(people, alpha=alpha),
        lambda: fitted.ate_interval(alpha=alpha),
        lambda: fitted.ate_interval(people, alpha=alpha),
        lambda: fitted.shapes(alpha=alpha),
        lambda: fitted.shapes(alpha=alpha, simultaneous=True),
        lambda: fitted.group_effects("x", alpha=alpha),
    ):
        with pytest.raises(ParameterError, match="alpha"):
            ask()


def test_the_mean_over_people_is_known_better_than_its_people(fits, people):
    low, high = fits[RLearner].effect_interval(people)
    below, above = fits[RLearner].ate_interval(people)
    assert above - below < (high - low).mean()
    centre = uncertainty_of(fits[RLearner].models_["effect"]).shifts(encode_features(people, SCHEMA)).mean()
    assert (below + above) / 2 == pytest.approx(fits[RLearner].effect(people).mean() + centre)


each_release = pytest.mark.parametrize("learner", [DRLearner, RLearner])


@each_release
def test_limits_are_centred_where_effects_are_shrunk_less_and_hold_the_estimate(learner, fits, people):
    release, codes = shifted(fits[learner], 0.3), encode_features(people, SCHEMA)
    known, estimate = uncertainty_of(release.models_["effect"]), fits[learner].effect(people)
    functions = known.basis.matrix(codes)
    middle = estimate + functions @ known.shift
    reach = quantile(0.05) * np.sqrt(((functions @ known.covariance) * functions).sum(axis=1))
    low, high = release.effect_interval(people)
    assert low == pytest.approx(np.minimum(middle - reach, estimate))
    assert high == pytest.approx(np.maximum(middle + reach, estimate))
    assert (low == estimate).any(), "the centre is so far away that the interval had to be made longer"
    assert (low < estimate).any()
    np.testing.assert_array_equal(release.effect(people), estimate)


@each_release
def test_limits_of_averages_are_centred_where_effects_are_shrunk_less(learner, fits, people):
    release = shifted(fits[learner], 0.05)
    known = uncertainty_of(release.models_["effect"])
    by_shares = variance_by_shares(release.models_["effect"], release.models_)
    away, unknown = known.average.of_population(by_shares)
    assert away != 0.0
    shift, reach = known.shift[0] + away, quantile(0.05) * np.sqrt(known.covariance[0, 0] + unknown)
    assert abs(known.shift[0]) > 0.05 * reach
    assert release.ate_interval() == pytest.approx(limits_around(release.ate(), shift, reach))
    assert release.ate_interval() != pytest.approx(fits[learner].ate_interval(), rel=1e-3)
    functions = known.basis.matrix(encode_features(people, SCHEMA)).mean(axis=0)
    middle = release.effect(people).mean() + functions @ known.shift
    reach = quantile(0.05) * np.sqrt(functions @ known.covariance @ functions)
    low, high = release.ate_interval(people)
    assert low == pytest.approx(min(middle - reach, release.effect(people).mean()))
    assert high == pytest.approx(max(middle + reach, release.effect(people).mean()))


@each_release
def test_a_fit_knows_where_its_intervals_are_centred_and_says_the_same_each_time(learner, fits):
    document = fits[learner].models_["effect"].details[POSTERIOR]
    assert len(document["shift"]) == len(document["kept"])
    assert any(document["shift"])
    again = learner(SCHEMA, epsilon=2.0, random_state=0).fit_table(draw(3000, 0))
    assert again.models_["effect"].details[POSTERIOR] == document


@pytest.mark.parametrize("name", ["propensity", "outcome"])
def test_the_error_of_other_models_is_around_what_was_released(name, fits):
    assert not uncertainty_of(fits[RLearner].models_[name]).shift.any()
    for shape in fits[RLearner].shapes(name).values():
        assert (shape.lower + shape.upper) / 2 == pytest.approx(shape.effect, abs=1e-12)


def test_a_release_without_shifts_has_limits_around_its_estimate(fits, people, tmp_path):
    fits[RLearner].save(tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text())
    known = document["models"]["effect"]["details"][POSTERIOR]
    del known["shift"], known["average"]
    (tmp_path / "old.json").write_text(json.dumps(document))
    old = load(tmp_path / "old.json")
    low, high = old.effect_interval(people)
    assert (low + high) / 2 == pytest.approx(old.effect(people))
    now = fits[RLearner].effect_interval(people)
    assert high - low == pytest.approx(now[1] - now[0])
    assert (now[0] + now[1]) / 2 != pytest.approx(old.effect(people))
    below, above = old.ate_interval()
    assert (below + above) / 2 == pytest.approx(old.ate())


finite = st.floats(-1e3, 1e3)


@given(estimate=finite, shift=finite, reach=st.floats(0, 1e3), widest=st.floats(0, 1e3))
def test_an_interval_holds_its_estimate_and_its_centre_and_nothing_beyond_the_widest(estimate, shift, reach, widest):
    low, high = limits_around(estimate, shift, reach, widest)
    assert -widest <= low <= high <= widest
    for inside in (estimate, estimate + shift, estimate + shift - reach, estimate + shift + reach):
        assert low <= np.clip(inside, -widest, widest) <= high
    ends = [estimate, estimate + shift - reach, estimate + shift + reach]
    assert low == np.clip(min(ends), -widest, widest), "no longer than that"
    assert high == np.clip(max(ends), -widest, widest)


def test_without_a_shift_and_a_widest_an_interval_is_the_plain_one():
    low, high = limits_around(np.array([1.0, -2.0]), np.zeros(2), np.array([0.5, 7.0]))
    assert low.tolist() == [0.5, -9.0]
    assert high.tolist() == [1.5, 5.0]


def test_the_single_model_has_one_interval_for_everybody(fits, people):
    low, high = fits[SLearner].effect_interval(people)
    assert (low[0], high[0]) == fits[SLearner].ate_interval()
    assert np.ptp(low) == np.ptp(high) == 0.0


@pytest.mark.parametrize("learner", [DRLearner, RLearner])
def test_most_people_are_covered_in_a_confounded_study(learner):
    people, inside, averages = draw(300, 55), [], []
    for seed in range(6):
        fitted = learner(SCHEMA, epsilon=4.0, random_state=seed).fit_table(draw(4000, seed))
        low, high = fitted.effect_interval(people)
        inside.append(((low <= effect(people["x"])) & (effect(people["x"]) <= high)).mean())
        below, above = fitted.ate_interval()
        averages.append(below <= ATE <= above)
        assert (high - low).mean() < 1.0, "five times narrower than the trivial interval of ten"
    assert np.mean(inside) > 0.85
    assert sum(averages) >= 4


@each_learner
def test_saving_and_loading_keeps_every_interval(learner, fits, people, tmp_path):
    fits[learner].save(tmp_path / "model.json")
    loaded = load(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.effect_interval(people), fits[learner].effect_interval(people))
    assert loaded.ate_interval() == fits[learner].ate_interval()
    np.testing.assert_array_equal(loaded.shapes()["x"].lower, fits[learner].shapes()["x"].lower)
    assert loaded.group_effects("x").groups == fits[learner].group_effects("x").groups
    assert loaded.ate_inference() == fits[learner].ate_inference()


def test_a_model_that_does_not_know_its_error_says_so(people):
    fitted = RLearner(SCHEMA, model="ebm", random_state=0).fit_table(draw(400, 0))
    for ask in (
        lambda: fitted.effect_interval(people),
        fitted.ate_interval,
        lambda: fitted.group_effects("x"),
        lambda: fitted.effect_inference(people),
        fitted.ate_inference,
    ):
        with pytest.raises(NotAvailableError, match="not available"):
            ask()
    for simultaneous in (False, True):
        assert all(shape.lower is None for shape in fitted.shapes(simultaneous=simultaneous).values())


def test_before_fit_there_is_nothing_to_ask(people):
    learner = RLearner(SCHEMA)
    for ask in (
        learner.ate_interval,
        learner.ate_inference,
        lambda: learner.effect_interval(people),
        lambda: learner.effect_inference(people),
        lambda: learner.group_effects("x"),
    ):
        with pytest.raises(NotFittedError, match="not fitted"):
            ask()
