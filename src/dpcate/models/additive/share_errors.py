"""How far the released shares of the columns may be from those of the population: sampling, and noise on the counts.

A function's average over the released distribution is its intercept. The population's is off by what the function makes
of the difference between the two distributions. Everything here is post-processing; derivation:
``docs/statistics/intervals.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpcate.errors import DocumentError
from dpcate.models.additive.columns import cell_of_code, share_of_code
from dpcate.splitting import public_generator

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from dpcate.models.function import AdditiveFunction
    from dpcate.schema import Feature

__all__ = ["SHARES", "variance_by_shares"]

SHARES = "shares"
"""Under this name the details of the model whose stage released columns' shares say which, from how many rows as far as
was released (those that are complete), and with how much noise on each count."""

_N_DRAWS = 128
"""Draws of counts; the same question has the same answer."""

_LEAST, _MOST = 1e-9, 1e15
"""Numbers of rows, and of rows' noise, lie within these; sums beyond lose what one draw of counts adds."""


def variance_by_shares(function: AdditiveFunction, models: Mapping[str, AdditiveFunction]) -> float:
    """Return the variance of the difference between a function's averages over the population and as released.

    Parameters
    ----------
    function
        A function of columns whose shares were released.
    models
        All released models.
    """
    variance = 0.0
    left = {
        column.name: (column, table, share)
        for column, table, share in zip(function.columns, function.tables, function.shares, strict=True)
    }
    for model in models.values():
        names, rows, noise = _checked(model.details.get(SHARES, {"columns": [], "rows": 1.0, "noise": 1.0}))
        for name in names:
            if name in left:  # whose shares are told twice are believed once
                variance += _variance(*left.pop(name), rows, noise)
    return variance


def _variance(
    column: Feature, table: NDArray[np.float64], share: NDArray[np.float64], rows: float, noise: float
) -> float:
    """Return by how much a term's average differs, in the mean square, if the shares are counted and smoothed anew."""
    if not table.any():
        return 0.0
    cells, generator = cell_of_code(column), public_generator()
    expected = rows * np.bincount(cells, weights=share)
    spread = np.sqrt(expected + noise**2)
    drawn = expected + spread * generator.normal(size=(_N_DRAWS, len(expected)))
    averages = np.array([table @ share_of_code(column, cells, counts, noise) for counts in drawn])
    return float(np.mean((averages - table @ share) ** 2))


def _checked(document: Any) -> tuple[list[str], float, float]:  # noqa: ANN401 - a file may hold anything
    """Return columns, rows and noise of a document if they can be such."""
    try:
        names, rows, noise = [str(each) for each in document["columns"]], float(document["rows"]), document["noise"]
        noise = float(noise)
    except (KeyError, TypeError, ValueError):
        raise DocumentError("the errors of a saved model's shares cannot be read; the file is damaged.") from None
    if not (_LEAST < rows < _MOST and _LEAST < noise < _MOST):
        raise DocumentError("the errors of a saved model's shares are like no release's; the file is damaged.")
    return names, rows, noise
