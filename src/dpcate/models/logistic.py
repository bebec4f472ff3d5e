"""The logistic function as a lookup table.

A vectorised ``exp`` may round differently in the middle and at the end of an array; a row's value would then depend on
its position. A table gives each number one value wherever it stands, to within 2e-4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["logistic"]

_REACH = 16.0
_STEPS = 1024
_TABLE = expit(np.arange(-_REACH * _STEPS, _REACH * _STEPS + 1) / _STEPS)


def logistic(score: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 / (1 + exp(-score)) from a table of step 1/1024.

    Examples
    --------
    >>> logistic(np.array([0.0, -1000.0])).round(6).tolist()
    [0.5, 0.0]
    """
    index = np.rint((np.clip(score, -_REACH, _REACH) + _REACH) * _STEPS).astype(np.int64)
    values: NDArray[np.float64] = _TABLE[index]
    return values
