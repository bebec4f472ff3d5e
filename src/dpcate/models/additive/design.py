"""How much of the noise each coefficient gets: planned before any row is read.

A row's vector has bounded length, so weight given to one coordinate is taken from the others, and noise on a coordinate
falls with its weight. The plan minimises the expected posterior variance under the prior.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["plan_weights"]

_ROUNDS = 40


def plan_weights(prior: NDArray[np.float64], sampling: float, noise: float) -> NDArray[np.float64]:
    """Return a weight per coefficient, the largest being one.

    With weights of unit length, coefficient j is known up to the variance v_j = sampling + noise / w_j^2. Setting the
    derivative of sum_j prior_j v_j / (prior_j + v_j) to zero gives w_j^2 proportional to prior_j / (prior_j + v_j): a
    coefficient gets weight by how much of it can be learned. The fixed point is found by iteration.

    Parameters
    ----------
    prior
        Prior variance of each coefficient.
    sampling
        Variance that would remain without privacy noise.
    noise
        Variance of the privacy noise on a coefficient that had all the weight.
    """
    squared, certain = np.sqrt(prior), prior + sampling
    for _ in range(_ROUNDS):
        squared /= squared.sum()
        np.maximum(squared, 1e-12, out=squared)
        np.divide(noise, squared, out=squared)
        squared += certain
        np.divide(prior, squared, out=squared)
    weights: NDArray[np.float64] = np.sqrt(squared / squared.max())
    return weights
