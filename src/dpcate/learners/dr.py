"""The doubly robust learner (Kennedy 2020; the paper's algorithm 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcate.learners.adjusted import AdjustedLearner
from dpcate.learners.nuisances import outcome_stage
from dpcate.learners.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Hashable

    from numpy.typing import NDArray

    from dpcate.learners.nuisances import Propensity
    from dpcate.learners.released import Released
    from dpcate.models import AdditiveFunction
    from dpcate.schema import Schema
    from dpcate.tables import Rows

__all__ = ["DRLearner", "Score"]


class DRLearner(AdjustedLearner):
    """Effects by regressing the doubly robust score on the features.

    Stages: propensity e(X); outcome mu(T, X); effect, the regression of
    mu(1, X) - mu(0, X) + T (Y - mu(1, X)) / e - (1 - T) (Y - mu(0, X)) / (1 - e) on X.

    Parameters
    ----------
    schema, epsilon, delta, neighbours, plan, model, propensity_floor, random_state
        See :class:`~dpcate.learners.adjusted.AdjustedLearner`; the score's bound grows with 1 / propensity_floor.

    Privacy
    -------
    The whole fit costs (epsilon, delta); see ``docs/privacy/overview.md``.
    """

    def _shipped(self) -> Hashable | None:
        return (DRLearner, self._stage_options()) if type(self) is DRLearner else None

    def _stages(self) -> tuple[Stage, ...]:
        """Return the modules of algorithm 2."""
        propensity = self._propensity()
        score = Score(propensity)
        return (
            *propensity.stages(),
            outcome_stage(with_treatment=True, treatment_law=propensity.law, shared_with="propensity"),
            Stage(
                name="effect",
                target=score.of,
                bounds=score.bounds,
                residual_of="outcome",
                first_stage=("propensity", "outcome"),
                concurrent=True,
                residual_spread=score.spread,
                middle=score.middle,
                signal=0.02,
                intercept_signal=0.5,
                weight=0.6,
                share=0.5,
            ),
        )


class Score:
    """The doubly robust score psi, row by row, and its bound."""

    def __init__(self, propensity: Propensity) -> None:
        self.propensity = propensity

    def of(self, rows: Rows, released: Released) -> NDArray[np.float64]:
        """Return the score of each row."""
        e = self.propensity.of(rows, released)
        control = released.predict("outcome", rows, arm=0)
        treated = released.predict("outcome", rows, arm=1)
        correction = np.where(rows.T == 1, (rows.Y - treated) / e, -(rows.Y - control) / (1 - e))
        return treated - control + correction

    def spread(self, rows: Rows, released: Released) -> NDArray[np.float64]:
        """Return Var(psi | X) over the outcome's residual variance: 1 / e + 1 / (1 - e)."""
        e = self.propensity.of(rows, released)
        return 1 / (e * (1 - e))

    def middle(self, rows: Rows, released: Released) -> NDArray[np.float64]:
        """Return the score that is expected if the released models are right: their effect."""
        return released.predict("outcome", rows, arm=1) - released.predict("outcome", rows, arm=0)

    def law(
        self,
        rows: Rows,
        released: Released,
        propensity: NDArray[np.float64],  # noqa: ARG002 - the treated's score needs it
        control: NDArray[np.float64],
        treated: NDArray[np.float64],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return the scores expected of a treated and of a control row, and the effect, if these were the truth."""
        e, below, above = self._released(rows, released)
        return above - below + (treated - above) / e, above - below - (control - below) / (1 - e), treated - control

    def _released(
        self, rows: Rows, released: Released
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return what was released of each row's propensity, control and treated mean, as columns."""
        control, treated = (released.predict("outcome", rows, arm=arm)[:, None] for arm in (0, 1))
        return self.propensity.of(rows, released)[:, None], control, treated

    def bounds(self, schema: Schema, released: Released) -> tuple[float, float]:
        """Return bounds that no row can leave: outcomes and predictions lie in the schema's range, propensities in e's.

        mu(1, x) - mu(0, x) comes from the treatment's term and its products alone, before clipping.
        """
        spread = schema.outcome.high - schema.outcome.low
        e_low, e_high = self.propensity.extremes(released)
        low, high = _jumps(released["outcome"])
        reach = spread / min(e_low, 1 - e_high)
        return min(max(low, -spread), 0.0) - reach, max(min(high, spread), 0.0) + reach


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
