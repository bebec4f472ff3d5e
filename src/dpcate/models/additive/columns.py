"""The distribution of each input column: taken from an earlier release, or from a histogram of this stage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpcate.kernels import add_counts
from dpcate.mechanisms import LIMIT, HistogramRelease
from dpcate.models.additive.curves import N_CELLS
from dpcate.models.additive.density import category_shares, smooth_shares
from dpcate.schema import Number
from dpcate.tables import GRID, n_codes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from dpcate.mechanisms import NoiseSource
    from dpcate.models.function import AdditiveFunction
    from dpcate.models.protocol import Budget, StageData
    from dpcate.models.stage_rows import StageRows
    from dpcate.schema import Feature

__all__ = ["cell_of_code", "known_shares", "release_shares", "share_of_code"]


def known_shares(
    columns: Sequence[Feature], released: Mapping[str, AdditiveFunction]
) -> list[NDArray[np.float64] | None]:
    """Return, per column, the shares that an earlier stage released, or None."""
    earlier: dict[Feature, NDArray[np.float64]] = {}
    for model in released.values():
        earlier.update(zip(model.columns, model.shares, strict=True))
    return [earlier.get(column) for column in columns]


def release_shares(
    data: StageData,
    known: Sequence[NDArray[np.float64] | None],
    *,
    mu: float,
    budget: Budget,
    noise: NoiseSource,
) -> tuple[list[NDArray[np.float64]], tuple[float, float]]:
    """Return the share of rows at each code of each column; of new ones, how many rows, and the noise on each count.

    Columns without known shares are released together.

    Privacy
    -------
    One histogram release of the new columns, at the cost Gaussian(mu); none if all are known. Proof:
    ``docs/privacy/histogram.md``.
    """
    new = [j for j, share in enumerate(known) if share is None]
    if not new:
        return [share for share in known if share is not None], (0.0, 0.0)
    merging = [cell_of_code(data.columns[j]) for j in new]
    sizes = tuple(int(cells.max()) + 1 for cells in merging)
    release = HistogramRelease(n_cells=sizes, mu=mu, neighbours=budget.neighbours)
    noisy = release.release_total(lambda: _merged(_counts(data, new), merging), noise)
    shares = list(known)
    for j, cells, counts in zip(new, merging, noisy, strict=True):
        shares[j] = share_of_code(data.columns[j], cells, counts, release.noise_scale)
    counted = max(float(np.mean([counts.sum() for counts in noisy])), release.noise_scale)
    n_rows = counted if data.n_rows is None else min(counted, float(max(data.n_rows, 1)))
    return [share for share in shares if share is not None], (n_rows, release.noise_scale)


def _counts(data: StageData, new: Sequence[int]) -> list[NDArray[Any]]:
    """Return how many rows have each code of each new column; private."""
    sizes = [n_codes(data.columns[j]) for j in new]

    everything = len(new) == len(data.columns)

    def count(rows: StageRows) -> list[NDArray[np.int64]]:
        counts = [np.zeros(size, dtype=np.int64) for size in sizes]
        codes = rows.codes if everything else rows.codes[:, new]
        add_counts(tuple(counts), codes)
        return counts

    return data.total(count)


def _merged(counts: Sequence[NDArray[Any]], merging: Sequence[NDArray[np.int64]]) -> NDArray[Any]:
    """Return the histogram's whole-number sums: each row adds LIMIT to the one cell that holds its code."""
    merged = []
    for count, cells in zip(counts, merging, strict=True):
        cell = np.zeros(int(cells.max()) + 1, dtype=count.dtype)
        np.add.at(cell, cells, count)
        merged.append(cell * LIMIT)
    return np.concatenate(merged)


def cell_of_code(column: Feature) -> NDArray[np.int64]:
    """Return the histogram cell of each code: cell 0 is "other"; a number's 1,024 codes are merged."""
    if isinstance(column, Number):
        return np.concatenate([[0], 1 + np.arange(GRID) // (GRID // N_CELLS)]).astype(np.int64)
    return np.arange(column.n_codes, dtype=np.int64)


def share_of_code(
    column: Feature, cells: NDArray[np.int64], counts: NDArray[np.float64], noise_scale: float
) -> NDArray[np.float64]:
    """Return the share of each code of a column from the noisy counts of its cells."""
    if not isinstance(column, Number):
        return category_shares(counts, noise_scale)
    inside = smooth_shares(counts[1:], noise_scale)
    other = max(float(counts[0]) - 2.0 * noise_scale, 0.0)
    total = other + max(float(counts[1:].sum()), noise_scale)
    per_code = inside[cells[1:] - 1] / (GRID // N_CELLS)
    return np.concatenate([[other / total], per_code * (1.0 - other / total)])
