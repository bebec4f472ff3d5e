"""The nearest histogram: turning noisy counts, some negative, into counts that could have been."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["project_to_simplex"]


def project_to_simplex(noisy: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    """Return the counts nearest to ``noisy`` that are not negative and sum to ``total``.

    Under Gaussian noise these are the most likely counts. A constant is subtracted and what falls below zero becomes
    zero, so cells that hold noise alone are emptied instead of adding up. ``total`` must be positive.

    Examples
    --------
    >>> project_to_simplex(np.array([6.0, 3.0, -1.0]), 7.0).tolist()
    [5.0, 2.0, 0.0]
    """
    descending = np.sort(noisy)[::-1]
    excess = (np.cumsum(descending) - total) / np.arange(1, len(noisy) + 1)
    last = np.flatnonzero(descending > excess)[-1]
    projected: NDArray[np.float64] = np.maximum(noisy - excess[last], 0.0)
    return projected
