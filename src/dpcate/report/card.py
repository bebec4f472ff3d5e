"""The privacy card: what was promised to each person, as one JSON document.

A void or nominal guarantee is said first. The document is described in ``docs/card.md`` and, for machines, in
``card.schema.json`` beside this file. Its terms are those of NIST SP 800-226 wherever that page has a term.
"""

from __future__ import annotations

import json
import math
import platform
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcate.accounting import Gaussian, Identity
from dpcate.errors import DocumentError
from dpcate.learners import MultiStage, SLearner
from dpcate.report.wording import ASSUMPTIONS, UNITS, default_title, flag_warnings

if TYPE_CHECKING:
    from dpcate.accounting import Guarantee, TradeOffFunction
    from dpcate.learners import CateLearner

__all__ = ["FALSE_POSITIVE_RATES", "FORMAT", "card_schema", "check_card", "make_card"]

FORMAT = "dpcate-card"
VERSION = 1
FALSE_POSITIVE_RATES = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5)
_ALPHAS = (0.0, 0.001, 0.002, 0.005, 0.01, *(k / 50 for k in range(1, 51)))
_SOFTWARE = ("dpcate", "numpy", "scipy", "opendp")
_DEFAULT_DELTA = 1e-5


def make_card(learner: CateLearner, *, title: str | None = None) -> dict[str, Any]:
    """Return the privacy card of a fitted learner, as JSON values.

    Parameters
    ----------
    learner
        A fitted or loaded learner.
    title
        What the release is about; None makes one from the schema's names.

    Privacy
    -------
    Holds public facts, options and what the accounting says of them. Nothing in it depends on a row.
    """
    learner.ate()  # a learner that is not fitted says so here
    guarantee, schema = learner.guarantee_, learner.schema_
    return {
        "format": FORMAT,
        "version": VERSION,
        "void": guarantee.void,
        "nominal": guarantee.nominal,
        "warnings": [*flag_warnings(guarantee), *guarantee.notes],
        "title": title or default_title(schema),
        "release": {
            "learner": type(learner).__name__,
            "options": {name: _plain(value) for name, value in learner.options_.items()},
            "models": sorted(learner.models_),
        },
        "privacy": _privacy(learner),
        "public_facts": schema.to_dict(),
        "assumptions": [*ASSUMPTIONS["privacy"], *causal_assumptions(learner)],
        "evaluation": _evaluation(guarantee),
        "versions": _versions(nominal=guarantee.nominal),
    }


def causal_assumptions(learner: CateLearner) -> list[str]:
    """Return what must hold for the numbers to be causal effects."""
    first = "randomised" if learner.schema_.propensity is not None else "unconfounded"
    return [*ASSUMPTIONS[first], *ASSUMPTIONS["causal"]]


def spent_stages(learner: CateLearner) -> list[str]:
    """Return the names of the models that cost something; what is computed from another model is free."""
    free = {"effect"} if isinstance(learner, SLearner) else set()
    if isinstance(learner, MultiStage) and learner.stages:
        free = set(learner.models_) - {stage.name for stage in learner.stages}
    return [name for name in learner.models_ if name not in free]


def _privacy(learner: CateLearner) -> dict[str, Any]:
    guarantee = learner.guarantee_
    delta = float(learner.options_.get("delta", _DEFAULT_DELTA))
    return {
        "definition": "f-differential privacy; (epsilon, delta) and mu are read off its trade-off function",
        "unit": "one row of the table; one person must be one row",
        "neighbours": guarantee.neighbours,
        "relation": UNITS[guarantee.neighbours],
        **_numbers(guarantee, delta),
        "trade_off": {"function": guarantee.f.to_dict(), "points": _points(guarantee.f)},
        "membership": [
            {"false_positive_rate": rate, "true_positive_rate": 1.0 - guarantee.tradeoff(rate)}
            for rate in FALSE_POSITIVE_RATES
        ],
        "plan": _plain(learner.options_.get("plan", "shared")),
        "spend": [
            {"stage": name, **_numbers(learner.models_[name].guarantee_, delta)} for name in spent_stages(learner)
        ],
    }


def _numbers(guarantee: Guarantee, delta: float) -> dict[str, float | None]:
    """Return epsilon at delta, and mu where the trade-off function is a Gaussian one; null stands for neither."""
    epsilon = guarantee.epsilon(delta)
    mu = guarantee.f.mu if isinstance(guarantee.f, Gaussian) else 0.0 if isinstance(guarantee.f, Identity) else None
    return {"epsilon": epsilon if math.isfinite(epsilon) else None, "delta": delta, "mu": mu}


def _points(f: TradeOffFunction) -> list[dict[str, float]]:
    alphas = np.unique(np.array(_ALPHAS))
    return [{"alpha": float(a), "beta": float(b)} for a, b in zip(alphas, f(alphas), strict=True)]


def _evaluation(guarantee: Guarantee) -> dict[str, str]:
    """Return the answers to the questions of NIST SP 800-226, in its terms."""
    bounded = guarantee.neighbours == "replace"
    return {
        "reference": "NIST SP 800-226, Guidelines for Evaluating Differential Privacy Guarantees",
        "privacy_parameters": "epsilon, delta and mu of this card, for the whole release with all intermediate models",
        "variant": "approximate differential privacy, stated exactly as a trade-off function (f-DP)",
        "unit_of_privacy": "user-level if one person is one row, else event-level (one row)",
        "neighbouring": "bounded (replace one row)" if bounded else "unbounded (add or remove one row)",
        "trust_model": "central: the data owner sees the rows, the public sees this release only",
        "mechanism_correctness": "claimed by third-party software, not proved"
        if guarantee.nominal
        else "proof pages and tests of dpcate; integer sums, exact discrete Gaussian noise",
        "side_channels": "running time and memory may depend on values and must not be observable",
        "security_and_access_control": "the table, the machine and its entropy source are the owner's to protect",
        "data_collection_exposure": "not covered: whoever collected the rows has seen them",
        "several_releases": "this card covers one release; releases from one table add up, see the owner's ledger",
    }


def _versions(*, nominal: bool) -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in (*_SOFTWARE, *(("interpret-core",) if nominal else ())):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "unknown"
    return found


def _plain(value: object) -> object:
    return value if isinstance(value, str | int | float | bool | None) else repr(value)


def card_schema() -> dict[str, Any]:
    """Return the JSON Schema of a card."""
    text = files("dpcate.report").joinpath("card.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def check_card(card: object) -> None:
    """Raise :class:`~dpcate.errors.DocumentError` if a document is not a card that follows the schema."""
    import jsonschema  # type: ignore[import-untyped]

    try:
        jsonschema.validate(card, card_schema())
    except jsonschema.ValidationError as problem:
        raise DocumentError(f"this is not a privacy card: at {problem.json_path}, {problem.message}.") from None
