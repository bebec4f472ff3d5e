"""The parts of the boosting machine that never see a row: bins, leaves, range, shrinkage."""

import numpy as np
import pytest

from dpcate.models.ebm.binning import bin_columns, cells_of_codes
from dpcate.models.ebm.curves import Curves
from dpcate.models.ebm.losses import LogisticLoss
from dpcate.models.ebm.partition import random_leaves
from dpcate.models.ebm.shrinkage import noise_covariance, shrink
from dpcate.models.ebm.target_range import best_range
from dpcate.models.simplex import project_to_simplex
from dpcate.schema import Category, Number

AGE, TOWN = Number("age", 0, 1), Category("town", list("abcdefgh"))
MANY = Category("many", list(range(100)))


def make_bins(column, cells, **changes):
    options = {"total": None, "scale": 1.0, "max_bins": 8}
    return bin_columns([column], [np.asarray(cells, dtype=float)], **{**options, **changes})[0]


def test_cells_of_a_number_are_equal_pieces_and_missing_stands_apart():
    cells = cells_of_codes(AGE)
    assert cells[0] == 0
    assert np.array_equal(np.bincount(cells[1:])[1:], np.full(64, 16))


def test_bins_hold_roughly_equal_weight():
    counts = np.concatenate([[0.0], np.exp(-0.5 * np.linspace(-4, 4, 64) ** 2)]) * 1000
    bins = make_bins(AGE, counts)
    assert bins.n_bins == 9
    assert bins.weight[1:].max() < 2 * bins.weight[1:].min()
    assert bins.weight.sum() == pytest.approx(counts.sum())


def test_negative_counts_make_valid_bins():
    noisy = np.random.default_rng(0).normal(size=65) * 50
    bins = make_bins(AGE, noisy, total=10.0)
    assert bins.weight.min() >= 0
    assert bins.share.min() >= 0
    assert bins.share.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("cells", [np.zeros(65), -np.ones(65), np.full(65, 1e-300)])
def test_empty_tables_make_valid_bins(cells):
    bins = make_bins(AGE, cells)
    assert bins.share.sum() == pytest.approx(1.0)


def test_every_level_of_a_category_keeps_a_bin_of_its_own():
    assert make_bins(TOWN, [0, 900, 1, 1, 0, 0, 0, 0, 0]).n_bins == 9


def test_the_projection_is_the_nearest_point_of_the_simplex():
    generator = np.random.default_rng(1)
    noisy = generator.normal(size=6) * 3
    best = project_to_simplex(noisy, 2.0)
    assert best.sum() == pytest.approx(2.0)
    others = generator.dirichlet(np.ones(6), size=5000) * 2.0
    assert (np.sum((others - noisy) ** 2, axis=1) >= np.sum((best - noisy) ** 2)).all()


def test_leaves_of_a_number_are_runs_and_missing_joins_any():
    bins = make_bins(AGE, np.ones(65))
    leaves = random_leaves(bins, leaves=3, rounds=400, coins=np.random.default_rng(0))
    assert leaves.shape == (400, bins.n_bins)
    assert (np.diff(leaves[:, 1:], axis=1) >= 0).all()
    assert (leaves[:, 1:].max(axis=1) == 2).all()
    assert set(leaves[:, 0]) == {0, 1, 2}
    cuts = np.diff(leaves[:, 1:], axis=1).mean(axis=0)
    assert cuts == pytest.approx(2 / 7, abs=0.12)


def test_leaves_of_a_category_group_any_levels():
    bins = make_bins(TOWN, np.ones(9))
    leaves = random_leaves(bins, leaves=3, rounds=500, coins=np.random.default_rng(0))
    together = (leaves[:, 1] == leaves[:, 8]).mean()
    assert 0.2 < together < 0.7
    assert (leaves.max(axis=1) == 2).all()


def test_with_fewer_bins_than_leaves_each_bin_is_a_leaf():
    bins = make_bins(Category("only", ["x"]), [1, 1])
    leaves = random_leaves(bins, leaves=3, rounds=5, coins=np.random.default_rng(0))
    assert all(set(row) == {0, 1} for row in leaves)


def test_noise_covariance_is_that_of_simulated_steps():
    generator = np.random.default_rng(0)
    leaf, gains = generator.integers(3, size=(6, 5)), generator.uniform(0.05, 0.2, (6, 3))
    curvatures, variances = generator.uniform(0.5, 2, (6, 5)), generator.uniform(1, 4, (6, 3))
    curves = np.zeros((100_000, 5))
    for k in range(6):
        noise = generator.normal(size=(100_000, 3)) * np.sqrt(variances[k])
        member = leaf[k] == np.arange(3)[:, None]
        curves += (gains[k] * (noise - curves @ (member * curvatures[k]).T))[:, leaf[k]]
    expected = noise_covariance(*(part[:, None] for part in (leaf, gains, curvatures, variances)))[0]
    assert np.cov(curves.T) == pytest.approx(expected, abs=0.02 * expected.max())


def test_a_curve_within_its_noise_becomes_flat_and_a_clear_one_stays():
    share, covariance = np.full(4, 0.25), np.eye(4)
    assert np.ptp(shrink(np.array([0.5, -0.5, 0.5, -0.5]), share, covariance)) == 0
    assert shrink(np.array([50.0, -50.0, 50.0, -50.0]), share, covariance) == pytest.approx(
        [50, -50, 50, -50], rel=1e-3
    )


def test_shrinking_keeps_the_mean():
    share = np.array([0.7, 0.1, 0.2])
    curve = np.array([1.0, 5.0, -2.0])
    assert share @ shrink(curve, share, 3 * np.eye(3)) == pytest.approx(share @ curve)


EDGES = np.linspace(-100, 100, 129)
MIDDLE = (EDGES[:-1] + EDGES[1:]) / 2


def normal_share(sd):
    share = np.exp(-0.5 * (MIDDLE / sd) ** 2)
    return share / share.sum()


def test_a_narrow_distribution_gets_a_narrow_range_and_more_noise_a_narrower_one():
    clear = best_range(normal_share(5), EDGES, scale=1e-4, noise_per_reach=1e-3)
    noisy = best_range(normal_share(5), EDGES, scale=1e-4, noise_per_reach=0.1)
    assert 10 < clear.high < 30
    assert 5 < noisy.high < clear.high
    assert clear.variance == pytest.approx(25, rel=0.05)


def test_a_few_far_targets_that_are_clearly_seen_stay_inside_when_noise_is_small():
    share = np.zeros(128)
    share[0], share[-1] = 0.9, 0.1
    held = best_range(share, EDGES, scale=0.001, noise_per_reach=0.01)
    assert (held.low, held.high) == (-100, 100)


def test_a_histogram_of_noise_alone_keeps_the_public_range():
    for seed in range(20):
        noise = np.random.default_rng(seed).normal(size=128) * 0.5
        held = best_range(noise, EDGES, scale=0.5, noise_per_reach=1.0)
        assert (held.low, held.high) == (-100, 100)


def test_with_a_loading_the_reach_is_measured_from_zero():
    share = np.roll(normal_share(5), 20)
    held = best_range(share, EDGES, scale=1e-4, noise_per_reach=0.05, about_zero=True)
    assert held.low <= 0 or held.low < held.high
    assert held.high > 31


def test_inputs_of_different_size_are_shrunk_as_if_each_were_alone():
    coins = np.random.default_rng(3)
    bins = [make_bins(AGE, np.arange(65.0)), make_bins(TOWN, np.arange(9.0)), make_bins(MANY, np.arange(101.0))]
    leaf_of_bin = [random_leaves(column, leaves=3, rounds=5, coins=coins) for column in bins]
    together = take_steps(bins, leaf_of_bin)
    alone = [take_steps([column], [leaf])[0] for column, leaf in zip(bins, leaf_of_bin, strict=True)]
    for one, other in zip(together, alone, strict=True):
        assert one == pytest.approx(other, rel=1e-9)
        assert np.ptp(one) > 0


def take_steps(bins, leaf_of_bin):
    loss = LogisticLoss(target=np.zeros(0))
    curves = Curves(bins, leaf_of_bin, 3)
    for k in range(5):
        curves.plan_round(k, loss, learning_rate=0.1, noise_scale=0.01)
    for j, column in enumerate(bins):
        curves.values[j] += np.linspace(0, 3, column.n_bins)
    return curves.shrunk()
