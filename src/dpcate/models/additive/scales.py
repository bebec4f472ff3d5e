"""How unsure the learned scales are, and what that adds to the error of the coefficients.

The posterior takes the most likely scale of each group as if it were known. Where noise hides a feature's effect, many
scales are as likely, and the larger ones leave room for a large effect. Each group's scale is therefore averaged over a
grid, with the others held where they are. Everything here is post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcate.models.additive.evidence import SCALE_MEAN, SCALE_SD

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcate.models.additive.evidence import Evidence

__all__ = ["ScaleDoubt", "scale_doubt"]

GRID = np.linspace(-12.0, 3.0, 31)
"""Log scales that are considered."""


@dataclass(frozen=True, slots=True)
class ScaleDoubt:
    """What not knowing the scales adds.

    Parameters
    ----------
    covariance
        To be added to the coefficients' covariance; block by block, never negative.
    expected
        Expected scale of each group, for functions that have no coefficient.
    """

    covariance: NDArray[np.float64]
    expected: NDArray[np.float64]


def scale_doubt(evidence: Evidence, log_scales: NDArray[np.float64]) -> ScaleDoubt:
    """Return what averaging over each group's scale adds to the error at the most likely scales."""
    variances, inverse, _ = evidence.law(log_scales)
    G, groups, sizes = evidence.gram.matrix, evidence.prior.groups, evidence.prior.sizes
    solved = inverse @ evidence.z
    added = np.zeros_like(G)
    expected = np.exp(log_scales)
    for k in range(len(log_scales)):
        own = np.flatnonzero(groups == k + 1)
        if len(own) == 0:
            continue
        columns = G[:, own]
        without = np.eye(len(own)) - (columns.T @ inverse @ columns) * variances[own]
        information: NDArray[np.float64] = np.linalg.solve(without, columns.T @ inverse @ columns).astype(np.float64)
        score: NDArray[np.float64] = np.linalg.solve(without, columns.T @ solved).astype(np.float64)
        weights, means, covariances = _along(sizes[own], information, score)
        expected[k] = float(weights @ np.exp(GRID))
        now = np.linalg.inv(np.diag(1.0 / variances[own]) + information)
        centre = now @ score
        spread = np.einsum("s,sij->ij", weights, covariances) - now
        away = means - centre
        added[np.ix_(own, own)] = _positive(spread + np.einsum("s,si,sj->ij", weights, away, away))
    return ScaleDoubt(added, expected)


def _along(
    sizes: NDArray[np.float64], information: NDArray[np.float64], score: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return, along the grid of scales, their posterior weights and the coefficients' means and covariances.

    Given the other groups the score is normal around information times coefficients with covariance information, so
    with prior variances D the log likelihood is (b' (D^-1 + A)^-1 b - log det(I + D A)) / 2.
    """
    D = np.exp(GRID)[:, None] * sizes
    symmetric = (information + information.T) / 2
    precision = symmetric + np.eye(len(sizes)) / D[:, None, :]
    covariances: NDArray[np.float64] = np.linalg.inv(precision).astype(np.float64)
    means = covariances @ score
    determinant = np.linalg.slogdet(precision)[1] + np.log(D).sum(axis=1)
    log_weights = 0.5 * means @ score - 0.5 * determinant - 0.5 * ((GRID - SCALE_MEAN) / SCALE_SD) ** 2
    weights = np.exp(log_weights - log_weights.max())
    return weights / weights.sum(), means, covariances


def _positive(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the matrix without its negative part."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    positive: NDArray[np.float64] = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return positive
