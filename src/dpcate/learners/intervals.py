"""Intervals from a released effect and its released error: limits for people, for the average, and for curves.

The error of the released coefficients is close to normal with a known covariance, so limits are normal quantiles. No
limit goes beyond what the schema's bounds allow. Everything here is post-processing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import norm

from dpcate.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcate.models import AdditiveFunction, Shape, Uncertainty
    from dpcate.schema import Schema

__all__ = ["average_limits", "banded_shapes", "effect_limits", "quantile"]


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
    return _within(model.predict(codes), reach, schema)


def average_limits(
    model: AdditiveFunction, known: Uncertainty, codes: NDArray[np.uint16] | None, schema: Schema, alpha: float
) -> tuple[float, float]:
    """Return lower and upper limits of the average effect, over the released distribution or over rows."""
    if codes is None:
        middle, variance = model.intercept, known.average_variance
    else:
        middle, variance = float(model.predict(codes).mean()), known.variance_of_mean(codes)
    low, high = _within(np.array([middle]), np.array([quantile(alpha) * np.sqrt(variance)]), schema)
    return float(low[0]), float(high[0])


def banded_shapes(model: AdditiveFunction, known: Uncertainty | None, alpha: float) -> dict[str, Shape]:
    """Return each column's term with its pointwise band."""
    shapes = model.shapes()
    if known is None:
        return shapes
    times = quantile(alpha)
    return {
        name: replace(
            shape,
            lower=shape.effect - times * np.sqrt(variance[1:]),
            upper=shape.effect + times * np.sqrt(variance[1:]),
        )
        for (name, shape), variance in zip(shapes.items(), known.table_variances(), strict=True)
    }


def _within(
    middle: NDArray[np.float64], reach: NDArray[np.float64], schema: Schema
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return limits that keep to what the outcome's bounds allow any effect to be."""
    widest = schema.outcome.high - schema.outcome.low
    return np.clip(middle - reach, -widest, widest), np.clip(middle + reach, -widest, widest)
