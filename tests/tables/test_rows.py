"""Encoded rows: views, copies, and a text that tells nothing."""

import numpy as np
import pytest

from dpcate.errors import ParameterError, TableError
from dpcate.tables import Rows


@pytest.fixture
def rows():
    codes = np.asfortranarray(np.arange(20, dtype=np.uint16).reshape(10, 2))
    return Rows(codes, np.linspace(0, 1, 10), np.arange(10, dtype=np.int8) % 2, np.arange(10) != 3)


def test_slices_and_batches_are_views(rows, assert_same_rows):
    assert np.shares_memory(rows[2:5].codes, rows.codes)
    batches = list(rows.batches(4))
    assert [len(batch) for batch in batches] == [4, 4, 2]
    assert all(np.shares_memory(batch.Y, rows.Y) for batch in batches)
    np.testing.assert_array_equal(np.concatenate([batch.codes for batch in batches]), rows.codes)


def test_a_mask_and_an_index_take_the_same_rows(rows, assert_same_rows):
    mask = np.arange(10) % 3 == 0
    taken = rows.take(mask)
    assert_same_rows(taken, rows.take(np.array([0, 3, 6, 9])))
    assert taken.codes.flags.f_contiguous
    np.testing.assert_array_equal(taken.codes, rows.codes[mask])
    np.testing.assert_array_equal(taken.active, [True, False, True, True])


def test_with_arm_changes_the_arm_and_nothing_else(rows):
    treated = rows.with_arm(1)
    assert treated.T.tolist() == [1] * 10
    assert treated.T.dtype == np.int8
    assert np.shares_memory(treated.codes, rows.codes)
    np.testing.assert_array_equal(treated.active, rows.active)


def test_inputs_carry_the_arm_as_a_last_column_of_codes(rows):
    assert rows.inputs(with_treatment=False) is rows.codes
    inputs = rows.inputs(with_treatment=True)
    np.testing.assert_array_equal(inputs[:, :-1], rows.codes)
    np.testing.assert_array_equal(inputs[:, -1], rows.T + 1)
    assert inputs.flags.f_contiguous


def test_rows_cannot_be_written_to_but_the_callers_arrays_can(rows):
    with pytest.raises(ValueError, match="read-only"):
        rows.Y[0] = 1
    with pytest.raises(AttributeError):
        rows.Y = np.zeros(10)
    mine = np.zeros(1)
    Rows(np.zeros((1, 1), np.uint16), mine, np.zeros(1, np.int8), np.ones(1, bool))
    mine[0] = 1


def test_the_text_of_rows_says_only_how_many_features_they_have(rows):
    assert repr(rows) == str(rows) == "Rows(n_features=2)"


def test_shapes_that_do_not_fit_are_refused(rows):
    with pytest.raises(TableError, match="must have codes of shape"):
        Rows(rows.codes, rows.Y[:5], rows.T, rows.active)
    with pytest.raises(TableError, match="must have codes of shape"):
        Rows(rows.codes[:, 0], rows.Y, rows.T, rows.active)


def test_wrong_ways_to_index_are_refused(rows):
    with pytest.raises(ParameterError, match="by a slice; got int"):
        rows[0]
    with pytest.raises(ParameterError, match="one entry per row"):
        rows.take(np.ones(3, bool))
    with pytest.raises(ParameterError, match="`size` must be at least 1"):
        next(rows.batches(0))
