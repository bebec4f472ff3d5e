"""One small table with every difficulty that all input kinds can hold, and how to compare encoded rows."""

import numpy as np
import pytest

from dpcate.schema import Category, Number, Schema


@pytest.fixture(scope="session")
def study():
    """A schema of all column kinds."""
    return Schema(
        outcome=Number("gain", -1, 1),
        treatment=Category("arm", ["control", "drug"]),
        features=[
            Number("age", 18, 105),
            Number("visits", 0, 10),
            Category("sex", ["female", "male"]),
            Category("site", [1, 2, 3]),
            Category("insured", [False, True]),
        ],
    )


@pytest.fixture(scope="session")
def plain_columns():
    """Columns of Python values, None where missing."""
    return {
        "ignored": ["x"] * 6,
        "site": [1, 2, None, 3, 9, 1],
        "gain": [0.25, None, -3.5, 0.75, 1.0, float("inf")],
        "arm": ["control", "drug", "drug", "placebo", None, "drug"],
        "age": [18.0, 105.0, 61.5, None, -5.0, 1e308],
        "visits": [0, 10, 5, 3, None, 2**60],
        "sex": ["female", "male", None, "", "Male", "male"],
        "insured": [True, False, None, True, False, True],
    }


@pytest.fixture(scope="session")
def assert_same_rows():
    """Compare encoded rows entry by entry."""

    def compare(left, right):
        for name in ("codes", "Y", "T", "active"):
            np.testing.assert_array_equal(getattr(left, name), getattr(right, name), err_msg=name)

    return compare
