"""How a table's value finds its category level.

The rule is public and looks at one value and the schema's levels only. Code 0 is the "other" level, which takes
whatever matches nothing; level ``i`` has code ``i + 1``. So a value can never add a level, raise, or be counted
apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcate.schema.values import Level, number_from_text, number_from_value, plain_text, text_from_number

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["OTHER", "LevelMatcher"]

OTHER = 0
"""The code of every value that is none of the levels."""


@dataclass(frozen=True, slots=True)
class LevelMatcher:
    """The codes of a category's levels, by number, by truth value and by text.

    Levels that are all texts match by exact text; a number matches through its text, in which whole numbers have no
    decimal point. Levels that are numbers match by value, so True, 1, 1.0, "1" and "1.0" are the same level.

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
    >>> [matcher.code(value) for value in ["1", 1.0, "two", "1.0", None]]
    [1, 1, 2, 0, 0]
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
            by_number = {
                number: code for text, code in by_text.items() if (number := _number_written_as(text)) is not None
            }
            return cls(by_number, (by_text.get("False", OTHER), by_text.get("True", OTHER)), by_text)
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
        if self.by_text is not None:
            return self.by_text.get(text, OTHER)
        return self.by_number.get(number_from_text(text), OTHER)


def is_truth(value: object) -> bool:
    """Return whether a value is a truth value, asking its type and not the value."""
    return issubclass(type(value), (bool, np.bool_))


def _number_written_as(text: str) -> float | None:
    """Return the number whose canonical text this is, if there is one."""
    number = number_from_text(text)
    return number if text_from_number(number) == text else None
