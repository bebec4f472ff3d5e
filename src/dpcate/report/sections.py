"""What each part of the report shows, as plain values that the template lays out.

This file decides content, the template decides form. All values come from the learner's released models and the card.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcate.models import uncertainty_of
from dpcate.report.card import causal_assumptions
from dpcate.report.charts import MOST_LEVELS, shape_chart, shape_table, shared_domain, tradeoff_chart, typical_points
from dpcate.report.groups import Group, find_groups, varies
from dpcate.report.subgroups import describe_subgroups
from dpcate.report.uplift import describe_uplift
from dpcate.report.whatif import ALPHA
from dpcate.report.whom import describe_calibration, describe_rule
from dpcate.report.wording import ASSUMPTIONS, decimals_for, headline, level_text, plain_number, signed, value_text
from dpcate.schema import Category, Number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcate.learners import CateLearner
    from dpcate.models import Shape
    from dpcate.schema import Feature

__all__ = ["report_content"]

_KNOWN_STAGES = {
    "propensity": ("Who was treated", "How each feature moves the probability of treatment."),
    "outcome": ("The outcome itself", "How each feature moves the outcome, whoever was treated."),
    "difference": (
        "The difference that treatment makes, roughly",
        "How each feature moves it, as far as a small part of the budget shows: it serves the average effect.",
    ),
}
_CHECKS = "validation_"
_SHOWN_RATES = (0.01, 0.05, 0.1)


def report_content(learner: CateLearner, card: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what the template needs, and the specifications of the pictures by their place in the page."""
    charts: dict[str, Any] = {}
    places = (f"chart-{k}" for k in count(1))
    decimals = _decimals(learner)
    return {
        "decimals": decimals,
        "average": _average(learner, decimals),
        "groups": _groups(learner, decimals),
        "effect": _stage(learner, "effect", charts, places),
        "stages": [_stage(learner, name, charts, places) for name in learner.models_ if _is_ordinary(name)],
        "subgroups": describe_subgroups(learner, decimals),
        "rule": describe_rule(learner, decimals),
        "calibration": describe_calibration(learner, decimals),
        "uplift": describe_uplift(learner, decimals, charts, places),
        "privacy": _privacy(card, charts, places),
        "known_propensity": learner.schema_.propensity,
        "arms": [level_text(level) for level in learner.schema_.treatment.levels],
        "has_error": uncertainty_of(learner.models_["effect"]) is not None,
        "privacy_assumptions": ASSUMPTIONS["privacy"],
        "causal_assumptions": causal_assumptions(learner),
        "plain_number": plain_number,
    }, charts


def _is_ordinary(name: str) -> bool:
    """Return whether a stage is drawn among the models behind the effect; checks on held-out rows are not."""
    return name != "effect" and not name.startswith(_CHECKS)


def _decimals(learner: CateLearner) -> int:
    outcome, known = learner.schema_.outcome, uncertainty_of(learner.models_["effect"])
    return decimals_for(
        (outcome.high - outcome.low) / 50 if known is None else 4.0 * learner.ate_inference().stderr_mean
    )


def _average(learner: CateLearner, decimals: int) -> dict[str, Any]:
    ate = learner.ate()
    known = uncertainty_of(learner.models_["effect"])
    limits = None if known is None else learner.ate_interval(alpha=ALPHA)
    return {
        "number": signed(ate, decimals),
        "interval": _interval(limits, decimals),
        "words": headline(learner.schema_, ate, limits, decimals),
    }


def _groups(learner: CateLearner, decimals: int) -> dict[str, Any] | None:
    found = find_groups(learner)
    if found is None:
        return None
    sure = found.limits is not None and found.limits[0] > 0
    return {
        "most": _group(found.most, decimals),
        "least": _group(found.least, decimals),
        "difference": signed(found.difference, decimals),
        "interval": _interval(found.limits, decimals),
        "sure": sure,
    }


def _group(group: Group, decimals: int) -> dict[str, Any]:
    return {
        "features": group.features,
        "effect": signed(group.effect, decimals),
        "interval": _interval(group.limits, decimals),
    }


def _interval(limits: tuple[float, float] | None, decimals: int) -> str | None:
    return None if limits is None else f"{signed(limits[0], decimals)} to {signed(limits[1], decimals)}"


def _stage(learner: CateLearner, name: str, charts: dict[str, Any], places: Iterator[str]) -> dict[str, Any]:
    model = learner.models_[name]
    title, words = _KNOWN_STAGES.get(name, (name, "How each feature moves this model."))
    axis = "change of the log-odds" if model.link == "logistic" else "difference from the average"
    shapes = list(learner.shapes(name, alpha=ALPHA).values())
    domain = shared_domain(model.columns, shapes)
    decimals = decimals_for((domain[1] - domain[0]) / 10)
    figures, flat = [], []
    for column, shape in zip(model.columns, shapes, strict=True):
        if np.ptp(shape.effect) == 0:
            flat.append(column.name)
            continue
        place = next(places)
        charts[place] = shape_chart(column, shape, axis=axis, domain=domain)
        figures.append(_figure(place, column, shape, axis=axis, decimals=decimals))
    return {
        "name": name,
        "title": title,
        "words": words,
        "figures": figures,
        "flat": flat,
        "axis": axis,
        "varies": varies(model),
        "has_error": uncertainty_of(model) is not None,
        "intercept": plain_number(model.intercept),
        "products": [(model.columns[p.first].name, model.columns[p.second].name) for p in model.products],
    }


def _figure(place: str, column: Feature, shape: Shape, *, axis: str, decimals: int) -> dict[str, Any]:
    cut = isinstance(column, Category) and len(column.levels) > MOST_LEVELS
    return {
        "place": place,
        "name": column.name,
        "rows": shape_table(column, shape, decimals),
        "axis": axis,
        "words": _in_words(column, shape, decimals),
        "note": f"The {MOST_LEVELS} most common of {len(shape.grid)} levels are shown." if cut else "",
    }


def _in_words(column: Feature, shape: Shape, decimals: int) -> str:
    """Say where the term is lowest and highest among typical values, or that nothing is clear."""
    typical = typical_points(column, shape)
    if shape.lower is not None and shape.upper is not None:
        clear = (shape.lower[typical] > 0) | (shape.upper[typical] < 0)
        if not clear.any():
            return "No clear difference: among typical values the interval includes zero everywhere."
    ends = [int(typical[np.argmin(shape.effect[typical])]), int(typical[np.argmax(shape.effect[typical])])]
    low, high = (
        f"{value_text(column, k + 1, float(shape.grid[k]) if isinstance(column, Number) else 0.0)} "
        f"({signed(float(shape.effect[k]), decimals)})"
        for k in ends
    )
    return f"Among typical values lowest near {low}, highest near {high}."


def _privacy(card: dict[str, Any], charts: dict[str, Any], places: Iterator[str]) -> dict[str, Any]:
    privacy = card["privacy"]
    place = next(places)
    charts[place] = tradeoff_chart(privacy["trade_off"]["points"])
    rates = {entry["false_positive_rate"]: entry["true_positive_rate"] for entry in privacy["membership"]}
    return {
        "place": place,
        "guesses": [(f"{rate * 100:g} %", _percent(rates[rate])) for rate in _SHOWN_RATES],
        "epsilon": _number(privacy["epsilon"]),
        "delta": _number(privacy["delta"]),
        "mu": _number(privacy["mu"]),
        "replace": privacy["neighbours"] == "replace",
        "spend": [(entry["stage"], _number(entry["epsilon"]), _number(entry["mu"])) for entry in privacy["spend"]],
    }


def _percent(share: float) -> str:
    """Return a share in per cent, rounded up: a limit must not be understated."""
    return f"{np.ceil(share * 1000 - 1e-9) / 10:.1f} %"


def _number(value: float | None) -> str:
    return "none" if value is None else plain_number(value)
