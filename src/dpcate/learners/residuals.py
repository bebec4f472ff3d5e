"""The module that minimises sum ((Y - eta(X)) - (T - e(X)) f(X))^2 over f: residuals on residuals (Robinson 1988)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcate.learners.stage import Stage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcate.learners.nuisances import Propensity
    from dpcate.learners.released import Released
    from dpcate.schema import Schema
    from dpcate.tables import Rows

__all__ = ["Residuals", "residual_stage"]


def residual_stage(
    propensity: Propensity,
    *,
    name: str,
    weight: float,
    share: float,
    first_stage: tuple[str, str] | None = None,
) -> Stage:
    """Return the stage whose function is the difference that treatment makes.

    Parameters
    ----------
    propensity
        Known or released; the outcome's model is the one released as ``"outcome"``, of the features alone.
    name, weight, share, first_stage
        See :class:`~dpcate.learners.stage.Stage`.
    """
    residuals = Residuals(propensity)
    return Stage(
        name=name,
        target=residuals.outcome,
        bounds=residuals.bounds,
        loading=residuals.treatment,
        loading_bound=residuals.loading_bound,
        loading_law=residuals.law,
        residual_of="outcome",
        first_stage=first_stage,
        concurrent=True,
        signal=0.1,
        intercept_signal=2.0,
        weight=weight,
        share=share,
    )


class Residuals:
    """Y - eta(X) and T - e(X), row by row, and their bounds.

    Parameters
    ----------
    propensity
        Known or released; the outcome's model is the one released as ``"outcome"``.
    """

    def __init__(self, propensity: Propensity) -> None:
        self.propensity = propensity

    def outcome(self, rows: Rows, released: Released) -> NDArray[np.float64]:
        """Return Y - eta(X); an outcome model with arms gives eta = e mu_1 + (1 - e) mu_0."""
        if len(released["outcome"].columns) == len(released.schema.features):
            return rows.Y - released.predict("outcome", rows)
        e = self.propensity.of(rows, released)
        treated, control = (released.predict("outcome", rows, arm=arm) for arm in (1, 0))
        return rows.Y - (e * treated + (1 - e) * control)

    def treatment(self, rows: Rows, released: Released) -> NDArray[np.float64]:
        """Return T - e(X)."""
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
        """Return how large a residual of the treatment can be."""
        e_low, e_high = self.propensity.extremes(released)
        return max(e_high, 1 - e_low)
