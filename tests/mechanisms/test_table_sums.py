"""Sums at the ends of their ranges: exact for rows of full length, and tables without that promise are refused."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcate.errors import ParameterError
from dpcate.kernels.totals import PART_LIMIT, PARTS_PER_FOLD, add_up, combine
from dpcate.mechanisms import ENTRY_LIMIT, ROW_LIMIT, TableProduct, TableRows
from dpcate.mechanisms.table_sums import CHUNK, exact_dot

PRODUCT = TableProduct(0, 0, np.ones(2), np.ones(2), 0.0, 1.0)
entries = st.one_of(st.integers(-3, 3), st.integers(-2000, 2000), st.integers(-ENTRY_LIMIT, ENTRY_LIMIT))


def longest_rows(n_rows, m, t, entry):
    """Rows of (nearly) full length that all look up the same number in both columns."""
    column = np.array([[entry], [1]], dtype=np.int64)
    rows = TableRows(constant=1, tables=(column, column), dense=(0, None), products=())
    batch = rows.batch(np.zeros((n_rows, 2), dtype=np.uint16)).filled(
        np.full(n_rows, float(m)), np.full(n_rows, float(t))
    )
    assert batch.multiplier[0] == m, "not shortened"
    return rows, batch


def product_of(rows, m, t, entry):
    """What one such row adds: v v' in Python's integers where it is released."""
    vector = np.array([m, m * entry, m, m * entry, m, t], dtype=object)
    return np.where(rows.released, np.outer(vector, vector), 0)


@pytest.mark.parametrize(
    ("m", "t", "entry"),
    [(229_000, 77_000, 0), (1, 399, 370_727), (-1, 1, -370_727), (513, -1111, 721), (0, ROW_LIMIT, 7)],
)
def test_the_largest_products_are_exact_at_full_chunks(m, t, entry):
    n_rows = 2 * CHUNK + 1
    rows, batch = longest_rows(n_rows, m, t, entry)
    one = product_of(rows, m, t, entry)
    assert rows.exact([batch]).tolist() == (n_rows * one).tolist()


def test_the_test_of_exactness_would_notice_single_precision():
    rows, batch = longest_rows(2**15 + 1, 1, 399, 370_727)
    total = rows.exact([batch])[1, 1]
    assert total == (2**15 + 1) * 370_727**2
    assert int(np.float32(total)) != total


def test_the_int64_sums_before_a_fold_have_room_for_rows_of_full_length():
    """As many full batches as are added in 64 bits, and one more: the total is in Python's integers and right."""
    rows, batch = longest_rows(CHUNK, 1, 399, 370_727)
    part = rows.sums.of(batch)
    assert max(int(np.abs(array).max()) for array in part) <= PART_LIMIT
    one = product_of(rows, 1, 399, 370_727)
    for n_parts in (1, PARTS_PER_FOLD - 1, PARTS_PER_FOLD, PARTS_PER_FOLD + 1, 2 * PARTS_PER_FOLD + 5):
        total = add_up(part for _ in range(n_parts))
        assert rows.sums.matrix(total).tolist() == (n_parts * CHUNK * one).tolist()
        halves = combine([add_up([part]), add_up(part for _ in range(n_parts))], n_parts + 1)
        assert rows.sums.matrix(halves).tolist() == ((n_parts + 1) * CHUNK * one).tolist()
    assert PARTS_PER_FOLD * PART_LIMIT <= 2**62
    assert CHUNK * ROW_LIMIT**2 <= PART_LIMIT


def test_batches_too_long_for_an_exact_product_are_refused():
    rows, batch = longest_rows(CHUNK + 1, 1, 399, 370_727)
    with pytest.raises(ParameterError, match="at most"):
        rows.sums.of(batch)


@settings(deadline=None)
@given(data=st.data())
def test_the_dot_of_tables_and_counts_is_exact(data):
    """Counts as they occur: the entry times the count of its code is what rows of bounded length add up to."""
    n_codes = data.draw(st.integers(1, 6))
    numbers = data.draw(st.lists(entries, min_size=n_codes, max_size=n_codes))
    most = [2**62 // n_codes // max(abs(number), 1) for number in numbers]
    counts = [data.draw(st.integers(-bound, bound)) for bound in most]
    found = exact_dot(np.array([numbers], dtype=np.int64), np.array(counts, dtype=np.int64))
    assert found.tolist() == [sum(a * b for a, b in zip(numbers, counts, strict=True))]


def test_float_sums_of_the_same_rows_do_depend_on_order():
    """What whole numbers are for: the same test on plain floats fails."""
    values = np.random.default_rng(1).normal(size=10_000)
    assert np.cumsum(values**2)[-1] != np.cumsum(values[::-1] ** 2)[-1]


def test_no_columns_no_rows_and_empty_tables_work():
    nothing = TableRows(constant=3, tables=(), dense=(), products=())
    assert nothing.exact([]).tolist() == [[0, 0], [0, 0]]
    rows = TableRows(constant=3, tables=(np.zeros((0, 4), dtype=np.int64),), dense=(None,), products=())
    batch = rows.batch(np.array([[3], [0]], dtype=np.uint16)).filled(np.array([2.0, 1.0]), np.array([5.0, 0.0]))
    assert rows.exact([rows.batch(np.zeros((0, 1), dtype=np.uint16)), batch]).tolist() == [[45, 30], [30, 25]]


@pytest.mark.parametrize(
    "wrong",
    [
        *({"constant": constant} for constant in (0, -1, ENTRY_LIMIT + 1, 10**400, 1.0, math.nan)),
        *({"tables": (np.full((1, 2), entry),)} for entry in (ENTRY_LIMIT + 1, -ENTRY_LIMIT - 1, 2**32, -(2**63))),
        *({"tables": (np.ones((1, 2), dtype=dtype),)} for dtype in (np.int32, np.float64, object)),
        {"tables": (np.ones(2, dtype=np.int64),)},
        *({"dense": dense} for dense in ((), (0, 0), (1,), (-1,))),
        *({"n_alone": n_alone} for n_alone in (-1, 1, 100)),
        *({"products": (PRODUCT,), "n_alone": n_alone} for n_alone in (-1, 2)),
    ],
)
def test_tables_for_which_the_bounds_do_not_hold_are_refused(wrong):
    right = {"constant": 1, "tables": (np.ones((1, 2), dtype=np.int64),), "dense": (0,), "products": ()}
    TableRows(**right)
    with pytest.raises(ParameterError):
        TableRows(**{**right, **wrong})


@pytest.mark.parametrize(
    "wrong",
    [
        {"left": np.array([1.0, math.inf])},
        {"right": np.array([math.nan])},
        {"mean": math.nan},
        {"factor": math.inf},
        {"left": np.array([1e200]), "right": np.array([1e200])},
        {"left": np.array([1e200]), "factor": 1e200},
    ],
)
def test_products_that_may_overflow_are_refused(wrong):
    right = {"first": 0, "second": 1, "left": np.ones(2), "right": np.ones(2), "mean": 0.0, "factor": 1.0}
    with pytest.raises(ParameterError, match="finite"):
        TableProduct(**{**right, **wrong})
