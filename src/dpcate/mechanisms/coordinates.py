"""Coordinates of a row's vector that are made of several columns: products, and sums of looked-up numbers.

Each is a whole number of bounded size that depends on the row's codes alone, element by element; the length of the
whole vector is tested later, row by row. Proof: ``docs/privacy/moments.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcate.errors import ParameterError
from dpcate.kernels import add_lookups

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ENTRY_LIMIT", "Coordinate", "TableMix", "TableProduct"]

ENTRY_LIMIT = 2**20
"""Largest looked-up number: with a larger one a row would be too long whatever its multiplier."""


@dataclass(frozen=True, slots=True)
class TableProduct:
    """A coordinate of two columns: ``rint((left[code of first] * right[code of second] - mean) * factor)``, clipped."""

    first: int
    second: int
    left: NDArray[np.float64]
    right: NDArray[np.float64]
    mean: float
    factor: float

    def __post_init__(self) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            left, right = (np.abs(side).max(initial=0.0) for side in (self.left, self.right))
            largest = (left * right + abs(self.mean)) * abs(self.factor)
        if not np.isfinite(largest) or not np.isfinite([left, right, self.mean, self.factor]).all():
            raise ParameterError("a product must be finite for all codes; rescale its tables.")

    def values(self, codes: NDArray[np.uint16]) -> NDArray[np.float64]:
        """Return the whole number of each row, element by element."""
        product: NDArray[np.float64] = np.take(self.left, codes[:, self.first])
        product *= np.take(self.right, codes[:, self.second])
        product -= self.mean
        product *= self.factor
        np.rint(product, out=product)
        return np.clip(product, -ENTRY_LIMIT, ENTRY_LIMIT, out=product)


@dataclass(frozen=True, slots=True)
class TableMix:
    """A coordinate of all columns: the sum of one looked-up whole number per column, clipped.

    Parameters
    ----------
    tables
        One number per code of each column, whole and at most ENTRY_LIMIT in size; zeros where a column has no part.
    """

    tables: tuple[NDArray[np.float64], ...]

    def __post_init__(self) -> None:
        own = tuple(table.copy() for table in self.tables)  # what was checked stays as it is
        for table in own:
            whole = table.dtype == np.float64 and table.ndim == 1 and bool((table == np.rint(table)).all())
            if not whole or np.abs(table).max(initial=0.0) > ENTRY_LIMIT:
                raise ParameterError(f"`tables` of a sum must be whole numbers of at most {ENTRY_LIMIT}, one per code.")
            table.flags.writeable = False
        object.__setattr__(self, "tables", own)

    def values(self, codes: NDArray[np.uint16]) -> NDArray[np.float64]:
        """Return the whole number of each row: fewer than 2^16 columns add up to less than 2^36, exactly."""
        total = np.zeros(len(codes))
        add_lookups(total, codes, self.tables)
        return np.clip(total, -ENTRY_LIMIT, ENTRY_LIMIT, out=total)


Coordinate = TableProduct | TableMix
"""A whole number per row, at most ENTRY_LIMIT in size."""
