"""Functions of two columns: products of their leading functions and, where a stage asks for it, of their bends.

The product of two straight lines follows an interaction that grows evenly. Where the two bend, products of the leading
function of one column with the bend of the other, and of both bends, follow what is left of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from dpcate.models.additive.basis import ColumnBasis
    from dpcate.models.protocol import Interactions

__all__ = [
    "BENT",
    "BENT_SIZE",
    "MOST_PAIRED",
    "PAIR",
    "PAIR_SIZE",
    "ProductBasis",
    "bent_products",
    "make_products",
    "single_leading",
]

MOST_PAIRED = 8
"""With more columns than this no products are considered: their number grows with the square."""

PAIR, BENT = 100, 101
"""The orders of a product of leading functions, and of one with a bend."""

PAIR_SIZE, BENT_SIZE = 0.35, 0.15
"""Prior variance of all products of an order together, relative to a leading term's."""

_BEND = 2
"""The order of the function that bends to one side."""


@dataclass(frozen=True, slots=True)
class ProductBasis:
    """``left[code of first] * right[code of second] - mean``.

    Parameters
    ----------
    first, second
        The columns.
    left, right
        One factor per code of each.
    mean
        Released mean of the product.
    order
        ``PAIR`` or ``BENT``.
    """

    first: int
    second: int
    left: NDArray[np.float64]
    right: NDArray[np.float64]
    mean: float
    order: int

    def values(self, codes: NDArray[np.uint16], out: NDArray[np.float64]) -> None:
        """Write the function's value for each row of ``codes``."""
        np.multiply(np.take(self.left, codes[:, self.first]), np.take(self.right, codes[:, self.second]), out=out)
        out -= self.mean


def single_leading(columns: Sequence[ColumnBasis]) -> list[int]:
    """Return the columns with exactly one leading function: numbers and yes/no categories."""
    return [j for j, column in enumerate(columns) if (column.orders == 0).sum() == 1]


def make_products(
    columns: Sequence[ColumnBasis],
    correlations: NDArray[np.float64],
    *,
    n_features: int,
    interactions: Interactions = "plain",
    bends: Sequence[tuple[int, int]] = (),
) -> tuple[ProductBasis, ...]:
    """Return the products to consider, those with bends last.

    Parameters
    ----------
    columns
        Functions per column; features first, then perhaps the treatment.
    correlations
        Of the columns' leading functions.
    n_features
        How many columns are features.
    interactions
        Whether to consider bends, or products of the treatment with features, beside pairs of features.
    bends
        Pairs of features whose bends to consider where not all are.
    """
    single = single_leading(columns[:n_features])
    if len(single) > MOST_PAIRED:
        return ()
    pairs = [(first, second) for k, first in enumerate(single) for second in single[k + 1 :]]
    bent = pairs if interactions == "bent" else bends
    if interactions == "treated":
        pairs = pairs + [(j, arm) for arm in single_leading(columns)[len(single) :] for j in single]
    plain = [
        ProductBasis(i, j, columns[i].leading, columns[j].leading, float(correlations[i, j]), PAIR) for i, j in pairs
    ]
    return (*plain, *bent_products(columns, bent, correlations))


def bent_products(
    columns: Sequence[ColumnBasis], pairs: Sequence[tuple[int, int]], correlations: NDArray[np.float64]
) -> Iterator[ProductBasis]:
    """Yield products with bends; for normal features a straight line and a bend are uncorrelated, two bends are not."""
    for i, j in pairs:
        left, right = _bend(columns[i]), _bend(columns[j])
        if right is not None:
            yield ProductBasis(i, j, columns[i].leading, right, 0.0, BENT)
        if left is not None:
            yield ProductBasis(i, j, left, columns[j].leading, 0.0, BENT)
        if left is not None and right is not None:
            yield ProductBasis(i, j, left, right, float(correlations[i, j]) ** 2, BENT)


def _bend(column: ColumnBasis) -> NDArray[np.float64] | None:
    """Return a number's function that bends to one side, if it has one."""
    at = np.flatnonzero(column.orders == _BEND)
    return column.values[int(at[0])] if len(at) else None
