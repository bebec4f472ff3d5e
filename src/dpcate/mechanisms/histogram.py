"""Private histograms: how many rows (or how much weight) in each cell, for several columns at once.

Each row adds at most LIMIT grid steps to one cell of each histogram, so one row moves the whole vector by a distance
that is known before any row is seen. Proof: ``docs/privacy/histogram.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcate.errors import ParameterError
from dpcate.mechanisms.beside import Beside
from dpcate.mechanisms.discrete_gaussian import DiscreteGaussian
from dpcate.mechanisms.grid import LIMIT, scalars_to_grid

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from dpcate.accounting import Guarantee, Neighbours
    from dpcate.mechanisms.noise import NoiseSource

__all__ = ["HistogramRelease"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistogramRelease:
    """Noisy weighted counts per cell for several columns, released together.

    Parameters
    ----------
    n_cells
        Number of cells of each histogram; public.
    mu
        What the joint release of all histograms costs.
    neighbours
        Under ``add_remove`` one row changes one cell per histogram: squared sensitivity d LIMIT^2. Under ``replace``
        it may leave one cell and enter another: 2 d LIMIT^2 (weights are non-negative, so both in one cell differ by
        less).

    Privacy
    -------
    Releases all cells with discrete Gaussian noise; costs ``guarantee``. Proof: ``docs/privacy/histogram.md``.
    """

    n_cells: tuple[int, ...]
    mu: float
    neighbours: Neighbours

    def __post_init__(self) -> None:
        if not self.n_cells or min(self.n_cells) < 1:
            raise ParameterError(f"`n_cells` must name at least one cell per histogram; got {self.n_cells}.")
        _ = self.mechanism  # checks mu and neighbours now, before any row is read

    @property
    def mechanism(self) -> DiscreteGaussian:
        """The noise and its cost."""
        moves = 1 if self.neighbours == "add_remove" else 2
        return DiscreteGaussian(
            squared_sensitivity=moves * len(self.n_cells) * LIMIT**2, mu=self.mu, neighbours=self.neighbours
        )

    @property
    def guarantee(self) -> Guarantee:
        """Cost of one release."""
        return self.mechanism.guarantee

    @property
    def noise_scale(self) -> float:
        """Standard deviation of the noise on a cell, in rows."""
        return self.mechanism.scale / LIMIT

    def exact(self, cells: Sequence[NDArray[np.integer]], weights: NDArray[np.float64] | None) -> NDArray[np.int64]:
        """Return the integer sums before noise, all histograms joined; private, for :meth:`release` and tests.

        A row whose cell is ``n_cells`` or more is left out of that histogram, so the length never depends on the rows.
        """
        if weights is None:
            counts = [np.bincount(cell, minlength=k)[:k] for cell, k in zip(cells, self.n_cells, strict=True)]
            return np.concatenate(counts).astype(np.int64) * LIMIT
        integers = scalars_to_grid(np.clip(weights, 0.0, 1.0), 1.0).astype(np.float64)  # exact: sums stay below 2^53
        sums = [np.bincount(cell, integers, minlength=k)[:k] for cell, k in zip(cells, self.n_cells, strict=True)]
        return np.concatenate(sums).astype(np.int64)

    def release(
        self,
        cells: Sequence[NDArray[np.integer]],
        noise: NoiseSource,
        weights: NDArray[np.float64] | None = None,
    ) -> list[NDArray[np.float64]]:
        """Return one noisy histogram per column, in units of rows.

        Parameters
        ----------
        cells
            Per column, the cell of each row, in ``[0, n_cells)``.
        noise
            Where the noise comes from.
        weights
            Weight of each row, clipped to [0, 1]; None counts rows.
        """
        return self.release_total(lambda: self.exact(cells, weights), noise)

    def release_total(self, total: Callable[[], NDArray[Any]], noise: NoiseSource) -> list[NDArray[np.float64]]:
        """Return one noisy histogram per column; ``total`` gives the sum of :meth:`exact` over all batches of rows."""
        mechanism, size = self.mechanism, sum(self.n_cells)
        drawn, exact = Beside(lambda: mechanism.draw(size, noise)).with_total(total)
        if exact.shape != (size,):
            raise ParameterError("the totals of a histogram must have one entry per cell.")
        noisy = (mechanism.noisy(exact, drawn) / LIMIT).astype(np.float64)
        return np.split(noisy, np.cumsum(self.n_cells)[:-1])
