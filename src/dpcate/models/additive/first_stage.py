"""What earlier stages' errors do to this one: their product shifts the right-hand side, by an amount with a known law.

In the R-learner and in the DR-learner the errors of propensity and outcome enter only as their product (Neyman
orthogonality). Both errors have released posteriors; drawing from these tells how far z may be shifted, coordinate by
coordinate. Everything here is post-processing.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from dpcate.models.additive.uncertainty import uncertainty_of
from dpcate.splitting import public_generator

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from dpcate.models.additive.uncertainty import Uncertainty
    from dpcate.models.function import AdditiveFunction
    from dpcate.models.protocol import StageData

__all__ = ["product_errors"]

N_DRAWS = 32
"""Draws of the two errors."""

_WIDER = 1.5
"""Both errors come from shrinking the same functions, so they agree in sign more often than independent draws do: the
mean of their product over people is larger than theirs by about this."""


def product_errors(
    data: StageData, made_up: NDArray[np.uint16], released: Mapping[str, AdditiveFunction]
) -> NDArray[np.float64] | None:
    """Return draws of the product of the first stages' errors at made-up rows, one column per draw; None if it is zero.

    Parameters
    ----------
    data
        The stage; ``first_stage`` names the two released models.
    made_up
        Codes of made-up rows.
    released
        Earlier models.
    """
    if data.first_stage is None or any(name not in released for name in data.first_stage):
        return None
    first, second = (uncertainty_of(released[name]) for name in data.first_stage)
    if first is None or second is None:
        return None
    functions = _functions(first, made_up)
    errors = functions @ _draws(first, 0)
    if not _alike(first, second):
        functions = _functions(second, made_up)
    product = errors * (functions @ _draws(second, 1))
    factor = data.error_factor or data.residual_spread
    if factor is not None:
        product *= factor(made_up)[:, None]
    product += (_WIDER - 1.0) * product.mean(axis=0)
    return product


def _functions(known: Uncertainty, made_up: NDArray[np.uint16]) -> NDArray[np.float64]:
    """Return a model's functions at made-up rows; inputs beyond the features (the arm) are held at control."""
    missing = len(known.basis.columns) - made_up.shape[1]
    codes = made_up if missing == 0 else np.column_stack([made_up, np.ones((len(made_up), missing), dtype=np.uint16)])
    return known.basis.matrix(codes)


def _alike(one: Uncertainty, other: Uncertainty) -> bool:
    """Return whether two models use the same functions: stages share the bases of their columns."""
    first, second = one.basis, other.basis
    same = len(first.columns) == len(second.columns) and not first.products and not second.products
    return same and all(a is b for a, b in zip(first.columns, second.columns, strict=True))


def _draws(known: Uncertainty, stream: int) -> NDArray[np.float64]:
    """Return draws of the error of a model's coefficients."""
    covariance = known.covariance
    jitter = 1e-12 * float(np.trace(covariance)) / len(covariance) + 1e-300
    root = np.linalg.cholesky(covariance + jitter * np.eye(len(covariance)))
    draws: NDArray[np.float64] = root @ _normals(len(covariance), stream)
    return draws


@lru_cache(maxsize=64)
def _normals(size: int, stream: int) -> NDArray[np.float64]:
    """Return fixed, public normal numbers."""
    normals: NDArray[np.float64] = public_generator().standard_normal((2, size, N_DRAWS))[stream]
    return normals
