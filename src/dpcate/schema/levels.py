"""How a table's value finds its category level.

The rule is public and looks at one value and the schema's levels only. Code 0 is the "other" level, which takes
whatever matches nothing; level ``i`` has code ``i + 1``. So a value can never add a level, raise, or be counted
apart. A container with one type for all its entries rewrites them (True as 1, 1 as 1.0, 1.0 as "1.0"); the rule gives
all these forms one code, so that no row can recode another by its type.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcate.schema.values import Level, number_from_text, number_from_value, plain_text, text_from_number

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["OTHER", "LevelMatcher"]

OTHER = 0
"""The code of every value that is none of the levels."""

_TRUTHS = ("false", "true")
_INTEGER = re.compile(r"-?[1-9][0-9]*")


@dataclass(frozen=True, slots=True)
class LevelMatcher:
    """The codes of a category's levels, by number, by truth value and by text.

    Levels that are numbers match by value, so True, 1, 1.0, "1" and "1.0" are the same level.

    Levels that are all texts match by exact text first. What is no level itself goes by the number that it is or
    spells as Python writes it: "1" and "1.0" do, "01", "1.00" and " 1" do not. A number takes the level that is its
    integer text, else the one that is its float text. Truth values take the level "True" or "False", in any case of
    letters, else that of 1 or 0; 1 and 0 take the level of their truth value if they have none. So with the levels
    "1" and "2" all of 1, 1.0, True, "1.0", "True" and "true" are "1", and with "True" and "False" all are "True".

    Parameters
    ----------
    by_number : dict of float to int
        Code of each level that a number can match.
    by_truth : tuple of int
        Codes of False and of True.
    by_text : dict of str to int, optional
        Code of each text; None when texts are read as numbers.

    Examples
    --------
    >>> matcher = LevelMatcher.from_levels(["1", "two"])
    >>> [matcher.code(value) for value in ["1", 1.0, "1.0", True, "two", "01", None]]
    [1, 1, 1, 1, 2, 0, 0]
    >>> matcher = LevelMatcher.from_levels([0, 1])
    >>> [matcher.code(value) for value in [False, "1.0", 2, float("nan"), ""]]
    [1, 2, 0, 0, 0]
    """

    by_number: dict[float, int]
    by_truth: tuple[int, int]
    by_text: dict[str, int] | None

    @classmethod
    def from_levels(cls, levels: Sequence[Level]) -> LevelMatcher:
        """Return the matcher of a category's levels."""
        coded = [(level, code) for code, level in enumerate(levels, start=OTHER + 1)]
        if all(isinstance(level, str) for level in levels):
            by_text = {str(level): code for level, code in coded}
            return cls(*_rewritten_codes(by_text), by_text)
        by_number = {number_from_value(level): code for level, code in coded}
        return cls(by_number, (by_number.get(0.0, OTHER), by_number.get(1.0, OTHER)), None)

    def code(self, value: object) -> int:
        """Return the code of one value of any kind."""
        text = plain_text(value)
        if text is not None:
            return self.code_text(text)
        if is_truth(value):
            return self.by_truth[int(number_from_value(value))]
        return self.by_number.get(number_from_value(value), OTHER)

    def code_text(self, text: str) -> int:
        """Return the code of one text."""
        if self.by_text is None:
            return self.by_number.get(number_from_text(text), OTHER)
        if text in self.by_text:
            return self.by_text[text]
        if text.lower() in _TRUTHS:
            return self.by_truth[_TRUTHS.index(text.lower())]
        number = number_from_text(text)
        return self.by_number.get(number, OTHER) if text in _spellings(number) else OTHER


def is_truth(value: object) -> bool:
    """Return whether a value is a truth value, asking its type and not the value."""
    return issubclass(type(value), (bool, np.bool_))


def _rewritten_codes(by_text: dict[str, int]) -> tuple[dict[float, int], tuple[int, int]]:
    """Return the codes of numbers, and of False and True, among levels that are texts."""
    by_number: dict[float, int] = {}
    for rank in range(3):  # the integer text wins over the float text, and both over integers that no float can tell
        for text, code in by_text.items():
            number = number_from_text(text)
            if text == [*_spellings(number), _large_integer(text)][rank]:
                by_number.setdefault(number, code)
    words = [_code_of_word(word, by_text) for word in _TRUTHS]
    truths = [by_number.get(float(truth), OTHER) if code == OTHER else code for truth, code in enumerate(words)]
    for truth, code in enumerate(words):
        if code != OTHER:
            by_number.setdefault(float(truth), code)
    return by_number, (truths[0], truths[1])


def _spellings(number: float) -> tuple[str | None, str | None]:
    """Return how a container writes a number as an integer and as a float; NaN has no text."""
    return (None, None) if math.isnan(number) else (text_from_number(number), repr(number))


def _large_integer(text: str) -> str | None:
    """Return the text if it is an integer beyond those that floats hold exactly, short of infinity."""
    return text if _INTEGER.fullmatch(text) and math.isfinite(number_from_text(text)) else None


def _code_of_word(word: str, by_text: dict[str, int]) -> int:
    """Return the code of a truth value's level, as Python writes it if there are several cases of letters."""
    others = [code for text, code in by_text.items() if text.lower() == word]
    return by_text.get(word.capitalize(), others[0] if others else OTHER)
