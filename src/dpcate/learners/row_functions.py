"""Functions of rows and released models, as stages have them, and what becomes of them.

They are given rows in batches and must return one number, or a few, per row. Laws are such functions of a row's
features alone: outcome and arm are out of their sight.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from dpcate.tables import Rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcate.learners.released import Released
    from dpcate.models import LoadingLaw, RowLaw, ScoreLaw, WeightLaw

__all__ = [
    "RowFunction",
    "RowPair",
    "RowTriple",
    "ScoreOfRows",
    "attempt",
    "gives_scores",
    "of_codes",
    "pair_of_codes",
    "row_values",
    "score_of_codes",
    "triple_of_codes",
]

RowFunction = Callable[["Rows", "Released"], "NDArray[np.float64]"]
RowPair = Callable[["Rows", "Released"], "tuple[NDArray[np.float64], NDArray[np.float64]]"]
RowTriple = Callable[["Rows", "Released"], "tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]"]
ScoreOfRows = Callable[
    ["Rows", "Released", "NDArray[np.float64]", "NDArray[np.float64]", "NDArray[np.float64]"],
    "tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]",
]


def of_codes(law: RowFunction, released: Released) -> RowLaw:
    """Return a law of rows as a function of encoded features; outcome and arm are out of its sight."""
    return lambda codes: row_values(law, Rows.of_features(codes), released)


def score_of_codes(law: ScoreOfRows, released: Released) -> ScoreLaw:
    """Return a law of the score as a function of encoded features and guesses of the truth."""
    return lambda codes, *truth: law(Rows.of_features(codes), released, *truth)


def gives_scores(law: ScoreLaw, codes: NDArray[np.uint16]) -> bool:
    """Return whether a law of the score gives three arrays of numbers, for any propensities from zero to one."""
    guesses = np.broadcast_to([0.0, 0.5, 1.0], (len(codes), 3))  # which nobody can write to
    try:
        values = [np.asarray(each, dtype=np.float64) for each in law(codes, guesses, guesses, guesses)]
    except Exception:
        return False
    return len(values) == 3 and all(each.shape == guesses.shape and np.isfinite(each).all() for each in values)


def pair_of_codes(law: RowPair, released: Released) -> LoadingLaw:
    """Return a law with two values per row as a function of encoded features."""

    def of_features(codes: NDArray[np.uint16]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        both = _stacked(law, codes, released, 2)
        return both[:, 0], both[:, 1]

    return of_features


def triple_of_codes(law: RowTriple, released: Released) -> WeightLaw:
    """Return a law with three values per row as a function of encoded features."""

    def of_features(
        codes: NDArray[np.uint16],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        all_three = _stacked(law, codes, released, 3)
        return all_three[:, 0], all_three[:, 1], all_three[:, 2]

    return of_features


def _stacked(
    law: RowPair | RowTriple, codes: NDArray[np.uint16], released: Released, width: int
) -> NDArray[np.float64]:
    """Return several values per row, one column each."""
    return row_values(
        lambda rows, released: np.stack(law(rows, released), axis=1), Rows.of_features(codes), released, width
    )


def row_values(function: RowFunction, rows: Rows, released: Released, *width: int) -> NDArray[np.float64]:
    """Return a row function's values; a row on which it fails counts as missing, so no row can stop a run."""
    values = attempt(function, rows, released, *width)
    if values is not None:
        return values
    values = np.full((len(rows), *width), np.nan)
    for i in range(len(rows)):
        alone = attempt(function, rows[i : i + 1], released, *width)
        values[i] = np.nan if alone is None else alone[0]
    return values


def attempt(function: RowFunction, rows: Rows, released: Released, *width: int) -> NDArray[np.float64] | None:
    """Call a row function; None if it fails. What it says could quote a row and is dropped; `Run` silences warnings."""
    try:
        with np.errstate(all="ignore"):
            values = np.array(function(rows, released), dtype=np.float64)  # a copy: nobody else may write to it
    except Exception:
        return None
    return values if values.shape == (len(rows), *width) else None
