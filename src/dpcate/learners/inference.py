"""Effects with their errors as objects, under EconML's names: standard errors, tests, intervals, frames.

Everything here is post-processing of released numbers. Derivation: ``docs/statistics/intervals.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import norm

from dpcate.errors import TableError
from dpcate.learners.frames import make_frame
from dpcate.learners.groups import GroupEffects, find_group_effects
from dpcate.learners.intervals import limits_around, quantile
from dpcate.tables import encode_features

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from dpcate.models import AdditiveFunction, Uncertainty
    from dpcate.schema import Schema

__all__ = ["AverageInference", "EffectInference", "Inferences"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectInference:
    """Effects of given people with their errors.

    Parameters
    ----------
    point_estimate
        Effect of each row.
    shift, stderr
        Where intervals and tests are centred, as seen from the point estimate, and the standard error of that centre:
        effects are shrunk less there, so that the error is mostly noise.
    stderr_mean
        Standard error of the rows' mean effect; errors of different rows are correlated, and this knows how.
    widest
        Largest effect that the outcome's bounds allow: no limit goes beyond it.
    """

    point_estimate: NDArray[np.float64]
    shift: NDArray[np.float64]
    stderr: NDArray[np.float64]
    stderr_mean: float
    widest: float

    def zstat(self, value: float = 0.0) -> NDArray[np.float64]:
        """Return by how many standard errors the centre of each effect's interval differs from ``value``."""
        return _zstat(self.point_estimate + self.shift, self.stderr, value)

    def pvalue(self, value: float = 0.0) -> NDArray[np.float64]:
        """Return the two-sided p-value of each effect being ``value``; not adjusted for asking about many rows."""
        return _pvalue(self.zstat(value))

    def conf_int(self, alpha: float = 0.05) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return lower and upper limits of each effect."""
        return limits_around(self.point_estimate, self.shift, quantile(alpha) * self.stderr, self.widest)

    def summary_frame(self, alpha: float = 0.05, value: float = 0.0) -> pd.DataFrame:
        """Return one row per person as a pandas frame."""
        low, high = self.conf_int(alpha)
        return make_frame(
            {
                "point_estimate": self.point_estimate,
                "stderr": self.stderr,
                "zstat": self.zstat(value),
                "pvalue": self.pvalue(value),
                "ci_lower": low,
                "ci_upper": high,
            }
        )

    def population_summary(self) -> AverageInference:
        """Return the mean effect of the rows with its error."""
        if len(self.point_estimate) == 0:
            raise TableError("a mean effect needs at least one row; got none.")
        return AverageInference(
            mean_point=float(self.point_estimate.mean()),
            shift_mean=float(self.shift.mean()),
            stderr_mean=self.stderr_mean,
            widest=self.widest,
            std_point=float(self.point_estimate.std()),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AverageInference:
    """An average effect with its error.

    Parameters
    ----------
    mean_point
        The average effect.
    shift_mean, stderr_mean
        Where interval and tests are centred, as seen from the average effect, and the standard error of that centre.
    widest
        Largest effect that the outcome's bounds allow.
    std_point
        Standard deviation of the rows' estimated effects; None where the average is not over given rows.
    """

    mean_point: float
    shift_mean: float
    stderr_mean: float
    widest: float
    std_point: float | None = None

    def zstat(self, value: float = 0.0) -> float:
        """Return by how many standard errors the centre of the interval differs from ``value``."""
        return float(_zstat(np.array(self.mean_point + self.shift_mean), np.array(self.stderr_mean), value))

    def pvalue(self, value: float = 0.0) -> float:
        """Return the two-sided p-value of the average being ``value``."""
        return float(_pvalue(np.array(self.zstat(value))))

    def conf_int_mean(self, alpha: float = 0.05) -> tuple[float, float]:
        """Return lower and upper limits of the average."""
        reach = quantile(alpha) * self.stderr_mean
        low, high = limits_around(self.mean_point, self.shift_mean, reach, self.widest)
        return float(low), float(high)

    def summary_frame(self, alpha: float = 0.05, value: float = 0.0) -> pd.DataFrame:
        """Return a pandas frame of one row."""
        low, high = self.conf_int_mean(alpha)
        return make_frame(
            {
                "mean_point": [self.mean_point],
                "stderr_mean": [self.stderr_mean],
                "zstat": [self.zstat(value)],
                "pvalue": [self.pvalue(value)],
                "ci_mean_lower": [low],
                "ci_mean_upper": [high],
            }
        )


def _zstat(point: NDArray[np.float64], stderr: NDArray[np.float64], value: float) -> NDArray[np.float64]:
    """Return the difference in standard errors: infinite where there is a difference and no error."""
    away = point - value
    without = np.where(away == 0, 0.0, np.copysign(np.inf, away))
    return np.divide(away, stderr, out=without, where=stderr > 0)


def _pvalue(zstat: NDArray[np.float64]) -> NDArray[np.float64]:
    both: NDArray[np.float64] = 2.0 * norm.sf(np.abs(zstat))
    return both


class Inferences:
    """What a fitted learner can say with errors attached, beside plain limits."""

    if TYPE_CHECKING:
        schema_: Schema

        def _fitted(self, name: str) -> AdditiveFunction: ...

        def _uncertainty(self) -> Uncertainty: ...

    @property
    def _widest(self) -> float:
        return self.schema_.outcome.high - self.schema_.outcome.low

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
        """Return the average effect with its error: over the noisy distribution of the features, or over ``X``.

        Privacy
        -------
        Without ``X`` this is part of the release. With ``X`` it is an exact average over rows that must be public.
        """
        if X is not None:
            return self.effect_inference(X).population_summary()
        model, known = self._fitted("effect"), self._uncertainty()
        stderr = float(np.sqrt(max(known.average_variance, 0.0)))
        return AverageInference(
            mean_point=model.average, shift_mean=known.average_shift, stderr_mean=stderr, widest=self._widest
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
        population, so that groups differ by ``by`` and not by what goes along with it.

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
