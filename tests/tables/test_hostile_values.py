"""No value can make encoding fail, warn, or leave its bounds."""

import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dpcate.schema import Category, Number, Schema
from dpcate.tables import GRID, encode_arrays, encode_table

SCHEMA = Schema(Number("y", -2, 3), Category("t", [0, 1]), [Number("x", -2, 3), Category("c", ["a", "1"])])
EDGES = [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -5e-324, 2.0**63, np.nextafter(3, 0), -0.0]


class Hostile:
    """Raises whatever is asked of it."""

    def _refuse(self, *args, **kwargs):
        raise RuntimeError("SENTINEL")

    __float__ = __int__ = __index__ = __str__ = __repr__ = __eq__ = __hash__ = __bool__ = __len__ = __iter__ = _refuse
    __getattr__ = __array__ = __lt__ = __gt__ = __complex__ = _refuse


@pytest.mark.parametrize("dtype", ["f8", "f4", "O", "g", "c16"])
@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
def test_extreme_numbers_stay_within_bounds_even_when_numpy_raises(dtype):
    values = np.array(EDGES).astype(dtype)
    with np.errstate(all="raise"):
        rows = encode_arrays(values, np.ones(len(values)), np.stack([values, values], axis=1), SCHEMA)
    assert rows.active.tolist() == [False] + [True] * (len(EDGES) - 1)
    assert rows.Y.min() == -2
    assert rows.Y.max() == 3
    assert rows.codes[:, 0].min() == 0
    assert rows.codes[1:, 0].min() == 1
    assert rows.codes[:, 0].max() == GRID
    assert not rows.codes[:, 1].any()


def test_objects_that_refuse_everything_are_missing():
    column = np.empty(2, dtype=object)
    column[0], column[1] = Hostile(), 1
    table = pd.DataFrame({name: pd.Series(column, dtype=object) for name in SCHEMA.column_names})
    for given in (table, *({name: make(column) for name in SCHEMA.column_names} for make in (np.array, list, tuple))):
        rows = encode_table(given, SCHEMA)
        assert rows.active.tolist() == [False, True]
        assert rows.codes.tolist() == [[0, 0], [615, 2]]


@pytest.mark.parametrize(
    "value",
    [10**400, 1j, Decimal("sNaN"), b"1", [1], {}, np.array([1, 2]), pd.NA, pd.NaT, pd.Timestamp(0), "1_0", "\ud800"],
)
def test_any_object_in_an_object_column_is_taken_in_silence(value):
    column = np.empty(1, dtype=object)
    column[0] = value
    rows = encode_table(pd.DataFrame(dict.fromkeys(SCHEMA.column_names, column), dtype=object), SCHEMA)
    assert rows.codes.tolist() == [[GRID if type(value) is int else 0, 0]]
    assert not rows.active.any()


@pytest.mark.parametrize("value", [(1,), [1], [1, [2]], np.array([1.0]), np.array(1.0), {1}, pd.Series([1])])
def test_a_sequence_among_the_values_is_missing_in_a_list_as_in_an_object_array(value):
    column = np.empty(2, dtype=object)
    column[0], column[1] = value, 1
    for Y in (list(column), tuple(column), column):
        rows = encode_arrays(Y, [0, 1], [[value, value], (1, "a")], SCHEMA)
        assert rows.active.tolist() == [False, True]
        assert rows.codes.tolist() == [[0, 0], [615, 1]]


def test_texts_that_are_no_unicode_are_missing():
    raw = pa.array([b"\xff", b"1", b"a"], pa.binary())
    texts = pa.StringArray.from_buffers(3, raw.buffers()[1], raw.buffers()[2])
    rows = encode_table(pa.table(dict.fromkeys(SCHEMA.column_names, texts)), SCHEMA)
    assert rows.active.tolist() == [False, True, False]
    assert rows.codes.tolist() == [[0, 0], [615, 2], [0, 1]]


def test_surrogates_in_a_pandas_text_column_are_missing():
    texts = pd.Series(["\ud800", "1"], dtype=pd.StringDtype("python"))
    rows = encode_table(pd.DataFrame(dict.fromkeys(SCHEMA.column_names, texts)), SCHEMA)
    assert rows.codes.tolist() == [[0, 0], [615, 2]]


def test_all_rows_inactive_is_no_error():
    rows = encode_arrays([None, None], [7, None], [[0, "a"], [0, "a"]], SCHEMA)
    assert not rows.active.any()
    assert not rows.Y.any()
    assert not rows.T.any()
