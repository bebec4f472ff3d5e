"""Checks of the numbers that callers pass to the accounting.

A guarantee built from a parameter that makes no sense must never come into being: every check here refuses, none
repairs.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, SupportsFloat

import numpy as np

from dpcate.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["check_count", "check_nonnegative", "check_numbers", "check_probability", "check_within"]


def check_nonnegative(name: str, value: object) -> float:
    """Return ``value`` as a finite float that is not negative, or refuse."""
    number = _as_float(name, value)
    if not (math.isfinite(number) and number >= 0.0):
        raise ParameterError(f"`{name}` must be finite and at least 0; got {value!r}.")
    return number + 0.0  # turns -0.0 into 0.0, so that equal values print equally


def check_probability(name: str, value: object, *, open_ends: bool = False) -> float:
    """Return ``value`` as a float in [0, 1], or in (0, 1) with ``open_ends``, or refuse."""
    number = _as_float(name, value)
    inside = 0.0 < number < 1.0 if open_ends else 0.0 <= number <= 1.0
    if not inside:
        interval = "(0, 1)" if open_ends else "[0, 1]"
        raise ParameterError(f"`{name}` must lie in {interval}; got {value!r}.")
    return number + 0.0


def check_count(name: str, value: object) -> int:
    """Return ``value`` as an integer of at least 1, or refuse."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ParameterError(f"`{name}` must be an integer of at least 1; got {value!r}.")
    return int(value)


def check_numbers(name: str, value: object) -> NDArray[np.float64]:
    """Return ``value`` as an array of floats without NaN, or refuse."""
    try:
        numbers = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"`{name}` must be a number or an array of numbers; got {value!r}.") from None
    if np.isnan(numbers).any():
        raise ParameterError(f"`{name}` must not contain NaN.")
    return numbers


def check_within(name: str, value: object, low: float, high: float) -> NDArray[np.float64]:
    """Return ``value`` as an array of floats in [``low``, ``high``], or refuse."""
    numbers = check_numbers(name, value)
    outside = (numbers < low) | (numbers > high)
    if outside.any():
        raise ParameterError(f"`{name}` must lie in [{low:g}, {high:g}]; got {float(numbers[outside].flat[0])!r}.")
    return numbers


def _as_float(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, SupportsFloat):
        raise ParameterError(f"`{name}` must be a number; got {value!r}.")
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ParameterError(f"`{name}` must be a number; got {value!r}.") from None
