"""The average effect of each group, feature by feature, as rows that hold a number, an interval and a small picture.

Everything follows from released numbers. The picture of a row is geometry only; all that it says stands beside it as
text. One scale serves all features, so that their rows can be compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpcate.errors import NotAvailableError
from dpcate.report.charts import MOST_LEVELS
from dpcate.report.groups import COMMON, varies
from dpcate.report.whatif import ALPHA
from dpcate.report.wording import signed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcate.learners import CateLearner
    from dpcate.learners.groups import GroupEffect

__all__ = ["MOST_FEATURES", "WIDTH", "describe_subgroups"]

MOST_FEATURES = 6
"""The report shows so many features: those that move the released effect most."""

WIDTH = 200.0
"""Width of a row's picture, in units of its own."""

_MARGIN = 8.0


def describe_subgroups(learner: CateLearner, decimals: int) -> dict[str, Any] | None:
    """Return the groups of up to six features, or None where the model does not know its error.

    Parameters
    ----------
    learner
        A fitted or loaded learner.
    decimals
        How many decimals effects are shown with.
    """
    chosen, n_moving = _moving_features(learner)
    try:
        with np.errstate(invalid="ignore", divide="ignore"):  # a number without any released share is one group
            found = {name: list(learner.group_effects(name, alpha=ALPHA)) for name in chosen}
            learner.ate_interval(alpha=ALPHA)  # without a feature to show: does the model know its error?
    except NotAvailableError:
        return None
    found = {name: groups for name, groups in found.items() if len(groups) > 1}
    shown = {name: _most_common(groups) for name, groups in found.items()}
    scale = _Scale([group for groups in shown.values() for group in groups])
    return {
        "features": [
            {
                "name": name,
                "rows": [_row(group, scale, decimals) for group in groups],
                "words": _in_words(groups),
                "note": f"The {MOST_LEVELS} most common of {len(found[name])} groups are shown."
                if len(found[name]) > MOST_LEVELS
                else "",
            }
            for name, groups in shown.items()
        ],
        "cut": n_moving > MOST_FEATURES,
        "varies": varies(learner.models_["effect"]),
    }


def _moving_features(learner: CateLearner) -> tuple[list[str], int]:
    """Return the features whose terms vary most among people, the most important first, and how many vary at all."""
    model = learner.models_["effect"]
    spread = {
        column.name: float(np.maximum(share, 0.0) @ table**2)
        for column, table, share in zip(model.columns, model.tables, model.shares, strict=True)
        if np.ptp(table[1:]) > 0
    }
    ranked = sorted(spread, key=lambda name: -spread[name])
    return ranked[:MOST_FEATURES], len(ranked)


def _most_common(groups: Sequence[GroupEffect]) -> list[GroupEffect]:
    """Return the most common groups, in their own order."""
    at = np.argsort([-group.share for group in groups], kind="stable")[:MOST_LEVELS]
    return [groups[k] for k in sorted(at.tolist())]


class _Scale:
    """Where an effect stands in a row's picture: one scale, wide enough for zero and for all common groups."""

    def __init__(self, groups: Sequence[GroupEffect]) -> None:
        common = [group for group in groups if group.share >= COMMON] or groups
        self.low = min([0.0, *(group.lower for group in common)])
        self.high = max([0.0, *(group.upper for group in common)])

    def at(self, value: float) -> float:
        """Return the place of a value; one beyond the scale is at its end."""
        part = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return round(_MARGIN + (WIDTH - 2 * _MARGIN) * min(max(part, 0.0), 1.0), 1)

    def holds(self, value: float) -> bool:
        """Return whether a value is on the scale."""
        return self.low <= value <= self.high


def _row(group: GroupEffect, scale: _Scale, decimals: int) -> dict[str, Any]:
    return {
        "label": group.label,
        "share": f"{max(group.share, 0.0) * 100:.0f} %",
        "effect": signed(group.effect, decimals),
        "interval": f"{signed(group.lower, decimals)} to {signed(group.upper, decimals)}",
        "left": scale.at(group.lower),
        "right": scale.at(group.upper),
        "dot": scale.at(group.effect) if scale.holds(group.effect) else None,
        "zero": scale.at(0.0),
    }


def _in_words(groups: Sequence[GroupEffect]) -> str:
    """Say which groups differ; intervals that hold together and lie apart are proof of it."""
    most = max(groups, key=lambda group: group.lower)
    least = min(groups, key=lambda group: group.upper)
    if most.lower > least.upper:
        return f"The effect is larger for {most.label} than for {least.label}: their intervals lie apart."
    return "No clear difference: all intervals overlap."
