"""From a curve of delta back to the trade-off function, by convex duality.

Every real epsilon gives a line ``1 - delta(epsilon) - e^epsilon alpha`` that lies below f, so the largest of any number
of lines is a valid, at worst too pessimistic, value: a numeric search can only err on the safe side.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcate.accounting.tradeoff import TradeOffFunction

__all__ = ["biconjugate"]

_LOWEST_EPSILON = -80.0  # lines flatter than e^-80 add less than 1e-34
_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
_WIDTH = 1e-13


def biconjugate(f: TradeOffFunction, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``sup over epsilon of 1 - delta(epsilon) - e^epsilon alpha``, at least 0, for every ``alpha``.

    The line is concave in ``e^epsilon``, so a golden section search finds the best one. A line steeper than
    ``1 / alpha`` is negative, which bounds the search.

    Parameters
    ----------
    f : TradeOffFunction
        Only its deltas and those of its inverse are used; they must never be below the truth.
    alpha : ndarray
        Flat array of type I errors in [0, 1].
    """
    log_alpha = np.log(np.maximum(alpha, 1e-300))
    inverse = f.reverse()

    def line(epsilon: NDArray[np.float64]) -> NDArray[np.float64]:
        # Left of 0 by exchanged hypotheses, 1 - delta(x) = e^x (1 - inverse.delta(-x)): exact where delta is almost 1
        steep = epsilon >= 0.0
        values = np.empty_like(epsilon)
        values[steep] = 1.0 - f.delta(epsilon[steep]) - np.exp(epsilon[steep] + log_alpha[steep])
        flat = epsilon[~steep]
        values[~steep] = np.exp(flat) * (1.0 - alpha[~steep] - inverse.delta(-flat))
        return values

    low, high = np.full_like(alpha, _LOWEST_EPSILON), -log_alpha
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = line(left), line(right)
    best = np.maximum(np.maximum(at_left, at_right), np.maximum(line(low), line(high)))
    width = float((high - low).max(initial=1.0))
    for _ in range(math.ceil(math.log(_WIDTH / width) / math.log(_GOLDEN))):
        up = at_right > at_left  # the maximum lies right of `left`
        low, high = np.where(up, left, low), np.where(up, high, right)
        kept, at_kept = np.where(up, right, left), np.where(up, at_right, at_left)
        fresh = np.where(up, low + _GOLDEN * (high - low), high - _GOLDEN * (high - low))
        at_fresh = line(fresh)
        left, right = np.where(up, kept, fresh), np.where(up, fresh, kept)
        at_left, at_right = np.where(up, at_kept, at_fresh), np.where(up, at_fresh, at_kept)
        best = np.maximum(best, at_fresh)
    return np.clip(best, 0.0, 1.0 - alpha)
