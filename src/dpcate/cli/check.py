"""``dpcate check``: what a schema still lacks."""

from __future__ import annotations

import click

from dpcate.cli.completeness import schema_problems
from dpcate.cli.errors import BAD_INPUT
from dpcate.cli.header import read_header
from dpcate.schema import Category, Feature, Schema

__all__ = ["check"]


@click.command(short_help="Say what a schema still lacks.")
@click.argument("schema")
@click.argument("table", required=False)
@click.pass_context
def check(context: click.Context, schema: str, table: str | None) -> None:
    """Say what is missing in SCHEMA, a file that `dpcate init` began.

    With TABLE (.csv or .parquet), the names of its columns are compared too; no row is read. The exit code is 2 if
    anything is missing.
    """
    problems = schema_problems(schema)
    described = None if problems else Schema.load(schema)
    names = None if table is None else [head.name for head in read_header(table)]
    if described is not None and names is not None:
        problems = [f"{name!r} is not a column of {table}." for name in described.column_names if name not in names]
    if described is None or problems:
        click.echo(f"{schema} is not complete:" if described is None else f"{schema} does not fit {table}:")
        for problem in problems:
            click.echo(f"  {problem}")
        context.exit(BAD_INPUT)
    click.echo(f"{schema} is complete.")
    for line in _described(described):
        click.echo(f"  {line}")
    unused = [name for name in names or () if name not in described.column_names]
    if unused:
        click.echo(f"  not used: {', '.join(unused)}")


def _described(schema: Schema) -> list[str]:
    arms = schema.treatment.levels
    known = schema.propensity
    lines = [
        f"outcome    {_column(schema.outcome)}",
        f"treatment  {schema.treatment.name}: control is {arms[0]!r}, treated is {arms[1]!r}",
    ]
    lines += [f"feature    {_column(feature)}" for feature in schema.features]
    how = "estimated, at a share of the budget" if known is None else f"{known:g} by design"
    return [*lines, f"propensity {how}"]


def _column(column: Feature) -> str:
    if isinstance(column, Category):
        shown = ", ".join(map(repr, column.levels[:6])) + (", ..." if len(column.levels) > 6 else "")
        return f"{column.name}: one of {shown}"
    return f"{column.name}: {column.low:g} to {column.high:g}"
