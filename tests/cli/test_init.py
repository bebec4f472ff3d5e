"""`dpcate init` reads names and types and not one value."""

import tomllib

import pyarrow as pa
import pyarrow.parquet
import pytest

from dpcate.cli.header import read_header

GARBAGE = b'\xff\x00,,,\n"never closed\n\x80' * 50


def features(path):
    return {feature["name"]: feature for feature in tomllib.loads(path.read_text(encoding="utf-8"))["features"]}


def test_a_csv_file_gives_names_and_nothing_else(tmp_path, call):
    (tmp_path / "t.csv").write_text("age,sex,vote\n41,female,1\n", encoding="utf-8")
    result = call("init", tmp_path / "t.csv", "--out", tmp_path / "s.toml", "--outcome", "vote")
    text = (tmp_path / "s.toml").read_text(encoding="utf-8")
    assert result.code == 0
    assert features(tmp_path / "s.toml") == {"age": {"name": "age"}, "sex": {"name": "sex"}}
    assert tomllib.loads(text)["outcome"] == {"name": "vote"}
    assert tomllib.loads(text)["treatment"] == {"name": ""}
    assert "41" not in text
    assert "female" not in text


def test_rows_of_garbage_make_no_difference_to_a_csv_file(tmp_path, call):
    (tmp_path / "clean.csv").write_bytes(b"age,sex,vote\n")
    (tmp_path / "dirty.csv").write_bytes(b"age,sex,vote\r\n" + GARBAGE)
    for name in ("clean", "dirty"):
        assert call("init", tmp_path / f"{name}.csv", "--out", tmp_path / f"{name}.toml").code == 0
    assert (tmp_path / "clean.toml").read_bytes() == (tmp_path / "dirty.toml").read_bytes()


def test_not_one_byte_after_the_header_of_a_csv_file_is_read(tmp_path, monkeypatch):
    """The reader is handed a pipe that holds the header only: reading on would block, so it would end in an error."""
    import os
    from pathlib import Path

    (tmp_path / "t.csv").write_bytes(b"age,sex\n1,2\n")
    read_end, write_end = os.pipe()
    os.write(write_end, b"age,sex\n")
    os.set_blocking(read_end, False)
    monkeypatch.setattr(Path, "open", lambda self, mode, buffering: os.fdopen(read_end, mode, buffering))
    assert [head.name for head in read_header(tmp_path / "t.csv")] == ["age", "sex"]
    os.close(write_end)


def test_a_parquet_file_gives_kinds_and_its_pages_are_not_read(tmp_path, call):
    table = pa.table(
        {
            "age": pa.array([41, 35]),
            "sex": pa.array(["secret-a", "secret-b"]).dictionary_encode(),
            "member": pa.array([True, False]),
            "born": pa.array([1, 2], pa.date32()),
            "patient_id": pa.array([7, 8]),
            "vote": pa.array([True, False]),
        }
    )
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(table, path, compression="none", write_statistics=False)
    first_page_to_footer = slice(4, path.stat().st_size - pyarrow.parquet.read_metadata(path).serialized_size - 8)
    raw = bytearray(path.read_bytes())
    raw[first_page_to_footer] = b"\xee" * (first_page_to_footer.stop - first_page_to_footer.start)
    path.write_bytes(raw)
    with pytest.raises(OSError, match=r".*"):
        pyarrow.parquet.read_table(path)
    assert call("init", path, "--out", tmp_path / "s.toml", "--outcome", "vote").code == 0
    text = (tmp_path / "s.toml").read_text(encoding="utf-8")
    found = features(tmp_path / "s.toml")
    assert set(found) == {"age", "sex", "member", "patient_id"}
    assert found["member"]["levels"] == [False, True]
    assert found["age"] == {"name": "age"}
    assert tomllib.loads(text)["outcome"] == {"name": "vote", "low": 0, "high": 1}
    assert "born (date32)" in text
    assert "identifier" in text.split('name = "patient_id"')[0].rsplit("[[features]]", 1)[1]
    assert "secret" not in text


def test_it_refuses_to_overwrite(tmp_path, csv_table, refused):
    (tmp_path / "s.toml").write_text("mine", encoding="utf-8")
    assert "not overwritten" in refused("init", csv_table, "--out", tmp_path / "s.toml")
    assert (tmp_path / "s.toml").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("first", ["41,female,1", "age,,vote", "age,0.5", "male,male"])
def test_a_first_line_that_may_be_a_row_is_refused_and_not_quoted(tmp_path, refused, files, first):
    (tmp_path / "t.csv").write_text(first + "\n1,2,3\n", encoding="utf-8")
    line = refused("init", tmp_path / "t.csv", "--out", tmp_path / "s.toml")
    assert "first line" in line
    assert not any(word in line for word in ("41", "male", "0.5"))
    assert files() == {"t.csv"}


def test_unknown_roles_are_refused(tmp_path, csv_table, refused):
    target = tmp_path / "s.toml"
    assert "no 'votes'" in refused("init", csv_table, "--out", target, "--outcome", "votes")
    assert "two columns" in refused("init", csv_table, "--out", target, "--outcome", "vote", "--treatment", "vote")
    assert not target.exists()


def test_names_that_toml_must_escape_survive(tmp_path, call):
    (tmp_path / "t.csv").write_text('"a ""b"" \\ c",<script>,ü\n', encoding="utf-8")
    assert call("init", tmp_path / "t.csv", "--out", tmp_path / "s.toml").code == 0
    assert set(features(tmp_path / "s.toml")) == {'a "b" \\ c', "<script>", "ü"}
