"""The sentences and number formats of the report: what a reader without statistics is told.

Sentences are made from released numbers and public names. They say no more than the numbers do: where an interval
includes zero, no direction is claimed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpcate.schema import Number

if TYPE_CHECKING:
    from dpcate.accounting import Guarantee
    from dpcate.schema import Feature, Level, Schema

__all__ = [
    "ASSUMPTIONS",
    "UNITS",
    "decimals_for",
    "default_title",
    "flag_warnings",
    "headline",
    "level_text",
    "plain_number",
    "signed",
    "value_text",
]

UNITS = {
    "replace": "two tables are neighbours if they have the same number of rows and differ in the content of one row",
    "add_remove": "two tables are neighbours if one has one row more than the other",
}

ASSUMPTIONS = {
    "privacy": [
        "One person is one row. Somebody with several rows is protected less.",
        "The schema (bounds, levels, arms) was written without looking at the table.",
        "Other releases from the same table add to this one; the guarantee here is of this release alone.",
        "The rows, the machine and its source of randomness were out of an attacker's sight.",
    ],
    "randomised": [
        "The treatment was given at random, with the probability that the schema states, whatever the features.",
    ],
    "unconfounded": [
        "Unconfoundedness: people with the same features who were and were not treated are alike in everything else "
        "that matters for the outcome. Nothing in the table can prove this; unless the treatment was given at random "
        "it is a judgement.",
    ],
    "causal": [
        "Overlap: people of every kind had a chance to be treated and a chance not to be. Where hardly anybody was, "
        "the effect shown is a continuation from others.",
        "One person's treatment does not change another person's outcome.",
        "Values outside the public bounds were moved to the bound; unknown levels and missing values count as "
        '"other or not known".',
        "The effect is modelled as a sum of smooth curves, one per feature, and simple products. Finer patterns are "
        "not seen, and noise added for privacy flattens the curves.",
    ],
}

_VOID = (
    "VOID: no privacy is guaranteed. The noise in these numbers can be reproduced, so it protects nobody. Do not "
    "publish this release if the table is confidential."
)
_NOMINAL = (
    "NOMINAL: the privacy numbers are claimed by third-party software and could not be proved. Treat them as a label, "
    "not as a guarantee."
)


def flag_warnings(guarantee: Guarantee) -> list[str]:
    """Return the warnings that come before everything else."""
    return [text for text, flag in ((_VOID, guarantee.void), (_NOMINAL, guarantee.nominal)) if flag]


def default_title(schema: Schema) -> str:
    """Return a title from the schema's names.

    Examples
    --------
    >>> from dpcate.schema import Category, Number, Schema
    >>> default_title(Schema(Number("vote", 0, 1), Category("called", [0, 1]), [Number("age", 18, 105)]))
    'The effect of called on vote'
    """
    return f"The effect of {schema.treatment.name} on {schema.outcome.name}"


def decimals_for(scale: float) -> int:
    """Return how many decimals show a quantity of this size with two digits.

    Examples
    --------
    >>> decimals_for(0.034), decimals_for(2.5), decimals_for(410.0)
    (3, 1, 0)
    """
    if not (math.isfinite(scale) and scale > 0):
        return 3
    return min(max(1 - math.floor(math.log10(scale)), 0), 12)


def signed(value: float, decimals: int) -> str:
    """Return a number with its sign, for differences.

    Examples
    --------
    >>> signed(0.1234, 2), signed(-1234.5, 0), signed(-0.0001, 2)
    ('+0.12', '\N{MINUS SIGN}1,234', '0.00')
    """
    text = f"{abs(value):,.{decimals}f}"
    if not text.strip("0.,"):
        return text
    return ("+" if value > 0 else "\N{MINUS SIGN}") + text


def plain_number(value: float) -> str:
    """Return a number as a person would write it: four digits at most, no exponent for ordinary sizes.

    Examples
    --------
    >>> plain_number(18.0), plain_number(0.123456), plain_number(52340.0), plain_number(1e-05)
    ('18', '0.1235', '52,340', '1e-05')
    """
    if value and not 1e-4 <= abs(value) < 1e9:
        return f"{value:.4g}"
    decimals = 0 if value == 0 or abs(value) >= 1000 else max(3 - math.floor(math.log10(abs(value))), 0)
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def level_text(level: Level) -> str:
    """Return a level as text."""
    return level if isinstance(level, str) else str(level)


def value_text(column: Feature, code: int, midpoint: float) -> str:
    """Return what a code stands for."""
    if code == 0:
        return "other or not known"
    if isinstance(column, Number):
        return plain_number(_rounded(midpoint, column.high - column.low))
    return level_text(column.levels[code - 1])


def _rounded(value: float, width: float) -> float:
    """Return a value rounded to about a fiftieth of its range."""
    if width < 1e-200:
        return value
    unit = 10.0 ** math.floor(math.log10(width / 50))
    return round(value / unit) * unit


def headline(schema: Schema, ate: float, limits: tuple[float, float] | None, decimals: int) -> list[str]:
    """Return the average effect in words."""
    outcome, treatment = schema.outcome, schema.treatment
    control, treated = (level_text(level) for level in treatment.levels[:2])
    direction = "higher" if ate >= 0 else "lower"
    words = [
        f"With {treatment.name} = {treated} rather than {control}, {outcome.name} is on average "
        f"{signed(abs(ate), decimals).lstrip('+')} {direction}, on a scale from {plain_number(outcome.low)} to "
        f"{plain_number(outcome.high)}."
    ]
    if (outcome.low, outcome.high) == (0.0, 1.0):
        per_hundred = signed(abs(ate) * 100, max(decimals - 2, 0)).lstrip("+")
        more = "more" if ate >= 0 else "fewer"
        words.append(f"If {outcome.name} is yes or no, that is about {per_hundred} {more} yes in every 100 people.")
    if limits is None:
        return [*words, "How far off this number may be is not known: this model does not report its error."]
    low, high = limits
    words.append(
        f"The 95 % interval goes from {signed(low, decimals)} to {signed(high, decimals)}. It covers chance in who was "
        "studied and the noise that was added for privacy."
    )
    if low <= 0.0 <= high:
        return [*words, "It includes zero: this cannot tell whether the treatment raises or lowers the outcome."]
    side = "raises" if low > 0 else "lowers"
    return [*words, f"It does not include zero: on average the treatment {side} the outcome."]
