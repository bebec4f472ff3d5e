"""One release of moments: how the target of a mean is clipped, and how a first release is read."""

import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from dpcate.accounting import Gaussian, Guarantee
from dpcate.mechanisms import SeededNoise
from dpcate.models import Additive, AdditiveFunction, Budget, HeldStage, StageData, StageRows, uncertainty_of
from dpcate.models.additive.basis import make_basis
from dpcate.models.additive.correlations import leading_correlations, seen_correlations
from dpcate.models.additive.dependence import draw_codes
from dpcate.models.additive.equations import TARGET_WEIGHT, Layout, released_entries
from dpcate.models.additive.gram import Gram
from dpcate.models.additive.learner import N_MADE_UP
from dpcate.models.additive.leftover import MOST_LEFT, residual_after
from dpcate.models.additive.observation import Observation
from dpcate.models.additive.regression import DEPENDENT, SMALLEST_WEIGHT, MomentRegression
from dpcate.models.additive.target import RESIDUAL, TargetLaw, clip_of_mean
from dpcate.schema import Category, Number
from dpcate.tables import GRID

TOWN = Category("town", ["a", "b"])
CHANCES = np.array([0.5, 0.5, 0.03])  # of treatment, by code of the town: one town hardly treats anybody
MEAN, SPREAD = 1.0, 0.5
# as many points as a released law has
QUANTILES = SPREAD * np.array([NormalDist().inv_cdf((k + 0.5) / 128) for k in range(128)])
RESIDUALS = TargetLaw(0.0, QUANTILES, np.full(128, 1 / 128))


class NoNoise:
    """As if there were no privacy noise; what the stage takes it to be is as large as ever."""

    void = True

    def discrete_gaussian(self, scale, size):
        return np.zeros(size, dtype=np.int64)


def score_rows(n_rows=80_000):
    """Codes and scores mean + w eps, w an inverse-probability weight: spread evenly, so their mean is exact."""
    codes, scores = [], []
    for code in (1, 2):
        p = CHANCES[code]
        n_treated = round(p * n_rows / 2)
        for size, weight in ((n_treated, 1 / p), (n_rows // 2 - n_treated, -1 / (1 - p))):
            even = SPREAD * ndtri((np.arange(size) + 0.5) / size)
            codes.append(np.full(size, code))
            scores.append(MEAN + weight * even)
    return np.concatenate(codes).astype(np.uint16)[:, None], np.concatenate(scores)


def mean_stage(n_rows=80_000, **changes):
    codes, scores = score_rows(n_rows)
    facts = {
        "columns": (TOWN,),
        "low": -80.0,
        "high": 80.0,
        "n_rows": len(codes),
        "n_features": 1,
        "constant": True,
        "residual_of": "outcome",
        "residual_spread": lambda codes: 1 / (CHANCES * (1 - CHANCES))[codes[:, 0]],
        "intercept_signal": 0.5,
    }
    return StageData.of_arrays(codes=codes, target=scores, **{**facts, **changes})


EARLIER = {
    "outcome": AdditiveFunction(
        columns=(TOWN,),
        intercept=0.0,
        tables=(np.zeros(3),),
        shares=(np.array([0.0, 0.5, 0.5]),),
        guarantee_=Guarantee(Gaussian(1.0), "replace"),
        details={RESIDUAL: RESIDUALS.to_dict()},
    )
}


def fit_mean(mu, *, noise=None, rounds=(0.5, 0.5), data=None):
    budget = Budget(mu=mu, epsilon=1.0, delta=1e-5, neighbours="replace")
    noise = noise or NoNoise()
    return Additive(rounds=rounds).fit(data or mean_stage(), budget=budget, noise=noise, released=EARLIER)


def make_regression(mu, **changes):
    made_up = np.repeat([[1], [2]], 512, axis=0).astype(np.uint16)
    data = mean_stage(400, **changes)
    return MomentRegression(data=data, made_up=made_up, law=RESIDUALS, n_rows=80_000, mu=mu, neighbours="replace")


def test_a_regression_that_may_misread_shifts_clips_nearer():
    """Its errors matter only as multiplied with the propensity's, so less noise is worth more than fairness."""
    side = np.concatenate([QUANTILES, SPREAD * np.linspace(4.0, 12.0, 32)])
    law = TargetLaw(0.0, side, np.append(np.full(128, 0.985 / 128), np.full(32, 0.015 / 32)))
    codes, scores = score_rows(400)
    facts = {"columns": (TOWN,), "low": -80.0, "high": 80.0, "n_rows": 80_000, "n_features": 1}
    clips = {}
    for misread in (None, 0.2):
        data = StageData.of_arrays(codes=codes, target=scores, misread=misread, **facts)
        made_up = np.repeat([[1], [2]], 512, axis=0).astype(np.uint16)
        regression = MomentRegression(
            data=data, made_up=made_up, law=law, n_rows=80_000, mu=0.005, neighbours="replace"
        )
        clips[misread] = regression.clip
    assert clips[0.2] < 0.8 * clips[None]


def test_the_example_s_scores_have_long_even_tails_and_a_mean_that_is_not_zero():
    codes, scores = score_rows()
    assert scores.mean() == pytest.approx(MEAN, abs=1e-9)
    deviations = scores - MEAN
    assert (deviations**4).mean() / (deviations**2).mean() ** 2 > 20, "normal: 3"
    assert set(codes[:, 0]) == {1, 2}
    law = make_regression(1.0).target
    assert law.scale == pytest.approx(deviations.std(), rel=0.01)


@pytest.mark.parametrize("bound", [12.0, 18.0, 25.0])
def test_a_mean_of_long_tailed_scores_is_not_overstated(bound, monkeypatch):
    """What moves with the mean is who is not clipped. E[u clip(u)] / E[u^2] is less for long tails: it overstates."""
    for name in ("clip_at", "clip_of_mean"):
        monkeypatch.setattr(f"dpcate.models.additive.regression.{name}", lambda *_, **__: bound)
    data = mean_stage()
    assert (np.abs(data.held.target) > bound).sum() > 100, "clipped, or this test shows nothing"
    once, twice = (fit_mean(0.01, rounds=rounds, data=data) for rounds in ((1.0,), (0.5, 0.5)))
    assert once.intercept == pytest.approx(MEAN, rel=0.01)
    assert twice.intercept == pytest.approx(MEAN, rel=0.01)
    monkeypatch.setattr(TargetLaw, "inside", TargetLaw.attenuation)
    once, twice = (fit_mean(0.01, rounds=rounds, data=data) for rounds in ((1.0,), (0.5, 0.5)))
    assert once.intercept - MEAN > max(0.05, 1.5 * math.sqrt(uncertainty_of(once).average_variance))
    assert twice.intercept - MEAN > 0.02


def test_the_mean_s_stated_error_is_its_error_under_noise():
    data = mean_stage(8000)
    fits = [fit_mean(0.2, noise=SeededNoise(seed), data=data) for seed in range(60)]
    errors = np.array([fit.intercept - MEAN for fit in fits])
    stated = np.array([uncertainty_of(fit).average_variance for fit in fits])
    sampling = replace(make_regression(0.2 * math.sqrt(0.5)), n_rows=8000).sampling / 8000
    assert (stated > sampling).all()
    noise = np.sqrt(np.mean(stated - sampling))
    assert 0.4 < errors.std() / noise < 1.4, "rows are the same in all draws; what bounds may take is stated, too"
    assert (np.abs(errors) < 1.96 * np.sqrt(stated)).mean() > 0.9


@pytest.mark.parametrize("mu", [1e-3, 1e-2, 0.1, 1.0, 1e3])
def test_a_mean_is_clipped_no_nearer_than_noise_against_loss_says_and_divided_by_the_share_inside(mu):
    constant, varying = make_regression(mu), make_regression(mu, constant=False)
    noise = (1 + TARGET_WEIGHT**2) / TARGET_WEIGHT / (mu * 80_000)
    assert clip_of_mean(constant.target, noise=noise, farthest=80.0) <= constant.clip <= 80.0
    assert constant.attenuation == constant.target.inside(constant.clip)
    assert varying.attenuation == varying.target.attenuation(varying.clip)


LOPSIDED = -1.8 - 3.0 * np.log1p(-(np.arange(8000) + 0.5) / 8000)
"""Scores with mean 1.2, standard deviation 3 and a long tail to one side."""


def test_a_mean_recovers_from_a_law_that_was_far_too_narrow():
    """The first round clips where the narrow law says and sees by the mean square that it was wrong."""
    shape = LOPSIDED[::50] - LOPSIDED.mean()
    narrow = TargetLaw(0.0, 0.33 * shape, np.full(len(shape), 1 / len(shape)))
    assert narrow.scale < 0.35 * LOPSIDED.std()
    earlier = {"outcome": replace(EARLIER["outcome"], details={RESIDUAL: narrow.to_dict()})}
    data = replace(mean_stage(400, residual_spread=None), n_rows=len(LOPSIDED))
    data = replace(data, source=HeldStage(StageRows(np.ones((8000, 1), dtype=np.uint16), LOPSIDED, None)))
    budget = Budget(mu=0.7, epsilon=1.0, delta=1e-5, neighbours="replace")
    twice, once = (
        Additive(rounds=rounds).fit(data, budget=budget, noise=NoNoise(), released=earlier)
        for rounds in ((0.5, 0.5), (1.0,))
    )
    assert once.intercept < 1.0, "it clipped too near, or this test shows nothing"
    assert abs(twice.intercept - 1.2) < 0.35 * abs(once.intercept - 1.2)


def observed(**squares):
    """A release of one coefficient that says nothing but the mean square."""
    one, nothing = np.ones((1, 1)), np.zeros(1)
    counts = {"attenuation": 1.0, "n_rows": 1.0, "n_weighted": 1.0}
    matrices = {"functions": one, "shift": one, "gram": Gram(one, one), "correction": one}
    return Observation(z=nothing, z_noise=nothing, **matrices, **counts, **squares)


def test_only_a_mean_s_law_may_widen():
    constant, varying = make_regression(1.0), make_regression(1.0, constant=False)
    for stage, most in ((constant, math.sqrt(MOST_LEFT)), (varying, 1.0)):
        total = stage.target.clipped_variance(stage.clip)
        seen = observed(mean_square=100 * total, mean_square_noise=0.0)
        assert residual_after(stage, seen, np.zeros(1)).scale == pytest.approx(most * stage.target.scale)
        seen = observed(mean_square=100 * total, mean_square_noise=1e6 * total)
        guess = 1.0 if stage is constant else math.sqrt(0.6)
        assert residual_after(stage, seen, np.zeros(1)).scale == pytest.approx(guess * stage.target.scale, rel=1e-3)


@pytest.mark.parametrize("kind", ["mean", "probability"])
def test_a_mean_that_is_not_clipped_is_not_corrected(kind):
    """With values at both ends of their bounds too: they are not beyond them."""
    arms = np.repeat([0.0, 1.0], [300, 700])
    data = StageData.of_arrays(
        columns=(TOWN,),
        codes=np.ones((1000, 1), dtype=np.uint16),
        target=arms,
        low=0.0,
        high=1.0,
        n_rows=1000,
        n_features=1,
        constant=True,
        kind=kind,
    )
    budget = Budget(mu=1e4, epsilon=1.0, delta=1e-5, neighbours="replace")
    function = Additive().fit(data, budget=budget, noise=SeededNoise(0), released={})
    assert function.intercept == pytest.approx(0.7, abs=0.005)
    assert np.isfinite(uncertainty_of(function).average_variance)


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_the_noise_that_is_weighed_against_the_loss_is_that_of_the_mean(neighbours, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "dpcate.models.additive.regression.clip_of_mean",
        lambda law, *, noise, farthest, moved: asked.append((noise, farthest, moved(1.0))) or farthest,
    )
    stage = replace(make_regression(0.02), neighbours=neighbours)
    assert stage.clip == 80.0
    basis = make_basis((TOWN,), [np.array([0.0, 0.5, 0.5])], None, n_features=1)
    basis = basis.keep(basis.orders < 0)
    seen = stage.observe(basis, np.ones(1), stage.begin(basis, NoNoise()))
    [(noise, farthest, moved)] = asked
    assert (farthest, moved) == (80.0, 0.0)
    assert noise * 80.0 == pytest.approx(seen.z_noise[0] / 80_000, rel=0.03)


NUMBERS = tuple(Number(name, -4, 4) for name in "abc")
RHO = 0.8


def correlated_rows(n_rows=30_000, rho=RHO):
    generator = np.random.default_rng(0)
    shared, own = generator.normal(size=(n_rows, 1)), generator.normal(size=(n_rows, 3))
    normal = math.sqrt(rho) * shared + math.sqrt(1 - rho) * own
    return np.asfortranarray(1 + np.floor(ndtr(normal) * GRID).clip(0, GRID - 1), dtype=np.uint16)


def first_release(codes, *, mu=1e4, independent=True, **changes):
    """The moments of a first stage as it reads them, its basis, and the exact matrix of its rows."""
    data = StageData.of_arrays(
        columns=NUMBERS,
        codes=codes,
        target=np.zeros(len(codes)),
        low=-1.0,
        high=1.0,
        n_rows=len(codes),
        n_features=3,
        **changes,
    )
    shares = [np.append(0.0, np.full(GRID, 1 / GRID))] * 3
    basis = make_basis(NUMBERS, shares, None, n_features=3)
    stage = MomentRegression(
        data=data,
        made_up=draw_codes(basis.columns, None, N_MADE_UP),
        law=TargetLaw.of_probability(),
        n_rows=len(codes),
        mu=mu,
        neighbours="replace",
        independent=independent,
    )
    sizes = stage.prior(basis).sizes
    seen = stage.observe(basis, sizes, stage.begin(basis, SeededNoise(0)))
    weights = np.maximum(stage.plan(sizes), SMALLEST_WEIGHT)
    squared = basis.matrix(stage.made_up) ** 2 @ weights**2
    layout = Layout(basis, weights, math.sqrt(float(squared.mean())), 0.0, 1.0)
    functions = basis.matrix(codes)
    short = functions * layout.shortening(functions**2 @ weights**2, np.ones(len(codes)))[:, None]
    return seen, basis, short.T @ short


def errors_of(seen, basis, exact):
    """Root mean square errors of the entries that were not released, and of those that were, per row."""
    released = released_entries(basis)[:-1, :-1]
    off = (seen.gram.matrix - exact) / seen.n_rows
    return [float(np.sqrt((off[mask] ** 2).mean())) for mask in (~released, released)]


def test_a_first_release_read_with_the_dependence_that_it_shows_predicts_what_was_not_released():
    codes = correlated_rows()
    blind, reading = (errors_of(*first_release(codes, independent=independent)) for independent in (False, True))
    seen, basis, exact = first_release(codes)
    hidden = ~released_entries(basis)[:-1, :-1]
    assert np.abs(exact[hidden] / seen.n_rows).max() > 0.3, "there is something to predict, or this test shows nothing"
    assert reading[0] < 0.4 * blind[0]
    assert reading[1] < 1.1 * blind[1] + 1e-3


def test_made_up_rows_of_the_reading_are_as_dependent_as_the_release_says():
    seen, basis, _ = first_release(correlated_rows())
    shown = leading_correlations(basis, seen.gram.entries)
    functions = seen.functions[:, basis.orders == 0]
    assert np.corrcoef(functions.T) == pytest.approx(seen.correlations, abs=0.03)
    assert seen.correlations == pytest.approx(shown, abs=0.06)
    assert shown[0, 1] > 0.6


def test_columns_that_hardly_depend_on_each_other_are_read_as_independent():
    blind, reading = (first_release(correlated_rows(rho=0.0), independent=flag)[0] for flag in (False, True))
    assert (
        np.abs(seen_correlations(first_release(correlated_rows(rho=0.0))[1], blind.gram) - np.eye(3)).max() < DEPENDENT
    )
    assert np.array_equal(blind.gram.matrix, reading.gram.matrix)
    assert np.array_equal(blind.functions, reading.functions)


def fit_first(codes, released=None, **changes):
    data = StageData.of_arrays(
        columns=NUMBERS,
        codes=codes,
        target=codes[:, 0] / GRID,
        low=0.0,
        high=1.0,
        n_rows=len(codes),
        n_features=3,
        **changes,
    )
    budget = Budget(mu=100.0, epsilon=1.0, delta=1e-5, neighbours="replace")
    return Additive().fit(data, budget=budget, noise=SeededNoise(0), released=released or {})


@pytest.mark.parametrize(
    ("changes", "reads_twice"),
    [({}, True), ({"kind": "probability"}, True), ({"constant": True}, False), ({"loading": np.ones(4000)}, False)],
    ids=["first", "probability", "constant", "weighted"],
)
def test_only_a_first_stage_whose_rows_count_alike_is_read_twice(changes, reads_twice, monkeypatch):
    asked = []
    observe = MomentRegression.observe

    def spy(self, *args, **options):
        asked.append(self.independent)
        return observe(self, *args, **options)

    monkeypatch.setattr(MomentRegression, "observe", spy)
    codes = correlated_rows(4000)
    first = fit_first(codes, **changes)
    assert set(asked) == {reads_twice}
    if not changes:
        asked.clear()
        fit_first(codes, released={"propensity": first})
        assert set(asked) == {False}, "correlations are known by then"
