"""``dpcate init``: a schema to fill in, from the names of the columns and not from the rows."""

from __future__ import annotations

import math

import click

from dpcate.cli.header import ColumnHead, read_header
from dpcate.cli.template import schema_template
from dpcate.cli.writing import check_new, write_new
from dpcate.errors import TableError
from dpcate.schema import number_from_text

__all__ = ["init"]


@click.command(short_help="Begin a schema from the names of the columns.")
@click.argument("table")
@click.option("--out", default="schema.toml", show_default=True, metavar="FILE", help="The new file.")
@click.option("--outcome", metavar="COLUMN", help="What was measured after the treatment.")
@click.option("--treatment", metavar="COLUMN", help="Who was treated.")
def init(table: str, out: str, outcome: str | None, treatment: str | None) -> None:
    """Write a schema for TABLE (.csv or .parquet) that you then fill in.

    The file gets the names of the columns and, from a Parquet file, their kinds. No row is read: bounds and levels are
    public, so they have to come from you and not from the data.
    """
    target = check_new(out, "The schema")
    heads = read_header(table)
    _check_header(heads)
    text = schema_template(heads, outcome=outcome, treatment=treatment)
    write_new(target, lambda path: path.write_text(text, encoding="utf-8"))
    click.echo(f"Wrote {out}. Fill in what is missing, then run: dpcate check {out} {table}")


def _check_header(heads: list[ColumnHead]) -> None:
    """Refuse a first line that may be a person's: it would end up in a public file. Quotes nothing."""
    names = [head.name for head in heads]
    if any(not name.strip() or not math.isnan(number_from_text(name)) for name in names):
        raise TableError(
            "The first line of the table must hold the names of the columns; it holds a number or a blank, so it may "
            "be a row. Give every column a name in words."
        )
    if len(set(names)) < len(names):
        raise TableError("The first line of the table must hold distinct names of columns; one occurs more than once.")
