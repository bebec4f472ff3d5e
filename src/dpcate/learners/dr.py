"""The doubly robust learner (Kennedy 2020; the paper's algorithm 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcate.learners.adjusted import AdjustedLearner
from dpcate.learners.arms import ArmsOfOutcome
from dpcate.learners.nuisances import outcome_stage
from dpcate.learners.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Hashable

    from numpy.typing import NDArray

    from dpcate.learners.arms import Arms
    from dpcate.learners.nuisances import Propensity
    from dpcate.learners.released import Released
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
        score = Score(propensity, ArmsOfOutcome())
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
    """The doubly robust score psi, row by row, and its bound.

    Parameters
    ----------
    propensity, arms
        What is released of who is treated, and of the outcome in both arms.
    """

    def __init__(self, propensity: Propensity, arms: Arms) -> None:
        self.propensity = propensity
        self.arms = arms

    def of(self, rows: Rows, released: Released) -> NDArray[np.float64]:
        """Return the score of each row."""
        e = self.propensity.of(rows, released)
        control, treated = self.arms.means(rows, released)
        correction = np.where(rows.T == 1, (rows.Y - treated) / e, -(rows.Y - control) / (1 - e))
        return treated - control + correction

    def spread(self, rows: Rows, released: Released) -> NDArray[np.float64]:
        """Return Var(psi | X) over the outcome's residual variance: 1 / e + 1 / (1 - e)."""
        e = self.propensity.of(rows, released)
        return 1 / (e * (1 - e))

    def weights(
        self, rows: Rows, released: Released
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return e, and what multiplies an outcome's residual if treated, and if not: 1 / e and -1 / (1 - e)."""
        e = self.propensity.of(rows, released)
        return e, 1 / e, -1 / (1 - e)

    def middle(self, rows: Rows, released: Released) -> NDArray[np.float64]:
        """Return the score that is expected if the released models are right: their effect."""
        control, treated = self.arms.means(rows, released)
        return treated - control

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
        control, treated = self.arms.means(rows, released)
        return self.propensity.of(rows, released)[:, None], control[:, None], treated[:, None]

    def bounds(self, schema: Schema, released: Released) -> tuple[float, float]:
        """Return bounds that no row can leave: outcomes and predictions lie in the schema's range, propensities in e's.

        Keeping both arms within the outcome's bounds takes them no farther apart, and turns no difference round.
        """
        spread = schema.outcome.high - schema.outcome.low
        e_low, e_high = self.propensity.extremes(released)
        low, high = self.arms.jumps(released)
        reach = spread / min(e_low, 1 - e_high)
        return min(max(low, -spread), 0.0) - reach, max(min(high, spread), 0.0) + reach
