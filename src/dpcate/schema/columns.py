"""The two kinds of public column: a number with bounds, a category with levels.

Both are complete when they exist: a number without bounds and a category without levels cannot be made, so nothing
later is tempted to look them up in the table.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from dpcate.errors import BoundsMissingError, SchemaError
from dpcate.schema.values import Level, number_from_value

__all__ = ["Category", "Feature", "Number"]

MAXIMUM_LEVELS = 2**16 - 1
"""Codes are 16-bit, and code 0 is taken by the "other" level."""

_NOT_GIVEN = math.nan
_MISSING_TEXTS = ("", "nan", "NaN")


@dataclass(frozen=True, slots=True)
class Number:
    """A numeric column with public bounds.

    Values outside the bounds are clamped. The bounds must come from what is known of the quantity, not from the table.

    Parameters
    ----------
    name : str
        Name of the column.
    low, high : float
        Public bounds, finite, ``low < high``.

    Raises
    ------
    BoundsMissingError
        When a bound is missing.
    SchemaError
        When the name is empty or the bounds are not finite and in order.

    Examples
    --------
    >>> Number("age", 18, 105)
    Number(name='age', low=18.0, high=105.0)
    """

    name: str
    low: float = _NOT_GIVEN
    high: float = _NOT_GIVEN

    def __post_init__(self) -> None:
        check_name(self.name)
        low, high = (self._bound(label, bound) for label, bound in (("low", self.low), ("high", self.high)))
        if not low < high:
            raise SchemaError(f"Number {self.name!r} must have low < high; got low={low!r}, high={high!r}.")
        if not math.isfinite(high - low):
            raise SchemaError(
                f"Number {self.name!r} must have a width high - low below the largest float; got low={low!r}, "
                f"high={high!r}. Narrow the bounds or change the unit."
            )
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    def _bound(self, label: str, bound: object) -> float:
        if bound is None or (isinstance(bound, float) and math.isnan(bound)):
            raise BoundsMissingError(self.name, example=f"Number({self.name!r}, 0, 100)")
        number = math.nan if isinstance(bound, (str, bool)) else number_from_value(bound)
        if not math.isfinite(number):
            raise SchemaError(f"Number {self.name!r} must have a finite number as `{label}`; got {bound!r}.")
        return number


@dataclass(frozen=True, slots=True)
class Category:
    """A categorical column with a public list of levels.

    Values that are none of the levels, and missing values, become the "other" level, which every category has.

    Parameters
    ----------
    name : str
        Name of the column.
    levels : sequence of str, or of int, bool and float
        At least one level; all texts or all numbers; no two that match the same value. "nan" is no level: it is how
        numpy writes a missing number among texts.

    Raises
    ------
    SchemaError
        When the name is empty, or the levels are none, mixed, blank, not finite or repeated.

    Examples
    --------
    >>> Category("sex", ["female", "male"])
    Category(name='sex', levels=('female', 'male'))
    """

    name: str
    levels: tuple[Level, ...]

    def __init__(self, name: str, levels: Iterable[Level]) -> None:
        check_name(name)
        if isinstance(levels, (str, bytes)) or not isinstance(levels, Iterable):
            raise SchemaError(f"Category {name!r} must have a list of levels; got {type(levels).__name__}.")
        plain = tuple(_plain_level(name, level) for level in levels)
        _check_levels(name, plain)
        object.__setattr__(self, "name", str(name))
        object.__setattr__(self, "levels", plain)

    @property
    def n_codes(self) -> int:
        """Number of codes: one per level, and one for "other"."""
        return len(self.levels) + 1


Feature = Number | Category
"""A column that describes a row before treatment."""


def check_name(name: object) -> None:
    """Refuse a column name that is not a non-empty text."""
    if not isinstance(name, str) or not name:
        raise SchemaError(f"A column name must be a non-empty text; got {name!r}.")
    if not _is_unicode(name):
        raise SchemaError(f"A column name must be valid Unicode; got {name!r}.")


def _plain_level(name: str, level: object) -> Level:
    plain = level.item() if isinstance(level, np.generic) else level
    if isinstance(plain, str) and plain not in _MISSING_TEXTS and _is_unicode(plain):
        return str(plain)
    if isinstance(plain, (bool, int, float)) and math.isfinite(number_from_value(plain)):
        return plain
    raise SchemaError(
        f"Category {name!r} must have levels that are finite numbers or texts other than '' and 'nan'; got {level!r}. "
        'Missing values need no level of their own: they become "other".'
    )


def _check_levels(name: str, levels: tuple[Level, ...]) -> None:
    if not 1 <= len(levels) <= MAXIMUM_LEVELS:
        raise SchemaError(f"Category {name!r} must have 1 to {MAXIMUM_LEVELS} levels; got {len(levels)}.")
    n_texts = sum(isinstance(level, str) for level in levels)
    if 0 < n_texts < len(levels):
        raise SchemaError(f"Category {name!r} must have levels that are all texts or all numbers; got both.")
    seen: dict[str | float, Level] = {}
    for level in levels:
        canonical = level if isinstance(level, str) else number_from_value(level)
        if canonical in seen:
            raise SchemaError(
                f"Category {name!r} must have distinct levels; {seen[canonical]!r} and {level!r} match the same values."
            )
        seen[canonical] = level


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)
