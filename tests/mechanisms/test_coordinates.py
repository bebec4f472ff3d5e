"""Coordinates of several columns: whole numbers of bounded size, row by row, that are summed exactly."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcate.errors import ParameterError
from dpcate.mechanisms import ENTRY_LIMIT, ROW_LIMIT, TableMix, TableProduct, TableRows

entries = st.one_of(st.integers(-3, 3), st.integers(-ENTRY_LIMIT, ENTRY_LIMIT))
N_CODES = 4


def tables_of(numbers):
    return tuple(np.array(table, dtype=np.float64) for table in numbers)


three_tables = st.lists(st.lists(entries, min_size=N_CODES, max_size=N_CODES), min_size=3, max_size=3)
some_codes = st.lists(st.tuples(*[st.integers(0, N_CODES - 1)] * 3), min_size=1, max_size=8)


@given(three_tables, some_codes)
def test_a_sum_of_lookups_is_what_python_adds_up(numbers, codes):
    found = TableMix(tables_of(numbers)).values(np.array(codes, dtype=np.uint16))
    for row, value in zip(codes, found, strict=True):
        exact = sum(table[code] for table, code in zip(numbers, row, strict=True))
        assert value == max(-ENTRY_LIMIT, min(ENTRY_LIMIT, exact))


@given(
    three_tables,
    some_codes,
    st.lists(st.floats(), min_size=8, max_size=8),
    st.lists(st.floats(), min_size=8, max_size=8),
)
def test_rows_with_sums_are_never_too_long_and_are_summed_exactly(numbers, codes, multipliers, targets):
    pair = TableProduct(0, 1, np.linspace(-1, 1, N_CODES), np.linspace(2, -1, N_CODES), 0.1, 50.0)
    empty = tuple(np.zeros((0, N_CODES), dtype=np.int64) for _ in range(3))
    rows = TableRows(constant=100, tables=empty, dense=(None,) * 3, products=(TableMix(tables_of(numbers)), pair))
    codes = np.array(codes, dtype=np.uint16)
    batch = rows.batch(codes).filled(np.array(multipliers[: len(codes)]), np.array(targets[: len(codes)]))
    total = np.zeros((4, 4), dtype=object)
    for k in range(len(codes)):
        m, t = int(batch.multiplier[k]), int(batch.target[k])
        vector = [m * 100, *(m * int(value) for value in batch.products[k]), t]
        assert sum(entry**2 for entry in vector) <= ROW_LIMIT**2
        total += np.outer(np.array(vector, dtype=object), np.array(vector, dtype=object))
    assert (rows.exact([batch]) == total).all()


def test_one_row_does_not_change_the_number_of_another():
    mix = TableMix(tables_of([[1, 2, 3, 4], [10, 20, 30, 40], [0, 0, 7, 0]]))
    codes = np.random.default_rng(0).integers(0, N_CODES, (50, 3)).astype(np.uint16)
    together = mix.values(codes)
    assert [mix.values(codes[k : k + 1])[0] for k in range(50)] == together.tolist()


@pytest.mark.parametrize("wrong", [0.5, math.nan, math.inf, -math.inf, float(ENTRY_LIMIT + 1)])
def test_numbers_that_are_not_whole_or_too_large_are_refused(wrong):
    with pytest.raises(ParameterError, match="whole numbers"):
        TableMix((np.array([0.0, wrong]),))


@pytest.mark.parametrize("table", [np.zeros((1, 2)), np.zeros(2, dtype=np.int64)])
def test_tables_of_another_shape_or_type_are_refused(table):
    with pytest.raises(ParameterError, match="whole numbers"):
        TableMix((table,))


def test_what_was_checked_cannot_be_changed_afterwards():
    mine = np.zeros(2)
    mix = TableMix((mine,))
    mine[0] = 0.3
    assert mix.values(np.zeros((1, 1), dtype=np.uint16)).tolist() == [0.0]
    with pytest.raises(ValueError, match="read-only"):
        mix.tables[0][0] = 0.3


def test_a_coordinate_of_another_kind_is_refused():
    class Fraction:
        def values(self, codes):
            return np.full(len(codes), 0.5)

    with pytest.raises(ParameterError, match="TableProduct or TableMix"):
        TableRows(constant=1, tables=(), dense=(), products=(Fraction(),))
