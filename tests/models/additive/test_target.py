import json
import math
from dataclasses import replace

import numpy as np
import pytest

from dpcate.mechanisms import SeededNoise
from dpcate.models import Budget, StageData
from dpcate.models.additive.target import (
    EVENLY,
    LARGEST_UNFAIRNESS,
    LONGER,
    TargetLaw,
    clip_at,
    clip_of_mean,
)
from dpcate.models.additive.target_histogram import N_CELLS, release_target_law
from dpcate.schema import Number

GRID = np.linspace(-8, 8, 4001)
NORMAL = TargetLaw(0.0, 2.0 * GRID, np.exp(-(GRID**2) / 2) / np.exp(-(GRID**2) / 2).sum())
BUDGET = Budget(mu=1.0, epsilon=1.0, delta=1e-5, neighbours="replace")


def released(target, low, high, mu=100.0):
    codes = np.ones((len(target), 1), dtype=np.uint16)
    data = StageData.of_arrays(
        columns=(Number("x", 0, 1),), codes=codes, target=target, low=low, high=high, n_rows=len(target)
    )
    return release_target_law(data, mu=mu, budget=BUDGET, noise=SeededNoise(0))


@pytest.mark.parametrize("reach", [0.3, 1.0, 2.5, 6.0])
def test_clipping_a_normal_target_leaves_the_share_that_is_not_clipped(reach):
    assert NORMAL.scale == pytest.approx(2.0, rel=1e-6)
    assert NORMAL.attenuation(2.0 * reach) == pytest.approx(math.erf(reach / math.sqrt(2)), abs=1e-3)


@pytest.mark.parametrize("reach", [0.1, 0.25, 0.5, 3.0])
def test_clipping_two_points_is_exact(reach):
    law = TargetLaw.of_probability()
    assert law.attenuation(reach) == pytest.approx(min(reach, 0.5) / 0.5)
    assert law.clipped_variance(reach) == pytest.approx(min(reach, 0.5) ** 2)
    assert (law.centre, law.scale) == (0.5, 0.5)


def test_clipping_beyond_all_deviations_changes_nothing():
    assert NORMAL.attenuation(100.0) == pytest.approx(1.0)
    assert NORMAL.clipped_variance(100.0) == pytest.approx(NORMAL.scale**2)


def test_a_clipped_shift_is_attenuated_as_stated():
    """What the attenuation is for: a small effect on u moves the mean of clip(u) by that share of it."""
    generator = np.random.default_rng(0)
    u, shift = generator.normal(scale=2.0, size=400_000), 0.1
    moved = np.clip(u + shift, -2, 2).mean() - np.clip(u, -2, 2).mean()
    assert moved / shift == pytest.approx(NORMAL.attenuation(2.0), abs=0.01)


LONG = TargetLaw(0.0, GRID, (d := 0.9 * np.exp(-2 * GRID**2) + 0.05 * np.exp(-(GRID**2) / 8)) / d.sum())
LOPSIDED = TargetLaw(1.0, np.array([-1.0, 0.5, 4.0]), np.array([0.6, 0.3, 0.1]))
LAWS = {"normal": NORMAL, "long": LONG, "lopsided": LOPSIDED, "two points": TargetLaw.of_probability()}


@pytest.mark.parametrize("reach", [0.5, 1.0, 2.0, 5.0])
def test_the_share_inside_is_how_a_shift_of_everybody_moves_the_mean_of_the_clipped(reach):
    """d/ds E[clip(u + s)] = P(|u| < reach), whatever the law; E[u clip(u)] / E[u^2] is less where tails are long."""
    step = 0.05
    for law in (NORMAL, LONG):
        moved = [law.shares @ np.clip(law.deviations + s, -reach, reach) for s in (step, -step)]
        assert law.inside(reach) == pytest.approx((moved[0] - moved[1]) / (2 * step), abs=4e-3)
    assert NORMAL.inside(reach) == pytest.approx(NORMAL.attenuation(reach), abs=2e-3), "equal for normal ones"
    assert LONG.inside(reach) > LONG.attenuation(reach) + 0.005
    assert LONG.inside(1.0) > LONG.attenuation(1.0) + 0.2


@pytest.mark.parametrize("name", LAWS)
def test_the_share_inside_grows_with_the_bound_up_to_all_who_are_not_beyond_it(name):
    law = LAWS[name]
    largest = float(np.abs(law.deviations).max())
    shares = [law.inside(reach) for reach in (0.0, 0.2 * largest, 0.6 * largest, 0.999 * largest, largest)]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0), "a bound that cuts nobody takes nothing away, whoever stands on it"
    assert shares[0] < 0.1


def mean_clip(noise, law=LONG, farthest=8.0):
    return clip_of_mean(law, noise=noise, farthest=farthest)


def one_sided_loss(law, bound, farthest):
    """What a bound may do to a mean, by the definition: tails on one side are taken to be longer than the law says."""
    points = [(np.clip(u, -farthest, farthest), p) for u, p in zip(law.deviations, law.shares, strict=True)]
    above, below = (sum(p * max(sign * u - bound, 0.0) for u, p in points) for sign in (1, -1))
    side = abs(above - below) / (above + below) if above + below > 0 else 0.0
    lost = sum(p * max(min((1 + (LONGER - 1) * side) * abs(u), farthest) - bound, 0.0) for u, p in points)
    return lost * math.sqrt(side**2 + EVENLY**2)


def cost(law, noise, bound, farthest=8.0):
    return (noise * bound) ** 2 + one_sided_loss(law, bound, farthest) ** 2


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("noise", [1e-4, 1e-2, 0.1, 1.0])
def test_a_mean_s_bound_is_where_noise_and_loss_together_are_smallest(noise, name):
    law = LAWS[name]
    farthest = float(np.abs(law.deviations).max())
    found = mean_clip(noise, law, farthest)
    assert law.scale <= found <= farthest
    for other in np.linspace(law.scale, farthest, 60):
        least = 1.05 * cost(law, noise, float(other), farthest)
        assert cost(law, noise, found, farthest) <= least, "but for the grid of bounds"


def test_the_more_noise_the_nearer_a_mean_is_clipped_and_the_longer_the_tail_the_further():
    bounds = [mean_clip(noise) for noise in (1e-5, 1e-3, 1e-2, 0.1, 1.0, 1e3)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] > 2 * bounds[-1]
    assert bounds[-1] == pytest.approx(LONG.scale), "no nearer than one standard deviation"
    for noise in (1e-3, 1e-2, 0.03):
        in_sds = [mean_clip(noise * law.scale, law, 100.0 * law.scale) / law.scale for law in (NORMAL, LONG)]
        assert in_sds[0] < in_sds[1], "the same noise for its size"


def test_what_is_cut_on_one_side_may_move_a_mean_by_all_of_it_and_what_is_cut_evenly_by_a_part():
    even = TargetLaw(0.0, np.array([-3.0, 0.0, 3.0]), np.array([0.1, 0.8, 0.1]))
    assert even.bias(2.0, 9.0) == pytest.approx(EVENLY * 0.2)
    tail = TargetLaw(0.0, np.array([-0.5, 4.5]), np.array([0.9, 0.1]))
    assert tail.bias(2.0, 9.0) == pytest.approx(math.hypot(1.0, EVENLY) * 0.1 * (4.5 * LONGER - 2.0))
    assert tail.bias(10.0, 20.0) == 0.0


def test_a_bound_that_nothing_can_lie_beyond_takes_nothing_however_wide_the_law_is():
    """A law that was widened may say that rows lie where none can be."""
    wide = TargetLaw(0.0, np.array([-1.0, 9.0]), np.array([0.9, 0.1]))
    assert wide.bias(4.0, 4.0) == 0.0
    assert wide.bias(3.0, 4.0) == pytest.approx(math.hypot(1.0, EVENLY) * 0.1)
    assert wide.kept(4.0, 4.0) == 1.0


def test_a_mean_with_a_tail_on_one_side_is_clipped_further_out_than_one_with_the_same_tail_on_both():
    even = TargetLaw(0.0, np.concatenate([LOPSIDED.deviations, -LOPSIDED.deviations]), np.tile(LOPSIDED.shares / 2, 2))
    one, both = (mean_clip(0.06, law, 4.0) for law in (LOPSIDED, even))
    assert one > 1.3 * both


def test_a_mean_is_clipped_further_out_where_a_near_bound_leaves_earlier_errors_in_it():
    def moved(bound):
        return 2.0 / bound

    found, without = (clip_of_mean(LONG, noise=0.1, farthest=8.0, moved=each) for each in (moved, None))
    assert found > 1.5 * without
    for other in np.linspace(LONG.scale, 8.0, 60):
        assert cost(LONG, 0.1, found) + moved(found) ** 2 <= 1.05 * (cost(LONG, 0.1, other) + moved(other) ** 2)


def test_weights_by_arm_keep_their_signs():
    """A tail of outcomes to one side is one of the score's to the side of the arm with the larger weights."""
    tail = TargetLaw(0.0, np.array([-0.5, 4.5]), np.array([0.9, 0.1]))
    chances = np.full(64, 0.2)
    law = tail.by_arm(chances, 1 / chances, -1 / (1 - chances))
    assert law.shares.sum() == pytest.approx(1.0)
    assert law.scale**2 == pytest.approx(tail.scale**2 / (0.2 * 0.8))
    assert float(law.shares @ law.deviations) == pytest.approx(0.0, abs=1e-12)
    assert law.deviations.max() == pytest.approx(4.5 / 0.2)
    assert law.deviations.min() == pytest.approx(-4.5 / 0.8)
    rarely_not = tail.by_arm(1 - chances, 1 / (1 - chances), -1 / chances)
    assert rarely_not.deviations.min() == pytest.approx(-4.5 / 0.2), "the other arm is the rarer one"


def test_weights_by_arm_follow_how_they_are_spread_over_rows():
    chances = np.random.default_rng(3).permutation(np.linspace(0.1, 0.6, 1024))
    law = NORMAL.by_arm(chances, 1 / chances, -1 / (1 - chances))
    assert law.scale**2 == pytest.approx(NORMAL.scale**2 * np.mean(1 / (chances * (1 - chances))), rel=0.01)


@pytest.mark.parametrize("noise", [0.0, 1e-9, 1.0])
@pytest.mark.parametrize("farthest", [1e-3, 0.3, 0.9, 2.0])
def test_a_mean_is_never_clipped_beyond_its_bounds_even_where_they_are_nearer_than_its_scale(farthest, noise):
    assert 0 < mean_clip(noise, farthest=farthest) <= farthest
    if farthest < LONG.scale:
        assert mean_clip(noise, farthest=farthest) == farthest


def test_without_noise_nothing_of_a_mean_is_clipped():
    assert LONG.inside(mean_clip(0.0)) == pytest.approx(1.0)
    assert mean_clip(0.0) == pytest.approx(8.0)


def clip(mu, n_rows=1000.0, farthest=1e9, law=NORMAL):
    return clip_at(law, mu=mu, n_rows=n_rows, n_terms=20, farthest=farthest)


def test_the_clip_grows_with_the_budget_and_stays_inside_the_bounds():
    clips = [clip(mu) for mu in (1e-3, 0.1, 1.0, 10.0, 1e3)]
    assert clips == sorted(clips)
    assert clips[-1] > clips[0] > 0
    assert clip(1.0, n_rows=1e6) > clip(1.0, n_rows=1e2)
    assert clip(1e9, farthest=3.0) == 3.0


def released_with_a_long_side(seed):
    """A normal outcome's law where noise shows mass far out on one side that nobody has."""
    generator = np.random.default_rng(seed)
    points = np.linspace(-20.0, 20.0, 161)
    shares = np.exp(-0.5 * ((points - 2.0) / 2.0) ** 2)
    shares /= shares.sum()
    spurious = np.where(points > 8.0, generator.uniform(0.0, 1.0, len(points)), 0.0)
    shares = 0.98 * shares + 0.02 * spurious / spurious.sum()
    centre = float(shares @ points)
    return TargetLaw(centre, points - centre, shares)


@pytest.mark.parametrize("allowed", [0.1, 0.2])
@pytest.mark.parametrize("seed", range(3))
def test_where_less_noise_is_worth_more_than_fairness_the_bound_is_nearer_and_still_fair_enough(seed, allowed):
    law = released_with_a_long_side(seed)
    options = {"mu": 0.1, "n_rows": 4_000, "n_terms": 37, "farthest": 22.0}
    fair, near = clip_at(law, **options), clip_at(law, **options, misread=allowed)
    assert near < 0.7 * fair
    assert law.unfairness(fair, law.attenuation(fair)) <= LARGEST_UNFAIRNESS
    assert law.unfairness(near, law.attenuation(near)) <= allowed
    honest = np.exp(-0.5 * ((law.deviations + law.centre - 2.0) / 2.0) ** 2)
    outcome = replace(law, shares=honest / honest.sum())
    assert outcome.inside(near) > 0.8, "of the rows that there are hardly any is clipped"


def test_a_scaled_law_is_centred_and_narrower():
    half = NORMAL.scaled(0.5)
    assert half.scale == pytest.approx(1.0, rel=1e-6)
    assert half.centre == 0.0


def test_a_law_survives_json():
    again = TargetLaw.from_dict(json.loads(json.dumps(NORMAL.to_dict())))
    assert again.scale == NORMAL.scale
    assert np.array_equal(again.deviations, NORMAL.deviations)


@pytest.mark.parametrize(("centre", "spread"), [(0.0, 1.0), (4.0, 2.0), (-3.0, 0.7)])
def test_a_generous_budget_finds_centre_and_scale(centre, spread):
    law = released(np.random.default_rng(1).normal(centre, spread, 5000).clip(-10, 10), -10.0, 10.0)
    assert law.centre == pytest.approx(centre, abs=0.1)
    assert law.scale == pytest.approx(spread, rel=0.15)
    assert law.shares.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("mu", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize("n_rows", [0, 1, 50])
def test_little_data_gives_a_law_with_positive_scale(mu, n_rows):
    law = released(np.full(n_rows, 0.4), 0.0, 1.0, mu=mu)
    assert 0 < law.scale <= 1
    assert 0 <= law.centre <= 1


def test_a_target_narrower_than_a_cell_is_not_taken_for_narrower_than_it_is():
    law = released(np.random.default_rng(2).normal(0.51, 0.004, 5000), 0.0, 1.0)
    assert law.scale > 0.25 / N_CELLS, "within a cell nothing is known: the scale is that of the cell at least"
