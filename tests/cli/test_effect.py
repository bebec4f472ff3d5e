"""`dpcate effect` writes what the library computes, beside the people's own columns."""

import csv
import io

import numpy as np
import pyarrow.parquet
import pytest

from dpcate import RLearner

PEOPLE = 'id,age,sex,income,note\n07,20,female,10,"a, b"\n08,65,male,90,\n09,,unheard of,30,x\n'


@pytest.fixture
def people(tmp_path):
    (tmp_path / "who.csv").write_text(PEOPLE, encoding="utf-8")
    return tmp_path / "who.csv"


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_effects_go_to_standard_output_with_the_columns_as_they_were(call, model, people, fitted):
    result = call("effect", model, people)
    assert result.code == 0, result.err
    assert result.err == ""
    found = rows(result.out)
    assert [row["id"] for row in found] == ["07", "08", "09"]
    assert [row["note"] for row in found] == ["a, b", "", "x"]
    lower, upper = fitted.effect_interval(people, alpha=0.05)
    for name, expected in (("effect", fitted.effect(people)), ("lower", lower), ("upper", upper)):
        np.testing.assert_allclose([float(row[name]) for row in found], expected, rtol=1e-5)


def test_the_folder_of_a_release_will_do_for_its_model(call, model, people):
    assert call("effect", model.parent, people).out == call("effect", model, people).out


def test_a_smaller_alpha_widens_the_intervals(call, model, people):
    wide, narrow = (rows(call("effect", model, people, "--alpha", alpha).out) for alpha in ("0.01", "0.5"))
    assert all(float(w["upper"]) > float(n["upper"]) for w, n in zip(wide, narrow, strict=True))
    assert [row["effect"] for row in wide] == [row["effect"] for row in narrow]


def test_parquet_in_and_out_keeps_types_and_full_precision(call, tmp_path, model, parquet_table, fitted, frame):
    result = call("effect", model, parquet_table, "--out", tmp_path / "out.parquet")
    assert result.code == 0, result.err
    table = pyarrow.parquet.read_table(tmp_path / "out.parquet")
    assert table.select(frame.column_names).equals(frame)
    assert np.array_equal(table["effect"].to_numpy(), fitted.effect(parquet_table))


def test_formats_can_be_changed_on_the_way(call, tmp_path, model, people, parquet_table, columns):
    assert call("effect", model, people, "--out", tmp_path / "out.parquet").code == 0
    assert pyarrow.parquet.read_table(tmp_path / "out.parquet")["id"].to_pylist() == ["07", "08", "09"]
    assert call("effect", model, parquet_table, "--out", tmp_path / "out.csv").code == 0
    found = rows((tmp_path / "out.csv").read_text(encoding="utf-8"))
    assert [float(row["income"]) for row in found] == columns["income"].tolist()


def test_a_model_that_does_not_know_its_error_gives_effects_alone(call, tmp_path, schema, frame, people):
    RLearner(schema, epsilon=4.0, model="ebm", random_state=0).fit_table(frame).save(tmp_path / "ebm.json")
    result = call("effect", tmp_path / "ebm.json", people)
    assert result.code == 0
    assert "no intervals" in result.err
    assert rows(result.out)[0].keys() == {"id", "age", "sex", "income", "note", "effect"}


def test_what_cannot_be_predicted_for_is_refused(refused, tmp_path, model, people, files):
    (tmp_path / "short.csv").write_text("age,sex\n1,female\n", encoding="utf-8")
    (tmp_path / "taken.csv").write_text("age,sex,income,lower\n1,female,2,3\n", encoding="utf-8")
    (tmp_path / "ragged.csv").write_text("age,sex,income\n1,female,2\n77,secret\n", encoding="utf-8")
    (tmp_path / "other.json").write_text("{}", encoding="utf-8")
    before = files()
    assert "missing: 'income'" in refused("effect", model, tmp_path / "short.csv")
    assert "already has a column 'lower'" in refused("effect", model, tmp_path / "taken.csv")
    assert "secret" not in refused("effect", model, tmp_path / "ragged.csv", "--out", tmp_path / "o.csv")
    assert "not a model" in refused("effect", tmp_path / "other.json", people)
    assert "No such file" in refused("effect", tmp_path / "nowhere.json", people)
    assert "there is none" in refused("effect", model, tmp_path / "nowhere.csv")
    assert "`alpha`" in refused("effect", model, people, "--alpha", "2")
    assert "end in .csv or .parquet" in refused("effect", model, people, "--out", tmp_path / "o.xlsx")
    assert "not overwritten" in refused("effect", model, people, "--out", people)
    assert files() == before
    assert people.read_text(encoding="utf-8") == PEOPLE
