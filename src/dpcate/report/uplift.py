"""The uplift curve of held-out rows, as plain values for the page: a picture, its table, and what the area says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcate.errors import NotAvailableError
from dpcate.learners.adjusted import AdjustedLearner
from dpcate.report.charts import uplift_chart
from dpcate.report.whatif import ALPHA
from dpcate.report.wording import decimals_for, plain_number, signed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcate.learners import CateLearner
    from dpcate.learners.uplift import UpliftPoint

__all__ = ["describe_uplift"]


def describe_uplift(
    learner: CateLearner, decimals: int, charts: dict[str, Any], places: Iterator[str]
) -> dict[str, Any] | None:
    """Return the curve in words and put its picture among ``charts``; None without held-out rows or differences.

    Parameters
    ----------
    learner
        A fitted or loaded learner.
    decimals
        How many decimals effects are shown with.
    charts, places
        Pictures by place, and the places that are still free.
    """
    if not isinstance(learner, AdjustedLearner):
        return None
    try:
        curve = learner.uplift_curve(ALPHA)
    except NotAvailableError:
        return None
    if len(curve) < 2:
        return None
    place = next(places)
    charts[place] = uplift_chart(curve)
    low, high = curve.qini_interval
    fine = decimals_for((high - low) / 4)
    return {
        "place": place,
        "rows": [_row(point, decimals) for point in curve],
        "area": signed(curve.qini, fine),
        "interval": f"{signed(low, fine)} to {signed(high, fine)}",
        "verdict": "better" if low > 0 else "worse" if high < 0 else "unclear",
    }


def _row(point: UpliftPoint, decimals: int) -> tuple[str, str, str, str]:
    """Return share, gain, band and gain at random as text."""
    return (
        f"{plain_number(round(100 * point.share, 1))} %",
        signed(point.gain, decimals),
        f"{signed(point.band_lower, decimals)} to {signed(point.band_upper, decimals)}",
        signed(point.at_random, decimals),
    )
