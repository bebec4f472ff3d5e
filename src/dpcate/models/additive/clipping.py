"""What clipping makes of a mean.

A target is m + w r: an expected value, and a residual r times a weight. With r spread evenly around zero and
A(t) = E[(r - t)+],

    E[clip(m + w r)]  =  m  -  |w| A((c - m) / |w|)  +  |w| A((c + m) / |w|),

because clip(x) = x - (x - c)+ + (-c - x)+. A is tabulated once. See ``docs/statistics/intervals.md``, section 7.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcate.models.additive.target import TargetLaw

__all__ = ["Residuals"]

N_KNOTS = 257
"""Points at which A is tabulated; in between it is nearly straight."""

_SMALLEST_WEIGHT, _SMALLEST_SIZE = 1e-9, 1e-30
"""Of weights and of residuals: what is smaller may as well be as large, and nothing is divided by zero."""


@dataclass(frozen=True, eq=False)
class Residuals:
    """Residuals as large as a law says, on either side alike.

    Parameters
    ----------
    law
        Of the residuals; which side they lie on is ignored.
    """

    law: TargetLaw

    def clipped(self, means: NDArray[np.float64], weights: NDArray[np.float64], clip: float) -> NDArray[np.float64]:
        """Return the mean of clipped targets.

        Parameters
        ----------
        means
            Expected targets (rows x draws).
        weights
            What the rows' residuals are multiplied by.
        clip
            Where targets are clipped.
        """
        sizes = np.maximum(np.abs(weights), _SMALLEST_WEIGHT)[:, None]
        return means + sizes * (self._beyond((clip + means) / sizes) - self._beyond((clip - means) / sizes))

    def _beyond(self, limits: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return A: what residuals have beyond limits, on average. For negative ones A(t) = A(-t) - t."""
        per_step, values, slopes = self._table
        places = np.minimum(np.abs(limits) * per_step, N_KNOTS - 1.0)
        knots = np.minimum(places.astype(np.intp), N_KNOTS - 2)
        beyond: NDArray[np.float64] = values[knots] + (places - knots) * slopes[knots]
        return beyond + np.maximum(-limits, 0.0)

    @cached_property
    def _table(self) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
        """Knots per unit, A at the knots, and by how much it changes to the next."""
        sizes = np.abs(self.law.deviations)
        largest = max(float(sizes.max()), _SMALLEST_SIZE)
        knots = np.linspace(0.0, largest, N_KNOTS)
        values = 0.5 * np.maximum(sizes - knots[:, None], 0.0) @ self.law.shares
        return (N_KNOTS - 1) / largest, values, np.diff(values)
