"""Piecewise linear trade-off functions, given by their corners.

Corners are checked to be those of a trade-off function and then replaced by their lower convex hull, which can only
lower the function: round-off in the corners never claims more privacy than was given.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcate.accounting.atomic import AtomicTradeOff
from dpcate.accounting.losses import LossDistribution
from dpcate.accounting.parameters import check_numbers
from dpcate.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["PiecewiseLinear", "lower_hull"]

_ROUND_OFF = 1e-12


@dataclass(frozen=True, eq=False)
class PiecewiseLinear(AtomicTradeOff, kind="piecewise_linear"):
    """Trade-off function that is linear between given corners; it may be asymmetric.

    Parameters
    ----------
    points : sequence of (alpha, beta)
        Corners from alpha = 0 to alpha = 1 in any order. They must be convex, non-increasing and nowhere above
        ``1 - alpha``. Corners on a straight line between others are dropped.

    Examples
    --------
    >>> f = PiecewiseLinear([(0.0, 1.0), (0.25, 0.25), (1.0, 0.0)])
    >>> f(0.125), f.delta(0.0)
    (0.625, 0.5)
    """

    points: tuple[tuple[float, float], ...]

    def __init__(self, points: Sequence[tuple[float, float]]) -> None:
        object.__setattr__(self, "points", _checked_corners(points))

    def losses(self) -> LossDistribution:
        """Return the loss: one atom per linear piece, at the logarithm of its steepness."""
        return self._distribution

    def reverse(self) -> PiecewiseLinear:
        """Return the inverse function."""
        smallest: dict[float, float] = {1.0: 0.0}
        for alpha, beta in self.points:
            smallest[beta] = min(alpha, smallest.get(beta, 1.0))
        return PiecewiseLinear(list(smallest.items()))

    @cached_property
    def _distribution(self) -> LossDistribution:
        corners = np.array(self.points)
        infinity = 1.0 - self.points[0][1]
        return LossDistribution.from_masses(np.diff(corners[:, 0]), -np.diff(corners[:, 1]), infinity)

    def _values(self, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
        corners = np.array(self.points)
        return np.asarray(np.interp(alpha, corners[:, 0], corners[:, 1]))

    def _is_identity(self) -> bool:
        return self.points == ((0.0, 1.0), (1.0, 0.0))

    def _parameters(self) -> dict[str, Any]:
        return {"points": [list(point) for point in self.points]}

    @classmethod
    def _from_parameters(cls, parameters: Mapping[str, Any]) -> PiecewiseLinear:
        return cls(parameters["points"])


def lower_hull(points: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the corners of the largest convex function below ``points``, by a monotone chain."""
    hull: list[tuple[float, float]] = []
    for x, y in sorted(points):
        while len(hull) > 1:
            (x0, y0), (x1, y1) = hull[-2], hull[-1]
            if (y1 - y0) * (x - x1) < (y - y1) * (x1 - x0):
                break
            hull.pop()
        if not hull or x > hull[-1][0]:
            hull.append((x, y))
    return hull


def _checked_corners(points: Sequence[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    corners = check_numbers("points", points)
    if corners.ndim != 2 or corners.shape[1] != 2 or len(corners) < 2:
        raise ParameterError(f"`points` must be at least two pairs (alpha, beta); got shape {corners.shape}.")
    corners = corners[np.argsort(corners[:, 0], kind="stable")]
    alpha, beta = corners.T
    _check_shape(alpha, beta)
    beta = np.clip(beta, 0.0, 1.0 - alpha)
    return tuple(lower_hull((float(a) + 0.0, float(b) + 0.0) for a, b in zip(alpha, beta, strict=True)))


def _check_shape(alpha: NDArray[np.float64], beta: NDArray[np.float64]) -> None:
    if alpha[0] != 0.0 or alpha[-1] != 1.0:
        raise ParameterError(f"`points` must reach from alpha = 0 to alpha = 1; got {alpha[0]:g} to {alpha[-1]:g}.")
    width, fall = np.diff(alpha), -np.diff(beta)
    if (width <= 0.0).any():
        raise ParameterError("`points` must have distinct alphas; got one twice.")
    if (beta < 0.0).any():
        raise ParameterError(f"`points` must not lie below 0; got beta = {beta.min():g}.")
    if (beta > 1.0 - alpha + _ROUND_OFF).any():
        worst = int(np.argmax(beta + alpha))
        raise ParameterError(
            f"`points` must lie below 1 - alpha; got beta = {beta[worst]:g} at alpha = {alpha[worst]:g}."
        )
    if (fall < -_ROUND_OFF).any():
        raise ParameterError("`points` must be non-increasing in alpha; got a rise.")
    chord = beta[:-2] + (beta[2:] - beta[:-2]) * width[:-1] / (width[:-1] + width[1:])
    if (beta[1:-1] > chord + _ROUND_OFF).any():
        worst = 1 + int(np.argmax(beta[1:-1] - chord))
        raise ParameterError(
            f"`points` must be convex; got a corner above its neighbours' chord at alpha = {alpha[worst]:g}."
        )
