"""Which entries of the moments are summed and released: public, whatever the rows.

Proof that some of the entries move no further than all of them: ``docs/privacy/moments.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["N_NEAR", "dense_places", "entries_of", "starts_of"]

N_NEAR = 3
"""How many of each column's first coordinates have their products with each other summed."""


def dense_places(
    sizes: Sequence[int], dense: Sequence[int | None], n_products: int, *, target_only: bool = False
) -> list[int]:
    """Return the places whose products are summed with each other: constant, dense coordinates, products, target.

    Parameters
    ----------
    sizes
        Coordinates of each column.
    dense
        Per column, the one coordinate whose products with other columns' are summed, or None.
    n_products
        How many coordinates are made of several columns.
    target_only
        Whether only products with the target are summed.
    """
    starts = starts_of(sizes)
    chosen = [start + at for start, at in zip(starts, dense, strict=False) if at is not None]
    return [0, *([] if target_only else chosen), *range(starts[-1], starts[-1] + n_products + 1)]


def entries_of(
    sizes: Sequence[int],
    dense: Sequence[int | None],
    n_products: int,
    *,
    n_alone: int = 0,
    target_only: bool = False,
) -> NDArray[np.bool_]:
    """Return the mask of released entries: dense with dense, a column's first few, each with itself, constant, target.

    Parameters
    ----------
    sizes, dense, n_products, target_only
        As for :func:`dense_places`.
    n_alone
        How many of the products, the last ones, are released with themselves, the constant and the target only.
    """
    dimension = 2 + sum(sizes) + n_products
    mask = np.zeros((dimension, dimension), dtype=bool)
    mask[-1, :] = mask[:, -1] = True
    if target_only:
        return mask
    places = dense_places(sizes, dense, n_products)
    mask[np.ix_(places, places)] = True
    alone = slice(dimension - 1 - n_alone, dimension - 1)
    mask[alone, :-1] = mask[:-1, alone] = False
    for start, size in zip(starts_of(sizes), sizes, strict=False):
        near = slice(start, start + min(size, N_NEAR))
        mask[near, near] = True
    mask[0, :] = mask[:, 0] = True
    np.fill_diagonal(mask, True)
    return mask


def starts_of(sizes: Sequence[int]) -> list[int]:
    """Return the place of each column's first coordinate, and the first place after all columns."""
    return [int(start) for start in 1 + np.concatenate([[0], np.cumsum(sizes)])]
