"""Averaging over the scales, against integration by brute force on a problem small enough for it."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from dpcate.models.additive.evidence import SCALE_MEAN, SCALE_SD
from dpcate.models.additive.gram import Gram
from dpcate.models.additive.posterior import Prior, solve
from dpcate.models.additive.scales import _IN_COMMON as IN_COMMON
from dpcate.models.additive.scales import GRID
from dpcate.models.additive.scales import _among_alike as among_alike
from dpcate.models.additive.scales import _by_itself as by_itself

GROUPS, SIZES = np.array([0, 1, 1, 2]), np.array([0.5, 1.0, 0.4, 1.0])
SAMPLING = 1.0
FINE = np.linspace(GRID[0], GRID[-1], 301)


def members(group):
    return [i for i, own in enumerate(GROUPS) if own == group]


def make(seed, *, signal, noise):
    generator = np.random.default_rng(seed)
    root = np.eye(4) + generator.normal(size=(4, 4)) / 5
    G = 200.0 * root @ root.T
    theta = signal * generator.normal(size=4) * np.sqrt(SIZES)
    privacy = noise**2 * np.eye(4)
    z = G @ theta + np.linalg.cholesky(privacy + SAMPLING * G) @ generator.normal(size=4)
    return z, privacy, G


def solved(problem):
    z, privacy, G = problem
    return solve(z, privacy, Gram(G, np.zeros_like(G)), sampling=SAMPLING, prior=Prior(SIZES, GROUPS))


def conditioned(problem, log_scales):
    """Mean and covariance of the coefficients, and the log density of z, by the joint normal law."""
    z, privacy, G = problem
    V = np.diag([size * (np.exp(log_scales[k - 1]) if k else 1.0) for size, k in zip(SIZES, GROUPS, strict=True)])
    law = G @ V @ G + SAMPLING * G + privacy
    gain = V @ G @ np.linalg.inv(law)
    return gain @ z, V - gain @ G @ V, multivariate_normal(np.zeros(4), law).logpdf(z)


def integrated(problem, log_scales, k, points):
    """Mean square error about the released coefficients and expected scale, over the law of the scale of group k."""
    own = members(k)
    middle = conditioned(problem, log_scales)[0][own]
    weights, errors = [], []
    for scale in points:
        at = np.array(log_scales, dtype=float)
        at[k - 1] = scale
        mean, covariance, log_density = conditioned(problem, at)
        away = mean[own] - middle
        errors.append(covariance[np.ix_(own, own)] + np.outer(away, away))
        weights.append(log_density + norm.logpdf(scale, SCALE_MEAN, SCALE_SD))
    weights = np.exp(np.array(weights) - max(weights))
    weights /= weights.sum()
    return np.einsum("s,sij->ij", weights, np.array(errors)), float(weights @ np.exp(points))


def without_negative_part(matrix):
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.maximum(values, 0)) @ vectors.T


each_problem = pytest.mark.parametrize(("signal", "noise"), [(0.0, 60.0), (0.3, 60.0), (1.0, 5.0)])


def compared(seed, signal, noise, k, points):
    """Expected scale and added covariance of a group, as found and by integration over the points."""
    problem = make(seed, signal=signal, noise=noise)
    found = solved(problem)
    doubt = found.doubt()
    own = np.ix_(members(k), members(k))
    whole, scale = integrated(problem, found.log_scales, k, points)
    missing = without_negative_part(whole - found.covariance[own])
    return (doubt.expected[k - 1], scale), (doubt.covariance[own], missing), np.abs(whole).max()


@pytest.mark.parametrize("k", [1, 2])
@each_problem
@pytest.mark.parametrize("seed", range(3))
def test_on_its_own_grid_the_doubt_is_the_sum_over_the_joint_law(seed, signal, noise, k):
    scales, covariances, _ = compared(seed, signal, noise, k, GRID)
    assert scales[0] == pytest.approx(scales[1], rel=1e-6)
    assert covariances[0] == pytest.approx(covariances[1], rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("k", [1, 2])
@each_problem
def test_the_grid_is_fine_enough_to_stand_for_an_integral(signal, noise, k):
    scales, covariances, size = compared(2, signal, noise, k, FINE)
    assert scales[0] == pytest.approx(scales[1], rel=0.2)
    assert covariances[0] == pytest.approx(covariances[1], rel=0.2, abs=0.05 * size)


def test_where_noise_hides_a_group_the_doubt_is_most_of_the_error():
    found = solved(make(1, signal=0.0, noise=60.0))
    own = np.ix_(members(1), members(1))
    assert np.trace(found.doubt().covariance[own]) > np.trace(found.covariance[own])


def test_groups_do_not_mix_and_nothing_becomes_more_certain():
    doubt = solved(make(0, signal=0.3, noise=60.0)).doubt().covariance
    assert not doubt[0].any()
    assert not doubt[np.ix_(GROUPS == 1, GROUPS == 2)].any()
    assert np.linalg.eigvalsh(doubt).min() >= -1e-12


# Groups that are alike


def many(signals):
    """Groups of one coefficient each, equally well known, with these effects in standard deviations of their noise."""
    G, groups = 100.0 * np.eye(len(signals) + 1), np.arange(len(signals) + 1)
    noise = 400.0 * np.eye(len(G))
    z = np.append(0.0, np.array(signals) * np.sqrt(400.0 + 100.0 * SAMPLING))
    return solve(z, noise, Gram(G, np.zeros_like(G)), sampling=SAMPLING, prior=Prior(np.ones(len(G)), groups))


def test_a_group_among_silent_ones_is_expected_to_be_small_and_among_loud_ones_large():
    silent, loud = (many([1.0, *rest]).doubt(alike=True).expected[0] for rest in ([0.3] * 7, [12.0] * 7))
    apart = many([1.0, *[0.3] * 7]).doubt().expected[0]
    assert silent < 0.6 * apart
    assert loud > 1.5 * apart


def test_alone_a_group_has_the_law_that_it_has_by_itself():
    for signal in (0.0, 2.0, 12.0):
        found = many([signal])
        assert found.doubt(alike=True).expected == pytest.approx(found.doubt().expected, rel=0.1)


def test_two_alike_have_the_law_of_two_correlated_log_scales():
    one, other = np.exp(-0.5 * ((GRID + 6.0) / 4.0) ** 2), np.exp(-0.5 * (GRID + 1.0) ** 2)  # vague, and clear
    covariance = SCALE_SD**2 * np.array([[1.0, IN_COMMON], [IN_COMMON, 1.0]])
    pairs = np.stack(np.meshgrid(GRID, GRID, indexing="ij"), axis=-1) - SCALE_MEAN
    joint = one[:, None] * other * multivariate_normal(np.zeros(2), covariance).pdf(pairs)
    wanted = joint.sum(axis=1) / joint.sum()
    likely = np.stack([one, other])
    for found in (among_alike([likely])(likely)[0], among_alike([likely[:1], likely[1:]])(likely[:1])[0]):
        assert found == pytest.approx(wanted, abs=5e-3)  # what lies beyond the grid is dealt with differently
    assert np.abs(by_itself(likely)[0] - wanted).max() > 0.02


def test_what_no_scale_explains_well_is_still_finite():
    found = many([0.0, 300.0, 1e5])
    doubt = found.doubt(alike=True)
    assert np.isfinite(doubt.expected).all()
    assert np.isfinite(doubt.covariance).all()
