"""Encoding is a map over rows: order, neighbours and chunking change nothing."""

import math
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcate.schema import Category, LevelMatcher, Number, Schema, number_from_value
from dpcate.tables import columns, encode_table
from dpcate.tables.columns import arrow_column, numpy_column
from dpcate.tables.parsing import chunk_level_codes, chunk_numbers

SCHEMA = Schema(
    Number("y", -1, 1),
    Category("t", [0, 1]),
    [Number("x", -1, 1), Category("c", ["1", "a", "True"]), Category("d", [1, 2.5])],
)
NUMBER_TEXTS = st.from_regex(r"[ +-]?[0-9]{0,20}\.?[0-9]{0,25}([eE][+-]?[0-9]{1,4})?[ ]?", fullmatch=True)
ODD_VALUES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.complex_numbers()
    | st.decimals()
    | st.text(max_size=5)
    | NUMBER_TEXTS
    | st.sampled_from(["1", "1.0", "a", "True", "2.5", 1, 1.0, True, 2.5, Decimal("2.5"), "nan", "inf", b"1", object()])
)
ODD_ROWS = st.lists(st.tuples(*[ODD_VALUES] * 5), min_size=1, max_size=12)


def table_of(rows):
    return {name: list(values) for name, values in zip(SCHEMA.column_names, zip(*rows, strict=True), strict=True)}


def as_tuples(rows):
    return list(zip(rows.codes.tolist(), rows.Y.tolist(), rows.T.tolist(), rows.active.tolist(), strict=True))


@settings(deadline=None)
@given(rows=ODD_ROWS)
def test_each_row_is_encoded_as_if_it_were_alone(rows):
    together = as_tuples(encode_table(table_of(rows), SCHEMA))
    alone = [as_tuples(encode_table(table_of([row]), SCHEMA))[0] for row in rows]
    assert together == alone


@settings(deadline=None, max_examples=50)
@given(rows=ODD_ROWS, seed=st.randoms(use_true_random=False))
def test_the_order_of_rows_in_a_pandas_frame_does_not_matter(rows, seed):
    order = list(range(len(rows)))
    seed.shuffle(order)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas' own, while it builds the frames
        straight, shuffled = (pd.DataFrame(table_of(part), dtype=object) for part in (rows, [rows[i] for i in order]))
    expected = as_tuples(encode_table(straight, SCHEMA))
    assert as_tuples(encode_table(shuffled, SCHEMA)) == [expected[i] for i in order]


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table, dict])
def test_chunks_do_not_show(library, monkeypatch, assert_same_rows):
    rng = np.random.default_rng(1)
    table = library(
        {
            "y": rng.normal(size=1000),
            "t": rng.integers(0, 3, 1000),
            "x": rng.normal(size=1000).astype(str).tolist(),
            "c": rng.choice(["1", "a", "b"], 1000).tolist(),
            "d": rng.choice([1.0, 2.5, np.nan], 1000),
        }
    )
    expected = encode_table(table, SCHEMA)
    monkeypatch.setattr(columns, "CHUNK", 7)
    assert_same_rows(encode_table(table, SCHEMA), expected)


def test_one_odd_entry_does_not_change_what_the_others_mean():
    plain = {"y": [0.5, 1, 0], "t": [0, 1, 1], "x": [0.5, -1, 1], "c": [1, 1, 1], "d": [1, 2.5, 1]}
    expected = as_tuples(encode_table(pd.DataFrame(plain), SCHEMA))
    for odd in (None, math.nan, "abc", 1j, 2**70, Decimal(1)):
        table = pd.DataFrame({name: [*values, odd] for name, values in plain.items()})
        assert as_tuples(encode_table(table, SCHEMA))[:3] == expected


@settings(deadline=None)
@given(st.lists(NUMBER_TEXTS | st.text(max_size=8) | st.none(), max_size=30))
def test_the_fast_way_to_read_texts_agrees_with_the_rule(texts):
    column = arrow_column("x", pa.chunked_array([pa.array(texts, pa.string())]))
    matcher = LevelMatcher.from_levels(["1", "a", "0.5"])
    for _, chunk in column.chunks():
        np.testing.assert_array_equal(chunk_numbers(chunk), [number_from_value(text) for text in texts])
        assert chunk_level_codes(chunk, matcher).tolist() == [matcher.code(text) for text in texts]


@settings(deadline=None)
@given(st.lists(st.sampled_from([0.0, -0.0, 1.0, 2.5, 1e300]) | st.floats(), max_size=30))
@pytest.mark.parametrize("levels", [[0, 1, 2.5, 1e300], [True], ["0", "2.5", "x"], ["x"]])
def test_the_fast_way_to_match_numbers_agrees_with_the_rule(levels, values):
    matcher = LevelMatcher.from_levels(levels)
    for _, chunk in numpy_column("x", np.array(values, float)).chunks():
        assert chunk_level_codes(chunk, matcher).tolist() == [matcher.code(value) for value in values]
