"""What is refused is refused by names, shapes and dtypes; no message holds a value or the length of the table."""

import datetime
import traceback

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from dpcate.errors import TableError
from dpcate.schema import Category, Number, Schema
from dpcate.tables import Rows, encode_arrays, encode_features, encode_table
from dpcate.tables.sealing import sealed

SCHEMA = Schema(Number("y", 0, 1), Category("t", [0, 1]), [Number("x", 0, 1), Category("c", ["a", "b"])])
NUMBER, TEXT = 918273645.25, "sentinel-zebra"
GOOD = {"y": [0.0, NUMBER], "t": [0, 1], "x": [0.5, NUMBER], "c": ["a", TEXT]}


def without(name):
    return {key: values for key, values in GOOD.items() if key != name}


def pandas_with_two_x():
    frame = pd.DataFrame(GOOD)
    return pd.concat([frame, frame[["x"]]], axis=1)


def lazy_failure():
    return pl.LazyFrame(GOOD).with_columns(pl.col("c").cast(pl.Int64))


X = np.full((2, 2), NUMBER)
DAY = datetime.date(1918, 2, 7)

REFUSED = {
    "missing from a dict": (lambda: encode_table(without("x"), SCHEMA), "missing: 'x'"),
    "missing from pandas": (lambda: encode_table(pd.DataFrame(without("x")), SCHEMA), "missing: 'x'"),
    "missing from polars": (lambda: encode_table(pl.LazyFrame(without("c")), SCHEMA), "missing: 'c'"),
    "missing from arrow": (lambda: encode_table(pa.table(without("y")), SCHEMA), "missing: 'y'"),
    "missing from X": (lambda: encode_arrays([0, 1], [0, 1], pd.DataFrame({"z": [NUMBER] * 2}), SCHEMA), "'x', 'c'"),
    "missing from Y": (lambda: encode_arrays(pd.DataFrame({"z": [1]}), [0], X, SCHEMA), "missing: 'y'"),
    "unnamed pandas columns": (lambda: encode_features(pd.DataFrame(X), SCHEMA), "missing: 'x', 'c'"),
    "two columns of a name in pandas": (lambda: encode_table(pandas_with_two_x(), SCHEMA), "distinct column names"),
    "two columns of a name in arrow": (
        lambda: encode_table(pa.table([[1], [NUMBER], [1]], names=["x", "x", "y"]), SCHEMA),
        "distinct column names",
    ),
    "too few columns": (lambda: encode_arrays([0, 1], [0, 1], X[:, :1], SCHEMA), "got another number of columns"),
    "too many columns": (lambda: encode_features(np.full((2, 3), NUMBER), SCHEMA), "got another number of columns"),
    "a flat X": (lambda: encode_features(np.full(4, NUMBER), SCHEMA), r"got 1 dimension\(s\)"),
    "a series as X": (lambda: encode_features(pd.Series([NUMBER]), SCHEMA), r"got 1 dimension\(s\)"),
    "a ragged list": (lambda: encode_features([[NUMBER, "a"], [NUMBER]], SCHEMA), "rows of 2 values"),
    "a flat list": (lambda: encode_features([NUMBER, NUMBER], SCHEMA), "rows of 2 values"),
    "a cube": (lambda: encode_features(np.full((2, 2, 2), NUMBER), SCHEMA), r"got 3 dimension\(s\)"),
    "a scalar outcome": (
        lambda: encode_arrays(np.float64(NUMBER), [0], X, SCHEMA),
        "one-dimensional; got 0 dimensions",
    ),
    "a Python number": (lambda: encode_arrays(NUMBER, [0], X, SCHEMA), "got float"),
    "a text outcome": (lambda: encode_arrays(TEXT, [0], X, SCHEMA), "got str"),
    "a matrix outcome": (
        lambda: encode_arrays(X, [0, 1], X, SCHEMA),
        "'y' must be one-dimensional; got several columns",
    ),
    "different lengths": (lambda: encode_arrays([0, 1, NUMBER], [0, 1], X, SCHEMA), "same length; 't' and 'y' differ"),
    "different lengths in a dict": (lambda: encode_table(GOOD | {"x": [NUMBER]}, SCHEMA), "same length"),
    "different lengths of features": (lambda: encode_features({"x": [NUMBER], "c": [TEXT] * 2}, SCHEMA), "same length"),
    "no table": (lambda: encode_table([NUMBER, TEXT], SCHEMA), "got list"),
    "an array as table": (lambda: encode_table(X, SCHEMA), "got ndarray"),
    "a set": (lambda: encode_features({NUMBER}, SCHEMA), "got set"),
    "dates in pandas": (
        lambda: encode_table(pd.DataFrame(GOOD | {"x": pd.to_datetime([DAY] * 2)}), SCHEMA),
        "'x' .* datetime64",
    ),
    "zoned dates in pandas": (
        lambda: encode_table(pd.DataFrame(GOOD | {"x": pd.to_datetime([DAY] * 2, utc=True)}), SCHEMA),
        "'x' .* timestamp",
    ),
    "periods in pandas": (
        lambda: encode_table(pd.DataFrame(GOOD | {"x": pd.period_range(DAY, periods=2)}), SCHEMA),
        "'x' .* extension",
    ),
    "categories of dates": (
        lambda: encode_table(pd.DataFrame(GOOD | {"x": pd.Categorical(pd.to_datetime([DAY] * 2))}), SCHEMA),
        "'x' .* datetime64",
    ),
    "dates in polars": (lambda: encode_table(pl.DataFrame(GOOD | {"x": [DAY] * 2}), SCHEMA), "'x' .* date32"),
    "durations": (lambda: encode_features(np.full((2, 2), 918, "m8[s]"), SCHEMA), "timedelta64"),
    "structs": (lambda: encode_table(pl.DataFrame(GOOD | {"x": [{TEXT: NUMBER}] * 2}), SCHEMA), "'x' .* struct"),
    "lists": (lambda: encode_table(pa.table(GOOD | {"x": [[NUMBER]] * 2}), SCHEMA), "'x' .* list"),
    "bytes in arrow": (lambda: encode_table(pa.table(GOOD | {"x": [TEXT.encode()] * 2}), SCHEMA), "'x' .* binary"),
    "bytes in numpy": (lambda: encode_features(np.full((2, 2), TEXT.encode()), SCHEMA), "dtype bytes"),
    "structured arrays": (lambda: encode_features(np.zeros((2, 2), [(TEXT, "f8")]), SCHEMA), "dtype void"),
    "a failing query": (lambda: encode_table(lazy_failure(), SCHEMA), "reading it ended in"),
    "an unknown suffix": (lambda: encode_table("table.xlsx", SCHEMA), r"\.csv or \.parquet; got 'table.xlsx'"),
    "no file": (lambda: encode_table("nowhere.csv", SCHEMA), "none at 'nowhere.csv'"),
}


def assert_tells_nothing(error):
    told = "".join(traceback.format_exception(error)) + repr(error.args)
    assert str(NUMBER) not in told
    assert TEXT not in told
    assert "1918" not in told
    assert error.__cause__ is None
    assert error.__context__ is None


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_says_what_is_wrong_and_quotes_no_value(name):
    act, says = REFUSED[name]
    with pytest.raises(TableError, match=says) as caught:
        act()
    assert_tells_nothing(caught.value)


@pytest.mark.parametrize(
    "act",
    [
        lambda: encode_features(np.zeros((4711, 3)), SCHEMA),
        lambda: encode_features(np.zeros((2, 4711)), SCHEMA),  # features in rows
        lambda: encode_features(np.zeros(4711), SCHEMA),
        lambda: encode_features(np.zeros((4711, 2, 1)), SCHEMA),
        lambda: encode_features(pd.Series(np.zeros(4711)), SCHEMA),
        lambda: encode_features([[0, 0]] * 4711 + [[0]], SCHEMA),
        lambda: encode_arrays(np.zeros((4711, 2)), np.zeros(4711), np.zeros((4711, 2)), SCHEMA),
        lambda: encode_arrays(np.zeros((1, 4711)), np.zeros(4711), np.zeros((4711, 2)), SCHEMA),
        lambda: encode_arrays(np.zeros(4711), np.zeros(4711), np.zeros((4710, 2)), SCHEMA),
        lambda: Rows(np.zeros((4711, 2), np.uint16), *[np.zeros(4710)] * 3),
    ],
)
def test_no_refusal_tells_the_number_of_rows(act):
    with pytest.raises(TableError) as caught:
        act()
    assert "471" not in str(caught.value)


BROKEN_FILES = {
    "uneven.csv": f"y,t,x,c\n1,0,{NUMBER},{TEXT}\n1,0,{NUMBER}\n".encode(),
    "empty.csv": b"",
    "repeated.csv": f"y,t,x,c,x\n1,0,{NUMBER},{TEXT},1\n".encode(),
    "lacking.csv": f"y,t,x\n1,0,{NUMBER}\n".encode(),
    "header.csv": b"\xff\xfey,t,x,c\n",
    "text.parquet": f"y,t,x,c\n1,0,{NUMBER},{TEXT}\n".encode(),
    "empty.parquet": b"",
}


@pytest.mark.parametrize("name", BROKEN_FILES)
def test_a_broken_file_is_refused_without_quoting_it(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(BROKEN_FILES[name])
    with pytest.raises(TableError) as caught:
        encode_table(path, SCHEMA)
    assert_tells_nothing(caught.value)


def test_the_seal_turns_any_failure_into_a_table_error():
    class Panic(BaseException):
        pass

    @sealed
    def fail(kind):
        raise kind(TEXT)

    for kind in (ValueError, Panic, MemoryError):
        with pytest.raises(TableError, match=kind.__name__) as caught:
            fail(kind)
        assert_tells_nothing(caught.value)
    with pytest.raises(KeyboardInterrupt):
        fail(KeyboardInterrupt)


def test_the_seal_strips_what_an_own_error_was_raised_from():
    @sealed
    def fail():
        try:
            float(TEXT)
        except ValueError as error:
            raise TableError("no") from error

    with pytest.raises(TableError, match="no") as caught:
        fail()
    assert_tells_nothing(caught.value)
