"""Schema: consistent or refused."""

import copy
import math

import numpy as np
import pytest

from dpcate.errors import SchemaError
from dpcate.schema import Category, Number, Schema

VOTE = Number("vote", 0, 1)
CALLED = Category("called", [0, 1])
AGE = Number("age", 18, 105)
SEX = Category("sex", ["female", "male"])


def test_a_schema_takes_its_parts_by_position_or_by_name():
    assert Schema(VOTE, CALLED, [AGE, SEX]) == Schema(
        outcome=VOTE, treatment=CALLED, features=(AGE, SEX), propensity=None
    )


def test_a_schema_lists_its_columns_outcome_and_treatment_first():
    schema = Schema(VOTE, CALLED, [AGE, SEX], 0.5)
    assert schema.columns == (VOTE, CALLED, AGE, SEX)
    assert schema.column_names == ("vote", "called", "age", "sex")
    assert schema.feature_names == ("age", "sex")
    assert schema.arms == (0, 1)


def test_a_schema_is_a_value():
    schema = Schema(VOTE, CALLED, [AGE, SEX], 0.5)
    assert hash(schema) == hash(copy.deepcopy(schema))
    with pytest.raises(AttributeError):
        schema.propensity = None


def test_a_category_outcome_is_refused_with_the_way_to_write_it():
    with pytest.raises(SchemaError, match=r"Write Number\('vote', 0, 1\)"):
        Schema(Category("vote", [0, 1]), CALLED, [AGE])


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ((None, CALLED, [AGE]), "outcome must be a Number"),
        ((VOTE, AGE, [AGE]), "treatment must be a Category"),
        ((VOTE, Category("called", [1]), [AGE]), "must have 2 to"),
        ((VOTE, Category("called", range(128)), [AGE]), "must have 2 to"),
        ((VOTE, CALLED, []), "at least one"),
        ((VOTE, CALLED, AGE), "must be a list"),
        ((VOTE, CALLED, "age"), "must be a list"),
        ((VOTE, CALLED, {"age": AGE}), "must be a list"),
        ((VOTE, CALLED, ["age"]), "Number or a Category; got str"),
        ((VOTE, CALLED, [AGE, AGE]), "more than one 'age'"),
        ((VOTE, CALLED, [VOTE]), "more than one 'vote'"),
    ],
)
def test_inconsistent_parts_are_refused(parts, says):
    with pytest.raises(SchemaError, match=says):
        Schema(*parts)


@pytest.mark.parametrize("propensity", [0, 1, -0.1, 1.5, math.nan, math.inf, True, "0.5", [0.5]])
def test_a_propensity_outside_the_open_unit_interval_is_refused(propensity):
    with pytest.raises(SchemaError, match="`propensity` must"):
        Schema(VOTE, CALLED, [AGE], propensity)


def test_a_known_propensity_needs_two_arms():
    assert Schema(VOTE, CALLED, [AGE], np.float32(0.5)).propensity == 0.5
    with pytest.raises(SchemaError, match="unless there are two arms; got 3"):
        Schema(VOTE, Category("called", [0, 1, 2]), [AGE], 0.5)
