"""Many small private sums that are paid for together: the release under boosting.

The number of releases is fixed before the first, each costs the same, and a release beyond the last raises. The noise
never looks at the rows, so all of it is drawn in one call. Proof: ``docs/privacy/ebm.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcate.accounting import Gaussian, Guarantee
from dpcate.errors import BudgetError, ParameterError
from dpcate.mechanisms.grid import LIMIT
from dpcate.mechanisms.vector_sum import VectorSum

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcate.accounting import Neighbours
    from dpcate.mechanisms.noise import NoiseSource

__all__ = ["RepeatedSum", "SumSession"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedSum:
    """``n_releases`` sums by group, chosen one after the other, for ``mu`` in all.

    Parameters
    ----------
    bound
        Largest absolute contribution of a row to one release; public or already released.
    mu
        What all releases together cost.
    n_releases
        How many releases there will be at most.
    n_groups
        Number of groups that each release sums over; a row is in one of them.
    neighbours
        See :class:`~dpcate.mechanisms.VectorSum`: sensitivity is the bound, or twice the bound under ``replace``.

    Privacy
    -------
    A session is mu-Gaussian-DP as a whole, even if each release is chosen after seeing the earlier ones. The caller
    must ensure that a row's value and group depend on that row and on what was released before, and on nothing else.
    Proof: ``docs/privacy/ebm.md``.
    """

    bound: float
    mu: float
    n_releases: int
    n_groups: int
    neighbours: Neighbours

    def __post_init__(self) -> None:
        if self.n_releases < 1 or self.n_groups < 1:
            raise ParameterError("`n_releases` and `n_groups` must be at least 1.")
        self.one.mechanism  # noqa: B018 - refuses a budget too small for exact noise before any is drawn

    @property
    def one(self) -> VectorSum:
        """One of the releases: it gets the same share of mu^2 as the others."""
        return VectorSum(bound=self.bound, mu=self.mu / math.sqrt(self.n_releases), neighbours=self.neighbours)

    @property
    def guarantee(self) -> Guarantee:
        """Cost of all releases together."""
        return Guarantee(Gaussian(self.mu), self.neighbours)

    @property
    def noise_scale(self) -> float:
        """Standard deviation of the noise on each sum, in the caller's units."""
        return self.one.noise_scale

    def start(self, noise: NoiseSource) -> SumSession:
        """Draw the noise of all releases and return the session that hands them out."""
        draws = noise.discrete_gaussian(self.one.mechanism.scale, self.n_releases * self.n_groups)
        return SumSession(self, draws.reshape(self.n_releases, self.n_groups))


class SumSession:
    """The releases of one :class:`RepeatedSum`, to be asked for one after the other.

    Privacy
    -------
    Every call of :meth:`release` uses up one of the releases that were paid for; another one raises.
    """

    def __init__(self, mechanism: RepeatedSum, draws: NDArray[np.int64]) -> None:
        self._mechanism = mechanism
        self._bound = mechanism.bound
        self._steps_per_unit = LIMIT / mechanism.bound
        self._draws = draws
        self._n_released = 0
        self._buffer = np.empty(0)

    def exact(
        self, values: NDArray[np.float64], cells: NDArray[np.integer], groups: NDArray[np.integer]
    ) -> NDArray[np.int64]:
        """Return the integer sums before noise; private, for :meth:`release` and tests.

        A row whose cell has no group contributes nothing.
        """
        if len(self._buffer) != len(values):
            self._buffer = np.empty(len(values))
        grid = values.clip(-self._bound, self._bound, out=self._buffer)
        np.multiply(grid, self._steps_per_unit, out=grid)
        np.trunc(grid, out=grid)  # toward zero, so rounding in the line above cannot carry a row past LIMIT
        by_group = self._by_group(grid, cells, groups)
        if np.isnan(by_group).any():
            grid[np.isnan(grid)] = 0.0
            by_group = self._by_group(grid, cells, groups)
        return by_group.astype(np.int64)

    def _by_group(
        self, grid: NDArray[np.float64], cells: NDArray[np.integer], groups: NDArray[np.integer]
    ) -> NDArray[np.float64]:
        """Return sums of integers in doubles: exact below 2^53, in any order."""
        by_cell = np.bincount(cells, grid, minlength=len(groups))[: len(groups)]
        return np.bincount(groups, by_cell, minlength=self._mechanism.n_groups).astype(np.float64)

    def release(
        self, values: NDArray[np.float64], cells: NDArray[np.integer], groups: NDArray[np.integer]
    ) -> NDArray[np.float64]:
        """Return the noisy sum of ``values`` per group, in the caller's units.

        Parameters
        ----------
        values
            What each row contributes; clipped to the bound, NaN counts as zero.
        cells
            The cell of each row.
        groups
            The group of each cell; public or released.
        """
        if self._n_released >= self._mechanism.n_releases:
            raise BudgetError(f"all {self._mechanism.n_releases} releases that were paid for are used up.")
        exact = self.exact(values, cells, groups)
        noisy: NDArray[np.float64] = (exact + self._draws[self._n_released]) * (self._mechanism.bound / LIMIT)
        self._n_released += 1
        return noisy
