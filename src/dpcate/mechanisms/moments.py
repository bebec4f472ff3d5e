"""Private second moments: one noisy sum of outer products v v' of bounded integer rows.

With v = (basis row, scaled target) a single release holds the normal equations and the target's own second moment. Each
row is an integer vector of norm at most ROW_LIMIT, the sum is exact whatever the order or the batches, and the noise is
spread so that the Frobenius distance between neighbouring sums is what is paid for. Proof: ``docs/privacy/moments.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcate.accounting import Gaussian, Guarantee, check_neighbours
from dpcate.errors import ParameterError
from dpcate.mechanisms.discrete_gaussian import DiscreteGaussian

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from dpcate.accounting import Neighbours
    from dpcate.mechanisms.noise import NoiseSource

__all__ = ["ROW_LIMIT", "MomentRelease", "rows_to_grid"]

ROW_LIMIT = 2**15
"""Longest integer row. Products stay below 2^30, so 2^23 rows add up exactly in float64 and 2^32 in int64."""

_CHUNK = 2**14
"""Rows per exact matrix product: any number up to 2^23 gives the same integers; this one stays in cache."""


def rows_to_grid(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Map rows of norm at most one (the caller's unit) to whole numbers of norm at most ROW_LIMIT, in place.

    Entries are scaled and truncated toward zero. A row whose whole numbers are still too long, or that holds
    something that is not a number, is set to zero, whatever the caller did: the bound holds without exception.

    Examples
    --------
    >>> rows_to_grid(np.array([[0.6, -0.8], [3.0, 4.0], [np.nan, 0.0]])).tolist()
    [[19660.0, -26214.0], [0.0, 0.0], [0.0, 0.0]]
    """
    with np.errstate(over="ignore", invalid="ignore"):
        rows *= ROW_LIMIT
        np.trunc(rows, out=rows)
        lengths = np.einsum("ij,ij->i", rows, rows)  # exact below 2^53; beyond it, far too long in any case
    bad = ~(lengths <= ROW_LIMIT**2)
    if bad.any():
        rows[bad] = 0.0
    return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class MomentRelease:
    """Noisy sum of v v' over rows v of norm at most one (before the grid).

    Parameters
    ----------
    dimension
        Length of a row.
    mu
        What one release costs.
    neighbours
        A row's product appears or disappears under ``add_remove`` (Frobenius distance at most 1) and turns into another
        under ``replace`` (at most sqrt(2), since |vv' - ww'|^2 = |v|^4 + |w|^4 - 2 (v.w)^2).

    Privacy
    -------
    Releases the symmetric matrix with discrete Gaussian noise of scale s on the diagonal and s / sqrt(2) off it, which
    is noise of scale s on an orthonormal basis of symmetric matrices; costs ``guarantee``. Proof:
    ``docs/privacy/moments.md``.
    """

    dimension: int
    mu: float
    neighbours: Neighbours

    def __post_init__(self) -> None:
        check_neighbours(self.neighbours)
        if not isinstance(self.dimension, int) or self.dimension < 1:
            raise ParameterError(f"`dimension` must be a positive integer; got {self.dimension}.")
        self._mechanisms()  # refuses a budget too small for exact noise

    @property
    def guarantee(self) -> Guarantee:
        """Cost of one release."""
        return Guarantee(Gaussian(self.mu), self.neighbours)

    @property
    def noise_scale(self) -> float:
        """Standard deviation of the noise off the diagonal, in units of one row; on it, sqrt(2) times as much."""
        return self._mechanisms()[1].scale / ROW_LIMIT**2

    def _mechanisms(self) -> tuple[DiscreteGaussian, DiscreteGaussian]:
        """Return the mechanisms of diagonal and off-diagonal entries: squared distance D^2, and half of it."""
        squared = (2 if self.neighbours == "replace" else 1) * ROW_LIMIT**4
        return (
            DiscreteGaussian(squared_sensitivity=squared, mu=self.mu, neighbours=self.neighbours),
            DiscreteGaussian(squared_sensitivity=squared // 2, mu=self.mu, neighbours=self.neighbours),
        )

    def exact(self, batches: Iterable[NDArray[np.float64]]) -> NDArray[np.int64]:
        """Return the integer sum before noise; private, for :meth:`release` and tests.

        Parameters
        ----------
        batches
            Rows of norm at most one; each batch may be overwritten.
        """
        total = np.zeros((self.dimension, self.dimension), dtype=np.int64)
        for batch in batches:
            if batch.ndim != 2 or batch.shape[1] != self.dimension:
                raise ParameterError(f"a batch must have {self.dimension} columns; got {batch.shape[1:]}.")
            for start in range(0, len(batch), _CHUNK):
                rows = rows_to_grid(batch[start : start + _CHUNK])
                total += (rows.T @ rows).astype(np.int64)  # exact: whole numbers, sums below 2^53
        return total

    def release(self, batches: Iterable[NDArray[np.float64]], noise: NoiseSource) -> NDArray[np.float64]:
        """Return the noisy symmetric matrix, in units of one row."""
        exact = self.exact(batches)
        on, off = self._mechanisms()
        upper = np.triu_indices(self.dimension, 1)
        noisy = np.zeros((self.dimension, self.dimension))
        noisy[upper] = off.release(exact[upper], noise)
        noisy += noisy.T
        noisy[np.diag_indices(self.dimension)] = on.release(np.diagonal(exact).copy(), noise)
        return noisy / float(ROW_LIMIT**2)
