"""The Gram matrix: what independence predicts, corrected by what the noisy one says.

Released shares and the released propensity predict G if the features were independent. The noisy G is trusted for the
difference only as far as it rises above its known noise, group by group.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg.lapack import dpotrf

from dpcate.models.additive.products import PAIR

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcate.models.additive.equations import Equations

__all__ = ["Gram", "estimate_gram", "positive"]

_SMALLEST_SPREAD, _LARGEST_SPREAD = 0.02, 0.5
_SMALLEST_EIGENVALUES = 0.02, 0.15
"""Eigenvalues are raised to a share of the diagonal between these: by how much the noise may have lowered them."""


@dataclass(frozen=True, slots=True)
class Gram:
    """An estimate of G.

    Parameters
    ----------
    matrix
        The estimate.
    variance
        The variance of its entries that remains.
    least
        What its eigenvalues were raised to, as a share of the diagonal's size.
    entries
        The estimate entry by entry, before eigenvalues were raised: better where a few entries are read alone.
    trust
        How far each noisy entry was believed where it differs from the prediction, from zero to one.
    """

    matrix: NDArray[np.float64]
    variance: NDArray[np.float64]
    least: float = 0.0
    entries: NDArray[np.float64] | None = None
    trust: NDArray[np.float64] | None = None


def estimate_gram(
    equations: Equations, predicted: NDArray[np.float64], level: float, orders: NDArray[np.int64]
) -> Gram:
    """Return the entry-wise empirical-Bayes estimate around ``predicted``; ``level`` is a diagonal entry's size."""
    released = np.isfinite(equations.gram_noise)
    difference = np.where(released, equations.gram - predicted, 0.0)
    variance = np.where(released, equations.gram_noise, 1e6 * level) ** 2
    matrix, trust = predicted.copy(), np.zeros_like(variance)
    for mask in _groups(orders):
        if not mask.any():
            continue
        weight = 1.0 / (variance[mask] + (0.1 * level) ** 2) ** 2
        spread = float(((difference[mask] ** 2 - variance[mask]) * weight).sum() / weight.sum())
        spread = float(np.clip(spread, (_SMALLEST_SPREAD * level) ** 2, (_LARGEST_SPREAD * level) ** 2))
        trust[mask] = spread / (spread + variance[mask])
        matrix[mask] += trust[mask] * difference[mask]
    remaining = trust * variance
    noise = math.sqrt(len(orders) * float(remaining[released].mean())) / level
    least = float(np.clip(noise, *_SMALLEST_EIGENVALUES))
    return Gram(positive(matrix, least * level), remaining, least, matrix, trust)


def positive(matrix: NDArray[np.float64], lowest: float) -> NDArray[np.float64]:
    """Return the matrix with eigenvalues raised to ``lowest``."""
    if not dpotrf(matrix - lowest * np.eye(len(matrix)), lower=1)[1]:
        return matrix  # all of them are larger
    values, vectors = np.linalg.eigh(matrix)
    raised: NDArray[np.float64] = (vectors * np.maximum(values, lowest)) @ vectors.T
    return raised


def _groups(orders: NDArray[np.int64]) -> list[NDArray[np.bool_]]:
    """Return masks of entries that differ from the prediction by similar amounts."""
    off = ~np.eye(len(orders), dtype=bool)
    leading = np.outer(orders == 0, orders == 0) & off
    products = ((orders >= PAIR)[:, None] | (orders >= PAIR)[None, :]) & off
    return [leading, off & ~leading & ~products, products & ~leading, ~off]
