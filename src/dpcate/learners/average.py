"""The average effect by augmented inverse-propensity weighting, for everybody or for the treated."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcate.accounting import mu_for
from dpcate.errors import ParameterError
from dpcate.learners.adjusted import AdjustedLearner
from dpcate.learners.arms import ArmsByDifference
from dpcate.learners.division import divided
from dpcate.learners.dr import Score
from dpcate.learners.nuisances import outcome_stage
from dpcate.learners.options import make_plan
from dpcate.learners.people import draw_people
from dpcate.learners.residuals import residual_stage
from dpcate.learners.stage import Stage
from dpcate.models import POSTERIOR, Additive, AdditiveFunction, constant_document, uncertainty_of
from dpcate.splitting import Plan

if TYPE_CHECKING:
    from collections.abc import Hashable

    from numpy.typing import NDArray

    from dpcate.learners.cate import ModelChoice
    from dpcate.learners.nuisances import Propensity
    from dpcate.learners.released import Released
    from dpcate.learners.run import Run
    from dpcate.models import Interactions
    from dpcate.schema import Schema
    from dpcate.tables import Rows

__all__ = ["AverageEffect"]

_POPULATIONS = ("all", "treated")

_WEIGHTS = {"propensity": 0.28, "outcome": 0.34, "difference": 0.06, "effect": 0.32}
"""Shares of mu^2: a mean needs little, and the product of the first stages' errors is most of what it does not know.
Chosen on the data of `benchmarks/tuning_data.py`. Where the number of rows is public, it decides too (`_plan_for`)."""

_KNOWN_WEIGHTS = {"outcome": 0.26, "difference": 0.06, "effect": 0.68}
"""The same where the propensity is known: there is no such product."""

_SHARES = {"propensity": 0.26, "outcome": 0.26, "difference": 0.08, "effect": 0.4}
"""Shares of the rows where each stage has its own. Where the number of rows is public, it decides too."""

_DIFFERENCE_SIGNAL = 0.03
"""How far effects are expected to differ between people, relative to the outcome's variance: less than the R-learner
expects, whose intervals are for people. What is expected and not seen widens the mean's interval. Chosen on the same
data."""

_N_PEOPLE = 20_000
"""Made-up people that a share is averaged over where no released number says it."""

_FIRST_STAGES = "propensity", "outcome"
_ARMS = "outcome", "difference"

_MISREAD = 0.2
"""By how many standard deviations outcome and difference may misread a shift of half of one: their errors matter only
as multiplied with the propensity's. Chosen on the same data."""

_INTERACTIONS: dict[str, Interactions] = {"propensity": "bent", "outcome": "sought", "difference": "none"}
"""How the stages look for interactions of features. One that propensity and outcome miss is a bias that no interval
knows of; the difference need not be exact."""


class AverageEffect(AdjustedLearner):
    """One number: how much the treatment does on average, adjusted for who was treated.

    Stages: propensity e(X); outcome eta(X) = E[Y | X]; roughly, the difference d(X) that treatment makes, by residuals
    on residuals; the mean of the doubly robust score with mu(t, X) = eta(X) + (t - e(X)) d(X), which needs e to be
    right, or eta and d; in the second case the square of e's error remains. All that the last stage estimates is one
    mean, so nearly nothing of the budget is spread thin: where effects of single people drown in noise, their average
    may still be known well.

    Parameters
    ----------
    schema, epsilon, delta, neighbours, plan, model, propensity_floor, random_state
        See :class:`~dpcate.learners.adjusted.AdjustedLearner`.
    population
        ``"all"``: the average effect. ``"treated"``: the average effect on the treated.

    Privacy
    -------
    The whole fit costs (epsilon, delta); see ``docs/privacy/overview.md``.
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
        population: str = "all",
        random_state: Any = None,  # noqa: ANN401 - int, Generator, noise source or None; checked in fit
    ) -> None:
        super().__init__(
            schema,
            epsilon=epsilon,
            delta=delta,
            neighbours=neighbours,
            plan=plan,
            model=model,
            propensity_floor=propensity_floor,
            random_state=random_state,
        )
        self.population = population

    def _stages(self) -> tuple[Stage, ...]:
        """Return the four modules; the last one has no inputs, so that its model is a mean."""
        if self.population not in _POPULATIONS:
            raise ParameterError(f"`population` must be one of {_POPULATIONS}; got {self.population!r}.")
        propensity = self._propensity()
        weights = _WEIGHTS if propensity.known is None else _KNOWN_WEIGHTS
        stages = (
            *propensity.stages(),
            outcome_stage(with_treatment=False, treatment_law=propensity.law),
            residual_stage(
                propensity.as_it_is, name="difference", weight=weights["difference"], share=_SHARES["difference"]
            ),
            self._mean(propensity),
        )
        return tuple(
            replace(
                stage,
                weight=weights[stage.name],
                share=_SHARES[stage.name],
                interactions=_INTERACTIONS.get(stage.name, "plain"),
                signal=_DIFFERENCE_SIGNAL if stage.name == "difference" else stage.signal,
                before_mean=stage.name in _ARMS,
                misread=_MISREAD if stage.name in _ARMS else None,
                loose=propensity.known is None and stage.name in _FIRST_STAGES,
            )
            for stage in stages
        )

    def _plan_for(self, run: Run, n_rows: int) -> Plan:
        """Return a plan with more for the first stages where these see little, if budget and rows are as shipped.

        Not for yes and no, where it was measured to do harm (``docs/statistics/intervals.md``, section 7).
        """
        shipped = {name: (weight, _SHARES[name]) for name, weight in _WEIGHTS.items()}
        as_shipped = {stage.name: (stage.weight, stage.share) for stage in run.stages} == shipped
        named = not isinstance(self.plan, Plan) and run.plan == make_plan(self.plan, run.stages)
        yes_or_no = (self.schema.outcome.low, self.schema.outcome.high) == (0.0, 1.0)
        if not as_shipped or not named or yes_or_no or not isinstance(run.base_learner, Additive):
            return run.plan
        mu = mu_for(run.epsilon, run.delta)
        return make_plan(self.plan, divided(run.stages, mean="effect", fixed="difference", mu=mu, n_rows=n_rows))

    def _mean(self, propensity: Propensity) -> Stage:
        """Return the stage whose function is the mean of the score."""
        kind = Score if self.population == "all" else TreatedScore
        score = kind(propensity, ArmsByDifference(propensity.as_it_is))
        return Stage(
            name="effect",
            target=score.of,
            bounds=score.bounds,
            residual_of="difference",
            residual_weights=score.weights,
            middle=score.middle,
            first_stage=(*_FIRST_STAGES, "difference"),
            score_law=score.law,
            intercept_signal=0.5,
            concurrent=True,
            constant=True,
        )

    def _shipped(self) -> Hashable | None:
        return (AverageEffect, self._stage_options(), self.population) if type(self) is AverageEffect else None

    def _effect_model(self, released: Released) -> AdditiveFunction:
        """Return the average as a function of the features that is the same for everybody."""
        mean, outcome = released["effect"], released["outcome"]
        known = uncertainty_of(mean)
        value, variance = mean.intercept, None if known is None else known.average_variance
        if self.population == "treated":
            value, variance = self._per_treated(value, variance, released)
        spread = self.schema.outcome.high - self.schema.outcome.low
        return AdditiveFunction(
            columns=self.schema.features,
            intercept=float(np.clip(value, -spread, spread)),
            tables=tuple(np.zeros_like(table) for table in outcome.tables),
            shares=outcome.shares,
            guarantee_=mean.guarantee_,
            low=-spread,
            high=spread,
            details={} if variance is None else {POSTERIOR: constant_document(variance)},
        )

    def _per_treated(self, value: float, variance: float | None, released: Released) -> tuple[float, float | None]:
        """Divide the mean of the treated's score by the share of the treated, which has an error of its own."""
        if self.schema.propensity is not None:
            share, doubt = self.schema.propensity, 0.0
        else:
            propensity = released["propensity"]
            known = uncertainty_of(propensity)
            share = float(np.clip(_average(released, "propensity"), self.propensity_floor, 1 - self.propensity_floor))
            doubt = 0.0 if known is None else known.average_variance
        ratio = value / share
        return ratio, None if variance is None else (variance + ratio**2 * doubt) / share**2


def _average(released: Released, name: str) -> float:
    """Return a model's average over the released distribution: the intercept, if it is not one of logits."""
    model = released[name]
    if model.link == "identity":
        return model.intercept
    return float(model.predict(draw_people(released, _N_PEOPLE, name=name)).mean())


class TreatedScore(Score):
    """The score whose mean is the treated's average effect times their share, row by row, and its bound."""

    def of(self, rows: Rows, released: Released) -> NDArray[np.float64]:
        """Return T (Y - mu_0) - (1 - T) (Y - mu_0) e / (1 - e)."""
        e = self.propensity.of(rows, released)
        left = rows.Y - self.arms.means(rows, released)[0]
        return np.where(rows.T == 1, left, -left * (e / (1 - e)))

    def weights(
        self, rows: Rows, released: Released
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return e, and what multiplies an outcome's residual if treated, and if not: 1 and -e / (1 - e)."""
        e = self.propensity.of(rows, released)
        return e, np.ones_like(e), -e / (1 - e)

    def middle(self, rows: Rows, released: Released) -> NDArray[np.float64]:
        """Return the score that is expected if the released models are right: their effect, where treated."""
        return self.propensity.of(rows, released) * super().middle(rows, released)

    def law(
        self,
        rows: Rows,
        released: Released,
        propensity: NDArray[np.float64],
        control: NDArray[np.float64],
        treated: NDArray[np.float64],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return the scores expected of a treated and of a control row, and what they stand for, if these were true."""
        e, below, _ = self._released(rows, released)
        return treated - below, -(control - below) * (e / (1 - e)), propensity * (treated - control)

    def bounds(self, schema: Schema, released: Released) -> tuple[float, float]:
        """Return bounds that no row can leave."""
        _, e_high = self.propensity.extremes(released)
        reach = (schema.outcome.high - schema.outcome.low) * max(1.0, e_high / (1 - e_high))
        return -reach, reach
