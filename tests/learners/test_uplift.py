"""The uplift curve of held-out rows: it covers the truth, its area knows right from left, and nothing more is spent."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from dpcate import DRLearner, MultiStage, RLearner, Stage, load
from dpcate.errors import NotAvailableError, NotFittedError, ParameterError, TransformationError
from dpcate.experiments import make_setup
from dpcate.learners.rehearsal import rehearse
from dpcate.learners.uplift import find_uplift_curve
from dpcate.learners.validation import CURVE, N_SLICES
from dpcate.models import SLICES, Slices

SETUP = make_setup("B")  # everybody is treated with probability 1/2, so all people weigh the same


class Reversed(RLearner):
    """A learner that claims the opposite effect, for everybody."""

    def _stages(self):
        *first, effect = super()._stages()
        right = effect.target

        def swapped(schema, released):
            low, high = effect.bounds(schema, released)
            return -high, -low

        def opposite(rows, released):
            return -right(rows, released)

        return (*first, replace(effect, target=opposite, bounds=swapped, residual_of=None))


def fitted(kind=RLearner, n=6000, epsilon=8.0, seed=1, setup=SETUP, **options):
    sample = setup.draw(n, seed)
    options = {"validate": 0.3} | options
    learner = kind(setup.schema, epsilon=epsilon, random_state=seed, **options)
    return learner.fit(sample.Y, sample.T, X=sample.X)


def truth(learner, sample):
    """What each point of the curve stands for, and the area, over a large sample."""
    effect, told = sample.effect, learner.effect(sample.X)
    cutoffs = [-np.inf if point.cutoff is None else point.cutoff for point in learner.uplift_curve()]
    treated = [told >= cutoff for cutoff in cutoffs]
    gains = np.array([0.0, *((effect * mine).mean() for mine in treated)])
    shares = np.array([0.0, *(mine.mean() for mine in treated)])
    return gains[1:], shares[1:], np.trapezoid(gains, shares) - gains[-1] / 2


@pytest.mark.parametrize("kind", [RLearner, DRLearner])
@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_a_right_effect_wins_more_than_chance_and_as_much_as_the_curve_says(kind, neighbours):
    learner = fitted(kind, neighbours=neighbours)
    curve = learner.uplift_curve(0.01)
    gains, shares, area = truth(learner, SETUP.draw(100_000, 9))
    assert len(curve) == N_SLICES
    for point, gain, share in zip(curve, gains, shares, strict=True):
        assert point.band_lower <= point.lower <= point.gain <= point.upper <= point.band_upper
        assert point.band_lower < gain < point.band_upper
        assert point.share == pytest.approx(share, abs=0.05)
        assert point.at_random == pytest.approx(point.share * curve.points[-1].gain)
    assert curve.points[-1].share == pytest.approx(1.0)
    assert curve.points[-1].cutoff is None
    assert curve.qini_interval[0] < area < curve.qini_interval[1]
    assert curve.qini_interval[0] > 0.15
    assert curve.p_qini < 1e-6


def test_an_effect_of_the_wrong_sign_has_a_negative_area():
    curve = fitted(Reversed).uplift_curve()
    assert curve.qini_interval[1] < -0.15
    assert curve.p_qini < 1e-6
    assert curve.points[0].gain < curve.points[0].at_random


def test_where_all_effects_are_the_same_the_area_is_about_zero():
    sample = SETUP.draw(6000, 5)
    Y = sample.Y + (1.0 - sample.effect) * (sample.T - 0.5)
    curve = (
        RLearner(SETUP.schema, epsilon=8.0, random_state=5, validate=0.3).fit(Y, sample.T, X=sample.X).uplift_curve()
    )
    assert abs(curve.qini) < 3 * curve.qini_stderr
    assert curve.qini_stderr < 0.06
    assert curve.points[-1].lower < 1.0 < curve.points[-1].upper


def details(sums, counts, *, level=0.0, noise=1e-9, square=1.0):
    """Released sums of slices in which the score has this mean square."""
    k = len(counts)
    return {
        "sums": list(sums),
        "counts": list(counts),
        "squares": [square * count for count in counts],
        "sum_noise": noise,
        "count_noise": noise,
        "square_noise": noise,
        "loadings": [0.25] * k,
        "shift": np.zeros((k, k)).tolist(),
        "cuts": list(range(k - 1, 0, -1)),
        "attenuation": 1.0,
        "clipped_variance": 4.0 * square,
    }


@pytest.mark.parametrize("level", [-1.0, 0.0, 2.0])
def test_gains_in_proportion_to_people_have_no_area_whatever_the_shares(level):
    counts = np.array([300.0, 100.0, 50.0, 550.0])
    curve = find_uplift_curve(details(0.25 * 0.7 * counts, counts), level, widest=9.0, alpha=0.1)
    assert curve.qini == pytest.approx(0.0, abs=1e-12)
    assert curve.points[-1].gain == pytest.approx(0.7 + level)


def test_the_area_is_that_between_the_polygon_and_the_straight_line():
    counts = np.array([200.0, 300.0, 400.0, 100.0])
    curve = find_uplift_curve(details([30.0, -5.0, 8.0, -11.0], counts), 0.4, widest=9.0, alpha=0.1)
    shares, gains = (np.array([0.0, *(getattr(point, name) for point in curve)]) for name in ("share", "gain"))
    assert curve.qini == pytest.approx(np.trapezoid(gains, shares) - gains[-1] / 2)
    np.testing.assert_allclose(np.diff(gains), (np.array([30.0, -5.0, 8.0, -11.0]) / 0.25 + 0.4 * counts) / 1000)


def test_the_stated_errors_are_those_of_many_samples_and_noises():
    """The oracle draws rows, sums them by slice and adds noise, with nothing of the library but the curve itself."""
    rng = np.random.default_rng(8)
    chances, effects, level = np.array([0.3, 0.2, 0.4, 0.1]), np.array([2.0, 1.0, 0.0, -1.0]), 0.8
    n_rows, noise, draws = 1000, 12.0, []
    for _ in range(600):
        slices = rng.choice(4, n_rows, p=chances)
        arm = rng.integers(0, 2, n_rows) - 0.5
        score = arm * (arm * (effects[slices] - level) + rng.normal(size=n_rows))
        sums, counts, squares = (
            np.bincount(slices, weights, minlength=4) + noise * rng.normal(size=4)
            for weights in (score, np.ones(n_rows), score**2)
        )
        found = details(sums, counts, noise=noise) | {"squares": squares.tolist(), "clipped_variance": 1.0}
        draws.append(find_uplift_curve(found, level, widest=99.0, alpha=1e-5))  # so small that no draws are needed
    gains = np.cumsum(chances * effects)
    places = np.arange(4)
    area = (chances * effects) @ np.sign(places[None, :] - places[:, None]) @ chances / 2
    away = np.array([[*(p.gain for p in curve), curve.qini] for curve in draws]) - [*gains, area]
    stated = np.array([[*(p.stderr for p in curve), curve.qini_stderr] for curve in draws])
    np.testing.assert_allclose((away / stated).std(axis=0), 1.0, atol=0.11)  # its own error is 0.03
    assert np.abs((away / stated).mean(axis=0)).max() < 0.15


def test_limits_keep_to_what_the_outcome_allows_and_few_rows_stay_finite():
    curve = find_uplift_curve(details([1.0, -2.0], [-3.0, 1.0], noise=50.0), 0.1, widest=1.0, alpha=0.05)
    told = np.array([[p.share, p.gain, p.band_lower, p.band_upper] for p in curve])
    assert np.isfinite(told).all()
    assert np.abs(told[:, 2:]).max() <= 1.0
    assert (np.diff([0.0, *told[:, 0]]) >= 0).all()
    assert told[-1, 0] == pytest.approx(1.0)


def test_a_saved_learner_tells_the_same_curve(tmp_path):
    learner = fitted(n=1000, epsilon=2.0)
    learner.save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").uplift_curve() == learner.uplift_curve()


def test_frames_have_one_row_per_point():
    curve = fitted(n=1000).uplift_curve(0.1)
    frame, summary = curve.to_pandas(), curve.summary_frame()
    assert frame["gain"].tolist() == summary["point_estimate"].tolist() == [point.gain for point in curve]
    assert summary.index.name == "share"
    assert summary.index.tolist() == frame["share"].tolist()
    assert (frame["band_upper"].to_numpy() >= summary["ci_upper"].to_numpy()).all()


def test_without_held_out_rows_there_is_no_curve():
    with pytest.raises(NotAvailableError, match="validate"):
        fitted(n=500, validate=0.0).uplift_curve()
    with pytest.raises(NotFittedError):
        RLearner(SETUP.schema, validate=0.3).uplift_curve()
    assert not hasattr(MultiStage, "uplift_curve")


@pytest.mark.parametrize("alpha", [0.0, 1.0, "small"])
def test_a_wrong_level_is_refused(alpha):
    with pytest.raises(ParameterError, match="alpha"):
        fitted(n=500).uplift_curve(alpha)


def test_the_cutoffs_are_those_of_the_release_and_the_sums_are_in_the_model():
    learner = fitted(n=1000)
    document = learner.models_[CURVE].details[SLICES]
    assert [point.cutoff for point in learner.uplift_curve()] == [*document["cuts"], None]
    assert len(document["sums"]) == len(document["counts"]) == len(document["squares"]) == N_SLICES


@dataclass(frozen=True)
class Company(Slices):
    """Slices that look at who else is there."""

    def of(self, codes):
        return super().of(codes) + (len(codes) > 1)


@pytest.mark.parametrize(("kind", "fine"), [(Slices, True), (Company, False)])
def test_the_rehearsal_sees_the_slices(kind, fine):
    first = Stage(name="effect", target=lambda rows, _: rows.Y, bounds=lambda *_: (-9.0, 9.0))
    second = replace(first, name="curve", slices=lambda released: kind(released["effect"], (0.5, 0.0)))
    if fine:
        rehearse([first, second], SETUP.schema)
        return
    with pytest.raises(TransformationError, match="'curve' must treat each row by itself"):
        rehearse([first, second], SETUP.schema)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [RLearner, DRLearner])
def test_curve_band_and_area_are_covered(kind):
    sample = SETUP.draw(50_000, 9)
    single, at_once, areas = [], [], []
    for seed in range(100):
        learner = fitted(kind, n=4000, epsilon=8.0, seed=seed, validate=0.2)
        curve = learner.uplift_curve(0.1)
        gains, _, area = truth(learner, sample)
        single.append([point.lower <= gain <= point.upper for point, gain in zip(curve, gains, strict=True)])
        at_once.append(all(p.band_lower <= gain <= p.band_upper for p, gain in zip(curve, gains, strict=True)))
        areas.append(curve.qini_interval[0] <= area <= curve.qini_interval[1])
    assert 0.82 <= np.mean(single) <= 0.96
    assert 0.80 <= np.mean(at_once) <= 0.98
    assert 0.80 <= np.mean(areas) <= 0.98
