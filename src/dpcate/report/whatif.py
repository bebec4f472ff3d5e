"""The released numbers that the "what if" panel computes with, packed for the page.

The page repeats the library's own arithmetic: the code of each value on the public grid, one lookup per column, the
products, and the quadratic form of the error. So it gets tables by code, not curves to interpolate, as 64-bit floats.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcate.learners.intervals import quantile
from dpcate.models import uncertainty_of
from dpcate.report.wording import level_text
from dpcate.schema import Number
from dpcate.tables import GRID, cell_midpoints

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcate.learners import CateLearner
    from dpcate.models import Uncertainty
    from dpcate.schema import Feature

__all__ = ["ALPHA", "pack", "typical_code", "what_if"]

ALPHA = 0.05
_SAME = 1e-13


def what_if(learner: CateLearner) -> dict[str, Any]:
    """Return everything that the page needs to compute effects and their intervals, as JSON values."""
    model = learner.models_["effect"]
    known = uncertainty_of(model)
    pool = _Pool()
    outcome = learner.schema_.outcome
    return {
        "grid": GRID,
        "columns": [_control(column, share) for column, share in zip(model.columns, model.shares, strict=True)],
        "intercept": model.intercept,
        "link": model.link,
        "low": None if np.isinf(model.low) else model.low,
        "high": None if np.isinf(model.high) else model.high,
        "tables": [pool.put(table) for table in model.tables],
        "products": [
            {
                "first": product.first,
                "second": product.second,
                "left": pool.put(product.left),
                "right": pool.put(product.right),
                "mean": product.mean,
            }
            for product in model.products
        ],
        "error": None if known is None else _error(known, pool),
        "times": quantile(ALPHA),
        "widest": outcome.high - outcome.low,
        "arrays": [pack(array) for array in pool.arrays],
    }


def pack(values: NDArray[np.float64]) -> str:
    """Return floats as base64 text of their little-endian bytes."""
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f8").tobytes()).decode("ascii")


class _Pool:
    """Arrays that are stored once, also if they come back multiplied by a constant."""

    def __init__(self) -> None:
        self.arrays: list[NDArray[np.float64]] = []

    def put(self, values: NDArray[np.float64]) -> dict[str, float]:
        """Return where to find ``values``: which array, and times what."""
        peak = int(np.argmax(np.abs(values))) if len(values) else 0
        if not values[peak]:
            return {"array": -1, "scale": 0.0}
        for index, array in enumerate(self.arrays):
            if len(array) == len(values) and array[peak]:
                scale = float(values[peak] / array[peak])
                if np.allclose(array * scale, values, rtol=_SAME, atol=_SAME * abs(float(values[peak]))):
                    return {"array": index, "scale": scale}
        self.arrays.append(values)
        return {"array": len(self.arrays) - 1, "scale": 1.0}


def _error(known: Uncertainty, pool: _Pool) -> dict[str, Any]:
    """Return the basis by code, its coefficients' shift and covariance (lower triangle, row by row)."""
    basis = known.basis
    return {
        "functions": [[pool.put(values) for values in column.values] for column in basis.columns],
        "pairs": [
            {
                "first": product.first,
                "second": product.second,
                "left": pool.put(product.left),
                "right": pool.put(product.right),
                "mean": product.mean,
            }
            for product in basis.products
        ],
        "size": basis.n_terms,
        "shift": pack(known.shift),
        "covariance": pack(known.covariance[np.tril_indices(basis.n_terms)]),
    }


def _control(column: Feature, share: NDArray[np.float64]) -> dict[str, Any]:
    """Return a slider or a list of choices, and where it starts: the middle, or the most common level."""
    if isinstance(column, Number):
        middle = cell_midpoints(column)[typical_code(share) - 1]
        return {"name": column.name, "low": column.low, "high": column.high, "start": float(middle)}
    levels = [level_text(level) for level in column.levels]
    return {"name": column.name, "levels": levels, "start": int(np.argmax(share[1:])) + 1}


def typical_code(share: NDArray[np.float64]) -> int:
    """Return the code of the median under the released shares, missing values left out."""
    known = np.maximum(share[1:], 0.0)
    if known.sum() <= 0:
        return len(share) // 2
    return min(int(np.searchsorted(np.cumsum(known), known.sum() / 2)), len(known) - 1) + 1
