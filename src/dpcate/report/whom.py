"""Whom to treat, and how the effect did on held-out rows, as plain values for the page.

Both are post-processing of released numbers. A rule is shown only together with how sure its gain is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcate.errors import NotAvailableError
from dpcate.learners.adjusted import AdjustedLearner
from dpcate.report.whatif import ALPHA
from dpcate.report.wording import decimals_for, plain_number, signed

if TYPE_CHECKING:
    from dpcate.learners import CateLearner

__all__ = ["describe_calibration", "describe_rule"]

_DEPTH = 2


def describe_rule(learner: CateLearner, decimals: int) -> dict[str, Any] | None:
    """Return the best short rule of whom to treat, or None where the model does not know its error.

    Parameters
    ----------
    learner
        A fitted or loaded learner.
    decimals
        How many decimals effects are shown with.
    """
    policy = learner.policy(cost=0.0, depth=_DEPTH)
    try:
        low, high = policy.gain_interval(ALPHA)
    except NotAvailableError:
        return None
    leaves = policy.leaves or ()
    return {
        # The lines of `policy.rules()`; leaf by leaf, so that a line break in a name cannot pass for another rule.
        "lines": [("treat" if leaf.treat else "do not treat", leaf.words) for leaf in leaves],
        "share": f"{plain_number(round(100 * policy.share_treated, 1))} %",
        "gain": signed(policy.expected_gain, decimals),
        "interval": f"{signed(low, decimals)} to {signed(high, decimals)}",
        "nobody": not any(leaf.treat for leaf in leaves),
        "sure": low > 0,
    }


def describe_calibration(learner: CateLearner, decimals: int) -> dict[str, Any] | None:
    """Return how the effect did on held-out rows, or None where no rows were held out."""
    if not isinstance(learner, AdjustedLearner):
        return None
    try:
        found = learner.calibration(ALPHA)
    except NotAvailableError:
        return None
    rows = [_row("average effect", found.mean, found.mean_interval, found.expected_mean, decimals)]
    if found.slope is not None and found.slope_interval is not None:
        low, high = found.slope_interval
        rows.append(_row("slope", found.slope, found.slope_interval, 1.0, decimals_for((high - low) / 4)))
    return {"rows": rows, "has_slope": len(rows) > 1}


def _row(name: str, value: float, limits: tuple[float, float], right: float, decimals: int) -> dict[str, Any]:
    return {
        "name": name,
        "value": signed(value, decimals),
        "interval": f"{signed(limits[0], decimals)} to {signed(limits[1], decimals)}",
        "right": signed(right, decimals),
        "agrees": limits[0] <= right <= limits[1],
    }
