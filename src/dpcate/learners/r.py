"""The residual-on-residual learner (Nie and Wager 2021)."""

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
    from dpcate.schema import Schema
    from dpcate.tables import Rows

__all__ = ["RLearner"]


class RLearner(AdjustedLearner):
    """Effects by minimising sum ((Y - eta(X)) - (T - e(X)) tau(X))^2 directly.

    Stages: propensity e(X); outcome eta(X) = E[Y | X]; effect, with target Y - eta and loading T - e. Nothing is
    divided by a propensity, so every row's contribution is bounded by construction.

    Parameters
    ----------
    schema, epsilon, delta, neighbours, plan, model, propensity_floor, random_state
        See :class:`~dpcate.learners.adjusted.AdjustedLearner`.

    Privacy
    -------
    The whole fit costs (epsilon, delta); see ``docs/privacy/overview.md``.
    """

    def _shipped(self) -> Hashable | None:
        return (RLearner, self._stage_options()) if type(self) is RLearner else None

    def _stages(self) -> tuple[Stage, ...]:
        """Return the three modules."""
        propensity = self._propensity()
        residuals = _Residuals(propensity)
        return (
            *propensity.stages(),
            outcome_stage(with_treatment=False, shared_with="propensity"),
            Stage(
                name="effect",
                target=residuals.outcome,
                bounds=residuals.bounds,
                loading=residuals.treatment,
                loading_bound=residuals.loading_bound,
                loading_law=residuals.law,
                residual_of="outcome",
                first_stage=("propensity", "outcome"),
                concurrent=True,
                signal=0.1,
                intercept_signal=2.0,
                weight=0.6,
                share=0.5,
            ),
        )


class _Residuals:
    """Y - eta(X) and T - e(X), row by row, and their bounds."""

    def __init__(self, propensity: Propensity) -> None:
        self.propensity = propensity

    def outcome(self, rows: Rows, released: Released) -> NDArray[np.float64]:
        return rows.Y - released.predict("outcome", rows)

    def treatment(self, rows: Rows, released: Released) -> NDArray[np.float64]:
        return rows.T - self.propensity.of(rows, released)

    def bounds(self, schema: Schema, released: Released) -> tuple[float, float]:
        """Return how far an outcome can be from any released prediction: no residual is clipped here."""
        low, high = released["outcome"].extremes()
        return schema.outcome.low - high, schema.outcome.high - low

    def law(self, rows: Rows, released: Released) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return max(e, 1 - e) and e (1 - e): the reach and the variance of T - e given the features."""
        e = self.propensity.of(rows, released)
        return np.maximum(e, 1 - e), e * (1 - e)

    def loading_bound(self, schema: Schema, released: Released) -> float:  # noqa: ARG002 - a stage's signature
        e_low, e_high = self.propensity.extremes(released)
        return max(e_high, 1 - e_low)
