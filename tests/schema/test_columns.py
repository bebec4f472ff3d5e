"""Number and Category: complete or refused."""

import copy
import math
import pickle
from decimal import Decimal

import numpy as np
import pytest

from dpcate.errors import BoundsMissingError, SchemaError
from dpcate.schema import Category, Number


def test_a_number_takes_its_parts_by_position_or_by_name():
    assert Number("age", 18, 105) == Number(name="age", low=18.0, high=np.int64(105)) == Number("age", Decimal(18), 105)


@pytest.mark.parametrize(
    "bounds", [{}, {"low": 0}, {"high": 1}, {"low": None, "high": 1}, {"low": 0, "high": math.nan}]
)
def test_a_number_without_both_bounds_is_refused(bounds):
    with pytest.raises(BoundsMissingError, match="'age' needs public bounds"):
        Number("age", **bounds)


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (1, 1),
        (2, 1),
        (-math.inf, 1),
        (0, math.inf),
        (0, 10**400),
        ("0", 1),
        (False, True),
        (0, [1]),
        (-1.7e308, 1.7e308),
    ],
)
def test_bounds_that_are_not_finite_numbers_in_order_are_refused(low, high):
    with pytest.raises(SchemaError, match="Number 'age' must"):
        Number("age", low, high)


@pytest.mark.parametrize("name", ["", None, 3, b"age", "\ud800"])
def test_a_name_that_is_no_text_is_refused(name):
    with pytest.raises(SchemaError, match="column name must be"):
        Number(name, 0, 1)
    with pytest.raises(SchemaError, match="column name must be"):
        Category(name, [0, 1])


def test_a_category_keeps_the_type_of_its_levels():
    assert [type(level) for level in Category("arm", [False, 1, 2.5]).levels] == [bool, int, float]
    assert [type(level) for level in Category("arm", np.array([0, 1])).levels] == [int, int]
    assert [type(level) for level in Category("arm", np.array(["a", "b"])).levels] == [str, str]


def test_a_category_has_one_code_more_than_levels():
    assert Category("sex", ["female", "male"]).n_codes == 3


@pytest.mark.parametrize(
    "levels",
    [
        [],
        "abc",
        None,
        [None],
        [""],
        [math.nan],
        ["nan"],
        ["a", "NaN"],
        [math.inf],
        [10**400],
        [b"a"],
        [["a"]],
        ["a", "a"],
        [1, True],
        [1, 1.0],
        [2**53, 2**53 + 1],
        ["1", 1],
        ["\udfff"],
        range(2**16),
    ],
    ids=lambda levels: repr(levels)[:20].encode("ascii", "replace").decode(),
)
def test_levels_that_are_none_mixed_blank_or_repeated_are_refused(levels):
    with pytest.raises(SchemaError, match="Category 'arm' must have"):
        Category("arm", levels)


@pytest.mark.parametrize("column", [Number("age", 18, 105), Category("sex", ["female", "male"])])
def test_columns_are_values(column):
    assert hash(column) == hash(copy.deepcopy(column))
    assert pickle.loads(pickle.dumps(column)) == column
    with pytest.raises(AttributeError):
        column.name = "other"
