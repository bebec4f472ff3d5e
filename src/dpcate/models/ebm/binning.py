"""From one private histogram per input to bins, their weights and the shares of codes.

Rows enter through :class:`~dpcate.mechanisms.HistogramRelease` alone; all that follows is post-processing of noisy
counts. The cells are public: a number's range in equal pieces, a category's listed levels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcate.mechanisms import HistogramRelease
from dpcate.models.simplex import project_to_simplex
from dpcate.schema import Number
from dpcate.tables import n_codes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dpcate.mechanisms import NoiseSource
    from dpcate.models.protocol import Budget, StageData
    from dpcate.schema import Feature

__all__ = ["ColumnBins", "bin_columns", "cells_of_codes", "release_bins"]

N_PIECES = 64
"""Equal pieces of a number's range: the resolution of the private histogram."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnBins:
    """The bins of one column; released.

    Parameters
    ----------
    ordered
        Whether neighbouring bins are neighbouring values; bin 0 (missing) stands apart then.
    bin_of_code
        Bin of each code.
    weight
        Noisy weight of each bin, at least zero, in rows (or in squared loadings of the largest size).
    weight_scale
        Standard deviation of the noise on each bin's weight.
    share
        Noisy share of each code; sums to one.
    """

    ordered: bool
    bin_of_code: NDArray[np.uint16]
    weight: NDArray[np.float64]
    weight_scale: NDArray[np.float64]
    share: NDArray[np.float64]

    @property
    def n_bins(self) -> int:
        """Number of bins, the one for missing values included."""
        return len(self.weight)


def cells_of_codes(column: Feature) -> NDArray[np.uint16]:
    """Return the public histogram cell of each code: 0 for missing, then pieces of the range, or the levels."""
    codes = np.arange(n_codes(column))
    if not isinstance(column, Number):
        return codes.astype(np.uint16)
    per_piece = (len(codes) - 1) // N_PIECES
    return np.where(codes == 0, 0, 1 + (codes - 1) // per_piece).astype(np.uint16)


def release_bins(data: StageData, *, max_bins: int, mu: float, budget: Budget, noise: NoiseSource) -> list[ColumnBins]:
    """Return the bins of every column.

    Privacy
    -------
    One :class:`~dpcate.mechanisms.HistogramRelease` over all columns, which costs ``mu``. With a loading, a row weighs
    (loading / bound)^2, so that the weights are the denominators of the weighted boosting step.
    """
    maps = [cells_of_codes(column) for column in data.columns]
    release = HistogramRelease(n_cells=tuple(int(cells[-1]) + 1 for cells in maps), mu=mu, neighbours=budget.neighbours)
    loading = data.held.loading
    weights = None if loading is None else np.square(loading / data.loading_bound)
    rows = [cells[data.held.codes[:, j]] for j, cells in enumerate(maps)]
    noisy = release.release(rows, noise, weights)
    total = data.n_rows if data.n_rows is not None and weights is None else None
    return bin_columns(data.columns, noisy, total=total, scale=release.noise_scale, max_bins=max_bins)


def bin_columns(
    columns: Sequence[Feature],
    noisy: Sequence[NDArray[np.float64]],
    *,
    total: float | None,
    scale: float,
    max_bins: int,
) -> list[ColumnBins]:
    """Return bins from noisy histograms: post-processing, no rows.

    Parameters
    ----------
    columns
        Public description of the inputs.
    noisy
        Noisy histogram of each column.
    total
        Total weight where it is public; None averages the noisy totals, which all estimate the same number.
    scale
        Standard deviation of the noise on each cell.
    max_bins
        Most bins for a number.
    """
    if total is None:
        precision = np.array([1.0 / len(cells) for cells in noisy])
        total = float(np.average([cells.sum() for cells in noisy], weights=precision))
    total = max(total, 1.0)
    return [
        _bins(column, project_to_simplex(cells, total), scale, max_bins)
        for column, cells in zip(columns, noisy, strict=True)
    ]


def _bins(column: Feature, cells: NDArray[np.float64], scale: float, max_bins: int) -> ColumnBins:
    cell_of_code = cells_of_codes(column)
    ordered = isinstance(column, Number)
    bin_of_cell = _equal_weight_bins(cells, max_bins) if ordered else np.arange(len(cells))
    codes_per_cell = np.bincount(cell_of_code)
    return ColumnBins(
        ordered=ordered,
        bin_of_code=bin_of_cell[cell_of_code].astype(np.uint16),
        weight=np.bincount(bin_of_cell, cells).astype(np.float64),
        weight_scale=scale * np.sqrt(np.bincount(bin_of_cell)),
        share=(cells / codes_per_cell / cells.sum())[cell_of_code],
    )


def _equal_weight_bins(cells: NDArray[np.float64], max_bins: int) -> NDArray[np.int64]:
    """Return the bin of each cell: 0 for the missing cell, then runs of cells of roughly equal weight."""
    values = cells[1:]
    middle = np.cumsum(values) - values / 2
    target = np.floor(middle / max(values.sum(), 1e-9) * max_bins)
    new_run = np.diff(np.clip(target, 0, max_bins - 1), prepend=-1.0) > 0  # targets never fall
    return np.concatenate([[0], np.cumsum(new_run)]).astype(np.int64)
