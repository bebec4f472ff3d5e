"""`dpcate check` names everything that is missing, with its line."""

import re

import pytest

BEGUN = """\
[outcome]
name = "vote"
low = 0

[treatment]
name = ""

[[features]]
name = "age"

[[features]]
name = "sex"
levels = ["female", "male"]
"""


@pytest.fixture
def checked(tmp_path, call):
    def check(text, *table):
        (tmp_path / "s.toml").write_text(text, encoding="utf-8")
        return call("check", tmp_path / "s.toml", *table)

    return check


def test_everything_that_is_missing_is_said_with_its_line(checked):
    result = checked(BEGUN)
    assert result.code == 2
    assert [line.strip() for line in result.out.splitlines()[1:]] == [
        "line 1: outcome 'vote': high is missing.",
        "line 5: treatment: name is empty: write which column it is.",
        "line 5: treatment: levels are missing: list the two arms, control first, e.g. levels = [0, 1].",
        "line 8: feature 'age': fill in low and high if it is a number, levels if it is a category; or delete it.",
    ]


def test_what_init_writes_is_incomplete_until_it_is_filled_in(tmp_path, csv_table, call):
    call("init", csv_table, "--out", tmp_path / "s.toml", "--outcome", "vote", "--treatment", "called")
    begun = call("check", tmp_path / "s.toml", csv_table)
    assert begun.code == 2
    assert len(begun.out.splitlines()) == 1 + 5
    text = (tmp_path / "s.toml").read_text(encoding="utf-8")
    fillings = {"vote": "low = 0\nhigh = 1", "called": "levels = [0, 1]", "age": "low = 18\nhigh = 105"}
    fillings |= {"sex": 'levels = ["female", "male"]', "income": "low = 0\nhigh = 100"}
    for name, filling in fillings.items():
        text = text.replace(f'name = "{name}"', f'name = "{name}"\n{filling}')
    (tmp_path / "s.toml").write_text(text, encoding="utf-8")
    done = call("check", tmp_path / "s.toml", csv_table)
    assert done.code == 0, done.out
    assert "age: 18 to 105" in done.out
    assert "control is 0, treated is 1" in done.out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("low = \n", "line 1: not TOML"),
        ("", "[outcome] is missing"),
        ('[outcome]\nname = "y"\nlevels = [0, 1]\n', "must be a number"),
        ('[outcome]\nname = "y"\nlow = 1\nhigh = 0\n', "low < high"),
        ('[[features]]\nname = "x"\nlow = 0\nhihg = 1\n', "high is missing"),
        ('[[features]]\nname = "x"\nlow = 0\nhigh = 1\nunit = "m"\n', "no keys but"),
        ("features = 3\n", "[[features]] is missing"),
        ("outcome = 3\n", "must be a table with a name"),
        ("[treatment]\nname = 3\nlevels = [0, 1]\n", "non-empty text"),
    ],
)
def test_each_kind_of_mistake_is_named(checked, text, words):
    result = checked(text)
    assert result.code == 2
    assert words in result.out


COMPLETE = """\
propensity = 0.5
[outcome]
name = "vote"
low = 0
high = 1
[treatment]
name = "called"
levels = [0, 1]
[[features]]
name = "age"
low = 18
high = 105
"""


def test_mistakes_between_columns_are_named_too(checked):
    assert "more than once" in checked(COMPLETE.replace('"age"', '"vote"')).out
    assert "exactly two arms" in checked(COMPLETE.replace("propensity = 0.5", "").replace("[0, 1]", "[0, 1, 2]")).out
    assert "(0, 1)" in checked(COMPLETE.replace("0.5", "1.5")).out
    assert "'color'" in checked("color = 1\n" + COMPLETE).out


def test_a_table_is_compared_by_names_alone(tmp_path, checked):
    (tmp_path / "t.csv").write_bytes(b"vote,called,age,extra\n\xff\xfe garbage")
    result = checked(COMPLETE, tmp_path / "t.csv")
    assert result.code == 0
    assert "not used: extra" in result.out
    assert "propensity 0.5 by design" in result.out
    (tmp_path / "t.csv").write_bytes(b"vote,age\n")
    lacking = checked(COMPLETE, tmp_path / "t.csv")
    assert lacking.code == 2
    assert re.search(r"'called' is not a column of .*t\.csv", lacking.out)


def test_a_table_given_as_a_schema_is_not_quoted(tmp_path, csv_table, call, refused):
    result = call("check", csv_table)
    assert result.code == 2
    assert "female" not in result.out + result.err
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00secret")
    assert "UTF-8" in refused("check", tmp_path / "binary")
    assert "No such file" in refused("check", tmp_path / "nowhere.toml")
