"""The product of two earlier errors: its law against a simulation written down plainly."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from dpcate.accounting import Gaussian, Guarantee
from dpcate.models import POSTERIOR, AdditiveFunction, StageData
from dpcate.models.additive import error_draws, first_stage, truths
from dpcate.models.additive.basis import make_basis
from dpcate.models.additive.confidence import Confidence
from dpcate.models.additive.dependence import draw_codes
from dpcate.models.additive.first_stage import EarlierErrors, product_errors
from dpcate.models.additive.learner import N_MADE_UP
from dpcate.models.additive.target import TargetLaw
from dpcate.models.additive.uncertainty import posterior_document
from dpcate.schema import Category
from dpcate.tables import n_codes

FEATURES = (Category("sex", ["female", "male"]), Category("town", ["a", "b", "c"]))
ARM = Category("called", [0, 1])
ROWS = np.array([[1, 1], [2, 1], [1, 3], [2, 2]], dtype=np.uint16)


def make_model(columns, seed, size, intercept=0.0, **bounds):
    """A constant function of the columns with a random error; returns the covariance of the error at codes, too."""
    shares = [np.full(n_codes(column), 1 / n_codes(column)) for column in columns]
    basis = make_basis(columns, shares, None, n_features=len(columns))
    root = np.random.default_rng(seed).normal(size=(basis.n_terms, basis.n_terms)) * size
    everything = np.ones(basis.n_terms, dtype=bool)
    nothing = np.zeros(basis.n_terms)
    found = Confidence(nothing, root @ root.T, np.zeros(len(columns)))
    document = posterior_document(basis, everything, found, nothing, n_features=len(columns))
    model = AdditiveFunction(
        columns=columns,
        intercept=intercept,
        tables=tuple(np.zeros(n_codes(column)) for column in columns),
        shares=tuple(shares),
        guarantee_=Guarantee(Gaussian(1.0), "replace"),
        details={POSTERIOR: document},
        **bounds,
    )
    return model, lambda codes: basis.matrix(codes) @ root @ root.T @ basis.matrix(codes).T


def make_released(*, with_arm):
    propensity, of_propensity = make_model(FEATURES, 1, 0.05)
    outcome, of_outcome = make_model((*FEATURES, ARM) if with_arm else FEATURES, 2, 0.4)
    return {"propensity": propensity, "outcome": outcome}, of_propensity, of_outcome


def make_stage(*, names=("propensity", "outcome"), spread=None, score_law=None, weights=None):
    nobody = np.zeros((0, 2), dtype=np.uint16)
    return StageData.of_arrays(
        codes=nobody,
        target=np.zeros(0),
        columns=FEATURES,
        low=-1.0,
        high=1.0,
        n_features=2,
        first_stage=names,
        residual_spread=spread,
        score_law=score_law,
        residual_weights=weights,
    )


EVEN = TargetLaw(0.0, np.array([-1.5, -0.5, 0.5, 1.5]), np.full(4, 0.25))


def added(stage, released, *, clip, kept=1.0):
    return EarlierErrors(stage, ROWS, released, EVEN).draws(clip, kept)


@pytest.fixture
def many_draws(monkeypatch):
    monkeypatch.setattr(first_stage, "N_DRAWS", 40_000)
    monkeypatch.setattr(truths, "N_TRUTHS", 40_000)
    error_draws._normals.cache_clear()
    yield
    error_draws._normals.cache_clear()


@pytest.mark.parametrize("with_arm", [False, True])
def test_the_products_covariance_is_that_of_a_direct_simulation(many_draws, with_arm):
    released, of_propensity, of_outcome = make_released(with_arm=with_arm)
    at = np.column_stack([ROWS, np.ones(len(ROWS), dtype=np.uint16)]) if with_arm else ROWS  # code 1 is control
    generator = np.random.default_rng(7)
    direct = generator.multivariate_normal(np.zeros(4), of_propensity(ROWS), 40_000, method="svd")
    direct *= generator.multivariate_normal(np.zeros(4), of_outcome(at), 40_000, method="svd")
    direct += (first_stage._WIDER - 1) * direct.mean(axis=1, keepdims=True)  # only what rows have in common is wider
    expected = direct.T @ direct / len(direct)
    found = product_errors(make_stage(), ROWS, released)
    scale = np.diagonal(expected).max()
    assert found @ found.T / found.shape[1] == pytest.approx(expected, rel=0.05, abs=0.03 * scale)
    assert found.mean(axis=1) == pytest.approx(0.0, abs=0.03 * np.sqrt(scale))


def test_the_draws_that_are_used_have_the_right_size_within_a_factor(monkeypatch):
    error_draws._normals.cache_clear()
    released, of_propensity, of_outcome = make_released(with_arm=False)
    found = product_errors(make_stage(), ROWS, released)
    assert found.shape == (4, first_stage.N_DRAWS)
    wider = np.eye(4) + (first_stage._WIDER - 1) / 4
    expected = np.trace(wider @ (of_propensity(ROWS) * of_outcome(ROWS)) @ wider)  # independent: E[a b]^2
    assert 0.5 < (found**2).mean(axis=1).sum() / expected < 2.0


def test_only_the_mean_over_people_is_made_wider(monkeypatch):
    released, _, _ = make_released(with_arm=False)
    found = product_errors(make_stage(), ROWS, released)
    monkeypatch.setattr(first_stage, "_WIDER", 1.0)
    plain = product_errors(make_stage(), ROWS, released)
    assert found.mean(axis=0) == pytest.approx(1.5 * plain.mean(axis=0), rel=1e-12)
    assert found - found.mean(axis=0) == pytest.approx(plain - plain.mean(axis=0), rel=1e-12, abs=1e-15)


def test_inverse_propensity_weights_multiply_the_product_row_by_row_before_its_mean_is_made_wider(monkeypatch):
    released, _, _ = make_released(with_arm=False)
    weights = np.array([4.0, 5.0, 6.0, 7.0])
    weighted = product_errors(make_stage(spread=lambda codes: weights), ROWS, released)
    monkeypatch.setattr(first_stage, "_WIDER", 1.0)
    plain = product_errors(make_stage(), ROWS, released)
    expected = plain * weights[:, None]
    assert weighted == pytest.approx(expected + 0.5 * expected.mean(axis=0))


def test_there_is_no_product_with_a_known_propensity():
    released, _, _ = make_released(with_arm=False)
    assert product_errors(make_stage(), ROWS, {"outcome": released["outcome"]}) is None
    assert product_errors(make_stage(names=None), ROWS, released) is None


def test_a_model_that_does_not_know_its_error_gives_none():
    released, _, _ = make_released(with_arm=False)
    document = {**released["outcome"].to_dict(), "details": {}}
    released["outcome"] = AdditiveFunction.from_dict(document)
    assert product_errors(make_stage(), ROWS, released) is None


RELEASED = 0.5, 1.0  # propensity, and outcome in both arms


def score_law(codes, propensity, control, treated):
    """The doubly robust score of the released constants."""
    e, m = RELEASED
    return (treated - m) / e, -(control - m) / (1 - e), treated - control


def make_truths(*, size=0.02, low=-np.inf, high=np.inf):
    propensity, of_propensity = make_model(FEATURES, 1, size, RELEASED[0], low=0.0, high=1.0)
    outcome, of_outcome = make_model((*FEATURES, ARM), 2, size, RELEASED[1], low=low, high=high)
    return {"propensity": propensity, "outcome": outcome}, of_propensity, of_outcome


def test_small_errors_of_both_arms_shift_the_mean_of_a_score_by_their_products(many_draws):
    released, of_propensity, of_outcome = make_truths()
    found = added(make_stage(score_law=score_law), released, clip=np.inf)
    arms = [np.column_stack([ROWS, np.full(len(ROWS), code, dtype=np.uint16)]) for code in (1, 2)]
    both = of_outcome(np.concatenate(arms))
    weights = np.concatenate([np.eye(4) / (1 - RELEASED[0]), np.eye(4) / RELEASED[0]])
    expected = of_propensity(ROWS) * (weights.T @ both @ weights)  # independent errors: E[a a'] E[h h']
    assert found @ found.T / found.shape[1] == pytest.approx(expected, rel=0.05, abs=0.03 * expected.max())


def test_no_truth_lies_beyond_what_can_be(many_draws):
    seen = []

    def watch(codes, propensity, control, treated):
        seen.extend([propensity, control, treated])
        return score_law(codes, propensity, control, treated)

    released, _, _ = make_truths(size=1.0, low=0.5, high=1.2)
    found = added(make_stage(score_law=watch), released, clip=np.inf)
    assert (seen[0].min(), seen[0].max()) == (0.0, 1.0)
    assert all((each.min(), each.max()) == (0.5, 1.2) for each in seen[1:])
    e = RELEASED[0]
    assert np.abs(found).max() <= 0.5 * (0.5 / e + 0.5 / (1 - e)) + 1e-12


def test_a_clipped_score_is_moved_as_its_clipped_mean_is(many_draws):
    truth = []

    def watch(codes, *truths):
        truth.extend(truths)
        return score_law(codes, *truths)

    released, _, _ = make_truths(size=0.2)
    found = added(make_stage(score_law=watch), released, clip=0.7)
    e, m = RELEASED
    chance, control, treated = truth
    middle = np.mean(chance * (treated - m) / e - (1 - chance) * (control - m) / (1 - e))
    seen = chance * np.clip((treated - m) / e - middle, -0.7, 0.7) + middle
    seen += (1 - chance) * np.clip(-(control - m) / (1 - e) - middle, -0.7, 0.7)
    assert found == pytest.approx(seen - (treated - control), abs=1e-12)
    unclipped = added(make_stage(score_law=score_law), released, clip=np.inf)
    assert not np.allclose(found, unclipped)


def test_a_score_with_a_known_propensity_is_not_shifted():
    released, _, _ = make_truths()
    assert added(make_stage(score_law=score_law), {"outcome": released["outcome"]}, clip=1.0) is None


def test_without_an_outcome_of_both_arms_it_is_the_product_after_all():
    released, _, _ = make_released(with_arm=False)
    found = added(make_stage(score_law=score_law), released, clip=1.0)
    assert np.array_equal(found, product_errors(make_stage(), ROWS, released))


def make_difference(*, size=0.02, low=-np.inf, high=np.inf, e=RELEASED[0], effect=0.0):
    """Released: a propensity, outcome 1, a difference; none of them goes with the features."""
    propensity, of_propensity = make_model(FEATURES, 1, size, e, low=0.0, high=1.0)
    outcome, of_outcome = make_model(FEATURES, 2, size, RELEASED[1], low=low, high=high)
    difference, of_difference = make_model(FEATURES, 3, size, effect)
    released = {"propensity": propensity, "outcome": outcome, "difference": difference}
    return released, of_propensity, of_outcome, of_difference


THREE = "propensity", "outcome", "difference"


def test_an_outcome_and_a_difference_shift_the_mean_of_a_score_by_the_outcomes_product_alone(many_draws):
    """With e = 1/2 it is off by 4 (e error) (eta error), less 4 (e error)^2 (difference), which is of third order."""
    released, of_propensity, of_outcome, _ = make_difference(size=0.005)
    found = added(make_stage(names=THREE, score_law=score_law), released, clip=np.inf)
    expected = 16 * of_propensity(ROWS) * of_outcome(ROWS)
    assert found @ found.T / found.shape[1] == pytest.approx(expected, rel=0.05, abs=0.03 * expected.max())


def test_the_arms_of_an_outcome_and_a_difference_are_that_far_apart_and_mix_to_the_outcome(many_draws):
    seen = []

    def watch(codes, *truths):
        seen.extend(truths)
        return score_law(codes, *truths)

    released, _, of_outcome, of_difference = make_difference(e=0.3, effect=0.4)
    added(make_stage(names=THREE, score_law=watch), released, clip=np.inf)
    propensity, control, treated = seen
    mixed = propensity * treated + (1 - propensity) * control - RELEASED[1]
    for drawn, wanted in ((treated - control - 0.4, of_difference(ROWS)), (mixed, of_outcome(ROWS))):
        assert drawn @ drawn.T / drawn.shape[1] == pytest.approx(wanted, rel=0.05, abs=0.03 * wanted.max())
    with pytest.raises(ValueError, match="read-only"):
        control[0, 0] = 0.0


def test_no_arm_of_an_outcome_and_a_difference_leaves_the_outcomes_bounds(many_draws):
    seen = []

    def watch(codes, *truths):
        seen.extend(truths)
        return score_law(codes, *truths)

    released, *_ = make_difference(size=1.0, low=0.5, high=1.2)
    added(make_stage(names=THREE, score_law=watch), released, clip=np.inf)
    assert all((each.min(), each.max()) == (0.5, 1.2) for each in seen[1:])


def test_what_an_unsure_propensity_takes_from_an_effect_is_part_of_the_spread(many_draws):
    """Arms made with e miss 4 a^2 of the effect at e = 1/2. Intervals of large effects do not hold without it."""

    def law(codes, propensity, control, treated):
        below, above = RELEASED[1] - 0.5, RELEASED[1] + 0.5
        return 1.0 + (treated - above) / 0.5, 1.0 - (control - below) / 0.5, treated - control

    released, of_propensity, *_ = make_difference(size=0.02, effect=1.0)
    found = added(make_stage(names=THREE, score_law=law), released, clip=np.inf)
    missed = 4 * np.diagonal(of_propensity(ROWS))
    assert found.mean(axis=1) == pytest.approx(-missed, rel=0.1, abs=0.05 * missed.max())


def test_models_of_different_sizes_have_errors_that_have_nothing_to_do_with_each_other():
    """Once the numbers of a small model were the tail of a large one's."""
    error_draws._normals.cache_clear()
    draws = error_draws.draw_errors([SimpleNamespace(covariance=np.eye(size)) for size in (9, 5, 3)], 4000)
    assert [len(each) for each in draws] == [9, 5, 3]
    for k, one in enumerate(draws):
        for other in draws[k + 1 :]:
            assert np.abs(one @ other.T / 4000).max() < 0.08


CHANCES = np.array([0.2, 0.3, 0.5, 0.7])


def weighing_law(codes, propensity, control, treated):
    """The doubly robust score of outcome 1 in both arms, where chances of treatment differ."""
    e, m = CHANCES[:, None], RELEASED[1]
    return (treated - m) / e, -(control - m) / (1 - e), treated - control


def weights(codes):
    return CHANCES, 1 / CHANCES, -1 / (1 - CHANCES)


def test_a_score_is_clipped_with_the_outcomes_own_spread(many_draws):
    truth = []

    def watch(codes, *truths):
        truth.extend(truths)
        return weighing_law(codes, *truths)

    released, *_ = make_difference(size=0.2)
    clip, kept = 2.0, 0.8
    stage = make_stage(names=THREE, score_law=watch, weights=weights)
    found = added(stage, released, clip=clip, kept=kept)
    e, m = CHANCES[:, None], RELEASED[1]
    chance, control, treated = truth
    arms = (treated - m) / e, -(control - m) / (1 - e)
    middle = np.mean(chance * arms[0] + (1 - chance) * arms[1])
    seen = np.zeros_like(chance)
    for r, share in zip(EVEN.deviations, EVEN.shares, strict=True):
        seen += share * chance * np.clip(arms[0] + r / e - middle, -clip, clip)
        seen += share * (1 - chance) * np.clip(arms[1] - r / (1 - e) - middle, -clip, clip)
    assert found == pytest.approx(middle + seen / kept - (treated - control), abs=0.02)


def test_with_a_propensity_by_design_only_clipping_lets_outcomes_errors_through():
    released, *_ = make_difference(size=0.3)
    del released["propensity"]
    errors = EarlierErrors(make_stage(names=THREE, score_law=weighing_law, weights=weights), ROWS, released, EVEN)
    assert errors.draws(np.inf, 1.0) == pytest.approx(0.0, abs=1e-12)
    assert np.abs(errors.draws(1.0, 1.0)).max() > 0.1
    assert errors.moved(np.inf, 1.0) == pytest.approx(0.0, abs=1e-12)
    assert errors.moved(0.5, 1.0) > errors.moved(3.0, 1.0) > 0.0


def test_a_sample_tells_as_well_as_all_how_far_a_mean_is_moved_whichever_column_matters():
    """Made-up rows are evenly spread points, in order: every eighth of them would be a corner of the cube."""
    columns = tuple(Category(f"x{k}", [0, 1]) for k in range(4))
    rows = draw_codes(make_basis(columns, [np.array([0.0, 0.5, 0.5])] * 4, None, n_features=4).columns, None, N_MADE_UP)
    released = {}
    for seed, (name, middle) in enumerate((("propensity", 0.5), ("outcome", 1.0), ("difference", 0.0))):
        released[name] = make_model(columns, seed, 0.04, middle)[0]
    for k in range(4):
        sizes = np.where(rows[:, k] == 1, 0.2, 2.0)

        def law(codes, propensity, control, treated, sizes=sizes):
            by = sizes[: len(codes), None]
            return (treated - 1) / 0.5 * by, -(control - 1) / 0.5 * by, (treated - control) * by

        data = replace(make_stage(names=THREE, score_law=law), columns=columns, n_features=4)
        errors = EarlierErrors(data, rows, released, EVEN)
        for clip in (0.5, np.inf):
            all_of_them = np.sqrt((errors.draws(clip, 1.0).mean(axis=0) ** 2).mean())
            assert errors.moved(clip, 1.0) == pytest.approx(all_of_them, rel=0.3)


def test_nothing_is_moved_without_a_law_of_the_score():
    released, _, _ = make_released(with_arm=False)
    assert EarlierErrors(make_stage(), ROWS, released, EVEN).moved(1.0, 1.0) == 0.0
