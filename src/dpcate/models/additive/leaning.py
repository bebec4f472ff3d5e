"""Where an outcome may go with the propensity: a direction in which its coefficients are hardly shrunk.

Shrinking leaves part of every effect in the residuals. Where that part goes with the propensity it is taken for an
effect of the treatment, and the propensity, shrunk as well, does not take it out. So the prior lets the outcome follow
the released propensity freely: one direction among dozens. Everything here is post-processing.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcate.models.additive.basis import Basis
    from dpcate.models.additive.regression import MomentRegression

__all__ = ["propensity_leaning"]

_SIGNAL = 1.0
"""Prior variance of the outcome's part that goes with the propensity, in variances of the outcome."""

_FLAT = 0.03
"""A propensity that varies less than this from person to person leans the prior less."""

_RIDGE = 1e-2
"""Functions that made-up rows hardly tell apart share what they have in common."""


def propensity_leaning(stage: MomentRegression, basis: Basis) -> NDArray[np.float64] | None:
    """Return the coefficients of the released propensity, at the size that the outcome may follow it; None without one.

    Parameters
    ----------
    stage, basis
        The outcome's stage, and its functions.
    """
    n_features, law = stage.data.n_features, stage.data.treatment_law
    if law is None:
        return None
    chances = law(stage.made_up[:, :n_features])
    own = (basis.groups <= n_features) | (basis.groups > len(basis.columns))  # no term of the treatment alone
    functions = basis.matrix(stage.made_up)[:, own]
    crossing = functions.T @ (chances - chances.mean()) / len(functions)
    ridge = functions.T @ functions / len(functions) + _RIDGE * np.eye(functions.shape[1])
    coefficients = np.zeros(basis.n_terms)
    coefficients[own] = np.linalg.solve(ridge, crossing)
    coefficients[0] = 0.0
    spread = float((functions @ coefficients[own]).std())
    leaning: NDArray[np.float64] = math.sqrt(_SIGNAL) * stage.target.scale / max(spread, _FLAT) * coefficients
    return leaning
