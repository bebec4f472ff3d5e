"""Intervals from a released effect and its released error: limits for people, for the average, and for curves.

The error of the released coefficients is close to normal with a known covariance, so limits are normal quantiles. An
interval is centred where effects are shrunk less, holds the estimate itself, and does not go beyond what the schema's
bounds allow. Everything here is post-processing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from scipy.stats import norm

from dpcate.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcate.models import AdditiveFunction, Shape, Uncertainty
    from dpcate.schema import Schema

__all__ = ["banded_shapes", "effect_limits", "limits_around", "quantile"]

Limit = TypeVar("Limit", float, "NDArray[np.float64]")


def quantile(alpha: float) -> float:
    """Return how many standard errors a two-sided interval reaches."""
    if not (isinstance(alpha, int | float) and 0.0 < alpha < 1.0):
        raise ParameterError(f"`alpha` must lie between 0 and 1; got {alpha!r}.")
    return float(norm.isf(alpha / 2))


def effect_limits(
    model: AdditiveFunction, known: Uncertainty, codes: NDArray[np.uint16], schema: Schema, alpha: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return lower and upper limits of the effect for each row of ``codes``."""
    reach = quantile(alpha) * np.sqrt(known.variance(codes))
    return limits_around(model.predict(codes), known.shifts(codes), reach, _widest(schema))


def banded_shapes(model: AdditiveFunction, known: Uncertainty | None, alpha: float) -> dict[str, Shape]:
    """Return each column's term with its pointwise band."""
    shapes = model.shapes()
    if known is None:
        return shapes
    times, banded = quantile(alpha), {}
    for (name, shape), (shift, variance) in zip(shapes.items(), known.tables(), strict=True):
        lower, upper = limits_around(shape.effect, shift[1:], times * np.sqrt(variance[1:]))
        banded[name] = replace(shape, lower=lower, upper=upper)
    return banded


def limits_around(estimate: Limit, shift: Limit, reach: Limit, widest: float = np.inf) -> tuple[Limit, Limit]:
    """Return the ends of intervals around shifted estimates: they hold the estimates, and nothing beyond ``widest``.

    Examples
    --------
    >>> limits_around(np.array([1.0, 1.0]), np.array([0.0, 3.0]), np.array([0.5, 2.0]))
    (array([0.5, 1. ]), array([1.5, 6. ]))
    """
    middle = estimate + shift
    low, high = np.minimum(middle - reach, estimate), np.maximum(middle + reach, estimate)
    return np.clip(low, -widest, widest), np.clip(high, -widest, widest)


def _widest(schema: Schema) -> float:
    """Return what the outcome's bounds allow any effect to be."""
    return schema.outcome.high - schema.outcome.low
