"""The entry points: any table in, encoded rows out.

Encoding is a map over rows: row ``i`` of the result depends on row ``i`` of the table and on the schema, so adding,
removing or replacing one row changes exactly one encoded row. It never fails on account of a value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dpcate.errors import TableError
from dpcate.schema import Category, Feature, LevelMatcher, Schema
from dpcate.tables.arrays import check_lengths, feature_columns, table_columns, vector_column
from dpcate.tables.grid import cell_codes
from dpcate.tables.parsing import chunk_level_codes, chunk_numbers
from dpcate.tables.rows import Rows
from dpcate.tables.sealing import sealed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcate.tables.columns import Column

__all__ = ["encode_arrays", "encode_columns", "encode_features", "encode_table"]


@sealed
def encode_table(table: object, schema: Schema) -> Rows:
    """Return the encoded rows of one table that has all the schema's columns.

    Parameters
    ----------
    table : DataFrame of pandas, polars or pyarrow, LazyFrame, mapping of names to arrays, or path
        The columns are found by name; others are ignored. A path must end in .csv or .parquet.
    schema : Schema
        The public description of the columns.

    Returns
    -------
    Rows
        One encoded row per row of the table.

    Raises
    ------
    TableError
        When a column is missing, repeated or of a dtype that holds neither numbers nor texts, or the file cannot be
        read.

    Privacy
    -------
    Releases nothing; the result is as private as the table. Encoded row ``i`` depends on row ``i`` alone. See
    `docs/privacy/public_private_line.md`.

    Examples
    --------
    >>> from dpcate.schema import Category, Number, Schema
    >>> schema = Schema(Number("vote", 0, 1), Category("called", [0, 1]), [Category("sex", ["female", "male"])])
    >>> rows = encode_table({"vote": [1, 0, None], "called": [0, "1", 1], "sex": ["male", "?", "female"]}, schema)
    >>> rows.codes.ravel().tolist(), rows.T.tolist(), rows.active.tolist()
    ([2, 0, 1], [0, 1, 0], [True, True, False])
    """
    columns = table_columns(table, schema.column_names)
    if columns is None:
        raise TableError(f"A table must be a data frame, a mapping of columns or a path; got {type(table).__name__}.")
    return encode_columns(columns, schema)


@sealed
def encode_arrays(Y: object, T: object, X: object, schema: Schema) -> Rows:
    """Return the encoded rows of an outcome, a treatment and features that come apart, in EconML's order.

    Parameters
    ----------
    Y, T : one-dimensional array, list, series, or frame with the schema's column
        Outcome and treatment. Rows are matched by position, not by index.
    X : array or list of rows in schema order, or a frame or mapping matched by column name
        Features.
    schema : Schema
        The public description of the columns.

    Returns
    -------
    Rows
        One encoded row per entry.

    Raises
    ------
    TableError
        When shapes do not fit, a column is missing or repeated, or a dtype holds neither numbers nor texts.

    Privacy
    -------
    As `encode_table`.
    """
    outcome = vector_column(schema.outcome.name, Y)
    treatment = vector_column(schema.treatment.name, T)
    return encode_columns([outcome, treatment, *feature_columns(X, schema.feature_names)], schema)


@sealed
def encode_features(X: object, schema: Schema) -> npt.NDArray[np.uint16]:
    """Return the codes of features alone, for prediction, one column per feature in schema order.

    Parameters
    ----------
    X : array or list of rows in schema order, frame or mapping matched by column name, or path
        Features.
    schema : Schema
        The public description of the columns.

    Privacy
    -------
    As `encode_table`.
    """
    columns = feature_columns(X, schema.feature_names)
    check_lengths(columns)
    return _encode_columns(columns, schema.features)


def encode_columns(columns: Sequence[Column], schema: Schema) -> Rows:
    """Return the encoded rows of columns in the schema's order; for callers that are sealed themselves."""
    check_lengths(columns)
    outcome, treatment, *features = columns
    Y = _outcomes(outcome, schema)
    arms = _encode_columns([treatment], [schema.treatment])[:, 0]
    active = ~np.isnan(Y) & (arms > 0)
    Y[~active] = 0.0
    T = np.where(active, arms.astype(np.int8) - np.int8(1), np.int8(0))
    return Rows(_encode_columns(features, schema.features), Y, T, active)


def _outcomes(column: Column, schema: Schema) -> npt.NDArray[np.float64]:
    values = np.empty(len(column), dtype=np.float64)
    for window, chunk in column.chunks():
        values[window] = np.clip(chunk_numbers(chunk), schema.outcome.low, schema.outcome.high)
    return values


def _encode_columns(columns: Sequence[Column], kinds: Sequence[Feature]) -> npt.NDArray[np.uint16]:
    codes = np.empty((len(columns[0]), len(columns)), dtype=np.uint16, order="F")
    for index, (column, kind) in enumerate(zip(columns, kinds, strict=True)):
        _encode_column(column, kind, codes[:, index])
    return codes


def _encode_column(column: Column, kind: Feature, codes: npt.NDArray[np.uint16]) -> None:
    if isinstance(kind, Category):
        matcher = LevelMatcher.from_levels(kind.levels)
        for window, chunk in column.chunks():
            codes[window] = chunk_level_codes(chunk, matcher)
    else:
        for window, chunk in column.chunks():
            codes[window] = cell_codes(chunk_numbers(chunk), kind)
