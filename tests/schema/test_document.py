"""Schemas as dictionaries and TOML files."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcate.errors import BoundsMissingError, SchemaError
from dpcate.schema import Category, Number, Schema

names = st.text(min_size=1)
finite = st.floats(-1e300, 1e300)
numeric_levels = st.lists(
    st.booleans() | st.integers(-(10**30), 10**30) | st.floats(allow_nan=False, allow_infinity=False),
    min_size=2,
    unique_by=float,
)
text_levels = st.lists(st.text(min_size=1).filter(lambda text: text not in ("nan", "NaN")), min_size=2, unique=True)


@st.composite
def schemas(draw):
    def number(name):
        low, high = sorted(draw(st.lists(finite, min_size=2, max_size=2, unique_by=lambda bound: bound + 0.0)))
        return Number(name, low, high)

    def category(name):
        return Category(name, draw(numeric_levels | text_levels))

    outcome, treatment, *features = draw(st.lists(names, min_size=3, max_size=6, unique=True))
    treated = category(treatment)
    propensity = (
        draw(st.none() | st.floats(0, 1, exclude_min=True, exclude_max=True)) if len(treated.levels) == 2 else None
    )
    kinds = [draw(st.sampled_from([number, category]))(name) for name in features]
    return Schema(number(outcome), treated, kinds, propensity)


def level_types(schema):
    return [[type(level) for level in column.levels] for column in schema.columns if isinstance(column, Category)]


@settings(max_examples=50, deadline=None)
@given(schema=schemas())
def test_a_schema_survives_a_toml_file(tmp_path_factory, schema):
    path = tmp_path_factory.mktemp("schema") / "schema.toml"
    schema.dump(path)
    loaded = Schema.load(str(path))
    assert loaded == schema
    assert level_types(loaded) == level_types(schema)


@settings(max_examples=50, deadline=None)
@given(schema=schemas())
def test_a_schema_survives_json(schema):
    loaded = Schema.from_dict(json.loads(json.dumps(schema.to_dict())))
    assert loaded == schema
    assert level_types(loaded) == level_types(schema)


def test_a_person_can_write_the_file(tmp_path):
    path = tmp_path / "schema.toml"
    path.write_text(
        """
        propensity = 0.5
        [outcome]
        name = "vote"
        low = 0
        high = 1
        [treatment]
        name = "called"
        levels = [false, true]
        [[features]]
        name = "age"
        low = 18
        high = 105
        [[features]]
        name = "sex"
        levels = ["female", "male"]
        """
    )
    assert Schema.load(path) == Schema(
        Number("vote", 0, 1),
        Category("called", [False, True]),
        [Number("age", 18, 105), Category("sex", ["female", "male"])],
        0.5,
    )


def test_a_dumped_file_has_one_table_per_column(tmp_path):
    path = tmp_path / "schema.toml"
    Schema(Number("y", 0, 1), Category("t", [0, 1]), [Number("a", 0, 1), Category("b", ["x"])]).dump(path)
    titles = [line for line in path.read_text().splitlines() if line.startswith("[")]
    assert titles == ["[outcome]", "[treatment]", "[[features]]", "[[features]]"]


VALID = Schema(Number("y", 0, 1), Category("t", [0, 1]), [Number("a", 0, 1)]).to_dict()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"outcome": {"name": "y", "low": 0, "hi": 1}}, "no keys but .* got 'hi'"),
        ({"outcome": {"low": 0, "high": 1}}, "must have the key 'name'"),
        ({"outcome": 3}, "`outcome` must be a table"),
        ({"features": {"name": "a"}}, "must be a list of tables"),
        ({"features": [{"name": "a", "levels": ["x"], "low": 0}]}, "got 'low'"),
        ({"notes": "hello"}, "got 'notes'"),
    ],
)
def test_what_is_not_a_schema_is_refused_by_its_keys(change, says):
    with pytest.raises(SchemaError, match=says):
        Schema.from_dict(VALID | change)


def test_missing_parts_are_named():
    with pytest.raises(SchemaError, match="must have the key 'features'"):
        Schema.from_dict({"outcome": {}, "treatment": {}})
    with pytest.raises(BoundsMissingError, match="'y' needs public bounds"):
        Schema.from_dict(VALID | {"outcome": {"name": "y"}})
    with pytest.raises(SchemaError, match="table of its parts"):
        Schema.from_dict([1])


@pytest.mark.parametrize("content", [b"name,age\nsecret-4711,33\n", b"\xff\xfe"])
def test_a_file_that_is_not_toml_is_refused_without_quoting_it(tmp_path, content):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises(SchemaError, match="must be a TOML file") as caught:
        Schema.load(path)
    assert "4711" not in str(caught.value)


def test_a_path_that_cannot_be_used_is_a_schema_error(tmp_path):
    with pytest.raises(SchemaError, match="can be read"):
        Schema.load(tmp_path / "none.toml")
    with pytest.raises(SchemaError, match="can be written"):
        Schema.from_dict(VALID).dump(tmp_path / "no" / "folder.toml")
