"""Private second moments: one noisy sum of outer products v v' of bounded whole-number rows.

With v = (basis row, scaled target) a single release holds the normal equations and the target's own second moment.
The noise is spread so that the Frobenius distance between neighbouring sums is what is paid for.
Proof: ``docs/privacy/moments.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcate.accounting import Gaussian, Guarantee, check_neighbours
from dpcate.errors import ParameterError
from dpcate.mechanisms.beside import Beside
from dpcate.mechanisms.discrete_gaussian import DiscreteGaussian
from dpcate.mechanisms.table_rows import ROW_LIMIT, check_target_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from dpcate.accounting import Neighbours
    from dpcate.mechanisms.noise import NoiseSource
    from dpcate.mechanisms.table_rows import TableRows

__all__ = ["MomentNoise", "MomentRelease"]


class MomentNoise:
    """Noise for one release, begun by :meth:`MomentRelease.begin`."""

    def __init__(self, mechanism: MomentRelease, released: NDArray[np.bool_], noise: NoiseSource) -> None:
        on, off = mechanism.mechanisms()
        n_off, n_on = int(np.triu(released, 1).sum()), int(np.diagonal(released).sum())
        self._fits = mechanism, released
        self._drawn = [Beside(lambda: (off.draw(n_off, noise), on.draw(n_on, noise)))]

    def take(
        self, mechanism: MomentRelease, released: NDArray[np.bool_]
    ) -> Beside[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Return the noise off and on the diagonal, once, to the mechanism and for the entries it was begun for."""
        drawn = self._drawn.pop() if self._drawn else None
        if drawn is None or self._fits[0] != mechanism or not np.array_equal(self._fits[1], released):
            raise ParameterError("noise serves one release, of the mechanism and the entries that it was begun for.")
        return drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class MomentRelease:
    """Noisy sum of v v' over rows v of length at most ROW_LIMIT.

    Parameters
    ----------
    mu
        What one release costs.
    neighbours
        A row's product appears or disappears under ``add_remove`` (Frobenius distance at most L^2, L the longest row)
        and turns into another under ``replace`` (at most sqrt(2) L^2: |vv' - ww'|^2 = |v|^4 + |w|^4 - 2 (v.w)^2).
    target_limit
        If given, the mechanism serves rows of which only the products with the target are released and whose target is
        no larger than this number l. A row that appears or disappears then moves less: by sqrt(2 l^2 L^2 - l^4).

    Privacy
    -------
    Releases entries of the symmetric matrix with discrete Gaussian noise of scale s on the diagonal and s / sqrt(2) off
    it, which is noise of scale s on an orthonormal basis of symmetric matrices; costs ``guarantee``. Proof:
    ``docs/privacy/moments.md``.
    """

    mu: float
    neighbours: Neighbours
    target_limit: int | None = None

    def __post_init__(self) -> None:
        check_neighbours(self.neighbours)
        if self.target_limit is not None:
            check_target_limit(self.target_limit)
        self.mechanisms()  # refuses a budget too small for exact noise

    @property
    def guarantee(self) -> Guarantee:
        """Cost of one release."""
        return Guarantee(Gaussian(self.mu), self.neighbours)

    @property
    def noise_scale(self) -> float:
        """Standard deviation of the noise off the diagonal, in squared longest rows; on it, sqrt(2) times as much."""
        return self.mechanisms()[1].scale / ROW_LIMIT**2

    @property
    def squared_sensitivity(self) -> int:
        """Squared Frobenius distance D^2 between neighbouring sums, in squared grid steps; a whole even number."""
        if self.neighbours == "replace":
            return 2 * ROW_LIMIT**4
        if self.target_limit is None:
            return ROW_LIMIT**4
        squared = self.target_limit**2
        return 2 * squared * ROW_LIMIT**2 - squared**2 + squared % 2

    def mechanisms(self) -> tuple[DiscreteGaussian, DiscreteGaussian]:
        """Return the mechanisms of diagonal and off-diagonal entries: squared distance D^2, and half of it."""
        squared = self.squared_sensitivity
        return (
            DiscreteGaussian(squared_sensitivity=squared, mu=self.mu, neighbours=self.neighbours),
            DiscreteGaussian(squared_sensitivity=squared // 2, mu=self.mu, neighbours=self.neighbours),
        )

    def begin(self, released: NDArray[np.bool_], noise: NoiseSource) -> MomentNoise:
        """Begin to draw the noise of these entries (``TableRows.released``), for one :meth:`release`."""
        return MomentNoise(self, released, noise)

    def release(
        self, rows: TableRows, total: Callable[[], Sequence[NDArray[Any]]], noise: NoiseSource | MomentNoise
    ) -> NDArray[np.float64]:
        """Return the noisy symmetric matrix in squared longest rows; entries that ``rows`` does not sum are zero.

        Parameters
        ----------
        rows
            What a row's vector looks like.
        total
            Passes over all rows and returns the totals of ``rows.sums.of(batch)``; called once.
        noise
            Where the noise comes from, or what :meth:`begin` gave for the entries of ``rows``.
        """
        if self.target_limit is not None and not (rows.target_only and rows.target_limit <= self.target_limit):
            raise ParameterError(
                "with `target_limit`, rows must release products with a target within it, and no others."
            )
        begun = noise if isinstance(noise, MomentNoise) else self.begin(rows.released, noise)
        drawn = begun.take(self, rows.released)
        upper = np.nonzero(np.triu(rows.released, 1))
        diagonal = (np.flatnonzero(np.diagonal(rows.released)),) * 2
        (off_noise, on_noise), exact = drawn.with_total(lambda: rows.sums.matrix(total()))
        noisy = np.zeros(exact.shape)
        noisy[upper] = (exact[upper] + off_noise).astype(np.float64)
        noisy += noisy.T
        noisy[diagonal] = (exact[diagonal] + on_noise).astype(np.float64)
        return noisy / float(ROW_LIMIT**2)
