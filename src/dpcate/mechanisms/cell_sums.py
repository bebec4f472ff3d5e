"""Private sums by cell of one bounded number per row, with each cell's number of rows and sum of squares beside them.

A row is in one cell at most. Under replace-one, counts and squares cost nothing: what they add when a row changes its
cell is what the sums save, since then the row's two numbers meet in different entries. Proof:
``docs/privacy/cell_sums.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcate.errors import ParameterError
from dpcate.mechanisms.beside import Beside
from dpcate.mechanisms.discrete_gaussian import DiscreteGaussian
from dpcate.mechanisms.grid import LIMIT, check_bound, scalars_to_grid

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from dpcate.accounting import Guarantee, Neighbours
    from dpcate.mechanisms.noise import NoiseSource

__all__ = ["CellSums", "CellTotals"]

_LIMIT_BITS = LIMIT.bit_length() - 1
_WEIGHTS = {"replace": math.isqrt(LIMIT**2 // 2), "add_remove": LIMIT // 4}
"""Grid steps that stand for one row, and for the largest square: twice the square is at most LIMIT^2."""


@dataclass(frozen=True, slots=True)
class CellTotals:
    """What was released, in the caller's units, each with the standard deviation of its noise.

    Parameters
    ----------
    sums, sum_noise
        Of the rows' numbers.
    counts, count_noise
        How many rows.
    squares, square_noise
        Sums of the squares of the rows' numbers.
    """

    sums: NDArray[np.float64]
    sum_noise: float
    counts: NDArray[np.float64]
    count_noise: float
    squares: NDArray[np.float64]
    square_noise: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CellSums:
    """Noisy sum, number of rows and sum of squares per cell.

    Parameters
    ----------
    n_cells
        Number of cells; public or already released.
    bound
        Largest size of a row's number, in the caller's units; public or already released.
    mu
        What the joint release costs.
    neighbours
        Squared sensitivity, in grid steps: 4 LIMIT^2 under ``replace``, as for the sums alone, and 9/8 LIMIT^2 under
        ``add_remove``.

    Privacy
    -------
    Releases all entries with discrete Gaussian noise; costs ``guarantee``. Proof: ``docs/privacy/cell_sums.md``.
    """

    n_cells: int
    bound: float
    mu: float
    neighbours: Neighbours

    def __post_init__(self) -> None:
        if self.n_cells < 1:
            raise ParameterError(f"`n_cells` must be at least one; got {self.n_cells}.")
        check_bound(self.bound)
        _ = self.mechanism  # checks mu and neighbours now, before any row is read

    @property
    def weight(self) -> int:
        """Grid steps that a row adds to the count of its cell."""
        return _WEIGHTS["add_remove" if self.neighbours == "add_remove" else "replace"]

    @property
    def mechanism(self) -> DiscreteGaussian:
        """The noise and its cost."""
        squared = LIMIT**2 + 2 * self.weight**2 if self.neighbours == "add_remove" else 4 * LIMIT**2
        return DiscreteGaussian(squared_sensitivity=squared, mu=self.mu, neighbours=self.neighbours)

    @property
    def guarantee(self) -> Guarantee:
        """Cost of one release."""
        return self.mechanism.guarantee

    def exact(self, values: NDArray[np.float64], cells: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the integer totals before noise: all sums, then all counts, then all squares; private.

        A row whose cell is negative, or ``n_cells`` or more, adds nothing; the length never depends on the rows.
        """
        grid = scalars_to_grid(values, self.bound)
        squares = grid * grid * self.weight >> 2 * _LIMIT_BITS  # below 2^60 before the shift, which rounds down
        entries = grid, np.full(len(grid), self.weight), squares
        inside = np.where((cells >= 0) & (cells < self.n_cells), cells, self.n_cells)
        sums = [np.bincount(inside, entry, minlength=self.n_cells)[: self.n_cells] for entry in entries]
        return np.concatenate(sums).astype(np.int64)  # exact: doubles hold integers below 2^53

    def release_total(self, total: Callable[[], NDArray[Any]], noise: NoiseSource) -> CellTotals:
        """Return the noisy totals; ``total`` gives the sum of :meth:`exact` over all batches of rows."""
        mechanism, size = self.mechanism, 3 * self.n_cells
        drawn, exact = Beside(lambda: mechanism.draw(size, noise)).with_total(total)
        if exact.shape != (size,):
            raise ParameterError("the totals must have three entries per cell.")
        sums, counts, squares = np.split(mechanism.noisy(exact, drawn).astype(np.float64), 3)
        units = self.bound / LIMIT, 1 / self.weight, self.bound**2 / self.weight
        scales = [mechanism.scale * unit for unit in units]
        return CellTotals(sums * units[0], scales[0], counts * units[1], scales[1], squares * units[2], scales[2])
