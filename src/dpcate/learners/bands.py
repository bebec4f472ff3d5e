"""Intervals that hold all at once: how many standard errors they must reach, and curves with such bands.

The errors of several averages, or of one curve at all its points, are jointly normal with a known covariance. The
largest of them in standard errors has a law that a fixed, public simulation finds. Everything here is post-processing.
Derivation: ``docs/statistics/intervals.md``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import chi2, norm

from dpcate.learners.intervals import limits_around, quantile
from dpcate.splitting import public_generator

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcate.models import AdditiveFunction, Shape, Uncertainty

__all__ = ["simultaneous_quantile", "simultaneous_shapes"]

N_DRAWS = 2**14
"""Draws of the joint error: the quantile at alpha = 0.05 is then known to about one part in two hundred."""

_BATCH, _FEWEST_BEYOND, _NEGLIGIBLE = 2**11, 50, 1e-10


def simultaneous_quantile(functions: NDArray[np.float64], covariance: NDArray[np.float64], alpha: float) -> float:
    """Return how many standard errors intervals of several combinations must reach to hold all at once.

    The answer lies between the quantile of one interval and the smaller of Bonferroni's and Scheffe's bounds; where
    ``alpha`` is too small for the simulation it is that bound.

    Parameters
    ----------
    functions
        One combination of coefficients per row.
    covariance
        Of the coefficients' errors.
    alpha
        One less the probability that all intervals hold.

    Examples
    --------
    >>> one_and_the_same = np.array([[1.0, 0.0], [2.0, 0.0]])
    >>> round(simultaneous_quantile(one_and_the_same, np.eye(2), 0.05), 6)
    1.959964
    """
    least = quantile(alpha)
    errors = _standard_errors(functions, covariance)
    n_points, rank = errors.shape
    if rank <= 1:
        return least
    most = min(float(norm.isf(alpha / (2 * n_points))), float(np.sqrt(chi2.isf(alpha, rank))))
    if alpha * N_DRAWS < _FEWEST_BEYOND:
        return most
    normals = public_generator().standard_normal((N_DRAWS, rank))
    starts = range(0, N_DRAWS, _BATCH)
    largest = [np.abs(normals[start : start + _BATCH] @ errors.T).max(axis=1) for start in starts]
    return float(np.clip(np.quantile(np.concatenate(largest), 1.0 - alpha), least, most))


def _standard_errors(functions: NDArray[np.float64], covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rows of length one whose products are the errors' correlations, in as few coordinates as there are."""
    values, vectors = np.linalg.eigh(covariance)
    errors = functions @ (vectors * np.sqrt(np.maximum(values, 0.0)))
    sizes = np.sqrt((errors**2).sum(axis=1))
    known = sizes > _NEGLIGIBLE * sizes.max(initial=0.0)
    errors = errors[known] / sizes[known, None]
    values, vectors = np.linalg.eigh(errors.T @ errors)
    reduced: NDArray[np.float64] = errors @ vectors[:, values > _NEGLIGIBLE * max(len(errors), 1)]
    return reduced


def simultaneous_shapes(model: AdditiveFunction, known: Uncertainty | None, alpha: float) -> dict[str, Shape]:
    """Return each column's term with a band that holds at all points of its curve at once."""
    shapes = model.shapes()
    quantile(alpha)  # refuses what is no level, whether or not there are bands
    if known is None:
        return shapes
    banded, at = {}, 1
    for (name, shape), column in zip(shapes.items(), known.basis.columns, strict=True):
        own = slice(at, at + len(column.values))
        at += len(column.values)
        functions, covariance = column.values[:, 1:].T, known.covariance[own, own]
        times = simultaneous_quantile(functions, covariance, alpha)
        variance = ((functions @ covariance) * functions).sum(axis=1)
        reach = times * np.sqrt(np.maximum(variance, 0.0))
        lower, upper = limits_around(shape.effect, functions @ known.shift[own], reach)
        banded[name] = replace(shape, lower=lower, upper=upper)
    return banded
