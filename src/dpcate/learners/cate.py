"""What every effect learner offers: fit, effect, average, shapes, guarantee, save.

A learner *is* its stages; fitting is Algorithm 1 on them. All checks of options and of the table's form run before any
noise is drawn, so an error means that nothing was released.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from dpcate.accounting import check_neighbours
from dpcate.errors import NotAvailableError, NotFittedError, TableError
from dpcate.learners.bands import simultaneous_shapes
from dpcate.learners.documents import save_learner
from dpcate.learners.intervals import banded_shapes
from dpcate.learners.options import check_budget, check_schema, make_plan
from dpcate.learners.parameters import Parameters
from dpcate.learners.policy import make_policy
from dpcate.learners.released import Released
from dpcate.learners.run import Run
from dpcate.learners.with_errors import Inferences
from dpcate.mechanisms import NoiseSource, make_noise
from dpcate.models import AdditiveFunction, BaseLearner, make_base_learner, uncertainty_of
from dpcate.tables import HeldRows, close_rows, encode_arrays, encode_features, open_table

if TYPE_CHECKING:
    from collections.abc import Hashable
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from dpcate.accounting import Guarantee
    from dpcate.learners.policy import Policy
    from dpcate.learners.stage import Stage
    from dpcate.models import Shape, Uncertainty
    from dpcate.schema import Schema
    from dpcate.splitting import Plan
    from dpcate.tables import RowSource

__all__ = ["CateLearner", "ModelChoice"]

ModelChoice = str | BaseLearner
_NOT_SAVED = ("schema", "stages", "random_state")


class CateLearner(Inferences, Parameters):
    """Base of the effect learners.

    Parameters
    ----------
    schema
        The public facts about the table.
    epsilon, delta
        What the whole fit may cost.
    neighbours
        ``"replace"`` (one row changes its content; the number of rows is public) or ``"add_remove"``.
    plan
        ``"shared"``: every stage reads every row and the stages share the budget. ``"split"``: the paper's plan, each
        stage has rows of its own and the whole budget. Or a :class:`~dpcate.splitting.Plan`.
    model
        Base learner of all stages: ``"additive"``, ``"ebm"``, ``"interpret"``, or an object that follows
        :class:`~dpcate.models.BaseLearner`.
    random_state
        None takes noise from the operating system. Anything else is for tests and simulations and voids the guarantee.

    Attributes
    ----------
    models_ : dict of AdditiveFunction
        Released stage models by name.
    guarantee_ : Guarantee
        What the fit cost.
    inference_ : FittedInference
        Average effects of everybody and of groups, with their errors.
    schema_, options_
        The schema and the options that were in force in ``fit``; later changes of parameters do not touch them.
    """

    models_: dict[str, AdditiveFunction]
    guarantee_: Guarantee
    schema_: Schema
    options_: dict[str, Any]

    def __init__(
        self,
        schema: Schema,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        neighbours: str = "replace",
        plan: str | Plan = "shared",
        model: ModelChoice = "additive",
        random_state: Any = None,  # noqa: ANN401 - int, Generator, noise source or None; checked in fit
    ) -> None:
        self.schema = schema
        self.epsilon = epsilon
        self.delta = delta
        self.neighbours = neighbours
        self.plan = plan
        self.model = model
        self.random_state = random_state

    def _stages(self) -> tuple[Stage, ...]:
        """Return the modules of Algorithm 1 for this learner."""
        raise NotAvailableError(
            f"{type(self).__name__} states no stages; use DRLearner, RLearner, SLearner or MultiStage."
        )

    def _effect_model(self, released: Released) -> AdditiveFunction:
        """Return the effect as a function of the features, from released models only; within what is possible."""
        model, widest = released["effect"], self.schema.outcome.high - self.schema.outcome.low
        return replace(model, low=max(model.low, -widest), high=min(model.high, widest))

    def fit(self, Y: Any, T: Any, X: Any = None) -> Self:  # noqa: ANN401 - any array or frame
        """Fit on outcome, treatment and features, in EconML's order.

        Parameters
        ----------
        Y, T
            One value per row.
        X
            Features: an array in the schema's order, or a frame matched by column name.

        Privacy
        -------
        Releases ``models_`` at the cost ``guarantee_``. The caller must make sure that one person is one row and that
        the schema was written without looking at the table. Proof: ``docs/privacy/overview.md``.
        """
        run, noise = self._prepare()
        if X is None:
            raise TableError("`X` must be given: an array in the schema's order, or a frame with the schema's columns.")
        return self._execute(run, HeldRows(encode_arrays(Y, T, X, self.schema), self.schema), noise)

    def fit_table(self, table: Any) -> Self:  # noqa: ANN401 - any frame or path
        """Fit on one table that holds all columns of the schema.

        Parameters
        ----------
        table
            A pandas, polars or pyarrow table, a dict of arrays; a path to a ``.csv`` or ``.parquet`` file or to a
            folder of such files; a stream of Arrow batches; a Dask or Spark data frame, whose rows stay on the cluster.

        Privacy
        -------
        As for :meth:`fit`.
        """
        run, noise = self._prepare()
        source = open_table(table, self.schema)
        try:
            return self._execute(run, source, noise)
        finally:
            if source is not table:  # rows that somebody else opened stay open
                close_rows(source)

    def planned_cost(self) -> Guarantee:
        """Return what a fit will cost, before any row is read: to be entered in a ledger, or to be thought about.

        Examples
        --------
        >>> from dpcate import Category, Number, RLearner, Schema
        >>> schema = Schema(Number("vote", 0, 1), Category("called", [0, 1]), [Number("age", 18, 105)])
        >>> round(RLearner(schema, epsilon=1.0, delta=1e-5).planned_cost().epsilon(1e-5), 6)
        1.0
        """
        run, noise = self._prepare()
        cost = run.planned_cost()
        return replace(cost, void=True) if noise.void else cost

    def _prepare(self) -> tuple[Run, NoiseSource]:
        """Check every option and return the run that is about to happen."""
        check_schema(self.schema)
        epsilon, delta = check_budget(self.epsilon, self.delta)
        stages = self._stages()
        run = Run(
            schema=self.schema,
            stages=stages,
            plan=make_plan(self.plan, stages),
            base_learner=make_base_learner(self.model),
            epsilon=epsilon,
            delta=delta,
            neighbours=check_neighbours(self.neighbours),
            shipped=self._shipped(),
        )
        return run, make_noise(self.random_state)

    def _shipped(self) -> Hashable | None:
        """Return what, beside the schema, this library's own stages depend on; None if somebody else wrote them."""
        return None

    def _plan_for(self, run: Run, n_rows: int) -> Plan:  # noqa: ARG002 - for learners to which the number matters
        """Return how a run divides budget and rows if there are so many, and this is public: it must cost the same."""
        return run.plan

    def _execute(self, run: Run, source: RowSource, noise: NoiseSource) -> Self:
        if run.neighbours == "replace":
            if source.n_rows == 0:
                raise TableError(
                    "the table has no rows; under replace-one their number is public and must be positive."
                )
            run = replace(run, plan=self._plan_for(run, source.n_rows))
        released, guarantee = run.execute(source, noise)
        self.schema_ = run.schema
        self.options_ = {name: value for name, value in self.get_params().items() if name not in _NOT_SAVED}
        self.models_ = {**released, "effect": self._effect_model(released)}
        self.guarantee_ = guarantee
        return self

    def effect(self, X: Any) -> NDArray[np.float64]:  # noqa: ANN401 - any array or frame
        """Return the estimated effect for each row of ``X`` (an array in the schema's order, or a frame).

        Privacy
        -------
        Reads nothing of the fitted table. The result says as much about ``X`` as ``X`` itself: do not publish effects
        of private people.
        """
        model = self._fitted("effect")
        return model.predict(encode_features(X, self.schema_))

    def ate(self, X: Any = None) -> float:  # noqa: ANN401 - any array or frame
        """Return the average effect: over the noisy distribution of the features, or over the rows of ``X``.

        Privacy
        -------
        Without ``X`` this is part of the release. With ``X`` it is an exact average over rows that must be public.
        """
        if X is not None:
            return float(self.effect(X).mean())
        return self._fitted("effect").average

    def shapes(self, model: str = "effect", *, alpha: float = 0.05, simultaneous: bool = False) -> dict[str, Shape]:
        """Return how each feature moves a released model (the effect unless another stage is named).

        Parameters
        ----------
        model
            Name of the stage.
        alpha
            Level of the bands, where the model knows its own error.
        simultaneous
            Whether a band is to hold at all points of its curve at once, or at each point by itself.
        """
        function = self._fitted(model)
        banded = simultaneous_shapes if simultaneous else banded_shapes
        return banded(function, uncertainty_of(function), alpha)

    def policy(self, cost: float = 0.0, *, depth: int | None = 2) -> Policy:
        """Return whom to treat when a treatment costs ``cost``, in units of the outcome.

        Parameters
        ----------
        cost
            What one treatment has to win to be worth it.
        depth
            The best tree with this many questions (0, 1 or 2) on the way to a leaf; None treats whoever has an
            effect above the cost. How sure the gain is: ``docs/statistics/policy.md``.
        """
        self._fitted("effect")
        return make_policy(self.schema_, self.models_, cost=cost, depth=depth)

    def _uncertainty(self) -> Uncertainty:
        """Return the error of the effect, or say that the model does not know it."""
        known = uncertainty_of(self._fitted("effect"))
        if known is None:
            raise NotAvailableError(
                f"intervals are not available for this model ({self.model!r}): it does not know its error."
            )
        return known

    def save(self, path: str | Path) -> None:
        """Write the released numbers, the schema and the guarantee as JSON; no row and no noise goes in."""
        self._fitted("effect")
        save_learner(self, path)

    def _fitted(self, name: str) -> AdditiveFunction:
        if not hasattr(self, "models_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit or fit_table first.")
        return Released(self.schema_, self.models_)[name]
