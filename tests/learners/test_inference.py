"""Effects with their errors as objects, in EconML's manner."""

import sys

import numpy as np
import pytest
from scipy.stats import norm
from tests.learners.confounded import SCHEMA, draw, shifted

from dpcate import AverageEffect, RLearner
from dpcate.errors import NotAvailableError, NotFittedError, TableError
from dpcate.learners.inference import AverageInference, EffectInference
from dpcate.models import uncertainty_of
from dpcate.tables import encode_features


@pytest.fixture(scope="module")
def fitted():
    return RLearner(SCHEMA, epsilon=4.0, random_state=0).fit_table(draw(3000, 0))


@pytest.fixture(scope="module")
def people():
    return draw(40, 8)


def test_limits_are_those_of_the_learner(fitted, people):
    inference = fitted.effect_inference(people)
    np.testing.assert_array_equal(inference.point_estimate, fitted.effect(people))
    np.testing.assert_array_equal(inference.conf_int(0.1), fitted.effect_interval(people, alpha=0.1))
    assert fitted.ate_inference().conf_int_mean(0.1) == fitted.ate_interval(alpha=0.1)
    assert fitted.ate_inference(people).conf_int_mean() == pytest.approx(fitted.ate_interval(people), rel=1e-12)
    assert fitted.ate_inference().mean_point == fitted.ate()


@pytest.mark.parametrize("size", [0.0, 0.01])
def test_tests_agree_with_intervals(fitted, people, size):
    """As long as the estimate is not at an end of its interval: the test knows the interval's centre only."""
    fitted = shifted(fitted, size)
    inference = fitted.effect_inference(people)
    low, high = inference.conf_int(0.05)
    assert ((low < inference.point_estimate) & (inference.point_estimate < high)).all()
    assert (inference.shift != 0.0).all() == (size > 0)
    for value in (0.0, 0.3, 0.5):
        np.testing.assert_array_equal(inference.pvalue(value) < 0.05, (value < low) | (value > high))
    average = fitted.ate_inference()
    assert average.pvalue(average.conf_int_mean(0.05)[0]) == pytest.approx(0.05)
    assert average.zstat() == pytest.approx((average.mean_point + average.shift_mean) / average.stderr_mean)
    assert average.zstat(0.3) == pytest.approx(average.zstat() - 0.3 / average.stderr_mean)
    assert average.pvalue() == pytest.approx(2 * norm.sf(abs(average.zstat())))


def test_shifts_are_those_of_the_released_error(fitted, people):
    release = shifted(fitted, 0.5)
    known, inference = uncertainty_of(release.models_["effect"]), release.effect_inference(people)
    np.testing.assert_array_equal(inference.shift, known.shifts(encode_features(people, SCHEMA)))
    np.testing.assert_array_equal(inference.point_estimate, fitted.effect(people))
    middle, reach = inference.point_estimate + inference.shift, norm.isf(0.025) * inference.stderr
    low, high = inference.conf_int()
    np.testing.assert_array_equal(low, np.minimum(middle - reach, inference.point_estimate))
    np.testing.assert_array_equal(high, np.maximum(middle + reach, inference.point_estimate))
    assert (low == inference.point_estimate).any(), "some shifts are larger than the reach"
    assert release.ate_inference().shift_mean == known.shift[0]
    assert release.ate_inference(people).shift_mean == pytest.approx(inference.shift.mean(), rel=1e-12)


def test_the_summary_of_a_population_counts_shared_errors(fitted, people):
    inference = fitted.effect_inference(people)
    summary = inference.population_summary()
    assert summary == fitted.ate_inference(people)
    assert summary.mean_point == pytest.approx(inference.point_estimate.mean())
    assert summary.std_point == pytest.approx(inference.point_estimate.std())
    independent = np.sqrt((inference.stderr**2).mean() / len(inference.stderr))
    assert summary.stderr_mean > 1.5 * independent, "forty people do not have forty independent errors"


def test_a_certain_effect_has_infinite_or_no_statistics():
    certain = EffectInference(
        point_estimate=np.array([0.5, -0.5, 0.0]), shift=np.zeros(3), stderr=np.zeros(3), stderr_mean=0.0, widest=1.0
    )
    assert certain.zstat().tolist() == [np.inf, -np.inf, 0.0]
    assert certain.pvalue().tolist() == [0.0, 0.0, 1.0]
    assert AverageInference(mean_point=0.0, shift_mean=0.0, stderr_mean=0.0, widest=1.0).pvalue() == 1.0


def test_limits_stop_at_the_widest_effect():
    unsure = EffectInference(
        point_estimate=np.array([0.5]), shift=np.zeros(1), stderr=np.array([9.0]), stderr_mean=9.0, widest=1.0
    )
    assert [float(limit[0]) for limit in unsure.conf_int()] == [-1.0, 1.0]
    assert unsure.population_summary().conf_int_mean() == (-1.0, 1.0)


def test_nobody_has_no_mean():
    none = np.zeros(0)
    nobody = EffectInference(point_estimate=none, shift=none, stderr=none, stderr_mean=0.0, widest=1.0)
    with pytest.raises(TableError, match="at least one row"):
        nobody.population_summary()


def test_frames_have_econml_s_names(fitted, people):
    frame = fitted.effect_inference(people).summary_frame(alpha=0.2)
    assert list(frame.columns) == ["point_estimate", "stderr", "zstat", "pvalue", "ci_lower", "ci_upper"]
    assert len(frame) == 40
    np.testing.assert_array_equal(frame["ci_upper"], fitted.effect_interval(people, alpha=0.2)[1])
    average = fitted.ate_inference().summary_frame()
    assert average["ci_mean_lower"].tolist() == [fitted.ate_interval()[0]]


def test_without_pandas_numbers_work_and_frames_name_the_extra(fitted, people, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert np.isfinite(fitted.ate_inference().zstat())
    for ask in (fitted.effect_inference(people).summary_frame, fitted.ate_inference().summary_frame):
        with pytest.raises(NotAvailableError, match=r"dpcate\[pandas\]"):
            ask()


def test_one_object_holds_the_average_and_all_groups(fitted):
    for release in (fitted, shifted(fitted, 0.5)):
        inference = release.inference_
        frame = inference.summary_frame(alpha=0.1, value=0.2)
        groups = [(by, g) for by in ("x", "town") for g in release.group_effects(by, alpha=0.1, simultaneous=False)]
        assert frame.index.tolist() == ["everybody", *(f"{by}: {group.label}" for by, group in groups)]
        assert frame.index.name == "people"
        assert list(frame.columns) == ["share", "point_estimate", "stderr", "zstat", "pvalue", "ci_lower", "ci_upper"]
        assert tuple(frame.loc["everybody", ["ci_lower", "ci_upper"]]) == release.ate_interval(alpha=0.1)
        assert inference.average == inference.population_summary() == release.ate_inference()
        assert not hasattr(inference, "effects"), "groups overlap: a mean over them is nobody's"
        assert frame["ci_lower"].tolist()[1:] == pytest.approx([group.lower for _, group in groups], rel=1e-12)
        assert frame["ci_upper"].tolist()[1:] == pytest.approx([group.upper for _, group in groups], rel=1e-12)
        centres = np.array([group.effect + group.shift for _, group in groups])
        errors = np.array([group.stderr for _, group in groups])
        np.testing.assert_allclose(inference.zstat(0.2)[1:], (centres - 0.2) / errors)
        np.testing.assert_allclose(inference.pvalue(0.2), 2 * norm.sf(np.abs(inference.zstat(0.2))))
        np.testing.assert_array_equal(inference.shares[1:], [group.share for _, group in groups])


def test_an_effect_that_is_the_same_for_everybody_has_no_groups():
    inference = AverageEffect(SCHEMA, epsilon=4.0, random_state=0).fit_table(draw(1000, 0)).inference_
    assert inference.labels == ("everybody",)
    assert len(inference.summary_frame()) == 1


def test_there_is_no_inference_before_a_fit():
    learner = RLearner(SCHEMA)
    assert not hasattr(learner, "inference_")
    with pytest.raises(NotFittedError):
        _ = learner.inference_


def test_a_model_that_does_not_know_its_error_says_so():
    release = RLearner(SCHEMA, epsilon=4.0, model="ebm", random_state=0).fit_table(draw(500, 0))
    with pytest.raises(NotAvailableError, match="does not know its error"):
        _ = release.inference_
