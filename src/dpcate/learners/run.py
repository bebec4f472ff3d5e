"""Algorithm 1: split the rows, run the first-stage modules, transform, run the second stage, add up the cost.

Each stage reads the rows of its parts and the *released* outputs of earlier stages, nothing else. Everything that can
fail is tried before the first noise is drawn. Proof: ``docs/privacy/plans.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dpcate.accounting import EpsilonDelta, Guarantee, mu_for
from dpcate.errors import BudgetError, ParameterError
from dpcate.kernels.quiet import no_warnings
from dpcate.kernels.threads import one_thread
from dpcate.learners.rehearsal import rehearse
from dpcate.learners.released import Released
from dpcate.learners.selection import ChosenRows, Selection
from dpcate.models import Budget

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from dpcate.accounting import Neighbours
    from dpcate.learners.stage import Stage
    from dpcate.mechanisms import NoiseSource
    from dpcate.models import AdditiveFunction, BaseLearner
    from dpcate.schema import Schema
    from dpcate.splitting import Plan
    from dpcate.tables import RowSource

__all__ = ["Run"]

_TOLERANCE = 1e-6
_SMALLEST_MU = 1e-4
_SEEDED = "random_state was set: whoever knows it can remove the noise, so nothing is guaranteed"


@dataclass(frozen=True, kw_only=True)
class Run:
    """One execution of a multi-stage estimator.

    Parameters
    ----------
    schema
        The public facts.
    stages
        The modules in order; the last one is the second stage of the paper.
    plan
        Which stage reads which part.
    base_learner
        Fits every stage that has no base learner of its own.
    epsilon, delta, neighbours
        What the whole run may cost.
    shipped
        Tells these stages from others that this library wrote; None for stages that somebody else wrote.
    """

    schema: Schema
    stages: Sequence[Stage]
    plan: Plan
    base_learner: BaseLearner
    epsilon: float
    delta: float
    neighbours: Neighbours
    shipped: Hashable | None = None

    def execute(self, source: RowSource, noise: NoiseSource) -> tuple[Released, Guarantee]:
        """Return the released models and what they cost.

        Privacy
        -------
        Releases every stage's model. Costs at most (epsilon, delta) under ``neighbours`` if each base learner's
        ``guarantee_`` is true. Proof: ``docs/privacy/plans.md``.
        """
        budgets = self._budgets()
        rehearse(self.stages, self.schema, shipped=self.shipped)
        with no_warnings(), one_thread():  # a warning could quote a row
            return self._run_stages(source, noise, budgets)

    def _run_stages(
        self, source: RowSource, noise: NoiseSource, budgets: dict[str, Budget]
    ) -> tuple[Released, Guarantee]:
        """Run stage after stage."""
        key = noise.key()
        reads = dict(self.plan.reads)
        released = Released(self.schema)
        for stage in self.stages:
            mine = Selection(self.plan.shares, reads[stage.name], key)
            n_rows = mine.count(source.n_rows) if self.neighbours == "replace" else None
            data = stage.data(partial(ChosenRows, source, mine), self.schema, released, n_rows=n_rows)
            learner = stage.learner or self.base_learner
            model = learner.fit(data, budget=budgets[stage.name], noise=noise, released=released)
            released = released.with_model(stage.name, _marked(model, noise))
        return released, self._cost(released)

    def _budgets(self) -> dict[str, Budget]:
        """Return each stage's budget: mu^2 is shared, and (epsilon, delta) for learners that know nothing better."""
        whole = mu_for(self.epsilon, self.delta)
        poorest = min(self.plan.fractions(), key=self.plan.fractions().__getitem__)
        if whole * self.plan.fractions()[poorest] ** 0.5 < _SMALLEST_MU:
            raise ParameterError(
                f"`epsilon` and `delta` leave stage {poorest!r} too little for exact noise; raise them or its weight."
            )
        return {
            name: Budget(
                mu=whole * float(np.sqrt(fraction)),
                epsilon=self.epsilon * fraction,
                delta=self.delta * fraction,
                neighbours=self.neighbours,
            )
            for name, fraction in self.plan.fractions().items()
        }

    def planned_cost(self) -> Guarantee:
        """Return what the run will cost, from public facts alone: each stage spends its whole budget."""
        promises = {}
        for stage in self.stages:
            promised = getattr(stage.learner or self.base_learner, "promise", None)
            if promised is None:  # all that is known is one point of the trade-off curve, checked after the run
                return Guarantee(EpsilonDelta(self.epsilon, self.delta * (1 + _TOLERANCE)), self.neighbours)
            promises[stage.name] = promised
        return self.plan.cost({name: promises[name](budget) for name, budget in self._budgets().items()})

    def _cost(self, released: Released) -> Guarantee:
        cost = self.plan.cost({name: model.guarantee_ for name, model in released.items()})
        if cost.neighbours != self.neighbours or cost.delta(self.epsilon) > self.delta * (1 + _TOLERANCE):
            raise BudgetError(
                "the base learner reports a cost above the budget, or another relation: its result is withheld."
            )
        return cost


def _marked(model: AdditiveFunction, noise: NoiseSource) -> AdditiveFunction:
    """Return the model, marked void if its noise can be reproduced, whatever the base learner said."""
    if not noise.void:
        return model
    notes = tuple(dict.fromkeys((*model.guarantee_.notes, _SEEDED)))
    return replace(model, guarantee_=replace(model.guarantee_, void=True, notes=notes))
