"""Is the released effect right? Two numbers and a curve from rows that no other stage has read.

On the held-out part, Y - eta(X) is regressed on (T - e(X)) and on (T - e(X)) s(X), where s is the released effect,
centred, scaled and clipped; then what is left is summed by slices of the released effect. The held-out part has the
whole budget to itself, since no other stage reads it: proof in ``docs/privacy/plans.md``. Derivation:
``docs/statistics/validation.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import norm

from dpcate.errors import NotAvailableError, ParameterError
from dpcate.learners.intervals import quantile
from dpcate.learners.people import draw_people
from dpcate.learners.residuals import Residuals
from dpcate.learners.stage import Stage
from dpcate.learners.uplift import find_uplift_curve
from dpcate.models import SLICES, SliceSums, make_slices, uncertainty_of
from dpcate.splitting import Plan
from dpcate.tables import Rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcate.learners.nuisances import Propensity
    from dpcate.learners.released import Released
    from dpcate.learners.uplift import UpliftCurve
    from dpcate.models import Slices
    from dpcate.schema import Schema

__all__ = ["Calibration", "Checks", "calibrate", "check_share", "held_out", "uplift_curve"]

MEAN, SLOPE, CURVE = "validation_mean", "validation_slope", "validation_curve"
WEIGHTS = (0.25, 0.4, 0.35)
N_SLICES = 5
FARTHEST = 3.0
"""The released effect is clipped at this many of its standard deviations."""

_LEAST, _FLAT, _N_PEOPLE = 0.05, 1e-6, 2**14


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The best linear predictor of the effect from the released effect, on rows that were held out.

    Parameters
    ----------
    mean, mean_interval
        Effect of people whose released effect is average; right is the released average effect, ``expected_mean``.
    slope, slope_interval
        How much the effect rises when the released effect rises by one: right is 1, and 0 says that it found nothing.
        None where the released effect is the same for everybody.
    expected_mean
        The released average effect.
    p_mean, p_slope
        Two-sided p-values of mean = ``expected_mean`` and of slope = 1.
    """

    mean: float
    mean_interval: tuple[float, float]
    slope: float | None
    slope_interval: tuple[float, float] | None
    expected_mean: float
    p_mean: float
    p_slope: float | None


def check_share(share: object) -> float:
    """Return the share of rows to hold out, if it is in range."""
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0.0 <= share <= 0.5:
        raise ParameterError(f"`validate` must be a share of rows from 0 to 0.5; got {share!r}.")
    return float(share)


def held_out(plan: Plan, share: float) -> Plan:
    """Return the plan with one more part, which only the checks read.

    Examples
    --------
    >>> plan = held_out(Plan.shared(("outcome", "effect"), weights=(1, 1)), 0.2)
    >>> {name: round(part, 2) for name, part in plan.fractions().items()}
    {'outcome': 0.5, 'effect': 0.5, 'validation_mean': 0.25, 'validation_slope': 0.4, 'validation_curve': 0.35}
    """
    part = len(plan.shares)
    return Plan(
        shares=(*(own * (1 - share) for own in plan.shares), share),
        reads=(*plan.reads, *((name, (part,)) for name in (MEAN, SLOPE, CURVE))),
        weights=(*plan.weights, *WEIGHTS),
    )


class Checks:
    """The stages of the held-out part, row by row, and their bounds.

    Parameters
    ----------
    propensity
        Known or released.
    """

    def __init__(self, propensity: Propensity) -> None:
        self._residuals = Residuals(propensity)

    def stages(self) -> tuple[Stage, Stage, Stage]:
        """Return the stages: the mean first, as the targets of slope and curve subtract it."""
        facts = {"residual_of": "outcome", "first_stage": ("propensity", "outcome"), "concurrent": True}
        return (
            Stage(
                name=MEAN,
                target=self._residuals.outcome,
                bounds=self._residuals.bounds,
                loading=self._residuals.treatment,
                loading_bound=self._residuals.loading_bound,
                loading_law=self._residuals.law,
                intercept_signal=2.0,
                constant=True,
                **facts,  # type: ignore[arg-type]
            ),
            Stage(
                name=SLOPE,
                target=self._left,
                bounds=self._left_bounds,
                loading=self._steep,
                loading_bound=self._steep_reach,
                loading_law=self._steep_law,
                intercept_signal=2.0,
                constant=True,
                **facts,  # type: ignore[arg-type]
            ),
            Stage(
                name=CURVE,
                target=self._left,
                bounds=self._left_bounds,
                loading=self._residuals.treatment,
                loading_bound=self._residuals.loading_bound,
                loading_law=self._residuals.law,
                slices=_slices,
                learner=SliceSums(),
                **facts,  # type: ignore[arg-type]
            ),
        )

    def _steep(self, rows: Rows, released: Released) -> NDArray[np.float64]:
        return self._residuals.treatment(rows, released) * scores(rows.codes, released)

    def _left(self, rows: Rows, released: Released) -> NDArray[np.float64]:
        return self._residuals.outcome(rows, released) - self._residuals.treatment(rows, released) * _level(released)

    def _left_bounds(self, schema: Schema, released: Released) -> tuple[float, float]:
        low, high = self._residuals.bounds(schema, released)
        more = abs(_level(released))
        return low - more, high + more

    def _steep_reach(self, schema: Schema, released: Released) -> float:
        return FARTHEST * self._residuals.loading_bound(schema, released)

    def _steep_law(self, rows: Rows, released: Released) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        reach, square = self._residuals.law(rows, released)
        size = np.maximum(np.abs(scores(rows.codes, released)), _LEAST)  # a law has to be positive
        return reach * size, square * size * size


def _slices(released: Released) -> Slices:
    return make_slices(released["effect"], draw_people(released, _N_PEOPLE), N_SLICES)


def scores(codes: NDArray[np.uint16], released: Released) -> NDArray[np.float64]:
    """Return the released effect of each row, centred, scaled and clipped; zero if it is the same for everybody."""
    model = released["effect"]
    spread = _spread(released)
    if spread == 0.0:
        return np.zeros(len(codes))
    return np.clip((model.score(codes) - model.intercept) / spread, -FARTHEST, FARTHEST)


def _spread(released: Released) -> float:
    """Return about the standard deviation of the released effect over people: features taken as independent."""
    model = released["effect"]
    variance = sum(float(share @ table**2) for table, share in zip(model.tables, model.shares, strict=True))
    width = released.schema.outcome.high - released.schema.outcome.low
    return float(np.sqrt(variance)) if variance > (_FLAT * width) ** 2 else 0.0


def _level(released: Released) -> float:
    """Return the effect that the first check found, within what the outcome's bounds allow."""
    width = released.schema.outcome.high - released.schema.outcome.low
    return float(np.clip(released[MEAN].intercept, -width, width))


def calibrate(released: Released, propensity: Propensity, alpha: float) -> Calibration:
    """Return the best linear predictor from the two released numbers: post-processing."""
    times = quantile(alpha)
    _check_held_out(released, MEAN)
    (level, level_sd), (rise, rise_sd) = (_number(released, name) for name in (MEAN, SLOPE))
    expected, spread = released["effect"].intercept, _spread(released)
    if spread == 0.0:
        return Calibration(
            mean=level,
            mean_interval=(level - times * level_sd, level + times * level_sd),
            slope=None,
            slope_interval=None,
            expected_mean=expected,
            p_mean=_p_value(level - expected, level_sd),
            p_slope=None,
        )
    people = draw_people(released, _N_PEOPLE)
    e = propensity.of(Rows.of_features(people), released)
    weight, score = e * (1 - e), scores(people, released)
    first = float(weight @ score / weight.sum())
    overlap = first**2 * float(weight.sum()) / float(weight @ score**2)
    slope, slope_sd = rise / (1 - overlap), rise_sd / (1 - overlap)
    mean, mean_sd = level - slope * first, float(np.hypot(level_sd, slope_sd * first))
    slope, slope_sd = slope / spread, slope_sd / spread
    return Calibration(
        mean=mean,
        mean_interval=(mean - times * mean_sd, mean + times * mean_sd),
        slope=slope,
        slope_interval=(slope - times * slope_sd, slope + times * slope_sd),
        expected_mean=expected,
        p_mean=_p_value(mean - expected, mean_sd),
        p_slope=_p_value(slope - 1.0, slope_sd),
    )


def uplift_curve(released: Released, alpha: float) -> UpliftCurve:
    """Return the uplift curve from the released sums by slice: post-processing."""
    quantile(alpha)
    _check_held_out(released, CURVE)
    outcome = released.schema.outcome
    sums = released[CURVE].details[SLICES]
    return find_uplift_curve(sums, _level(released), widest=outcome.high - outcome.low, alpha=alpha)


def _check_held_out(released: Released, name: str) -> None:
    if name not in released:
        raise NotAvailableError("no rows were held out for validation; fit with validate=0.2, say.")


def _number(released: Released, name: str) -> tuple[float, float]:
    known = uncertainty_of(released[name])
    if known is None:
        raise NotAvailableError("the checks have no error: this model does not know it.")
    return released[name].intercept, float(np.sqrt(known.average_variance))


def _p_value(distance: float, sd: float) -> float:
    return float(2 * norm.sf(abs(distance) / sd)) if sd > 0 else float(distance == 0)
