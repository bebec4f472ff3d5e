"""A query of a real DuckDB database, as a relation and as a stream of Arrow batches, gives the bits of the table."""

import duckdb
import pytest
from tests.backends.conftest import fit


@pytest.fixture(scope="module")
def database(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("duckdb") / "people.duckdb"
    with duckdb.connect(path) as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE people AS SELECT *, 1 AS not_asked_for FROM given")
    return path


@pytest.mark.parametrize("plan", ["shared", "split"])
def test_a_relation_gives_the_same_bits(database, expected, plan):
    with duckdb.connect(database, read_only=True) as connection:
        assert fit(connection.sql("SELECT * FROM people"), plan) == expected[plan, "replace"]


def test_a_stream_of_batches_gives_the_same_bits(database, expected):
    with duckdb.connect(database, read_only=True) as connection:
        reader = connection.sql("SELECT y, t, age, income, sex FROM people").to_arrow_reader(7_000)
        assert fit(reader) == expected["shared", "replace"]


def test_a_query_may_leave_rows_out(database, table, expected):
    with duckdb.connect(database, read_only=True) as connection:
        some = fit(connection.sql("SELECT * FROM people WHERE age < 50"))
    assert some != expected["shared", "replace"]
    assert some == fit(table.filter(table["age"].to_numpy() < 50))
