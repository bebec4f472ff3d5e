"""Single values: what number or text they stand for, and that no value can break the rule."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcate.schema.values import number_from_text, number_from_value, plain_text, text_from_number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12", 12.0),
        ("  12 ", 12.0),
        ("\t-1.5e3\n", -1500.0),
        ("+.5", 0.5),
        ("5.", 5.0),
        ("007", 7.0),
        ("5e-324", 5e-324),
        ("1e999", math.inf),
        ("-1e999", -math.inf),
        ("inf", math.inf),
        ("-Infinity", -math.inf),
        ("TRUE", 1.0),
        ("false", 0.0),
    ],
)
def test_a_text_that_spells_a_number_is_that_number(text, number):
    assert number_from_text(text) == number


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "nan",
        "NaN",
        "1_000",
        "1,000",
        "1,5",
        "0x10",
        "abc",
        "1 2",
        "--1",
        "e5",
        "\u0661\u0662",
        "\u00a012",
        "NA",
    ],
)
def test_any_other_text_is_missing(text):
    assert math.isnan(number_from_text(text))


@settings(deadline=None)
@given(st.floats(allow_nan=False))
def test_every_float_survives_its_own_spelling(number):
    assert number_from_text(repr(number)) == number


class FloatOnly:
    def __float__(self):
        return 1.0


class BrokenFloat(float):
    def __float__(self):
        raise RuntimeError("never called")


class BrokenInteger(int):
    def __int__(self):
        raise RuntimeError("never called")

    __float__ = __index__ = __gt__ = __int__


class BrokenText(str):
    def __str__(self):
        raise RuntimeError("never called")

    __hash__ = strip = lower = __str__


class BrokenClass:
    @property
    def __class__(self):
        raise RuntimeError("never called")


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (True, 1.0),
        (np.False_, 0.0),
        (2**53 + 1, float(2**53 + 1)),
        (10**400, math.inf),
        (-(10**400), -math.inf),
        (np.uint64(2**64 - 1), float(2**64 - 1)),
        (np.float32(0.1), float(np.float32(0.1))),
        (np.longdouble(0.5), 0.5),
        (Decimal("1.5"), 1.5),
        (Decimal("1e999"), math.inf),
        (Fraction(1, 4), 0.25),
        (Fraction(10**400), math.inf),
        (3 + 0j, 3.0),
        (np.complex64(3), 3.0),
        (np.str_("4"), 4.0),
        (BrokenFloat(2), 2.0),
        (BrokenInteger(2), 2.0),
        (BrokenText("2"), 2.0),
    ],
)
def test_a_number_of_any_kind_is_that_number(value, number):
    assert number_from_value(value) == number


@pytest.mark.parametrize(
    "value",
    [
        None,
        math.nan,
        Decimal("sNaN"),
        1j,
        complex(1, math.nan),
        b"1",
        [1],
        {"a": 1},
        np.array([1.0]),
        np.datetime64("2020-01-01"),
        np.timedelta64(1, "ns"),
        FloatOnly(),
        object,
    ],
    ids=lambda value: type(value).__name__,
)
def test_everything_else_is_missing(value):
    assert math.isnan(number_from_value(value))


def test_a_value_that_hides_its_class_is_missing():
    assert math.isnan(number_from_value(BrokenClass()))
    assert plain_text(BrokenClass()) is None


def test_only_texts_have_a_plain_text():
    assert plain_text(BrokenText("a")) == "a"
    assert type(plain_text(BrokenText("a"))) is str
    assert plain_text(b"a") is None


@settings(deadline=None)
@given(st.integers(-(2**53), 2**53))
def test_whole_floats_are_written_as_integers(number):
    assert text_from_number(float(number)) == str(number)
