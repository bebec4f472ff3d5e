"""CSV and Parquet files: fields are parsed one by one, types are never guessed."""

import pyarrow as pa
import pyarrow.parquet
import pytest

from dpcate.schema import Category, Number, Schema
from dpcate.tables import encode_table

SCHEMA = Schema(Number("y", 0, 1), Category("t", [0, 1]), [Number("a.b", 0, 1), Category("c", ["01", "true", "x,y"])])


def encoded(tmp_path, content):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    return encode_table(path, SCHEMA)


def test_fields_are_texts_until_the_schema_says_otherwise(tmp_path):
    rows = encoded(tmp_path, b'c,a.b,more,t,y\n01,0.5,1,0,1\ntrue, 1 ,2,1.0,0\n"x,y",,3,True,1e999\n1,NA,4,9,\n')
    assert rows.codes.tolist() == [[513, 1], [1024, 2], [0, 3], [0, 2]]
    assert rows.T.tolist() == [0, 1, 1, 0]
    assert rows.Y.tolist() == [1, 0, 1, 0]
    assert rows.active.tolist() == [True, True, True, False]


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_a_byte_order_mark_and_line_ends_do_not_matter(tmp_path, newline):
    rows = encoded(tmp_path, b"\xef\xbb\xbf" + newline.join([b"y,t,a.b,c", b'1,0,0.5,"two\nlines"', b"1,1,1,01", b""]))
    assert rows.codes.tolist() == [[513, 0], [1024, 1]]


def test_bytes_that_are_no_text_are_missing(tmp_path):
    rows = encoded(tmp_path, b"y,t,a.b,c\n1,0,\xff,\xff\n1,1,1,01\n")
    assert rows.codes.tolist() == [[0, 0], [1024, 1]]


def test_a_very_long_field_is_a_value_like_any_other(tmp_path):
    rows = encoded(tmp_path, b"y,t,a.b,c\n1,0,1,01\n1,0,1," + b"x" * 3_000_000 + b"\n1,1,1,01\n")
    assert rows.codes.tolist() == [[1024, 1], [1024, 0], [1024, 1]]


def test_a_header_alone_is_an_empty_table(tmp_path):
    assert encoded(tmp_path, b"y,t,a.b,c\n").n_rows == 0


def test_a_late_odd_field_does_not_change_earlier_rows(tmp_path):
    lines = b"1,0,0.5,01\n" * 100_000
    plain = encoded(tmp_path, b"y,t,a.b,c\n" + lines)
    odd = encoded(tmp_path, b"y,t,a.b,c\n" + lines + b"x,x,x,x\n")
    assert plain.n_rows == 100_000
    assert (plain.codes == [513, 1]).all()
    assert (odd.codes[:-1] == plain.codes).all()
    assert not odd.active[-1]


def test_a_parquet_column_may_have_a_dot_in_its_name(tmp_path):
    path = tmp_path / "table.parquet"
    pyarrow.parquet.write_table(pa.table({"y": [1.0], "t": [1], "a.b": [0.5], "c": ["01"], "a": [{"b": 1}]}), path)
    assert encode_table(path, SCHEMA).codes.tolist() == [[513, 1]]
