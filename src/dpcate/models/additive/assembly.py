"""From coefficients to the released function: one table per column, and products."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpcate.models.function import AdditiveFunction, Product

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from dpcate.accounting import Guarantee
    from dpcate.models.additive.basis import Basis
    from dpcate.models.protocol import StageData

__all__ = ["assemble"]


def assemble(
    data: StageData,
    basis: Basis,
    mean: NDArray[np.float64],
    *,
    centre: float,
    guarantee: Guarantee,
    details: Mapping[str, Any],
) -> AdditiveFunction:
    """Return the posterior mean as a function of codes; only the public description of ``data`` is read."""
    at = 1
    tables = []
    for column in basis.columns:
        own = mean[at : at + len(column.values)]
        tables.append(own @ column.values if len(own) else np.zeros(len(column.shares)))
        at += len(own)
    products = tuple(
        Product(term.first, term.second, own * term.left, term.right, float(own * term.mean))
        for own, term in zip(mean[at:], basis.products, strict=True)
    )
    bounded = not data.weighted
    return AdditiveFunction(
        columns=data.columns,
        intercept=float(mean[0]) + centre,
        tables=tuple(tables),
        shares=tuple(column.shares for column in basis.columns),
        products=products,
        guarantee_=guarantee,
        low=data.low if bounded else -np.inf,
        high=data.high if bounded else np.inf,
        details=dict(details),
    )
