"""Learners that adjust for who was treated: they need a propensity, known or estimated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcate.learners.cate import CateLearner
from dpcate.learners.nuisances import Propensity
from dpcate.learners.options import check_floor

if TYPE_CHECKING:
    from dpcate.learners.cate import ModelChoice
    from dpcate.schema import Schema
    from dpcate.splitting import Plan

__all__ = ["AdjustedLearner"]


class AdjustedLearner(CateLearner):
    """Base of the learners with a propensity.

    Parameters
    ----------
    schema, epsilon, delta, neighbours, plan, model, random_state
        As for every learner, see :class:`~dpcate.learners.cate.CateLearner`.
    propensity_floor
        Estimated propensities are kept in ``[floor, 1 - floor]``; a known one is taken as it is.
    """

    def __init__(
        self,
        schema: Schema,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        neighbours: str = "replace",
        plan: str | Plan = "shared",
        model: ModelChoice = "additive",
        propensity_floor: float = 0.05,
        random_state: Any = None,  # noqa: ANN401 - int, Generator, noise source or None; checked in fit
    ) -> None:
        super().__init__(
            schema,
            epsilon=epsilon,
            delta=delta,
            neighbours=neighbours,
            plan=plan,
            model=model,
            random_state=random_state,
        )
        self.propensity_floor = propensity_floor

    def _propensity(self) -> Propensity:
        return Propensity(self.schema.propensity, check_floor(self.propensity_floor))
