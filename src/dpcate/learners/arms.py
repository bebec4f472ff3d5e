"""The means of both arms as far as they are released, and how far apart they can be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcate.learners.nuisances import Propensity
    from dpcate.learners.released import Released
    from dpcate.models import AdditiveFunction
    from dpcate.tables import Rows

__all__ = ["Arms", "ArmsByDifference", "ArmsOfOutcome"]


class Arms(Protocol):
    """Released means of the control and of the treated arm; both lie within the outcome's bounds."""

    def means(self, rows: Rows, released: Released) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean outcome of each row, if in the control arm and if treated."""
        ...

    def jumps(self, released: Released) -> tuple[float, float]:
        """Return bounds of treated less control for any row, before either is kept within the outcome's bounds."""
        ...


class ArmsOfOutcome:
    """The arms of an outcome that was regressed on treatment and features: mu(0, x) and mu(1, x)."""

    def means(self, rows: Rows, released: Released) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the outcome's predictions in both arms."""
        return released.predict("outcome", rows, arm=0), released.predict("outcome", rows, arm=1)

    def jumps(self, released: Released) -> tuple[float, float]:
        """Return bounds from the treatment's term and its products alone."""
        return _jumps(released["outcome"])


class ArmsByDifference:
    """eta(x) + (t - e(x)) d(x), of an outcome regressed on the features alone and a difference between the arms.

    Parameters
    ----------
    propensity
        e: known or released.
    """

    def __init__(self, propensity: Propensity) -> None:
        self.propensity = propensity

    def means(self, rows: Rows, released: Released) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return eta - e d and eta + (1 - e) d, within the outcome's bounds."""
        outcome, e = released.schema.outcome, self.propensity.of(rows, released)
        eta, d = released.predict("outcome", rows), released.predict("difference", rows)
        return np.clip(eta - e * d, outcome.low, outcome.high), np.clip(eta + (1 - e) * d, outcome.low, outcome.high)

    def jumps(self, released: Released) -> tuple[float, float]:
        """Return the smallest and largest difference."""
        return released["difference"].extremes()


def _jumps(outcome: AdditiveFunction) -> tuple[float, float]:
    """Return the smallest and largest difference between the arms that a released outcome can have before clipping."""
    arm = len(outcome.columns) - 1
    low = high = float(outcome.tables[arm][2] - outcome.tables[arm][1])
    for product in outcome.products:
        if arm in (product.first, product.second):
            left, right = product.left, product.right
            own, other = (left, right) if product.first == arm else (right, left)
            ends = (own[2] - own[1]) * np.array([other.min(), other.max()])
            low, high = low + float(ends.min()), high + float(ends.max())
    return low, high
