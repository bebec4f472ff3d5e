"""From noisy equations to coefficients with their error: empirical Bayes with the whole noise law.

z = G theta + sampling noise + privacy noise on z + (error of G) theta. All four parts have known laws given one scale
per group of coefficients; the scales maximise the marginal likelihood of z under a weak prior.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.optimize import minimize

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcate.models.additive.gram import Gram

__all__ = ["Posterior", "Prior", "solve"]

SCALE_MEAN, SCALE_SD = -4.0, 4.0
"""Prior of the log of a group's scale, around and beyond what the design assumes."""

_BOUNDS = (-12.0, 3.0)


@dataclass(frozen=True, slots=True)
class Prior:
    """Prior variances: ``sizes * exp(log scale of the group)``.

    Parameters
    ----------
    sizes
        Prior variance of each coefficient at scale one.
    groups
        Group of each coefficient; group 0 (the intercept, a treatment term) keeps its size, so it is hardly shrunk.
    """

    sizes: NDArray[np.float64]
    groups: NDArray[np.int64]

    def variances(self, log_scales: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the variance of each coefficient."""
        variances: NDArray[np.float64] = self.sizes * np.exp(np.append(0.0, log_scales))[self.groups]
        return variances


@dataclass(frozen=True, slots=True)
class Posterior:
    """Coefficients with their covariance, and the log scales that were found."""

    mean: NDArray[np.float64]
    covariance: NDArray[np.float64]
    log_scales: NDArray[np.float64]


class _Evidence:
    """Negative log marginal likelihood of z as a function of the log scales, with its gradient."""

    def __init__(
        self, z: NDArray[np.float64], noise: NDArray[np.float64], gram: Gram, sampling: float, prior: Prior
    ) -> None:
        self.z, self.gram, self.prior = z, gram, prior
        self.fixed = sampling * gram.matrix + noise
        self.free = prior.groups == 0
        plain = z / np.diagonal(gram.matrix)
        self.plain = np.minimum(prior.sizes, plain**2)[self.free]

    def law(self, log_scales: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return prior variances and the covariance of z."""
        variances = self.prior.variances(log_scales)
        sizes = variances.copy()
        sizes[self.free] = self.plain
        G = self.gram.matrix
        return variances, (G * variances) @ G + self.fixed + np.diag(self.gram.variance @ sizes)

    def __call__(self, log_scales: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        variances, covariance = self.law(log_scales)
        inverse, log_determinant = _inverse(covariance)
        solved = inverse @ self.z
        G = self.gram.matrix
        each = np.einsum("ij,ij->j", G, inverse @ G) - (G @ solved) ** 2
        each += self.gram.variance @ (np.diagonal(inverse) - solved**2)
        by_group = np.bincount(self.prior.groups, 0.5 * variances * each, minlength=len(log_scales) + 1)[1:]
        away = (log_scales - SCALE_MEAN) / SCALE_SD
        value = 0.5 * self.z @ solved + 0.5 * log_determinant + 0.5 * away @ away
        return float(value), by_group + away / SCALE_SD


def _inverse(covariance: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Return the inverse of a positive definite matrix and the logarithm of its determinant."""
    factor, failed = dpotrf(covariance, lower=1)
    if failed:
        raise np.linalg.LinAlgError("the covariance of the moments is not positive definite.")
    lower, _ = dpotri(factor, lower=1)
    inverse = np.tril(lower) + np.tril(lower, -1).T
    return inverse, 2.0 * float(np.log(np.diagonal(factor)).sum())


def solve(
    z: NDArray[np.float64],
    noise: NDArray[np.float64],
    gram: Gram,
    *,
    sampling: float,
    prior: Prior,
    start: NDArray[np.float64] | None = None,
) -> Posterior:
    """Return the posterior of the coefficients.

    Parameters
    ----------
    z, noise
        Noisy right-hand side and the covariance of its privacy noise.
    gram
        Estimated Gram matrix.
    sampling
        Residual variance: sampling noise has covariance ``sampling * G``.
    prior
        Prior variances.
    start
        Log scales to start the search from; None is the mean of their prior.
    """
    evidence = _Evidence(z, noise, gram, sampling, prior)
    unknown = np.full(int(prior.groups.max()), SCALE_MEAN)  # group 0 has no scale of its own
    log_scales = unknown if start is None else start
    if len(log_scales) > 0:
        log_scales = minimize(
            evidence,
            log_scales,
            jac=True,
            method="L-BFGS-B",
            bounds=[_BOUNDS] * len(log_scales),
            options={"maxiter": 60, "ftol": 1e-12, "gtol": 1e-7},
        ).x
    variances, covariance = evidence.law(log_scales)
    crossing = variances[:, None] * gram.matrix
    gain = crossing @ _inverse(covariance)[0]
    return Posterior(gain @ z, np.diag(variances) - gain @ crossing.T, log_scales)
