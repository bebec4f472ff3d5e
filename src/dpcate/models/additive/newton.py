"""Newton's method in a box, for a dozen unknowns whose curvature is cheap to have.

It needs a quarter of the evaluations of a general search.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg.lapack import dposv

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["minimise"]

_MOST_STEPS, _LONGEST_STEP, _SMALLEST_PART = 60, 4.0, 1e-6
_ENOUGH = 1e-4
"""Share of the promised decrease that a step must bring."""

_SMALL_DECREASE = 1e-10

Evaluation = tuple[float, "NDArray[np.float64]", "NDArray[np.float64]", "NDArray[np.float64]"]


def minimise(
    evaluate: Callable[[NDArray[np.float64]], Evaluation],
    start: NDArray[np.float64],
    *,
    low: float,
    high: float,
    near: float,
) -> NDArray[np.float64]:
    """Return a minimum with all unknowns in ``[low, high]``.

    Parameters
    ----------
    evaluate
        Gives value, gradient, Hessian, and a positive definite matrix to use where the Hessian is not.
    start
        Where to begin.
    low, high
        Bounds of every unknown.
    near
        Where no entry of the gradient is larger, the minimum is reached.
    """
    at = np.clip(start, low, high)
    now = evaluate(at)
    for _ in range(_MOST_STEPS):
        gradient = now[1]
        inside = ~(((at <= low) & (gradient > 0)) | ((at >= high) & (gradient < 0)))
        if not (np.abs(gradient[inside]) > near).any():
            break
        step, part = _step(now, inside), 1.0
        while part > _SMALLEST_PART:
            following = np.clip(at + part * step, low, high)
            then = evaluate(following)
            if then[0] <= now[0] + _ENOUGH * gradient @ (following - at):
                break
            part /= 2
        else:
            break
        gained = now[0] - then[0]
        at, now = following, then
        if gained < _SMALL_DECREASE * max(abs(now[0]), 1.0):
            break
    return at


def _step(now: Evaluation, inside: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the way to the minimum of the quadratic model in the unknowns that can move, at most so long."""
    _, gradient, hessian, substitute = now
    free = np.ix_(inside, inside)
    _, way, failed = dposv(hessian[free], gradient[inside])
    if failed:
        _, way, failed = dposv(substitute[free], gradient[inside])
    step = np.zeros_like(gradient)
    step[inside] = -way
    return step * min(1.0, _LONGEST_STEP / max(float(np.abs(step).max()), _LONGEST_STEP))
