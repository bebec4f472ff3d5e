"""How unsure the learned scales are, and what that adds to the error of the coefficients.

The posterior takes the most likely scale of each group as if it were known. Where noise hides a feature's effect, many
scales are as likely, and the larger ones leave room for a large effect. Each group's scale is therefore averaged over a
grid, with the others held where they are. Groups of one stage may be taken to be alike: where most columns turn out to
matter little, so does the next one, as far as is known. Everything here is post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcate.models.additive.evidence import LARGEST_SCALE, SCALE_MEAN, SCALE_SD, SMALLEST_SCALE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from dpcate.models.additive.evidence import Evidence

__all__ = ["ScaleDoubt", "scale_doubt"]

GRID = np.linspace(SMALLEST_SCALE, LARGEST_SCALE, 21)
"""Log scales that are averaged over."""

_IN_COMMON = 0.6
"""Part of the prior variance of a log scale that groups have in common where they are alike; none of them by itself
knows the difference."""

_COMMON_SD, _OWN_SD = SCALE_SD * np.sqrt(_IN_COMMON), SCALE_SD * np.sqrt(1.0 - _IN_COMMON)
_CENTRES = SCALE_MEAN + _COMMON_SD * np.linspace(-3.0, 3.0, 25)


@dataclass(frozen=True, slots=True)
class ScaleDoubt:
    """What not knowing the scales adds.

    Parameters
    ----------
    covariance
        To be added to the coefficients' covariance; block by block, never negative.
    expected
        Expected scale of each group.
    known
        How well the best known direction of each group is known: its information times its prior variance at scale one.
    """

    covariance: NDArray[np.float64]
    expected: NDArray[np.float64]
    known: NDArray[np.float64]


def scale_doubt(evidence: Evidence, log_scales: NDArray[np.float64], *, alike: bool = False) -> ScaleDoubt:
    """Return what averaging over each group's scale adds to the error at the most likely scales.

    Parameters
    ----------
    evidence, log_scales
        What was seen, and the most likely scales.
    alike
        Whether what is seen of the other groups' scales says something of a group's own.
    """
    added, expected, known = np.zeros_like(evidence.gram.matrix), np.exp(log_scales), np.zeros(len(log_scales))
    found = list(_along_groups(evidence, log_scales))
    likely = [along.likelihoods() for _, _, along in found]
    weigh = _among_alike(likely) if alike else _by_itself
    for (members, own, along), likelihoods in zip(found, likely, strict=True):
        weights = weigh(likelihoods)
        expected[members], known[members] = weights @ np.exp(GRID), along.values.max(axis=1)
        spread = along.spread(weights, log_scales[members])
        added[own[:, :, None], own[:, None, :]] = _positive(spread)
    return ScaleDoubt(added, expected, known)


def _by_itself(likelihoods: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how likely each scale of the grid is, given its likelihood: groups x scales."""
    weights: NDArray[np.float64] = likelihoods * np.exp(-0.5 * ((GRID - SCALE_MEAN) / SCALE_SD) ** 2)
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


def _among_alike(
    likely: Sequence[NDArray[np.float64]],
) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """Return the same for groups whose log scales lie around a common centre, which all their likelihoods speak of."""
    priors = np.exp(-0.5 * ((GRID - _CENTRES[:, None]) / _OWN_SD) ** 2)
    priors /= priors.sum(axis=1, keepdims=True)
    log_weights = -0.5 * ((_CENTRES - SCALE_MEAN) / _COMMON_SD) ** 2
    for likelihoods in likely:
        log_weights += np.log(likelihoods @ priors.T).sum(axis=0)
    centres = np.exp(log_weights - log_weights.max())
    centres /= centres.sum()

    def weigh(likelihoods: NDArray[np.float64]) -> NDArray[np.float64]:
        given = likelihoods[:, None, :] * priors
        given /= given.sum(axis=2, keepdims=True)
        weights: NDArray[np.float64] = centres @ given
        return weights

    return weigh


def _along_groups(
    evidence: Evidence, log_scales: NDArray[np.float64]
) -> Iterator[tuple[list[int], NDArray[np.int64], _Along]]:
    """Yield groups of equal size: their numbers from zero, their coefficients, and what the rest of z says of them."""
    variances, inverse, _ = evidence.law(log_scales)
    G, groups = evidence.gram.matrix, evidence.prior.groups
    between, pulled = G @ inverse @ G, G @ (inverse @ evidence.z)
    for members in _of_equal_size(groups, len(log_scales)):
        own = np.array([np.flatnonzero(groups == k + 1) for k in members])
        block = between[own[:, :, None], own[:, None, :]]
        without = np.eye(own.shape[1]) - block * variances[own][:, None, :]
        given_others = np.linalg.solve(without, np.concatenate([block, pulled[own][:, :, None]], axis=2))
        yield members, own, _Along.of(evidence.prior.sizes[own], given_others[:, :, :-1], given_others[:, :, -1])


def _of_equal_size(groups: NDArray[np.int64], n_groups: int) -> list[list[int]]:
    """Return the groups (numbered from zero) that have coefficients, those with equally many together."""
    by_size: dict[int, list[int]] = {}
    for k in range(n_groups):
        by_size.setdefault(int((groups == k + 1).sum()), []).append(k)
    return [members for size, members in by_size.items() if size > 0]


@dataclass(frozen=True, slots=True)
class _Along:
    """Groups of coefficients as their scale moves, the others held: in axes where all matrices are diagonal.

    Given the other groups the score b is normal around information A times coefficients with covariance A. With prior
    variances s S the coefficients have covariance (A + (s S)^-1)^-1 = R diag(1 / (values + 1 / s)) R', where R is
    S^(1/2) times the eigenvectors of S^(1/2) A S^(1/2). Twice the log likelihood is
    b' (A + (s S)^-1)^-1 b - log det(I + s S A).

    Parameters
    ----------
    axes
        R of each group.
    values
        Eigenvalues of each group.
    score
        R' b of each group.
    """

    axes: NDArray[np.float64]
    values: NDArray[np.float64]
    score: NDArray[np.float64]

    @classmethod
    def of(cls, sizes: NDArray[np.float64], information: NDArray[Any], score: NDArray[Any]) -> _Along:
        """Return the groups with these prior variances, informations and scores."""
        root = np.sqrt(sizes)
        symmetric = (information + information.transpose(0, 2, 1)) / 2
        values, vectors = np.linalg.eigh(root[:, :, None] * symmetric * root[:, None, :])
        axes = root[:, :, None] * vectors
        return cls(axes, np.maximum(values, 0.0), np.einsum("gij,gi->gj", axes, score))

    def variances(self, log_scales: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the coefficients' variances along the axes: groups x scales x axes."""
        return 1.0 / (self.values[:, None, :] + np.exp(-log_scales)[..., None])

    def likelihoods(self) -> NDArray[np.float64]:
        """Return how well each scale of the grid explains what was seen, the best one being one: groups x scales."""
        fit = (self.score[:, None, :] ** 2 * self.variances(GRID)).sum(axis=2)
        determinant = np.log1p(np.exp(GRID)[:, None] * self.values[:, None, :]).sum(axis=2)
        log_likelihoods = 0.5 * (fit - determinant)
        likelihoods: NDArray[np.float64] = np.exp(log_likelihoods - log_likelihoods.max(axis=1, keepdims=True))
        return likelihoods

    def spread(self, weights: NDArray[np.float64], log_scales: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what the coefficients' mean squared error exceeds their covariance at ``log_scales`` by."""
        now = self.variances(log_scales[:, None])
        more = self.variances(GRID) - now
        moved = np.sqrt(weights)[:, :, None] * more * self.score[:, None, :]
        inside = moved.transpose(0, 2, 1) @ moved
        inside += np.einsum("gs,gsi->gi", weights, more)[:, :, None] * np.eye(self.values.shape[1])
        spread: NDArray[np.float64] = self.axes @ inside @ self.axes.transpose(0, 2, 1)
        return spread


def _positive(matrices: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the matrices without their negative parts."""
    values, vectors = np.linalg.eigh((matrices + matrices.transpose(0, 2, 1)) / 2)
    positive: NDArray[np.float64] = (vectors * np.maximum(values, 0.0)[:, None, :]) @ vectors.transpose(0, 2, 1)
    return positive
