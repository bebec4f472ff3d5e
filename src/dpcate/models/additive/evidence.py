"""How well given scales explain the noisy equations: the marginal likelihood, its gradient and its curvature.

Everything here is post-processing of released numbers.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcate.models.additive.gram import Gram

__all__ = ["LARGEST_SCALE", "SCALE_MEAN", "SCALE_SD", "SMALLEST_SCALE", "Evidence", "Prior"]

SCALE_MEAN, SCALE_SD = -4.0, 4.0
"""Prior of the log of a group's scale, around and beyond what the design assumes."""

SMALLEST_SCALE, LARGEST_SCALE = -12.0, 3.0
"""Log scales that are considered."""


@dataclass(frozen=True, slots=True)
class Prior:
    """Prior variances: ``sizes * exp(log scale of the group)``.

    Parameters
    ----------
    sizes
        Prior variance of each coefficient at scale one.
    groups
        Group of each coefficient; group 0 (the intercept, a treatment term) keeps its size, so it is hardly shrunk.
    leaning
        A direction in which the coefficients may lie this far, whatever their scales; None if there is none.
    """

    sizes: NDArray[np.float64]
    groups: NDArray[np.int64]
    leaning: NDArray[np.float64] | None = None

    def variances(self, log_scales: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the variance of each coefficient."""
        variances: NDArray[np.float64] = self.sizes * np.exp(np.append(0.0, log_scales))[self.groups]
        return variances

    def times(self, variances: NDArray[np.float64], matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the coefficients' prior covariance, given their own variances, times a matrix."""
        product: NDArray[np.float64] = variances[:, None] * matrix
        return product if self.leaning is None else product + np.outer(self.leaning, self.leaning @ matrix)


class Evidence:
    """Negative log marginal likelihood of z, with a weak prior, as a function of the log scales.

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
    """

    def __init__(
        self, z: NDArray[np.float64], noise: NDArray[np.float64], gram: Gram, sampling: float, prior: Prior
    ) -> None:
        self.z, self.gram, self.prior = z, gram, prior
        self.fixed = sampling * gram.matrix + noise
        self.free = prior.groups == 0
        plain = z / np.diagonal(gram.matrix)
        self.plain = np.minimum(prior.sizes, plain**2)[self.free]
        self.certain = not gram.variance.any()
        self.members = (prior.groups[:, None] == np.arange(1, prior.groups.max() + 1)).astype(np.float64)

    def without_leaning(self) -> Evidence:
        """Return the same without a direction in which coefficients may lie whatever their scales.

        That direction explains what it points to, and the scales of the columns that it goes through would be learned
        from what is left: as small, though these columns matter most.
        """
        if self.prior.leaning is None:
            return self
        plain = copy(self)
        plain.prior = replace(self.prior, leaning=None)
        return plain

    def law(self, log_scales: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """Return prior variances, the inverse of the covariance of z, and the logarithm of its determinant."""
        variances = self.prior.variances(log_scales)
        covariance = (self.gram.matrix * variances) @ self.gram.matrix + self.noise(variances)
        if self.prior.leaning is not None:
            seen = self.gram.matrix @ self.prior.leaning
            covariance += np.outer(seen, seen)
        return variances, *_inverse(covariance)

    def noise(self, variances: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the covariance of z given the coefficients; that of G's errors follows from their prior variances."""
        if self.certain:
            return self.fixed
        sizes, noise = variances.copy(), self.fixed.copy()
        sizes[self.free] = self.plain
        noise.ravel()[:: len(sizes) + 1] += self.gram.variance @ sizes  # the diagonal
        return noise

    def __call__(
        self, log_scales: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return the value, its gradient, its Hessian, and the Hessian that is expected over z (always positive).

        With E_k the derivative of the covariance V by log scale k and a = V^-1 z, the gradient is
        (tr V^-1 E_k - a' E_k a) / 2 and the Hessian a' E_k V^-1 E_l a - tr(V^-1 E_k V^-1 E_l) / 2 plus the gradient on
        its diagonal. E_k sums g_i g_i' + diag(u_i) over the coefficients of the group, g_i and u_i being columns of G
        and of the variances of its entries.
        """
        variances, inverse, log_determinant = self.law(log_scales)
        G = self.gram.matrix
        solved = inverse @ self.z
        reached = inverse @ G
        between, pulled = G @ reached, G @ solved
        each, moved = np.diagonal(between) - pulled**2, G * pulled
        traces = between**2
        if not self.certain:
            uncertain = self.gram.variance
            each = each + uncertain @ (np.diagonal(inverse) - solved**2)
            moved += uncertain * solved[:, None]
            crossed = uncertain @ reached**2
            traces += crossed + crossed.T + uncertain @ inverse**2 @ uncertain
        by_group = variances[:, None] * self.members
        gradient, moved = 0.5 * each @ by_group, moved @ by_group
        expected = 0.5 * by_group.T @ traces @ by_group
        hessian = moved.T @ inverse @ moved - expected
        away = (log_scales - SCALE_MEAN) / SCALE_SD
        value = 0.5 * self.z @ solved + 0.5 * log_determinant + 0.5 * away @ away
        narrow = np.eye(len(away)) / SCALE_SD**2
        return float(value), gradient + away / SCALE_SD, hessian + np.diag(gradient) + narrow, expected + narrow


def _inverse(covariance: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Return the inverse of a positive definite matrix and the logarithm of its determinant."""
    factor, failed = dpotrf(covariance, lower=1, clean=1)
    if failed:
        raise np.linalg.LinAlgError("the covariance of the moments is not positive definite.")
    half, _ = dpotri(factor, lower=1)  # zero above the diagonal, as the factor is
    inverse = half + half.T
    np.fill_diagonal(inverse, np.diagonal(half))
    return inverse, 2.0 * float(np.log(np.diagonal(factor)).sum())
