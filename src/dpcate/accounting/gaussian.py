"""The Gaussian trade-off function, in log space.

Adding normal noise whose standard deviation is the sensitivity divided by mu gives exactly this function. Its delta is
a difference of two tails that agree in many digits; the Mills ratio removes what they share before it can cancel
(``docs/privacy/accounting.md``, section 3), so that delta is right to about 1e-11 relative down to 1e-300. It is raised
by a bound on its round-off, so that it is not below the true one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfcx, ndtr, ndtri

from dpcate.accounting.parameters import check_nonnegative, check_numbers
from dpcate.accounting.tradeoff import TradeOffFunction

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["LOG_DELTA_MARGIN", "Gaussian", "log_delta_at_nonnegative"]

LOG_DELTA_MARGIN = 1e-11
"""Relative margin by which every inversion of delta stays on the safe side; above the round-off of ``log_delta``."""

_FAR = 50.0
_LARGEST_PADDING = 1e-9  # reached only where delta underflows or mu is in the thousands
_LOG_SQRT_TWO_PI = 0.5 * math.log(2.0 * math.pi)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_NODES, _WEIGHTS = 0.5 * (_NODES + 1.0), 0.5 * _WEIGHTS


@dataclass(frozen=True, eq=False)
class Gaussian(TradeOffFunction, kind="gaussian"):
    """Trade-off between the normal laws N(0, 1) and N(``mu``, 1).

    Parameters
    ----------
    mu : float
        Sensitivity divided by the standard deviation of the noise; 0 is perfect privacy.

    Examples
    --------
    >>> round(Gaussian(1.0).delta(1.0), 6)
    0.126937
    >>> round(Gaussian(1.0).epsilon(1e-5), 4)
    4.3772
    """

    mu: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", check_nonnegative("mu", self.mu))

    @property
    def infinite_loss(self) -> float:
        """A Gaussian loss is always finite: 0."""
        return 0.0

    @property
    def largest_loss(self) -> float:
        """A Gaussian loss is unbounded, unless ``mu`` is 0."""
        return math.inf if self.mu > 0.0 else 0.0

    def reverse(self) -> Gaussian:
        """Return the function itself, which is symmetric."""
        return self

    @overload
    def log_delta(self, epsilon: float) -> float: ...
    @overload
    def log_delta(self, epsilon: NDArray[np.float64] | Sequence[float]) -> NDArray[np.float64]: ...
    def log_delta(self, epsilon: float | NDArray[np.float64] | Sequence[float]) -> float | NDArray[np.float64]:
        """Return the natural logarithm of ``delta(epsilon)``, also where delta itself would underflow."""
        orders = check_numbers("epsilon", epsilon)
        values = _log_delta(orders.ravel(), self.mu)
        return float(values[0]) if orders.ndim == 0 else values.reshape(orders.shape)

    def _values(self, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.mu == 0.0:
            return 1.0 - alpha
        return np.asarray(ndtr(-ndtri(alpha) - self.mu))

    def _deltas(self, epsilon: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.minimum(np.exp(_log_delta(epsilon, self.mu) + _log_padding(epsilon, self.mu)), 1.0)

    def _epsilon(self, delta: float) -> float:
        if self.delta(0.0) <= delta:
            return 0.0
        if delta == 0.0:
            return math.inf
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            return self._nudged(self._root(delta), delta)

    def _root(self, delta: float) -> float:
        target = math.log(delta) - LOG_DELTA_MARGIN

        def excess(epsilon: float) -> float:
            return float(log_delta_at_nonnegative(np.array([epsilon]), self.mu)[0]) - target

        # delta(epsilon) is below the first of its two tails, which alone would give this epsilon
        high = max(self.mu * (0.5 * self.mu - float(ndtri(delta))), 0.0) * (1.0 + 1e-9) + 1e-9 * self.mu
        while excess(high) > 0.0:
            high = 2.0 * high
        return float(brentq(excess, 0.0, high, xtol=1e-300, rtol=1e-15)) if excess(0.0) > 0.0 else 0.0

    def _nudged(self, epsilon: float, delta: float) -> float:
        step = max(epsilon, self.mu * 1e-9) * 2.0**-50
        while self.delta(epsilon) > delta:
            epsilon, step = epsilon + step, 2.0 * step
        return epsilon

    def _is_identity(self) -> bool:
        return self.mu == 0.0

    def _parameters(self) -> dict[str, Any]:
        return {"mu": self.mu}

    @classmethod
    def _from_parameters(cls, parameters: Mapping[str, Any]) -> Gaussian:
        return cls(parameters["mu"])


def _log_delta(epsilon: NDArray[np.float64], mu: float) -> NDArray[np.float64]:
    """Return ``log delta`` of ``Gaussian(mu)`` at any real ``epsilon`` (a flat array)."""
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        if mu == 0.0:
            return np.log(-np.expm1(np.minimum(epsilon, 0.0)))
        forward = log_delta_at_nonnegative(np.abs(epsilon), mu)
        if (epsilon >= 0.0).all():
            return forward
        # Exchanging the hypotheses: delta(-x) = 1 - e^-x + e^-x delta(x) for a symmetric function
        size = np.minimum(epsilon, 0.0)
        return np.where(epsilon >= 0.0, forward, np.logaddexp(np.log(-np.expm1(size)), size + forward))


def _log_padding(epsilon: NDArray[np.float64], mu: float) -> NDArray[np.float64]:
    """Return a bound on the error of ``_log_delta`` at epsilon >= 0: that of ``t``, a difference, times the slope.

    Left of 0 there is none, as there delta is no guarantee and mirrors the delta at the opposite epsilon.
    """
    if mu == 0.0:
        return np.zeros_like(epsilon)
    with np.errstate(over="ignore"):
        size = np.abs(epsilon) / mu + 0.5 * mu
        slope = 1.0 + np.abs(size - mu)
        padding = np.minimum(1e-14 + 1e-15 * size * slope, _LARGEST_PADDING)
    return np.where(epsilon >= 0.0, padding, 0.0)


def log_delta_at_nonnegative(epsilon: NDArray[np.float64], mu: float) -> NDArray[np.float64]:
    """Return ``log delta`` for epsilon >= 0 and mu > 0.

    It is ``log[phi(t) (M(t) - M(t + mu))]`` with ``t = epsilon/mu - mu/2``, phi the normal density, M the Mills ratio.
    Callers silence the floating point warnings of a logarithm of 0.
    """
    t = np.minimum(epsilon / mu - 0.5 * mu, 1e150)
    log_density = -0.5 * t * t - _LOG_SQRT_TWO_PI
    if mu < 1.0:
        points = t[:, np.newaxis] + mu * _NODES
        return np.asarray(log_density + math.log(mu) + np.log(_mills_descent(points) @ _WEIGHTS))
    # Right of 0 the density is a common factor; left of it the first tail is near 1 and nothing cancels
    right = np.maximum(t, 0.0)
    difference = _mills(right) - _mills(right + mu)
    left = np.minimum(t, 0.0)
    tails = ndtr(-left) - np.exp(log_density) * _mills(np.maximum(t + mu, 0.0))
    return np.where(t >= 0.0, log_density + np.log(difference), np.log(np.maximum(tails, 0.0)))


def _mills(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mills ratio ``(1 - Phi(x)) / phi(x)``."""
    return np.asarray(math.sqrt(0.5 * math.pi) * erfcx(x * math.sqrt(0.5)))


def _mills_descent(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """``-M'(x) = 1 - x M(x)``; by its asymptotic series where the difference would cancel."""
    near = np.minimum(x, _FAR)
    descent = 1.0 - near * _mills(near)
    far = x > _FAR
    if not far.any():
        return descent
    y = 1.0 / np.square(np.maximum(x, _FAR))
    series = y * (1.0 - y * (3.0 - y * (15.0 - y * (105.0 - 945.0 * y))))
    return np.where(far, series, descent)
