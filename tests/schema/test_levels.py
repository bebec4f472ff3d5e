"""Category levels: which value finds which code."""

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcate.schema import LevelMatcher


@pytest.mark.parametrize(
    "value", [1, 1.0, True, np.int8(1), np.float32(1), np.True_, "1", "1.0", " 1 ", "true", Decimal(1)]
)
def test_number_levels_match_by_value_whatever_the_spelling(value):
    assert LevelMatcher.from_levels([0, 1]).code(value) == 2
    assert LevelMatcher.from_levels([False, True]).code(value) == 2
    assert LevelMatcher.from_levels([0.0, 1.0]).code(value) == 2


@pytest.mark.parametrize(
    ("value", "code"), [("1", 1), (1, 1), (1.0, 1), (np.int64(1), 1), ("0.5", 2), (0.5, 2), ("True", 3), (True, 3)]
)
def test_text_levels_match_by_text_and_numbers_through_theirs(value, code):
    assert LevelMatcher.from_levels(["1", "0.5", "True"]).code(value) == code


@pytest.mark.parametrize("value", ["1.0", " 1", "true", "", None, math.nan, math.inf, 2, b"1", object(), "Female"])
def test_what_matches_no_text_level_is_other(value):
    assert LevelMatcher.from_levels(["1", "True", "female", "nan", "inf"]).code(value) == 0


@pytest.mark.parametrize("value", ["", "one", None, math.nan, math.inf, 2, 1 + 1j, b"1", [1]])
def test_what_matches_no_number_level_is_other(value):
    assert LevelMatcher.from_levels([0, 1]).code(value) == 0


@settings(deadline=None)
@given(st.lists(st.text(min_size=1), min_size=1, unique=True))
def test_every_text_level_finds_itself(levels):
    matcher = LevelMatcher.from_levels(levels)
    assert [matcher.code(level) for level in levels] == list(range(1, len(levels) + 1))


@settings(deadline=None)
@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_an_integer_and_its_float_copy_find_the_same_text_level(number):
    matcher = LevelMatcher.from_levels(["0", "1", "-1", str(2**53), str(2**53 + 1), "0.5"])
    assert matcher.code(number) == matcher.code(float(number) if abs(number) < 10**300 else math.inf)
