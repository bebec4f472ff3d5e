"""What one release of moments says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dpcate.models.additive.gram import Gram

__all__ = ["Observation"]

_WELL_KNOWN = 0.25
"""A mean square whose noise is this share of what was expected is believed by half."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What one release of moments says: z = G theta up to noise, and the target's mean square.

    ``functions`` holds the basis at made-up rows; ``shift`` is the covariance of what earlier stages' errors add to z;
    ``correction`` is what G has beyond the prediction from released laws; ``n_weighted`` counts shortened rows by their
    squared factors; ``correlations`` are those of the columns' leading functions, where they were worked out.
    """

    functions: NDArray[np.float64]
    z: NDArray[np.float64]
    z_noise: NDArray[np.float64]
    shift: NDArray[np.float64]
    gram: Gram
    correction: NDArray[np.float64]
    mean_square: float
    mean_square_noise: float
    attenuation: float
    n_rows: float
    n_weighted: float
    correlations: NDArray[np.float64] | None = None

    def trust(self, expected: float) -> float:
        """Return how far the mean square is believed, from zero to one, where another one was expected."""
        return 1.0 / (1.0 + (self.mean_square_noise / expected / _WELL_KNOWN) ** 2)
