"""The single-model learner (Kuenzel et al. 2019): one regression of Y on treatment and features."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dpcate.learners.cate import CateLearner
from dpcate.learners.nuisances import outcome_stage
from dpcate.models import POSTERIOR, constant_document, uncertainty_of

if TYPE_CHECKING:
    from dpcate.learners.released import Released
    from dpcate.learners.stage import Stage
    from dpcate.models import AdditiveFunction, Uncertainty

__all__ = ["SLearner"]


class SLearner(CateLearner):
    """A constant effect: the treatment's term in an additive regression of Y on treatment and features.

    As in the paper, an additive model makes mu(1, x) - mu(0, x) the same for everybody: this learner estimates the
    average effect with one stage, hence with little variance.

    Parameters
    ----------
    schema, epsilon, delta, neighbours, plan, model, random_state
        As for every learner, see :class:`~dpcate.learners.cate.CateLearner`.

    Privacy
    -------
    The whole fit costs (epsilon, delta); see ``docs/privacy/overview.md``.
    """

    def _stages(self) -> tuple[Stage, ...]:
        """Return the one module."""
        return (outcome_stage(with_treatment=True, weight=1.0, share=1.0),)

    def _effect_model(self, released: Released) -> AdditiveFunction:
        """Return the constant mu(1, .) - mu(0, .) as a function of the features: free post-processing."""
        outcome = released["outcome"]
        jump = float(outcome.tables[-1][2] - outcome.tables[-1][1])
        flat = tuple(np.zeros_like(table) for table in outcome.tables[:-1])
        spread = self.schema.outcome.high - self.schema.outcome.low
        known = uncertainty_of(outcome)
        details = {} if known is None else {POSTERIOR: constant_document(_variance(known, spread))}
        return replace(
            outcome,
            columns=outcome.columns[:-1],
            intercept=jump,
            tables=flat,
            shares=outcome.shares[:-1],
            products=(),
            low=-spread,
            high=spread,
            details=details,
        )


def _variance(known: Uncertainty, spread: float) -> float:
    """Return the variance of the jump; where no function tells the arms apart, nothing is known of it."""
    variance = known.contrast_variance(-1, 2, 1)
    return variance if variance > 0.0 else spread**2
