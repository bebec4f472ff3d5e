"""Learners that adjust for who was treated: they need a propensity, known or estimated."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpcate.errors import ParameterError
from dpcate.learners.cate import CateLearner
from dpcate.learners.nuisances import Propensity
from dpcate.learners.options import check_floor
from dpcate.learners.released import Released
from dpcate.learners.validation import Checks, calibrate, check_share, held_out, uplift_curve
from dpcate.models import Additive

if TYPE_CHECKING:
    from collections.abc import Hashable

    from dpcate.learners.cate import ModelChoice
    from dpcate.learners.run import Run
    from dpcate.learners.uplift import UpliftCurve
    from dpcate.learners.validation import Calibration
    from dpcate.mechanisms import NoiseSource
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
    validate
        Share of rows that are held out to check the effect, see :meth:`calibration` and :meth:`uplift_curve`: costs
        rows, not budget.
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
        validate: float = 0.0,
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
        self.validate = validate

    def _prepare(self) -> tuple[Run, NoiseSource]:
        """Return the run, with three more stages on a part of their own where rows are held out."""
        run, noise = super()._prepare()
        share = check_share(self.validate)
        if share == 0.0:
            return run, noise
        if not isinstance(run.base_learner, Additive):
            raise ParameterError('`validate` needs model="additive": the other models do not know their error.')
        stages = (*run.stages, *Checks(self._propensity()).stages())
        return replace(run, stages=stages, plan=held_out(run.plan, share)), noise

    def calibration(self, alpha: float = 0.05) -> Calibration:
        """Return how well the released effect did on the rows that ``validate`` held out.

        Parameters
        ----------
        alpha
            One less the probability that the intervals are to hold with.

        Privacy
        -------
        Part of the release: nothing is read or spent. See ``docs/statistics/validation.md``.
        """
        self._fitted("effect")
        propensity = Propensity(self.schema_.propensity, check_floor(self.options_["propensity_floor"]))
        return calibrate(Released(self.schema_, self.models_), propensity, alpha)

    def uplift_curve(self, alpha: float = 0.05) -> UpliftCurve:
        """Return what is won by treating those with the largest released effect first, measured on held-out rows.

        Parameters
        ----------
        alpha
            One less the probability that the intervals are to hold with.

        Privacy
        -------
        Part of the release: nothing is read or spent. See ``docs/statistics/validation.md``.
        """
        self._fitted("effect")
        return uplift_curve(Released(self.schema_, self.models_), alpha)

    def _stage_options(self) -> Hashable:
        """Return what, beside the class and the schema, the stages depend on."""
        return check_floor(self.propensity_floor), check_share(self.validate)

    def _propensity(self) -> Propensity:
        return Propensity(self.schema.propensity, check_floor(self.propensity_floor))
