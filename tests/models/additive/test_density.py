import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dpcate.models.additive.density import category_shares, smooth_shares

CELLS = 64
MIDDLES = (np.arange(CELLS) + 0.5) / CELLS
DENSITIES = {
    "even": np.ones(CELLS),
    "bell": np.exp(-((MIDDLES - 0.4) ** 2) / 2 / 0.12**2),
    "skewed": np.exp(-4 * MIDDLES),
    "two humps": np.exp(-((MIDDLES - 0.25) ** 2) / 0.01) + np.exp(-((MIDDLES - 0.75) ** 2) / 0.02),
}
both = pytest.mark.parametrize("estimate", [smooth_shares, category_shares])


@both
def test_shares_are_positive_and_sum_to_one_whatever_was_released(estimate):
    @settings(deadline=None)
    @given(noisy=hnp.arrays(np.float64, 16, elements=st.floats(-1e6, 1e6)), scale=st.floats(1e-6, 1e4))
    def check(noisy, scale):
        shares = estimate(noisy, scale)
        assert shares.min() > 0
        assert shares.sum() == pytest.approx(1.0)

    check()


@pytest.mark.parametrize("name", DENSITIES)
def test_a_smooth_density_is_recovered_better_than_the_noisy_counts_show_it(name):
    truth = DENSITIES[name] / DENSITIES[name].sum()
    generator = np.random.default_rng(1)
    raw, smoothed = [], []
    for _ in range(20):
        noisy = 2000 * truth + generator.normal(scale=12.0, size=CELLS)
        raw.append(np.abs(noisy / noisy.sum() - truth).sum())
        smoothed.append(np.abs(smooth_shares(noisy, 12.0) - truth).sum())
    assert np.mean(smoothed) < 0.6 * np.mean(raw)
    assert np.mean(smoothed) < 0.2


@both
def test_without_noise_the_shares_are_those_of_the_counts(estimate):
    truth = DENSITIES["two humps"] / DENSITIES["two humps"].sum()
    assert np.abs(estimate(1e5 * truth, 1e-3) - truth).sum() < 0.01


def test_nothing_but_noise_gives_shares_that_no_cell_dominates():
    generator = np.random.default_rng(2)
    largest = [smooth_shares(generator.normal(scale=50.0, size=CELLS) + 2, 50.0).max() for _ in range(50)]
    assert np.median(largest) < 0.5


def test_an_empty_category_level_gets_almost_no_share():
    noisy = np.concatenate([[900.0, 600.0], np.random.default_rng(3).normal(scale=8.0, size=100)])
    shares = category_shares(noisy, 8.0)
    assert shares[2:].sum() < 0.1
    assert shares[:2] == pytest.approx([0.6, 0.4], abs=0.06)
