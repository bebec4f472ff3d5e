import numpy as np
import pytest
from scipy.optimize import minimize

from dpcate.models.additive.error_draws import _root
from dpcate.models.additive.evidence import SCALE_MEAN, Evidence
from dpcate.models.additive.gram import Gram
from dpcate.models.additive.posterior import Prior, solve

GROUPS = np.array([0, 1, 1, 1, 2, 2, 0])
SIZES = np.array([0.5, 1.0, 0.4, 0.1, 1.0, 0.3, 2.0])
N_ROWS, SAMPLING = 500.0, 1.3


def make(seed=0, *, noise=20.0, gram_noise=15.0, coefficients=None):
    generator = np.random.default_rng(seed)
    root = generator.normal(size=(len(SIZES), len(SIZES))) / 6 + np.eye(len(SIZES))
    G = N_ROWS * root @ root.T
    theta = generator.normal(size=len(SIZES)) * np.sqrt(SIZES) * 0.5 if coefficients is None else coefficients
    covariance = noise**2 * np.diag(generator.uniform(0.5, 2.0, len(SIZES)))
    z = G @ theta + np.linalg.cholesky(covariance + SAMPLING * G) @ generator.normal(size=len(SIZES))
    return theta, (z, covariance, Gram(G, np.full(G.shape, gram_noise**2))), Prior(SIZES, GROUPS)


def solved(seed=0, **changes):
    theta, (z, covariance, gram), prior = make(seed, **changes)
    return theta, solve(z, covariance, gram, sampling=SAMPLING, prior=prior)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("gram_noise", [0.0, 15.0])
@pytest.mark.parametrize("log_scales", [[-2.0, -1.0], [SCALE_MEAN, SCALE_MEAN], [1.0, -8.0]])
def test_gradient_and_hessian_of_the_evidence_are_those_of_finite_differences(seed, gram_noise, log_scales):
    _, (z, covariance, gram), prior = make(seed, gram_noise=gram_noise)
    evidence = Evidence(z, covariance, gram, SAMPLING, prior)
    at, step = np.array(log_scales), 1e-5
    _, gradient, hessian, _ = evidence(at)
    after, before = ([evidence(at + sign * step * unit) for unit in np.eye(len(at))] for sign in (1, -1))
    assert gradient == pytest.approx(
        [(a[0] - b[0]) / (2 * step) for a, b in zip(after, before, strict=True)], rel=1e-5, abs=1e-6
    )
    assert hessian == pytest.approx(
        np.array([(a[1] - b[1]) / (2 * step) for a, b in zip(after, before, strict=True)]), rel=1e-5, abs=1e-6
    )


def test_the_expected_hessian_is_the_mean_of_hessians_over_the_law_of_z():
    _, (z, covariance, gram), prior = make(gram_noise=0.0)
    at = np.array([-2.0, -1.0])
    expected = Evidence(z, covariance, gram, SAMPLING, prior)(at)[3]
    law = (gram.matrix * prior.variances(at)) @ gram.matrix + SAMPLING * gram.matrix + covariance
    draws = np.random.default_rng(0).multivariate_normal(np.zeros(len(z)), law, size=4000)
    seen = np.mean([Evidence(draw, covariance, gram, SAMPLING, prior)(at)[2] for draw in draws], axis=0)
    assert seen == pytest.approx(expected, rel=0.1, abs=0.03)


@pytest.mark.parametrize("gram_noise", [0.0, 15.0])
@pytest.mark.parametrize("seed", range(6))
def test_the_search_ends_where_a_general_one_would(seed, gram_noise):
    _, (z, covariance, gram), prior = make(seed, gram_noise=gram_noise)
    evidence = Evidence(z, covariance, gram, SAMPLING, prior)
    general = minimize(
        lambda at: evidence(at)[:2], np.full(2, SCALE_MEAN), jac=True, method="L-BFGS-B", bounds=[(-12.0, 3.0)] * 2
    )
    found = solve(z, covariance, gram, sampling=SAMPLING, prior=prior).log_scales
    assert evidence(found)[0] <= general.fun + 1e-7
    assert found == pytest.approx(general.x, abs=1e-2)


def test_without_noise_the_mean_is_least_squares():
    _, (z, covariance, gram), prior = make(noise=1e-4, gram_noise=0.0)
    found = solve(z, covariance, gram, sampling=1e-8, prior=prior)
    assert found.mean == pytest.approx(np.linalg.solve(gram.matrix, z), rel=1e-4)


def test_a_group_without_signal_shrinks_to_nearly_nothing_and_others_do_not():
    theta = np.array([0.5, 1.0, 0.5, 0.2, 0.0, 0.0, -1.0])
    found = [solved(seed, coefficients=theta, gram_noise=0.0)[1] for seed in range(8)]
    mean = np.array([posterior.mean for posterior in found])
    assert np.abs(mean[:, 1] - 1.0).mean() < 0.15
    assert np.abs(mean[:, 4]).mean() < 0.06
    assert np.abs(mean[:, 6] + 1.0).mean() < 0.15
    assert np.mean([posterior.log_scales[1] for posterior in found]) < np.mean(
        [posterior.log_scales[0] for posterior in found]
    )


def test_drowned_in_noise_the_mean_is_nearly_zero():
    _, found = solved(noise=1e6)
    assert np.abs(found.mean).max() < 0.05


def test_noise_in_the_gram_matrix_widens_the_posterior():
    _, exact = solved(gram_noise=0.0)
    _, noisy = solved(gram_noise=150.0)
    assert np.trace(noisy.covariance) > np.trace(exact.covariance)


@pytest.mark.parametrize("noise", [1e-6, 1.0, 100.0, 1e8])
def test_the_covariance_is_that_of_something_at_any_noise(noise):
    _, found = solved(noise=noise)
    assert np.isfinite(found.mean).all()
    assert found.covariance == pytest.approx(found.covariance.T, abs=1e-9)
    assert np.linalg.eigvalsh(found.covariance).min() > -1e-9


def test_the_stated_error_is_about_the_error_when_the_prior_is_right():
    """Squared error over stated variance: above one, as the scales come from two or three coefficients."""
    ratios = []
    for seed in range(25):
        theta, found = solved(seed, gram_noise=0.0)
        inside = GROUPS > 0
        ratios.append(((found.mean - theta)[inside] ** 2 / np.diagonal(found.covariance)[inside]).mean())
    assert 0.6 < np.mean(ratios) < 2.2


def test_without_any_group_there_is_nothing_to_search_and_still_a_posterior():
    _, (z, covariance, gram), _ = make()
    found = solve(z, covariance, gram, sampling=SAMPLING, prior=Prior(SIZES, np.zeros(len(SIZES), dtype=np.int64)))
    assert len(found.log_scales) == 0
    assert np.isfinite(found.mean).all()


@pytest.mark.parametrize("start", [[-6.0, -6.0], [0.0, -2.0]])
def test_where_the_search_starts_does_not_change_what_it_finds(start):
    _, (z, covariance, gram), prior = make()
    usual = solve(z, covariance, gram, sampling=SAMPLING, prior=prior)
    other = solve(z, covariance, gram, sampling=SAMPLING, prior=prior, start=np.array(start))
    assert other.log_scales == pytest.approx(usual.log_scales, abs=1e-2)
    assert other.mean == pytest.approx(usual.mean, abs=1e-3)


@pytest.mark.parametrize("leaning", [False, True])
@pytest.mark.parametrize("n_rows", [1e4, 1e8, 1e12])
def test_with_any_number_of_rows_variances_are_never_negative_and_errors_can_be_drawn(leaning, n_rows):
    groups = np.concatenate([[0], np.repeat(np.arange(1, 9), 5)])
    sizes, leading = np.concatenate([[0.2], np.tile([0.4, 0.05, 0.05, 0.004, 0.0016], 8)]), 1 + 5 * np.arange(8)
    G = np.eye(41)
    G[np.ix_(leading, leading)] += 0.9 - 0.9 * np.eye(8)
    along = np.where(np.isin(np.arange(41), leading), 0.35, 0.02)
    prior, gram = Prior(sizes, groups, along if leaning else None), Gram(n_rows * G, np.zeros_like(G))
    z = n_rows * G @ (0.3 * along) + np.sqrt(n_rows) * np.random.default_rng(0).normal(size=41)
    posterior = solve(z, 1e4 * np.eye(41), gram, sampling=0.01, prior=prior)
    assert (np.diagonal(posterior.covariance) >= 0.0).all()
    root = _root(posterior.covariance)
    assert np.isfinite(root).all()
    assert root @ root.T == pytest.approx(posterior.covariance, abs=1e-7)
