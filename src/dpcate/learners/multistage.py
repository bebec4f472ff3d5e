"""The meta-algorithm itself, open to anybody's stages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcate.errors import ParameterError
from dpcate.learners.cate import CateLearner
from dpcate.learners.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcate.learners.cate import ModelChoice
    from dpcate.schema import Schema
    from dpcate.splitting import Plan

__all__ = ["MultiStage"]


class MultiStage(CateLearner):
    """Algorithm 1: any first-stage modules, any row-by-row transformation, a second stage; the guarantee comes along.

    Parameters
    ----------
    schema, epsilon, delta, neighbours, plan, model, random_state
        As for every learner, see :class:`~dpcate.learners.cate.CateLearner`.
    stages
        The modules in order. The last one estimates the effect from the features.

    Examples
    --------
    An inverse-propensity-weighted learner, which dpcate does not ship:

    >>> import numpy as np
    >>> from dpcate import MultiStage, Number, Category, Schema, Stage
    >>> schema = Schema(Number("y", 0, 1), Category("t", [0, 1]), [Number("x", 0, 1)])
    >>> def score(rows, released):
    ...     e = np.clip(released.predict("propensity", rows), 0.1, 0.9)
    ...     return rows.Y * np.where(rows.T == 1, 1 / e, -1 / (1 - e))
    >>> ipw = MultiStage(schema, [
    ...     Stage(name="propensity", target=lambda rows, _: rows.T, bounds=lambda *_: (0, 1), kind="probability"),
    ...     Stage(name="effect", target=score, bounds=lambda *_: (-10, 10)),
    ... ], epsilon=2.0, random_state=0)
    >>> rng = np.random.default_rng(0)
    >>> x, t = rng.uniform(size=500), rng.integers(0, 2, 500)
    >>> _ = ipw.fit(rng.uniform(size=500), t, X=x[:, None])
    >>> sorted(ipw.models_), round(ipw.guarantee_.epsilon(1e-5), 6)
    (['effect', 'propensity'], 2.0)
    """

    def __init__(
        self,
        schema: Schema,
        stages: Sequence[Stage],
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        neighbours: str = "replace",
        plan: str | Plan = "shared",
        model: ModelChoice = "additive",
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
        self.stages = stages

    def _stages(self) -> tuple[Stage, ...]:
        stages = tuple(self.stages)
        if not stages or not all(isinstance(stage, Stage) for stage in stages):
            raise ParameterError("`stages` must be a non-empty sequence of dpcate.Stage.")
        if stages[-1].with_treatment or stages[-1].kind != "mean":
            raise ParameterError("the last stage must be a mean regression on the features alone: it is the effect.")
        return stages
