"""``dpcate fit``: from a table to a folder that may be published.

The order is the point. Everything that can go wrong is tried first; then the ledger enters the cost; then noise is
drawn; then the folder appears, whole.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from dpcate.cli.book import Book
from dpcate.cli.header import check_columns
from dpcate.cli.progress import step
from dpcate.cli.writing import check_new, held_room
from dpcate.errors import DocumentError, DpcateError, NotAvailableError, ParameterError, SchemaError, TableError
from dpcate.learners import DRLearner, RLearner, SLearner
from dpcate.schema import Schema
from dpcate.tables import open_table

if TYPE_CHECKING:
    from pathlib import Path

    from dpcate.learners import CateLearner
    from dpcate.tables import RowSource

__all__ = ["fit"]

_LEARNERS: dict[str, type[CateLearner]] = {"r": RLearner, "dr": DRLearner, "s": SLearner}


def _choice(*names: str) -> click.Choice[str]:
    return click.Choice(names)


@click.command(
    short_help="Fit a private effect and write a release.",
    context_settings={"token_normalize_func": lambda token: token.replace("_", "-")},
)
@click.argument("table")
@click.option("--schema", required=True, metavar="FILE", help="The public facts; see `dpcate init`.")
@click.option("--epsilon", required=True, type=float, help="What the whole fit may cost.")
@click.option("--out", required=True, metavar="FOLDER", help="The new folder to publish.")
@click.option("--delta", default=1e-5, show_default=True, help="Probability with which epsilon may fail.")
@click.option(
    "--learner",
    type=_choice(*_LEARNERS),
    default="r",
    show_default=True,
    help="How effects are estimated; r errs least.",
)
@click.option(
    "--model",
    type=_choice("additive", "ebm", "interpret"),
    default="additive",
    show_default=True,
    help="Base learner; interpret's guarantee is only nominal.",
)
@click.option(
    "--plan",
    type=_choice("shared", "split"),
    default="shared",
    show_default=True,
    help="All rows in every stage, or rows of its own for each.",
)
@click.option(
    "--neighbours",
    type=_choice("replace", "add-remove"),
    default="replace",
    show_default=True,
    help="What is protected: a row's content, or its presence too.",
)
@click.option("--ledger", metavar="LEDGER", help="SQLite file or PostgreSQL URL that the cost is entered in.")
@click.option("--dataset", metavar="NAME", help="The data set's name in the ledger.")
@click.option("--title", metavar="TEXT", help="Heading of the report.")
@click.option("--seed", type=int, metavar="N", help="For tests only: VOIDS the guarantee.")
def fit(**options: Any) -> None:  # noqa: ANN401 - values of the options above
    """Fit a private effect on TABLE (.csv or .parquet) and write a release.

    The release is a folder with model.json, card.json and report.html; all of it is covered by the guarantee and may be
    published. Everything is checked before any budget is spent. With --ledger the cost is entered before noise is
    drawn, and a fit that is over budget is refused (exit code 3).
    """
    _check_ledger_options(options)
    out = check_new(options["out"], "The release")
    schema = _schema(options["schema"])
    learner = _learner(schema, options)
    cost = learner.planned_cost()  # refuses bad options
    check_columns(options["table"], schema.column_names)
    book = None if options["ledger"] is None else Book(options["ledger"], options["dataset"])
    if book is not None:
        book.check(cost)
    with held_room(out) as free_room:
        with step("Checking the table"):
            rows = _open(options["table"], learner)
        if book is not None:
            book.enter(cost, options)
        with step("Fitting"):
            learner.fit_table(rows)
        free_room()
        with step("Writing the release"):
            _write(learner, out, options["title"], book)
    _say(learner, out, book)


def _check_ledger_options(options: dict[str, Any]) -> None:
    if (options["ledger"] is None) != (options["dataset"] is None):
        raise ParameterError("--ledger and --dataset go together: where the cost is entered, and for which data set.")
    if options["ledger"] is not None and options["seed"] is not None:
        raise ParameterError("--seed voids the guarantee, so its cost cannot be entered in a ledger: leave out one.")
    if options["model"] == "interpret" and find_spec("interpret") is None:
        raise NotAvailableError('--model interpret needs an extra: pip install "dpcate[interpret]".')


def _schema(path: str) -> Schema:
    try:
        return Schema.load(path)
    except SchemaError as error:
        raise SchemaError(f"{error} `dpcate check {path}` lists all that is missing.") from None


def _learner(schema: Schema, options: dict[str, Any]) -> CateLearner:
    return _LEARNERS[options["learner"]](
        schema,
        epsilon=options["epsilon"],
        delta=options["delta"],
        neighbours=options["neighbours"].replace("-", "_"),
        plan=options["plan"],
        model=options["model"],
        random_state=options["seed"],
    )


def _open(table: str, learner: CateLearner) -> RowSource:
    """Read the whole table: a file that breaks off in the middle must not cost anything.

    Privacy
    -------
    Releases nothing. It refuses what the fit itself would refuse.
    """
    rows = open_table(table, learner.schema)
    if learner.neighbours == "replace" and rows.n_rows == 0:
        raise TableError("the table has no rows; under replace-one their number is public and must be positive.")
    return rows


def _write(learner: CateLearner, out: Path, title: str | None, book: Book | None) -> None:
    from dpcate.report import write_release

    try:
        write_release(learner, out, title=title)
    except DpcateError as error:
        kept = "" if book is None else " The ledger has entered the cost, and it stays spent."
        raise DocumentError(f"{error}{kept}") from None


def _say(learner: CateLearner, out: Path, book: Book | None) -> None:
    click.echo(f"Guarantee: {learner.guarantee_}")
    click.echo(f"Average effect: {_average(learner)}")
    click.echo(f"Wrote {out}: model.json, card.json, report.html")
    if book is not None:
        click.echo(book.summary())


def _average(learner: CateLearner) -> str:
    try:
        low, high = learner.ate_interval()
    except NotAvailableError:
        return f"{learner.ate():+.4g} (this model does not know its error)"
    return f"{learner.ate():+.4g} (95 % interval {low:+.4g} to {high:+.4g})"
