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


@pytest.mark.parametrize("value", [" 1", "1.00", "01", "+1", "1e0", "", None, math.nan, "nan", 2, b"1", "Female"])
def test_what_matches_no_text_level_is_other(value):
    assert LevelMatcher.from_levels(["1", "True", "female", "inf", "NAN"]).code(value) == 0


ONES = [True, np.True_, 1, 1.0, np.float32(1), Decimal(1), "1", "1.0", "True", "true", "TRUE"]
ZEROS = [False, 0, 0.0, -0.0, "0", "0.0", "-0.0", "False", "false"]


@pytest.mark.parametrize("levels", [["0", "1"], ["0.0", "1.0"], ["False", "True"], ["false", "true"], ["0", "TRUE"]])
def test_all_that_a_container_may_write_for_one_value_is_one_text_level(levels):
    matcher = LevelMatcher.from_levels(levels)
    assert {matcher.code(value) for value in ZEROS} == {1}
    assert {matcher.code(value) for value in ONES} == {2}


def test_a_text_that_is_a_level_itself_is_no_other():
    matcher = LevelMatcher.from_levels(["1.0", "1", "true", "True", "01"])
    assert [matcher.code(value) for value in ["1.0", "1", "true", "True", "01"]] == [1, 2, 3, 4, 5]
    assert [matcher.code(value) for value in [1, 1.0, True, "TRUE"]] == [2, 2, 4, 4]


def test_infinity_is_a_level_only_where_it_is_written_down():
    assert [LevelMatcher.from_levels(["inf", "-inf"]).code(value) for value in [math.inf, "inf", -math.inf]] == [
        1,
        1,
        2,
    ]
    assert LevelMatcher.from_levels(["Infinity"]).code(math.inf) == 0


def test_integers_beyond_the_exact_floats_match_by_their_text_or_their_nearest_float():
    matcher = LevelMatcher.from_levels([str(2**53 + 3), str(10**17)])
    assert [matcher.code(value) for value in [str(2**53 + 3), 2**53 + 3, 10**17, 1e17, str(10**17)]] == [1, 1, 2, 2, 2]
    assert matcher.code(str(2**53 + 4)) == 0, "another identifier"


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
