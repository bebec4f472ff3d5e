"""From a target (epsilon, delta) to the Gaussian noise that meets it.

The answer is rounded to the safe side: ``Gaussian(mu_for(epsilon, delta)).delta(epsilon) <= delta`` holds always, in
floating point and in exact arithmetic.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfinv, ndtri

from dpcate.accounting.gaussian import LOG_DELTA_MARGIN, Gaussian, log_delta_at_nonnegative
from dpcate.accounting.parameters import check_nonnegative, check_probability

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["mu_for"]


def mu_for(epsilon: float, delta: float) -> float:
    """Return the largest mu for which Gaussian noise is (``epsilon``, ``delta``)-differentially private.

    Parameters
    ----------
    epsilon : float
        Target level, at least 0.
    delta : float
        Target failure probability in (0, 1).

    Examples
    --------
    >>> mu = mu_for(1.0, 1e-5)
    >>> round(mu, 6), Gaussian(mu).delta(1.0) <= 1e-5
    (0.268051, True)
    """
    return _largest_mu(check_nonnegative("epsilon", epsilon), check_probability("delta", delta, open_ends=True))


@lru_cache(maxsize=64)
def _largest_mu(level: float, failure: float) -> float:
    """Return the answer for checked targets; they are public, and every fit asks again."""
    target = math.log(failure) - LOG_DELTA_MARGIN
    if level == 0.0:
        mu = 2.0 * math.sqrt(2.0) * float(erfinv(math.exp(target)))
    else:
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            mu = _root(np.array([level]), target, _first_guess(level, failure))
    return _nudged(mu, level, failure)


def _first_guess(epsilon: float, delta: float) -> float:
    """Return the mu that meets the target by the first of delta's two tails alone, which is too cautious."""
    quantile = -float(ndtri(delta))
    root = math.sqrt(quantile * quantile + 2.0 * epsilon)
    return 2.0 * epsilon / (quantile + root) if quantile > 0.0 else root - quantile


def _root(epsilon: NDArray[np.float64], target: float, guess: float) -> float:
    def excess(mu: float) -> float:
        return float(log_delta_at_nonnegative(epsilon, mu)[0]) - target

    low, high = guess, 1.25 * guess
    while excess(low) > 0.0:
        low = 0.5 * low
    while excess(high) <= 0.0:
        low, high = high, 2.0 * high
    return float(brentq(excess, low, high, xtol=1e-300, rtol=1e-15))


def _nudged(mu: float, epsilon: float, delta: float) -> float:
    step = 2.0**-52
    while Gaussian(mu).delta(epsilon) > delta:
        mu, step = mu * (1.0 - step), 2.0 * step
    return mu
