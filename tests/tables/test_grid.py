"""The public grid of a number."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcate.schema import Number
from dpcate.tables import GRID, cell_midpoints
from dpcate.tables.grid import cell_codes

bounds = st.tuples(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6)).map(lambda pair: Number("x", pair[0], pair[0] + pair[1]))


@settings(deadline=None)
@given(bounds)
def test_every_midpoint_lies_in_its_own_cell(number):
    assert cell_codes(cell_midpoints(number), number).tolist() == list(range(1, GRID + 1))


@settings(deadline=None)
@given(bounds, st.lists(st.floats(), min_size=2, max_size=20))
def test_codes_rise_with_values_and_only_nan_is_missing(number, values):
    array = np.sort(np.array(values))
    codes = cell_codes(array, number).astype(int)
    known = ~np.isnan(array)
    assert (codes[known] >= 1).all()
    assert (codes <= GRID).all()
    assert (np.diff(codes[known]) >= 0).all()
    assert not codes[~known].any()


@pytest.mark.parametrize("number", [Number("x", 0, 5e-324), Number("x", -8e307, 8e307), Number("x", 1e16, 1e16 + 2)])
def test_extreme_bounds_still_give_a_code(number):
    values = np.array([-np.inf, number.low, number.high, np.inf, np.nan])
    with np.errstate(all="raise"):
        assert cell_codes(values, number).tolist() == [1, 1, GRID, GRID, 0]


def test_values_are_not_written_to():
    values = np.array([np.nan, 5.0])
    cell_codes(values, Number("x", 0, 1))
    np.testing.assert_array_equal(values, [np.nan, 5.0])
