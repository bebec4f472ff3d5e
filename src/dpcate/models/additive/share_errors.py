"""How far the released shares of the columns may be from those of the population: sampling, and noise on the counts.

A function's average over the released distribution is its intercept. The population's is off by what the function makes
of the difference between the two distributions. Everything here is post-processing; derivation:
``docs/statistics/intervals.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.fft import dct

from dpcate.errors import DocumentError
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
        Variance of the error of each number's "other" and of its counts, in cosines, or of each of a category's levels.
    n_rows
        How many rows were counted, as far as was released: those that are complete.
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
    reaches = {
        column.name: _reach(column, table, share)
        for column, table, share in zip(function.columns, function.tables, function.shares, strict=True)
    }
    for model in models.values():
        rows, errors = _checked(model.details.get(SHARES, {"rows": 1.0, "errors": {}}))
        for name in errors.keys() & reaches.keys():
            fewest = min(fewest, rows)
            reach = reaches.pop(name)  # whose shares are told twice are believed once
            if len(errors[name]) != len(reach):
                raise DocumentError("the errors of a column's shares do not fit the column; the file is damaged.")
            variance += float(errors[name] @ reach**2)
    return variance + spread / fewest


def _reach(column: Feature, table: NDArray[np.float64], share: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how far the term's average moves with each of the errors; if all counts are larger alike it does not."""
    centred = table - share @ table
    if not isinstance(column, Number):
        return centred
    return np.append(centred[0], dct(centred[1:].reshape(N_CELLS, -1).mean(axis=1), norm="ortho"))


def _checked(document: Any) -> tuple[float, dict[str, NDArray[np.float64]]]:  # noqa: ANN401 - a file may hold anything
    """Return the rows and the errors of a document if they can be such."""
    try:
        rows = float(document["rows"])
        errors = {str(name): np.asarray(each, dtype=np.float64) for name, each in document["errors"].items()}
    except (AttributeError, KeyError, TypeError, ValueError):
        raise DocumentError("the errors of a saved model's shares cannot be read; the file is damaged.") from None
    sound = all(each.ndim == 1 and np.isfinite(each).all() and (each >= 0.0).all() for each in errors.values())
    if not (sound and 0.0 < rows < np.inf):
        raise DocumentError("the errors of a saved model's shares must be finite and positive; the file is damaged.")
    return rows, errors
