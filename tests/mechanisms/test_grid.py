import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dpcate.errors import ParameterError
from dpcate.mechanisms import LIMIT, scalars_to_grid, vectors_to_grid
from dpcate.mechanisms.grid import _shortened

NASTY = [
    np.nan,
    np.inf,
    -np.inf,
    1e308,
    -1e308,
    5e-324,
    -5e-324,
    2.3e-308,
    0.0,
    -0.0,
    1.0,
    -1.0,
    1 - 2**-53,
    1 + 2**-52,
]
nasty_floats = st.one_of(st.sampled_from(NASTY), st.floats())
ordinary_bounds = st.one_of(st.sampled_from([1.0, 3.0, 0.1, 1e-99, 1e99]), st.floats(1e-6, 1e6))


def squared_norms(integers):
    """Exact squared norms in Python integers, which cannot overflow."""
    return [sum(int(entry) ** 2 for entry in row) for row in integers]


@settings(deadline=None)
@given(values=hnp.arrays(np.float64, st.integers(0, 30), elements=nasty_floats), bound=ordinary_bounds)
def test_no_number_becomes_more_than_the_limit(values, bound):
    integers = scalars_to_grid(values, bound)
    assert integers.dtype == np.int64
    assert all(abs(int(entry)) <= LIMIT for entry in integers)


@settings(deadline=None)
@given(
    vectors=hnp.arrays(np.float64, st.tuples(st.integers(0, 8), st.integers(1, 12)), elements=nasty_floats),
    bound=ordinary_bounds,
)
def test_no_row_becomes_longer_than_the_limit(vectors, bound):
    integers = vectors_to_grid(vectors, bound)
    assert integers.dtype == np.int64
    assert all(square <= LIMIT**2 for square in squared_norms(integers))


@settings(deadline=None)
@given(
    direction=hnp.arrays(np.float64, st.integers(1, 12), elements=st.floats(-1, 1)),
    length=st.floats(1.0, 1e6),
    bound=ordinary_bounds,
)
def test_rows_at_and_beyond_the_bound_stay_within_the_limit(direction, length, bound):
    norm = float(np.sqrt(np.sum(direction**2))) or 1.0
    row = direction / norm * bound * length
    assert squared_norms(vectors_to_grid(row[None, :], bound))[0] <= LIMIT**2


@pytest.mark.parametrize("n_entries", [2, 4, 16, 1024, 2**14])
def test_a_row_of_equal_entries_at_the_bound_is_neither_too_long_nor_halved(n_entries):
    row = np.full((1, n_entries), 1.0 / np.sqrt(n_entries))
    square = squared_norms(vectors_to_grid(row, 1.0))[0]
    assert (0.99 * LIMIT) ** 2 < square <= LIMIT**2


def test_a_row_of_integers_that_is_too_long_is_halved_until_it_fits():
    """Rounding can't bring this about with a few thousand entries; the check stands so that nobody has to trust it."""
    rows = np.array([[LIMIT, 1], [LIMIT, 0], [-LIMIT, 3 * LIMIT], [3, -4]])
    assert _shortened(rows).tolist() == [[LIMIT // 2, 0], [LIMIT, 0], [-LIMIT // 4, 3 * LIMIT // 4], [3, -4]]


@settings(deadline=None)
@given(values=hnp.arrays(np.float64, 20, elements=st.floats(-2, 2)))
def test_numbers_are_truncated_toward_zero_by_less_than_one_step(values):
    integers = scalars_to_grid(values, 1.0)
    real = np.clip(values, -1, 1) * LIMIT  # exact: LIMIT is a power of two
    assert (np.abs(integers) <= np.abs(real)).all()
    assert (np.abs(real - integers) < 1).all()


def test_rows_inside_the_ball_keep_their_length_and_rows_outside_their_direction():
    inside = np.array([[0.3, -0.4], [0.0, 0.5]])
    assert np.abs(vectors_to_grid(inside, 1.0) / LIMIT - inside).max() < 2 / LIMIT
    outside = vectors_to_grid(np.array([[30.0, -40.0]]), 1.0) / LIMIT
    assert np.abs(outside - [[0.6, -0.8]]).max() < 2 / LIMIT


@settings(deadline=None)
@given(rows=hnp.arrays(np.float64, st.tuples(st.integers(1, 40), st.integers(1, 9)), elements=nasty_floats))
def test_what_a_row_becomes_does_not_depend_on_its_place_or_on_memory_layout(rows):
    together = vectors_to_grid(rows, 1.5)
    alone = np.concatenate([vectors_to_grid(row[None, :].copy(), 1.5) for row in rows])
    column_order = vectors_to_grid(np.asfortranarray(rows), 1.5)
    strided = vectors_to_grid(np.repeat(rows, 2, axis=0)[::2], 1.5)
    backwards = vectors_to_grid(rows[::-1], 1.5)[::-1]
    for other in (alone, column_order, strided, backwards):
        assert np.array_equal(together, other)


def test_single_precision_input_loses_no_length():
    row = np.full((1, 5), 7.0, dtype=np.float32)
    assert np.array_equal(vectors_to_grid(row, 1.0), vectors_to_grid(row.astype(np.float64), 1.0))


@pytest.mark.parametrize("bound", [0.0, -1.0, np.nan, np.inf, 1e-320, 1e300])
def test_bounds_that_are_no_bounds_are_refused(bound):
    with pytest.raises(ParameterError, match="bound"):
        scalars_to_grid(np.zeros(1), bound)
    with pytest.raises(ParameterError, match="bound"):
        vectors_to_grid(np.zeros((1, 1)), bound)
