"""What one single value means: its number, its text, or neither.

These rules are fixed and public, and each looks at one value alone. No value, however hostile, can make them raise,
warn or run code of its own: only the built-in conversion of a known type is ever called.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Level", "number_from_text", "number_from_value", "plain_text", "text_from_number"]

Level = str | int | bool | float
"""What a category level may be."""

LARGEST_EXACT_INTEGER = 2.0**53
"""Up to here every integer is a float64, so that an integer column and its float copy have the same texts."""

_ASCII_SPACE = " \t\n\r\x0b\x0c"
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_WORDS = {
    "true": 1.0,
    "false": 0.0,
    "inf": math.inf,
    "+inf": math.inf,
    "-inf": -math.inf,
    "infinity": math.inf,
    "+infinity": math.inf,
    "-infinity": -math.inf,
}


def number_from_text(text: str) -> float:
    """Return the number that a text spells, or NaN.

    Decimal notation in ASCII digits counts, with blanks around it allowed; so do ``inf`` and ``true``/``false`` (1
    and 0) in any case. Underscores, thousands separators, hexadecimal and other digits do not. Magnitudes beyond
    float64 are infinite.

    Examples
    --------
    >>> number_from_text(" 12.5 "), number_from_text("True"), number_from_text("-1e999"), number_from_text("1_000")
    (12.5, 1.0, -inf, nan)
    """
    stripped = text.strip(_ASCII_SPACE)
    if _DECIMAL.fullmatch(stripped):
        return float(stripped)
    return _WORDS.get(stripped.lower(), math.nan)


def number_from_value(value: object) -> float:
    """Return the number that any Python value stands for, or NaN.

    Integers, floats, booleans, decimals, fractions, their numpy kin, and texts that spell a number count. A complex
    number counts when its imaginary part is zero, because one complex entry turns a whole numpy column complex.
    Everything else is missing, including objects that merely offer ``__float__``. Integers beyond float64 are
    infinite.

    Examples
    --------
    >>> number_from_value(True), number_from_value("1.0"), number_from_value(10**400), number_from_value(object())
    (1.0, 1.0, inf, nan)
    """
    if type(value) is float:
        return value
    kind = type(value)
    for base, convert in _CONVERSIONS:
        if issubclass(kind, base):
            try:
                return float(convert(value))
            except Exception:  # a subclass may have broken what its base relies on
                return math.nan
    return math.nan


def plain_text(value: object) -> str | None:
    """Return a text value as a built-in ``str``, or None when the value is not a text."""
    if issubclass(type(value), str):
        return str.__str__(value)
    return None


def text_from_number(number: float) -> str | None:
    """Return the text by which a number matches a text level, or None when it has none.

    Whole numbers up to 2**53 are written as integers, others in the shortest form that reads back; NaN and infinities
    have no text.

    Examples
    --------
    >>> text_from_number(3.0), text_from_number(0.1), text_from_number(float("nan"))
    ('3', '0.1', None)
    """
    if not math.isfinite(number):
        return None
    if number.is_integer() and abs(number) <= LARGEST_EXACT_INTEGER:
        return str(int(number))
    return repr(number)


def _from_integer(value: int) -> float:
    whole = int.__int__(value)
    try:
        return float(whole)
    except OverflowError:
        return math.inf if whole > 0 else -math.inf


def _from_complex(value: complex) -> float:
    return value.real if value.imag == 0 else math.nan


def _from_fraction(value: Fraction) -> float:
    try:
        return Fraction.__float__(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


_item = np.generic.item

# The unbound methods of the base types are named on purpose: a subclass cannot put its own code in their place. The
# order matters: numpy's float64 is a float, its str_ a str, and its timedelta64 an integer that is no number.
_CONVERSIONS: tuple[tuple[type, Callable[[Any], float]], ...] = (
    (float, float.__float__),
    (int, _from_integer),
    (str, lambda value: number_from_text(str.__str__(value))),
    (np.timedelta64, lambda _: math.nan),
    (np.bool_, lambda value: float(_item(value))),
    (np.integer, lambda value: _from_integer(_item(value))),
    (np.floating, lambda value: float(_item(value))),
    (Decimal, Decimal.__float__),
    (Fraction, _from_fraction),
    (complex, lambda value: _from_complex(complex.__complex__(value))),
    (np.complexfloating, lambda value: _from_complex(_item(value))),
)
