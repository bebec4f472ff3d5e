"""What a fitted learner can say with errors attached: effects, averages and groups.

Everything here is post-processing of released numbers. Derivation: ``docs/statistics/intervals.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpcate.learners.fitted_inference import FittedInference, summarise
from dpcate.learners.groups import GroupEffects, find_group_effects
from dpcate.learners.inference import AverageInference, EffectInference
from dpcate.learners.intervals import effect_limits
from dpcate.models import variance_by_shares
from dpcate.tables import encode_features

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dpcate.models import AdditiveFunction, Uncertainty
    from dpcate.schema import Schema

__all__ = ["Inferences"]


class Inferences:
    """What a fitted learner can say with errors attached."""

    if TYPE_CHECKING:
        schema_: Schema
        models_: dict[str, AdditiveFunction]

        def _fitted(self, name: str) -> AdditiveFunction: ...

        def _uncertainty(self) -> Uncertainty: ...

    @property
    def _widest(self) -> float:
        return self.schema_.outcome.high - self.schema_.outcome.low

    @property
    def inference_(self) -> FittedInference:
        """The average effect and that of each group of each feature; ``inference_.summary_frame()`` is one table.

        Levels of a category are groups, and intervals of a number near the quartiles of its released distribution. An
        effect that is the same for everybody has no groups.

        Privacy
        -------
        Reads released numbers only.
        """
        model = self._fitted("effect")
        varies = bool(model.products) or any(table.any() for table in model.tables)
        names = [column.name for column in model.columns] if varies else []
        return summarise(self.ate_inference(), [self.group_effects(name, simultaneous=False) for name in names])

    def effect_interval(self, X: Any, alpha: float = 0.05) -> tuple[NDArray[np.float64], NDArray[np.float64]]:  # noqa: ANN401
        """Return lower and upper limits of the effect for each row, where the model knows its own error.

        Parameters
        ----------
        X
            An array in the schema's order, or a frame.
        alpha
            The intervals hold for a share of ``1 - alpha`` of people.

        Privacy
        -------
        Reads nothing of the fitted table. The result says as much about ``X`` as ``X`` itself.
        """
        model = self._fitted("effect")
        return effect_limits(model, self._uncertainty(), encode_features(X, self.schema_), self.schema_, alpha)

    def ate_interval(self, X: Any = None, alpha: float = 0.05) -> tuple[float, float]:  # noqa: ANN401
        """Return lower and upper limits of the average effect, where the model knows its own error.

        Parameters
        ----------
        X
            Rows to average over, which must be public; None averages over the noisy distribution of the features, and
            the limits are for the population that the rows are a sample of.
        alpha
            One less the probability that the limits are to hold with.
        """
        return self.ate_inference(X).conf_int_mean(alpha)

    def effect_inference(self, X: Any) -> EffectInference:  # noqa: ANN401 - any array or frame
        """Return the effect of each row of ``X`` with standard error, test, interval and frame.

        Privacy
        -------
        Reads nothing of the fitted table. The result says as much about ``X`` as ``X`` itself.
        """
        model, known = self._fitted("effect"), self._uncertainty()
        codes = encode_features(X, self.schema_)
        return EffectInference(
            point_estimate=model.predict(codes),
            shift=known.shifts(codes),
            stderr=np.sqrt(known.variance(codes)),
            stderr_mean=float(np.sqrt(known.variance_of_mean(codes))),
            widest=self._widest,
        )

    def ate_inference(self, X: Any = None) -> AverageInference:  # noqa: ANN401 - any array or frame
        """Return the average effect with its error: of the population, or over ``X``.

        Privacy
        -------
        Without ``X`` this is part of the release. With ``X`` it is an exact average over rows that must be public.
        """
        if X is not None:
            return self.effect_inference(X).population_summary()
        model, known = self._fitted("effect"), self._uncertainty()
        away, unknown = known.average.of_population(variance_by_shares(model, self.models_))
        return AverageInference(
            mean_point=model.average,
            shift_mean=known.average_shift + away,
            stderr_mean=float(np.sqrt(max(known.average_variance, 0.0) + unknown)),
            widest=self._widest,
        )

    def group_effects(
        self, by: str, *, edges: Sequence[float] | None = None, alpha: float = 0.05, simultaneous: bool = True
    ) -> GroupEffects:
        """Return the average effect of each level of a category, or of each interval of a number.

        Parameters
        ----------
        by
            The feature.
        edges
            Where to cut a number, inside its public bounds; None cuts near the quartiles of its released distribution.
        alpha
            One less the probability that the intervals hold.
        simultaneous
            Whether they are to hold for all groups at once, or each by itself.

        Notes
        -----
        Within a group the feature follows its released distribution; the other features stay as in the whole
        population, so that groups differ by ``by`` and not by what goes along with it. How far the released
        distribution is from the population's is in the interval of everybody (:meth:`ate_interval`), not in these.

        Privacy
        -------
        Reads released numbers only. Choose ``edges`` without looking at the table.
        """
        return find_group_effects(
            self._fitted("effect"),
            self._uncertainty(),
            self.schema_,
            by=by,
            edges=edges,
            alpha=alpha,
            simultaneous=simultaneous,
        )
