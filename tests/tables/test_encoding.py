"""Every input kind gives the same encoded rows."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from dpcate.schema import Category, Number, Schema
from dpcate.tables import Rows, encode_arrays, encode_features, encode_table


def to_csv(columns, folder):
    path = folder / "table.csv"
    pd.DataFrame(columns, dtype=object).to_csv(path, index=False)
    return path


def to_parquet(columns, folder):
    path = folder / "table.PARQUET"
    pyarrow.parquet.write_table(pa.table(columns), path)
    return str(path)


def chunked_arrow(columns, folder):
    table = pa.table(columns)
    return pa.concat_tables([table.slice(0, 1), table.slice(1, 0), table.slice(1)])


def arrow_dictionaries(columns, folder):
    return pa.table({name: pa.array(values).dictionary_encode() for name, values in columns.items()})


def arrow_views(columns, folder):
    table = pa.table(columns)
    return table.set_column(table.column_names.index("sex"), "sex", table.column("sex").cast(pa.string_view()))


def polars_categories(columns, folder):
    return pl.DataFrame(columns).with_columns(
        pl.col("arm").cast(pl.Categorical), pl.col("sex").fill_null("").cast(pl.Enum(["", "male", "female", "Male"]))
    )


def polars_python_types(columns, folder):
    return pl.DataFrame(columns).with_columns(
        pl.col("visits").cast(pl.Int128), pl.Series("site", columns["site"], dtype=pl.Object)
    )


KINDS = {
    "dict of lists": lambda columns, folder: columns,
    "dict of tuples": lambda columns, folder: {name: tuple(values) for name, values in columns.items()},
    "dict of object arrays": lambda columns, folder: {
        name: np.array(values, object) for name, values in columns.items()
    },
    "dict of series": lambda columns, folder: {name: pl.Series(values) for name, values in columns.items()},
    "dict of arrow arrays": lambda columns, folder: {name: pa.array(values) for name, values in columns.items()},
    "pandas": lambda columns, folder: pd.DataFrame(columns),
    "pandas object": lambda columns, folder: pd.DataFrame(columns, dtype=object),
    "pandas nullable": lambda columns, folder: pd.DataFrame(columns).convert_dtypes(),
    "pandas arrow": lambda columns, folder: pd.DataFrame(columns).convert_dtypes(dtype_backend="pyarrow"),
    "pandas categories": lambda columns, folder: pd.DataFrame(columns).astype("category"),
    "pandas shuffled index": lambda columns, folder: pd.DataFrame(columns, index=[3, 3, 1, 9, 0, 2]),
    "polars": lambda columns, folder: pl.DataFrame(columns),
    "polars lazy": lambda columns, folder: pl.LazyFrame(columns),
    "polars categories": polars_categories,
    "polars python types": polars_python_types,
    "arrow": lambda columns, folder: pa.table(columns),
    "arrow batch": lambda columns, folder: pa.RecordBatch.from_pydict(columns),
    "arrow chunks": chunked_arrow,
    "arrow dictionaries": arrow_dictionaries,
    "arrow views": arrow_views,
    "csv": to_csv,
    "parquet": to_parquet,
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_gives_the_same_rows(kind, study, plain_columns, tmp_path, assert_same_rows):
    expected = encode_table(plain_columns, study)
    assert_same_rows(encode_table(KINDS[kind](plain_columns, tmp_path), study), expected)


def test_rows_are_what_the_rules_say(study, plain_columns):
    rows = encode_table(plain_columns, study)
    assert rows.active.tolist() == [True, False, True, False, False, True]
    assert rows.Y.tolist() == [0.25, 0, -1, 0, 0, 1]
    assert rows.T.tolist() == [0, 0, 1, 0, 0, 1]
    age, visits, sex, site, insured = rows.codes.T.tolist()
    assert age == [1, 1024, 513, 0, 1, 1024]
    assert visits == [1, 1024, 513, 308, 0, 1024]
    assert sex == [1, 2, 0, 0, 0, 2]
    assert site == [1, 2, 0, 3, 0, 1]
    assert insured == [2, 1, 0, 2, 1, 2]


def test_rows_have_the_promised_dtypes_and_order(study, plain_columns):
    rows = encode_table(plain_columns, study)
    assert (rows.codes.dtype, rows.Y.dtype, rows.T.dtype, rows.active.dtype) == (np.uint16, np.float64, np.int8, bool)
    assert rows.codes.flags.f_contiguous


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_in_econml_order_give_the_same_rows(library, study, plain_columns, assert_same_rows):
    expected = encode_table(plain_columns, study)
    Y, T, X = plain_columns["gain"], plain_columns["arm"], library(plain_columns)
    assert_same_rows(encode_arrays(Y, T, X, study), expected)
    assert_same_rows(encode_arrays(library({"gain": Y}), library({"arm": T}), X, study), expected)


def test_arrays_go_by_position_and_frames_by_name(study, plain_columns, assert_same_rows):
    expected = encode_table(plain_columns, study)
    rows_of_X = list(zip(*(plain_columns[name] for name in study.feature_names), strict=True))
    object_X = np.array(rows_of_X, dtype=object)
    for Y in (pd.Series(plain_columns["gain"]), np.array(plain_columns["gain"], float).reshape(-1, 1)):
        for X in (rows_of_X, object_X, [np.array(row, object) for row in rows_of_X], np.asfortranarray(object_X)):
            assert_same_rows(encode_arrays(Y, pl.Series(plain_columns["arm"]), X, study), expected)
            np.testing.assert_array_equal(encode_features(X, study), expected.codes)


def test_features_alone_can_come_from_any_table(study, plain_columns, tmp_path):
    expected = encode_table(plain_columns, study).codes
    for kind in ("pandas", "polars lazy", "arrow", "csv", "parquet"):
        np.testing.assert_array_equal(encode_features(KINDS[kind](plain_columns, tmp_path), study), expected)


def test_a_single_feature_may_be_a_vector():
    schema = Schema(Number("y", 0, 1), Category("t", [0, 1]), [Number("x", 0, 1)])
    for X in (np.array([0.0, 1.0]), pd.Series([0.0, 1.0]), pl.Series([0, 1]), np.array([[0], [1]]), [[0], ["1"]]):
        assert encode_features(X, schema).tolist() == [[1], [1024]]


@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "i8", "f2", "f4", "f8", "g", "c8", "c16", "O", "U3", "T"])
def test_every_numpy_dtype_of_numbers_and_texts_is_read(dtype, assert_same_rows):
    schema = Schema(Number("y", 0, 4), Category("t", [0, 1]), [Number("x", 0, 4), Category("c", [0, 1])])
    values = np.array(["0", "1", "1"], "T") if dtype == "T" else np.array([0, 1, 1]).astype(dtype)
    rows = encode_arrays(values, values, np.stack([values, values], axis=1), schema)
    assert rows.Y.tolist() == [0, 1, 1]
    assert rows.T.tolist() == [0, 1, 1]
    assert rows.codes.tolist() == [[1, 1], [257, 2], [257, 2]]


def test_masked_entries_are_missing():
    schema = Schema(Number("y", 0, 1), Category("t", [0, 1]), [Number("x", 0, 1)])
    masked = np.ma.MaskedArray([0.5, 0.5], mask=[False, True])
    rows = encode_arrays(masked, [0, 1], masked, schema)
    assert rows.active.tolist() == [True, False]
    assert rows.codes.ravel().tolist() == [513, 0]


@pytest.mark.parametrize(
    "kind", ["dict of lists", "pandas", "pandas nullable", "polars", "polars lazy", "arrow", "csv", "parquet"]
)
def test_an_empty_table_gives_no_rows(kind, study, plain_columns, tmp_path):
    rows = encode_table(KINDS[kind]({name: [] for name in plain_columns}, tmp_path), study)
    assert rows.codes.shape == (0, 5)
    assert rows.n_rows == 0


def test_null_columns_are_missing_values(study):
    for table in (
        pa.table({name: pa.nulls(2) for name in study.column_names}),
        pl.DataFrame({name: [None, None] for name in study.column_names}),
        pd.DataFrame({name: [None, None] for name in study.column_names}),
    ):
        rows = encode_table(table, study)
        assert not rows.active.any()
        assert not rows.codes.any()


def test_a_third_arm_keeps_its_place():
    schema = Schema(Number("y", 0, 1), Category("t", ["a", "b", "c"]), [Number("x", 0, 1)])
    assert encode_arrays([0, 0, 0], ["c", "a", "b"], [[0], [0], [0]], schema).T.tolist() == [2, 0, 1]


def test_sparse_pandas_columns_are_read():
    schema = Schema(Number("y", 0, 1), Category("t", [0, 1]), [Number("x", 0, 1)])
    table = pd.DataFrame({"y": [0, 1], "t": [0, 1], "x": pd.arrays.SparseArray([0.0, 1.0])})
    assert encode_table(table, schema).codes.ravel().tolist() == [1, 1024]


def test_rows_keep_nothing_of_the_table(study, plain_columns):
    table = pd.DataFrame(
        {"gain": [0.5], "arm": ["drug"], "age": [20.0], "visits": [1.0], "sex": [""], "site": [1], "insured": [0]}
    )
    rows = encode_table(table, study)
    assert isinstance(rows, Rows)
    for name in table.columns:
        assert not any(
            np.shares_memory(table[name].to_numpy(), array) for array in (rows.codes, rows.Y, rows.T, rows.active)
        )
