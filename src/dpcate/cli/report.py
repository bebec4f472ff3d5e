"""``dpcate report``: the page of a release, made again from its model."""

from __future__ import annotations

import click

from dpcate.cli.models import load_model
from dpcate.cli.progress import step
from dpcate.cli.writing import check_new, write_new

__all__ = ["report"]


@click.command(short_help="Make the report of a release again.")
@click.argument("model")
@click.option("--out", default="report.html", show_default=True, metavar="FILE", help="The new file.")
@click.option("--title", metavar="TEXT", help="Heading of the page.")
def report(model: str, out: str, title: str | None) -> None:
    """Make the report of a release again: one HTML file that needs no network.

    MODEL is the folder of a release or its model.json. Nothing is spent: the page shows released numbers only.
    """
    from dpcate.report import make_card, render_report

    target = check_new(out, "The report")
    learner = load_model(model)
    with step("Rendering"):
        card = make_card(learner, title=title)
        page = render_report(learner, card, title=card["title"])
        write_new(target, lambda path: path.write_text(page, encoding="utf-8"))
    click.echo(f"Wrote {out}")
