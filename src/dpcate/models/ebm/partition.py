"""Random leaves: which bins share a step. Public coins decide; no row is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcate.models.ebm.binning import ColumnBins

__all__ = ["random_leaves"]


def random_leaves(bins: ColumnBins, *, leaves: int, rounds: int, coins: np.random.Generator) -> NDArray[np.int64]:
    """Return the leaf of each bin in each round (rounds x bins).

    The bins of a number are cut at random places, and missing values join a random leaf. The bins of a category are
    shuffled first, so that any grouping of levels can come up. With fewer bins than leaves each bin is a leaf.

    Parameters
    ----------
    bins
        Released bins of the column.
    leaves
        Number of leaves.
    rounds
        Number of independent partitions.
    coins
        Generator that does not depend on the table.
    """
    n_missing = 1 if bins.ordered and bins.n_bins > 1 else 0
    n_values = bins.n_bins - n_missing
    n_leaves = min(leaves, n_values)
    leaf = np.cumsum(_random_starts(rounds, n_values, n_leaves - 1, coins), axis=1)
    if not bins.ordered:
        return coins.permuted(leaf, axis=1)
    return np.concatenate([coins.integers(n_leaves, size=(rounds, n_missing)), leaf], axis=1)


def _random_starts(rounds: int, n_values: int, n_cuts: int, coins: np.random.Generator) -> NDArray[np.int64]:
    """Return rounds x values with ones at ``n_cuts`` random places of each row, never at the first."""
    starts = np.zeros((rounds, n_values), dtype=np.int64)
    places = np.argsort(coins.random((rounds, n_values - 1)), axis=1)[:, :n_cuts] + 1
    np.put_along_axis(starts, places, 1, axis=1)
    return starts
