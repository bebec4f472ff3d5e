"""Draws of what released models may be off by, from fixed public numbers and the models' released posteriors."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcate.models.additive.uncertainty import uncertainty_of
from dpcate.splitting import public_generator

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from dpcate.models.additive.uncertainty import Uncertainty
    from dpcate.models.function import AdditiveFunction

__all__ = ["draw_errors", "inputs_of", "known_errors"]


def known_errors(names: Sequence[str], released: Mapping[str, AdditiveFunction]) -> list[Uncertainty] | None:
    """Return what is known of models' errors; None if one was not estimated or does not know its own."""
    if any(name not in released for name in names):
        return None
    known = [uncertainty_of(released[name]) for name in names]
    sure = [each for each in known if each is not None]
    return sure if len(sure) == len(known) else None


def inputs_of(known: Uncertainty, made_up: NDArray[np.uint16], arm: int = 0) -> NDArray[np.uint16]:
    """Return a model's inputs at made-up rows: what it has beyond the features is the arm, the same for all."""
    missing = len(known.basis.columns) - made_up.shape[1]
    if missing == 0:
        return made_up
    return np.column_stack([made_up, np.full((len(made_up), missing), arm + 1, dtype=np.uint16)])


def draw_errors(known: Sequence[Uncertainty], n_draws: int) -> list[NDArray[np.float64]]:
    """Return draws of the errors of several models' coefficients, which have nothing to do with each other."""
    longest = max(len(each.covariance) for each in known)
    return [
        _root(each.covariance) @ _normals(stream * longest, len(each.covariance), n_draws)
        for stream, each in enumerate(known)
    ]


def _root(covariance: NDArray[np.float64]) -> NDArray[Any]:
    """Return a root of a covariance; with very many rows round-off may have left it with negative eigenvalues."""
    jitter = 1e-12 * float(np.trace(covariance)) / len(covariance) + 1e-300
    root: NDArray[Any]
    try:
        root = np.linalg.cholesky(covariance + jitter * np.eye(len(covariance)))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
    return root


@lru_cache(maxsize=64)
def _normals(start: int, size: int, n_draws: int) -> NDArray[np.float64]:
    """Return rows of fixed, public normal numbers, from one on."""
    normals: NDArray[np.float64] = public_generator().standard_normal((start + size, n_draws))[start:]
    return normals
