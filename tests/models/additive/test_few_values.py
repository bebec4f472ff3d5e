from dataclasses import replace

import numpy as np
import pytest

from dpcate.mechanisms import SeededNoise
from dpcate.models import Budget, StageData
from dpcate.models.additive.few_values import few_values, yes_or_no
from dpcate.models.additive.target import TargetLaw, clip_at
from dpcate.models.additive.target_histogram import release_target_law
from dpcate.schema import Number

BUDGET = Budget(mu=1.0, epsilon=1.0, delta=1e-5, neighbours="replace")
RARE = TargetLaw.of_yes(0.05)


def released(target, low, high, mu=0.06):
    data = StageData.of_arrays(
        columns=(Number("x", 0, 1),),
        codes=np.ones((len(target), 1), dtype=np.uint16),
        target=target,
        low=low,
        high=high,
        n_rows=len(target),
    )
    return release_target_law(data, mu=mu, budget=BUDGET, noise=SeededNoise(0))


def yes(share, n=2_000):
    return (np.arange(n) < share * n).astype(float)


@pytest.mark.parametrize("share", [0.02, 0.05, 0.5, 0.97])
def test_yes_and_no_have_a_law_of_two_points(share):
    law = released(yes(share), 0.0, 1.0)
    assert law.few_values
    assert len(law.shares) == 2
    assert law.centre == pytest.approx(share, abs=0.03), "noise of one cell is about one in sixty rows"
    np.testing.assert_allclose(law.centre + law.deviations, [0.0, 1.0], atol=1e-12)
    assert law.shares.sum() == pytest.approx(1.0)


def test_nobody_with_a_yes_leaves_room_for_one():
    law = released(yes(0.0), 0.0, 1.0)
    assert 0.0 < law.centre < 0.05


def test_shares_between_no_and_yes_are_not_taken_for_either():
    generator = np.random.default_rng(0)
    for target in (generator.uniform(size=2_000), generator.beta(0.4, 0.4, 4_000), generator.beta(2, 5, 2_000)):
        assert not released(target, 0.0, 1.0).few_values


def test_a_few_marks_are_found_within_other_bounds():
    marks = np.repeat([1.0, 2.0, 3.0, 4.0, 5.0], 800)
    assert released(marks, 1.0, 5.0).few_values
    assert released(100 * yes(0.3), 0.0, 100.0).few_values


def test_bounds_that_are_far_too_wide_do_not_look_like_a_few_values():
    for n, mu in ((1_000, 0.03), (2_000, 0.06), (50_000, 1.0)):
        assert not released(np.random.default_rng(1).exponential(size=n), 0.0, 1_000.0, mu=mu).few_values


def test_quantities_are_no_few_values_at_any_noise():
    generator = np.random.default_rng(2)
    for mu in (0.02, 0.06, 0.3, 3.0):
        assert not released(np.clip(generator.normal(size=3_000), -4, 4), -4.0, 4.0, mu=mu).few_values


@pytest.mark.parametrize(
    ("ends", "between", "expected"),
    [((900, 100), 0.0, True), ((900, 0), 0.0, True), ((900, 100), 12.0, False), ((30, 0), 0.0, False)],
)
def test_yes_or_no_asks_for_rows_at_the_ends_and_none_between(ends, between, expected):
    noisy = np.full(32, between)
    noisy[[0, -1]] = ends
    assert yes_or_no(noisy, 10.0) is expected


def test_few_values_need_two_cells_with_rows_for_sure():
    shares = np.zeros(32)
    shares[[3, 20]] = 0.9, 0.1
    assert few_values(1_000 * shares, shares, 10.0)
    assert not few_values(1_000 * shares, shares, 30.0), "a hundred rows are not sure where noise is 30"


def test_what_is_explained_does_not_bring_a_yes_nearer():
    left = RARE.scaled(0.3)
    np.testing.assert_array_equal(left.deviations, RARE.deviations)
    assert left.centre == 0.0
    assert clip_at(left, mu=0.1, n_rows=1_000, n_terms=20, farthest=1.0) > 0.85


def test_less_noise_is_not_worth_a_yes_before_a_mean_either():
    options = {"mu": 0.1, "n_rows": 1_000, "n_terms": 20, "farthest": 1.0}
    assert clip_at(RARE, misread=0.2, **options) == clip_at(RARE, **options) > 0.85
    not_seen = replace(RARE, few_values=False)
    assert clip_at(not_seen, misread=0.2, **options) == clip_at(not_seen, **options), "mostly one value all the same"


def test_a_mean_of_few_values_keeps_what_clipping_leaves_of_a_yes():
    """Twice as many yes move the mean of the clipped by the stated part of what they move the mean by."""
    reach = 0.4
    values = RARE.centre + RARE.deviations
    more = np.array([0.9, 0.1])
    moved = (more - RARE.shares) @ np.clip(values - RARE.centre, -reach, reach)
    assert moved / 0.05 == pytest.approx(RARE.kept(reach, 0.95), abs=0.03)
    assert RARE.kept(0.95, 0.95) == 1.0
    assert RARE.inside(reach) == pytest.approx(0.95), "which a shift of everybody would keep"


def test_noise_does_not_draw_the_bound_of_a_mean_below_a_yes():
    weighted = RARE.by_arm(np.full(8, 0.5), np.full(8, 2.0), np.full(8, -2.0))
    assert weighted.few_values
    options = {"mu": 0.1, "n_rows": 1_000, "n_terms": 1, "farthest": 4.0, "of_mean": True}
    assert clip_at(weighted, **options) > 1.8, "nearer bounds have less noise, and as much less of what is looked for"
    assert clip_at(replace(weighted, few_values=False), **options) < 0.5


def test_few_values_survive_storing():
    assert TargetLaw.from_dict(RARE.to_dict()).few_values
    document = RARE.to_dict()
    del document["few_values"]
    assert not TargetLaw.from_dict(document).few_values, "older releases do not say"
