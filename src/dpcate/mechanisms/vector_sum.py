"""Private sums of bounded rows: the release under boosting, means and scores.

Each row contributes an integer vector of norm at most LIMIT; the sum is exact, whatever the order or the batches.
Proof: ``docs/privacy/vector_sum.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcate.mechanisms.discrete_gaussian import DiscreteGaussian
from dpcate.mechanisms.grid import LIMIT, check_bound, scalars_to_grid, vectors_to_grid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcate.accounting import Guarantee, Neighbours
    from dpcate.mechanisms.noise import NoiseSource

__all__ = ["VectorSum"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorSum:
    """Noisy sum of row vectors, each shortened to norm ``bound``.

    Parameters
    ----------
    bound
        Longest contribution of a row, in the caller's units; public or already released.
    mu
        What one release costs.
    neighbours
        A row's vector appears or disappears under ``add_remove`` (sensitivity: the bound), and turns into any other
        under ``replace`` (twice the bound).

    Privacy
    -------
    Releases the sum with discrete Gaussian noise; costs ``guarantee``. Proof: ``docs/privacy/vector_sum.md``.
    """

    bound: float
    mu: float
    neighbours: Neighbours

    def __post_init__(self) -> None:
        check_bound(self.bound)
        _ = self.mechanism  # checks mu and neighbours now, before any row is read

    @property
    def mechanism(self) -> DiscreteGaussian:
        """The noise and its cost."""
        reach = LIMIT if self.neighbours == "add_remove" else 2 * LIMIT
        return DiscreteGaussian(squared_sensitivity=reach**2, mu=self.mu, neighbours=self.neighbours)

    @property
    def guarantee(self) -> Guarantee:
        """Cost of one release."""
        return self.mechanism.guarantee

    @property
    def noise_scale(self) -> float:
        """Standard deviation of the noise on each entry of the sum, in the caller's units."""
        return self.mechanism.scale * self.bound / LIMIT

    def exact(self, vectors: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the integer sum of vectors before noise; private, for :meth:`release` and tests."""
        total: NDArray[np.int64] = vectors_to_grid(vectors, self.bound).sum(axis=0)
        return total

    def exact_by_cell(self, values: NDArray[np.float64], cells: NDArray[np.integer], n_cells: int) -> NDArray[np.int64]:
        """Return integer sums of one value per row into its cell: the same as one-hot vectors, without making them.

        A row whose cell is ``n_cells`` or more contributes nothing, so the length never depends on the rows.
        """
        integers = scalars_to_grid(values, self.bound).astype(np.float64)  # exact: sums stay below 2^53
        return np.bincount(cells, integers, minlength=n_cells)[:n_cells].astype(np.int64)

    def release(self, vectors: NDArray[np.float64], noise: NoiseSource) -> NDArray[np.float64]:
        """Return the noisy sum of the rows of ``vectors``, in the caller's units."""
        return self.add_noise(self.exact(vectors), noise)

    def release_by_cell(
        self, values: NDArray[np.float64], cells: NDArray[np.integer], n_cells: int, noise: NoiseSource
    ) -> NDArray[np.float64]:
        """Return noisy sums of ``values`` per cell; a row's vector is zero but for its own cell."""
        return self.add_noise(self.exact_by_cell(values, cells, n_cells), noise)

    def add_noise(self, exact: NDArray[np.int64], noise: NoiseSource) -> NDArray[np.float64]:
        """Return exact integer sums with noise, in the caller's units."""
        return self.mechanism.release(exact, noise).astype(np.float64) * (self.bound / LIMIT)
