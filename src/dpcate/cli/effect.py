"""``dpcate effect``: what the released model says about people."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from dpcate.cli.header import check_columns
from dpcate.cli.models import load_model
from dpcate.cli.people import check_format, read_people, with_columns, write_csv, write_people
from dpcate.cli.progress import step
from dpcate.cli.writing import check_new, write_new
from dpcate.errors import NotAvailableError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from dpcate.learners import CateLearner

__all__ = ["effect"]


@click.command(short_help="Predict effects for a table of people.")
@click.argument("model")
@click.argument("people")
@click.option("--out", metavar="FILE", help="New .csv or .parquet file. [default: CSV to standard output]")
@click.option("--alpha", default=0.05, show_default=True, help="Intervals hold with probability 1 - alpha.")
def effect(model: str, people: str, out: str | None, alpha: float) -> None:
    """Predict the effect for each row of PEOPLE (.csv or .parquet), with intervals.

    MODEL is the folder of a release or its model.json. The output has the columns of PEOPLE and three more: effect,
    lower and upper. It costs the people in the fitted table nothing, but it says as much about PEOPLE as PEOPLE does.
    """
    target = None if out is None else check_new(out, "The output")
    if target is not None:
        check_format(target)
    learner = load_model(model)
    check_columns(people, learner.schema_.feature_names)
    if target is None:
        write_csv(_predicted(learner, people, alpha), sys.stdout)
        return
    with step("Predicting"):
        table = _predicted(learner, people, alpha)
        write_new(target, lambda path: write_people(table, path))
    click.echo(f"Wrote {out}")


def _predicted(learner: CateLearner, people: str, alpha: float) -> pa.Table:
    table = read_people(people)
    columns: dict[str, NDArray[np.float64]] = {"effect": learner.effect(people)}
    try:
        columns["lower"], columns["upper"] = learner.effect_interval(people, alpha=alpha)
    except NotAvailableError:
        click.echo("dpcate: this model does not know its error, so there are no intervals.", err=True)
    return with_columns(table, columns)
