"""How far the released shares of the columns may be from those of the population: sampling, and noise on the counts.

A function's average over the released distribution is its intercept. The population's is off by what the function makes
of the difference between the two distributions. Everything here is post-processing; derivation:
``docs/statistics/intervals.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.fft import dct

from dpcate.models.additive.curves import N_CELLS
from dpcate.schema import Number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from dpcate.models.function import AdditiveFunction
    from dpcate.schema import Feature

__all__ = ["SHARES", "shares_document", "variance_by_shares"]

SHARES = "shares"
"""Under this name the details of the model whose stage released columns' shares say how well these are known."""


def shares_document(columns: Sequence[Feature], errors: Sequence[NDArray[np.float64]], n_rows: float) -> dict[str, Any]:
    """Return the document of shares that a stage released.

    Parameters
    ----------
    columns
        Whose they are.
    errors
        Variance of the error of each number's counts, in cosines, and of each category's, by level.
    n_rows
        How many rows were counted, public or noisy.
    """
    found = {column.name: (each / n_rows**2).tolist() for column, each in zip(columns, errors, strict=True)}
    return {"rows": n_rows, "errors": found}


def variance_by_shares(function: AdditiveFunction, models: Mapping[str, AdditiveFunction], spread: float) -> float:
    """Return the variance of the difference between a function's averages over the population and as released.

    Parameters
    ----------
    function
        A function of columns whose shares were released.
    models
        All released models.
    spread
        Variance of the function between people.
    """
    variance, fewest = 0.0, np.inf
    for model in models.values():
        known = model.details.get(SHARES, {"rows": np.inf, "errors": {}})
        fewest = min(fewest, float(known["rows"]))
        for column, table, share in zip(function.columns, function.tables, function.shares, strict=True):
            if column.name in known["errors"]:
                variance += float(np.array(known["errors"][column.name]) @ _reach(column, table, share) ** 2)
    return variance + spread / fewest


def _reach(column: Feature, table: NDArray[np.float64], share: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how far the term's average moves with each of the errors; more of everybody moves nothing."""
    centred = table[1:] - share[1:] @ table[1:] / max(float(share[1:].sum()), 1e-300)
    if not isinstance(column, Number):
        return np.concatenate([[0.0], centred])
    reach: NDArray[np.float64] = dct(centred.reshape(N_CELLS, -1).mean(axis=1), norm="ortho")
    return reach
