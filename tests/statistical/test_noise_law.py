"""The law of the noise, tested with power: right draws pass, draws at 1.1 times the scale or off centre do not.

Sample sizes are fixed so that a right sampler fails with probability below 1e-6 and a wrong one passes with
probability below 1e-3; a test of the design says so.
"""

import numpy as np
import pytest
from scipy.stats import chi2, ncx2, norm

from dpcate.mechanisms import HistogramRelease, SeededNoise, SystemNoise, VectorSum

N_DRAWS = 20_000
LEVEL = 1e-7
CASES = [(SystemNoise(), 4.3), (SystemNoise(), 2.0**21), (SeededNoise(11), 3000.0), (SeededNoise(12), 2.0**21)]


def edges(scale):
    """Half-integers that cut the law into about twenty cells of equal probability."""
    return np.unique(np.floor(scale * norm.ppf(np.arange(1, 20) / 20))) + 0.5


def cell_probabilities(cuts, scale, shift=0.0):
    """Exact for small scales; for large ones the normal law at half-integers, which differs by less than 1e-8."""
    if scale > 500:
        return np.diff(norm.cdf(cuts - shift, scale=scale), prepend=0.0, append=1.0)
    support = np.arange(-40 * int(scale + 1), 40 * int(scale + 1) + 1)
    weights = np.exp(-((support - shift) ** 2) / (2 * scale**2))
    return np.bincount(np.searchsorted(cuts, support), weights, minlength=len(cuts) + 1) / weights.sum()


def fits(draws, scale):
    """Whether a chi-square test at level 1e-7 accepts that the draws are discrete Gaussian of this scale."""
    cuts = edges(scale)
    expected = len(draws) * cell_probabilities(cuts, scale)
    observed = np.bincount(np.searchsorted(cuts, draws), minlength=len(cuts) + 1)
    return float(((observed - expected) ** 2 / expected).sum()) < chi2.isf(LEVEL, len(cuts))


@pytest.mark.parametrize("scale", [4.3, 3000.0, 2.0**21])
def test_the_design_has_power_above_999_in_1000(scale):
    cuts = edges(scale)
    right = cell_probabilities(cuts, scale)
    for wrong in (
        cell_probabilities(cuts, 1.1 * scale),
        cell_probabilities(cuts, scale / 1.1),
        cell_probabilities(cuts, scale, shift=0.12 * scale),
    ):
        distance = N_DRAWS * float(((wrong - right) ** 2 / right).sum())
        assert ncx2.sf(chi2.isf(LEVEL, len(cuts)), len(cuts), distance) > 0.999


@pytest.mark.parametrize(("source", "scale"), CASES)
def test_noise_has_the_stated_law_and_the_test_would_notice_otherwise(source, scale):
    draws = source.discrete_gaussian(scale, N_DRAWS)
    assert fits(draws, scale)
    assert not fits(draws + 0.12 * scale, scale)
    assert not fits(source.discrete_gaussian(1.1 * scale, N_DRAWS), scale)
    assert not fits(source.discrete_gaussian(scale / 1.1, N_DRAWS), scale)


def variance_fits(draws, scale):
    """Whether the mean square is within 6 standard errors of scale^2: that fails once in 1e9."""
    return abs(float(np.mean(draws.astype(float) ** 2)) / scale**2 - 1) < 6 * np.sqrt(2 / len(draws))


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_releases_carry_the_noise_scale_that_they_state(neighbours):
    vector_sum = VectorSum(bound=3.0, mu=0.5, neighbours=neighbours)
    noisy = vector_sum.add_noise(np.zeros(N_DRAWS, dtype=np.int64), SystemNoise())
    assert variance_fits(noisy, vector_sum.noise_scale)
    assert not variance_fits(1.1 * noisy, vector_sum.noise_scale)
    histogram = HistogramRelease(n_cells=(N_DRAWS // 2, N_DRAWS // 2), mu=0.5, neighbours=neighbours)
    counts = np.concatenate(histogram.release([np.zeros(0, dtype=int)] * 2, SystemNoise()))
    assert variance_fits(counts, histogram.noise_scale)
    assert not variance_fits(1.1 * counts, histogram.noise_scale)


@pytest.mark.parametrize("source", [SystemNoise(), SeededNoise(13)])
def test_entries_and_releases_are_not_correlated(source):
    draws = [source.discrete_gaussian(1e4, N_DRAWS) for _ in range(2)]
    bound = 6 / np.sqrt(N_DRAWS)
    assert abs(np.corrcoef(draws[0], draws[1])[0, 1]) < bound
    assert abs(np.corrcoef(draws[0][1:], draws[0][:-1])[0, 1]) < bound
    assert abs(np.corrcoef(draws[0], draws[1] + draws[0] // 10)[0, 1]) > bound
