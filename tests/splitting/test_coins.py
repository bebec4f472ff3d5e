import inspect

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcate.splitting import public_generator, row_parts

SHARES = (0.25, 0.25, 0.5)


@settings(deadline=None)
@given(first=st.integers(0, 60), n_rows=st.integers(0, 40), key=st.integers(0, 2**128 - 1))
def test_any_batch_finds_the_parts_of_the_whole(first, n_rows, key):
    whole = row_parts(0, 100, shares=SHARES, key=key)
    batch = row_parts(first, n_rows, shares=SHARES, key=key)
    assert np.array_equal(batch, whole[first : first + n_rows])


def test_batches_far_into_a_table_need_no_rows_before_them():
    far = 10**12 + 3
    together = row_parts(far, 20, shares=SHARES, key=5)
    one_by_one = np.concatenate([row_parts(far + i, 1, shares=SHARES, key=5) for i in range(20)])
    assert np.array_equal(together, one_by_one)


def test_there_is_no_argument_through_which_a_table_could_be_passed():
    parameters = inspect.signature(row_parts).parameters
    assert list(parameters) == ["first", "n_rows", "shares", "key"]
    assert {name: parameters[name].annotation for name in parameters} == {
        "first": "int",
        "n_rows": "int",
        "shares": "Sequence[float]",
        "key": "int",
    }


def test_the_parts_of_other_rows_do_not_change_when_rows_are_appended():
    assert np.array_equal(row_parts(0, 50, shares=SHARES, key=9), row_parts(0, 500, shares=SHARES, key=9)[:50])


def test_different_keys_give_different_parts():
    one, other = (row_parts(0, 200, shares=SHARES, key=key) for key in (1, 2**127))
    assert not np.array_equal(one, other)


def test_a_single_part_takes_every_row_and_no_coin():
    assert row_parts(7, 5, shares=(1.0,), key=3).tolist() == [0] * 5


def test_no_rows_have_no_parts():
    assert row_parts(3, 0, shares=SHARES, key=3).shape == (0,)


@pytest.mark.parametrize("shares", [(1 - 1e-17, 1e-17), (0.5, 0.5, 1e-18), (1e-18, 1.0 - 1e-18)])
def test_shares_at_the_edge_of_rounding_still_name_existing_parts(shares):
    parts = row_parts(0, 1000, shares=shares, key=1)
    assert parts.min() >= 0
    assert parts.max() < len(shares)


def test_every_part_gets_rows():
    assert set(row_parts(0, 2000, shares=(0.1,) * 10, key=0).tolist()) == set(range(10))


def test_made_up_rows_come_from_fixed_public_numbers():
    assert not inspect.signature(public_generator).parameters
    assert np.array_equal(public_generator().integers(10**9, size=5), public_generator().integers(10**9, size=5))
