"""Effects with their errors as objects, under EconML's names: standard errors, tests, intervals, frames.

Everything here is post-processing of released numbers. Derivation: ``docs/statistics/intervals.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import norm

from dpcate.errors import TableError
from dpcate.learners.frames import make_frame
from dpcate.learners.intervals import limits_around, quantile

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

__all__ = ["AverageInference", "EffectInference"]


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
