"""How unsure the learned scales are, and what that adds to the error of the coefficients.

The posterior takes the most likely scale of each group as if it were known. Where noise hides a feature's effect, many
scales are as likely, and the larger ones leave room for a large effect. Each group's scale is therefore averaged over a
grid, with the others held where they are. Everything here is post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcate.models.additive.evidence import SCALE_MEAN, SCALE_SD

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcate.models.additive.evidence import Evidence

__all__ = ["ScaleDoubt", "scale_doubt"]

GRID = np.linspace(-12.0, 3.0, 21)
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
    G, groups = evidence.gram.matrix, evidence.prior.groups
    between, pulled = G @ inverse @ G, G @ (inverse @ evidence.z)
    added, expected = np.zeros_like(G), np.exp(log_scales)
    for members in _of_equal_size(groups, len(log_scales)):
        own = np.array([np.flatnonzero(groups == k + 1) for k in members])
        block = between[own[:, :, None], own[:, None, :]]
        without = np.eye(own.shape[1]) - block * variances[own][:, None, :]
        information = np.linalg.solve(without, block)
        score = np.linalg.solve(without, pulled[own][:, :, None])[:, :, 0]
        weights, means, covariances = _along(evidence.prior.sizes[own], information, score)
        expected[members] = weights @ np.exp(GRID)
        now = np.linalg.inv(information + _diagonals(1.0 / variances[own]))
        away = means - np.einsum("gij,gj->gi", now, score)[:, None, :]
        spread = np.einsum("gs,gsij->gij", weights, covariances) - now
        spread += np.einsum("gs,gsi,gsj->gij", weights, away, away)
        added[own[:, :, None], own[:, None, :]] = _positive(spread)
    return ScaleDoubt(added, expected)


def _of_equal_size(groups: NDArray[np.int64], n_groups: int) -> list[list[int]]:
    """Return the groups (numbered from zero) that have coefficients, those with equally many together."""
    by_size: dict[int, list[int]] = {}
    for k in range(n_groups):
        by_size.setdefault(int((groups == k + 1).sum()), []).append(k)
    return [members for size, members in by_size.items() if size > 0]


def _diagonals(entries: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return diagonal matrices, one per row (or per row of rows) of entries."""
    matrices: NDArray[np.float64] = entries[..., None] * np.eye(entries.shape[-1])
    return matrices


def _along(
    sizes: NDArray[np.float64], information: NDArray[Any], score: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return, per group and along the grid of scales, posterior weights and the coefficients' means and covariances.

    Given the other groups the score is normal around information times coefficients with covariance information, so
    with prior variances D the log likelihood is (b' (D^-1 + A)^-1 b - log det(I + D A)) / 2.
    """
    D = np.exp(GRID)[None, :, None] * sizes[:, None, :]
    symmetric = (information + information.transpose(0, 2, 1)) / 2
    precision = symmetric[:, None] + _diagonals(1.0 / D)
    covariances: NDArray[np.float64] = np.linalg.inv(precision).astype(np.float64)
    means = np.einsum("gsij,gj->gsi", covariances, score)
    determinant = np.linalg.slogdet(precision)[1] + np.log(D).sum(axis=2)
    fit = np.einsum("gsi,gi->gs", means, score)
    log_weights = 0.5 * fit - 0.5 * determinant - 0.5 * ((GRID - SCALE_MEAN) / SCALE_SD) ** 2
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True), means, covariances


def _positive(matrices: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the matrices without their negative parts."""
    values, vectors = np.linalg.eigh((matrices + matrices.transpose(0, 2, 1)) / 2)
    positive: NDArray[np.float64] = (vectors * np.maximum(values, 0.0)[:, None, :]) @ vectors.transpose(0, 2, 1)
    return positive
