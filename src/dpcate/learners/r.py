"""The residual-on-residual learner (Nie and Wager 2021)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dpcate.learners.adjusted import AdjustedLearner
from dpcate.learners.nuisances import outcome_stage
from dpcate.learners.residuals import residual_stage

if TYPE_CHECKING:
    from collections.abc import Hashable

    from dpcate.learners.stage import Stage

__all__ = ["RLearner"]

_MISREAD = 0.1
"""By how many standard deviations outcome and effect may misread a shift of half of one, for less noise: treated and
untreated people are clipped at the same bounds, and T - e is zero on average among people alike. Chosen on
`benchmarks/tuning_data.py`."""


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
        outcome = outcome_stage(with_treatment=False, shared_with="propensity")
        effect = residual_stage(propensity, name="effect", weight=0.6, share=0.5, first_stage=("propensity", "outcome"))
        return (*propensity.stages(), *(replace(stage, misread=_MISREAD) for stage in (outcome, effect)))
