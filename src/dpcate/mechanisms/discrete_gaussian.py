"""The one mechanism under all others: integers plus discrete Gaussian noise.

It protects the exactness of the guarantee: sensitivities are squared integers, sums are integers, noise is an integer,
so no floating-point rounding stands between the proof and what the machine releases. Proof:
``docs/privacy/discrete_gaussian.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcate.accounting import Gaussian, Guarantee, check_neighbours
from dpcate.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcate.accounting import Neighbours
    from dpcate.mechanisms.noise import NoiseSource

__all__ = ["LARGEST_SCALE", "SMOOTHING", "DiscreteGaussian"]

SMOOTHING = 4.0
"""Standard deviation (in grid steps) given up so that the discrete Gaussian is a post-processed continuous one."""

LARGEST_SCALE = 2.0**56
"""Above this noise scale an int64 could overflow; a smaller grid or a larger budget is needed."""

_ROUNDING = 1.0 + 2.0**-40
"""Inflates the scale by more than any rounding error in computing it, so that the cost is never understated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteGaussian:
    """Add discrete Gaussian noise to an integer vector whose squared L2 sensitivity is known.

    Parameters
    ----------
    squared_sensitivity
        Largest squared Euclidean distance between the integer vectors of two neighbouring tables.
    mu
        What a release costs: it is ``Gaussian(mu)``-private.
    neighbours
        The relation for which ``squared_sensitivity`` was derived.

    Privacy
    -------
    One call of :meth:`release` is mu-Gaussian-DP for that relation, provided that the caller's integer vector really
    has the stated sensitivity. Proof: ``docs/privacy/discrete_gaussian.md``.

    Examples
    --------
    >>> mechanism = DiscreteGaussian(squared_sensitivity=2, mu=1.0, neighbours="replace")
    >>> round(mechanism.scale, 6)  # sqrt(2 / 1 + SMOOTHING^2)
    4.242641
    """

    squared_sensitivity: int
    mu: float
    neighbours: Neighbours

    def __post_init__(self) -> None:
        if not isinstance(self.squared_sensitivity, int) or self.squared_sensitivity < 1:
            raise ParameterError(f"`squared_sensitivity` must be a positive integer; got {self.squared_sensitivity}.")
        check_neighbours(self.neighbours)
        if not self.mu > 0 or not math.isfinite(self.mu):
            raise ParameterError(f"`mu` must be a positive finite number; got {self.mu}.")
        if self.scale > LARGEST_SCALE:
            raise ParameterError(f"a budget of mu = {self.mu:.3g} is too small for exact integer noise; raise epsilon.")

    @property
    def scale(self) -> float:
        """Standard deviation of the noise in grid steps: sqrt(sensitivity^2 / mu^2 + SMOOTHING^2), rounded up."""
        return math.hypot(math.sqrt(self.squared_sensitivity) / self.mu, SMOOTHING) * _ROUNDING

    @property
    def guarantee(self) -> Guarantee:
        """Cost of one release."""
        return Guarantee(Gaussian(self.mu), self.neighbours)

    def release(self, exact: NDArray[Any], noise: NoiseSource) -> NDArray[Any]:
        """Return ``exact`` (int64, or Python's integers in an object array) plus fresh noise in every entry."""
        return self.noisy(exact, self.draw(exact.size, noise))

    def noisy(self, exact: NDArray[Any], drawn: NDArray[np.int64]) -> NDArray[Any]:
        """Return ``exact`` plus noise that :meth:`draw` gave, one number per entry."""
        python = exact.dtype == object and all(isinstance(entry, int) for entry in exact.ravel())
        if exact.dtype != np.int64 and not python:
            raise ParameterError(f"a release takes exact int64 or Python integers; got dtype {exact.dtype}.")
        return exact + drawn.reshape(exact.shape)

    def draw(self, size: int, noise: NoiseSource) -> NDArray[np.int64]:
        """Return noise for ``size`` entries, to be added to exact statistics once and never shown by itself."""
        return noise.discrete_gaussian(self.scale, size)
