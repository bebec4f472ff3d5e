"""The posterior again, written down plainly: a joint normal law, textbook conditioning, and a search by brute force.

Nothing here is shared with the package but the problem's numbers and the constants of the prior on the scales.
"""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal, norm

from dpcate.models.additive import evidence
from dpcate.models.additive.evidence import LARGEST_SCALE, SMALLEST_SCALE
from dpcate.models.additive.gram import Gram
from dpcate.models.additive.posterior import Prior, solve

GROUPS = [0, 1, 1, 2, 2]
SIZES = [0.5, 1.0, 0.3, 0.8, 0.2]
LOW, HIGH = SMALLEST_SCALE, LARGEST_SCALE


def make_problem(seed):
    """Random normal equations: z = G theta + sampling noise + privacy noise + (error of G) theta."""
    generator = np.random.default_rng(seed)
    n_terms = len(SIZES)
    design = generator.normal(size=(400, n_terms)) * 0.6
    design[:, 0] = 1.0
    G = design.T @ design
    spread = np.abs(generator.normal(size=(n_terms, n_terms))) * 10
    gram_variance = (spread + spread.T) ** 2 / 4
    noise = generator.normal(size=(n_terms, n_terms)) * 8
    noise = noise @ noise.T + 25 * np.eye(n_terms)
    theta = generator.normal(size=n_terms) * np.sqrt(SIZES) * generator.choice([0.1, 1.0], n_terms)
    sampling = float(generator.uniform(0.5, 2.0))
    z = G @ theta + generator.multivariate_normal(np.zeros(n_terms), noise + sampling * G)
    return {"z": z, "noise": noise, "G": G, "gram_variance": gram_variance, "sampling": sampling}


def prior_variances(log_scales):
    return [
        size if group == 0 else size * np.exp(log_scales[group - 1]) for size, group in zip(SIZES, GROUPS, strict=True)
    ]


def error_covariance(problem, log_scales):
    """Covariance of everything in z but G theta."""
    variances, covariance = prior_variances(log_scales), problem["noise"] + problem["sampling"] * problem["G"]
    for i in range(len(SIZES)):
        for j in range(len(SIZES)):
            size = variances[j]
            if GROUPS[j] == 0:  # not shrunk, so its size is read off z itself where that is smaller
                size = min(SIZES[j], (problem["z"][j] / problem["G"][j, j]) ** 2)
            covariance[i, i] += problem["gram_variance"][i, j] * size
    return covariance


def joint_covariance(problem, log_scales):
    """Covariance of (theta, z)."""
    V, G = np.diag(prior_variances(log_scales)), problem["G"]
    return np.block([[V, V @ G.T], [G @ V, G @ V @ G.T + error_covariance(problem, log_scales)]])


def log_posterior_of_scales(problem, log_scales):
    n_terms = len(SIZES)
    marginal = joint_covariance(problem, log_scales)[n_terms:, n_terms:]
    likelihood = multivariate_normal(np.zeros(n_terms), marginal).logpdf(problem["z"])
    return likelihood + norm.logpdf(log_scales, evidence.SCALE_MEAN, evidence.SCALE_SD).sum()


def best_scales(problem):
    """Grid over all scales, then a simplex search from the best point: no derivatives."""
    grid = np.linspace(LOW, HIGH, 21)
    start = max(itertools.product(grid, grid), key=lambda point: log_posterior_of_scales(problem, point))
    found = minimize(
        lambda point: -log_posterior_of_scales(problem, np.clip(point, LOW, HIGH)),
        start,
        method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-13, "maxiter": 2000},
    )
    return np.clip(found.x, LOW, HIGH)


def condition(problem, log_scales):
    """Mean and covariance of theta given z, by the formula for a partitioned normal vector."""
    n_terms, joint = len(SIZES), joint_covariance(problem, log_scales)
    cross, inverse = joint[:n_terms, n_terms:], np.linalg.inv(joint[n_terms:, n_terms:])
    return cross @ inverse @ problem["z"], joint[:n_terms, :n_terms] - cross @ inverse @ cross.T


def solve_ours(problem):
    gram = Gram(problem["G"], problem["gram_variance"])
    prior = Prior(np.array(SIZES), np.array(GROUPS))
    return solve(problem["z"], problem["noise"], gram, sampling=problem["sampling"], prior=prior)


each_problem = pytest.mark.parametrize("seed", range(8))


@each_problem
def test_given_the_scales_the_posterior_is_the_textbook_s(seed):
    problem = make_problem(seed)
    found = solve_ours(problem)
    mean, covariance = condition(problem, found.log_scales)
    assert found.mean == pytest.approx(mean, rel=1e-6, abs=1e-9)
    assert found.covariance == pytest.approx(covariance, rel=1e-6, abs=1e-9)


@each_problem
def test_the_scales_and_the_posterior_agree_with_brute_force(seed):
    problem = make_problem(seed)
    found, scales = solve_ours(problem), best_scales(problem)
    mean, covariance = condition(problem, scales)
    assert found.log_scales == pytest.approx(scales, abs=1e-4)
    assert found.mean == pytest.approx(mean, abs=1e-6)
    assert found.covariance == pytest.approx(covariance, abs=1e-6)
