"""One term of an additive model as a curve that a person can read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcate.schema import Number
from dpcate.tables import cell_midpoints

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcate.schema import Feature

__all__ = ["Shape"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How one feature moves the function.

    Parameters
    ----------
    name
        The feature.
    grid
        Numbers: values across the public bounds. Categories: the levels.
    effect
        The term at each grid point, averaging zero over the noisy distribution of the feature.
    lower, upper
        Pointwise interval where the model offers one, else None.
    other
        The term for missing values and unknown levels.
    share
        Noisy share of rows at each grid point.
    """

    name: str
    grid: NDArray[Any]
    effect: NDArray[np.float64]
    lower: NDArray[np.float64] | None
    upper: NDArray[np.float64] | None
    other: float
    share: NDArray[np.float64]

    @classmethod
    def of(cls, column: Feature, table: NDArray[np.float64], share: NDArray[np.float64]) -> Shape:
        """Return the curve of a term given by its value per code (code 0 is "other")."""
        grid = cell_midpoints(column) if isinstance(column, Number) else np.array(column.levels, dtype=object)
        return cls(
            name=column.name,
            grid=grid,
            effect=table[1:].copy(),
            lower=None,
            upper=None,
            other=float(table[0]),
            share=share[1:].copy(),
        )
