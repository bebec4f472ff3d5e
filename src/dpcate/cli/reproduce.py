"""``dpcate reproduce``: the paper's section 5 with one command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from dpcate.cli.errors import INTERRUPTED
from dpcate.errors import ParameterError
from dpcate.experiments.request import EPSILONS, FIGURES, SIZES, Request, quick_request
from dpcate.experiments.studies import StudyPaths

__all__ = ["reproduce"]


Callback = Callable[[click.Context, click.Parameter, str | None], Any]


def _list_of(make: Callable[[str], Any], kind: str) -> Callback:
    """Return a reader of values separated by commas; a bad one is an error of one line."""

    def read(_: click.Context, option: click.Parameter, text: str | None) -> tuple[Any, ...] | None:
        if text is None:
            return None
        try:
            values = tuple(dict.fromkeys(make(part.strip()) for part in text.split(",") if part.strip()))
        except ValueError:
            values = ()
        if not values:
            raise ParameterError(f"--{option.name} must be {kind}, separated by commas; got {text!r}.")
        return values

    return read


def _count(_: click.Context, option: click.Parameter, text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isdecimal() or int(text) < 1:
        raise ParameterError(f"--{option.name} must be a whole number of at least 1; got {text!r}.")
    return int(text)


def _epsilon(text: str) -> float | None:
    return None if text.lower() in ("none", "inf") else float(text)


def _figures(text: str) -> tuple[int, ...]:
    if text == "all":
        return FIGURES
    if text in {str(figure) for figure in FIGURES}:
        return (int(text),)
    raise ParameterError(f"--figure must be 1, 2, 3 or all; got {text!r}.")


_NAMES = _list_of(str, "names")
_SIZES = _list_of(int, "whole numbers")
_EPSILONS = _list_of(_epsilon, "positive numbers or none")
_DEFAULT_SIZES = ",".join(map(str, SIZES))
_DEFAULT_EPSILONS = ",".join("none" if epsilon is None else f"{epsilon:g}" for epsilon in EPSILONS)


@click.command()
@click.option("--figure", default="all", show_default=True, help="1, 2, 3 or all.")
@click.option(
    "--setups",
    callback=_NAMES,
    metavar="LIST",
    help="Studies: A to E, D-published, E-published, GOTV, voting. [default: as needed]",
)
@click.option("--sizes", callback=_SIZES, metavar="LIST", help=f"Rows per fit. [default: {_DEFAULT_SIZES}]")
@click.option(
    "--epsilons", callback=_EPSILONS, metavar="LIST", help=f"Budgets at delta = 1e-5. [default: {_DEFAULT_EPSILONS}]"
)
@click.option("--learners", callback=_NAMES, metavar="LIST", help="Of DR, R, S. [default: all]")
@click.option(
    "--models",
    callback=_NAMES,
    metavar="LIST",
    help="Of additive, ebm, interpret, published. [default: additive,published]",
)
@click.option(
    "--plans", callback=_NAMES, metavar="LIST", help="Of shared, split; published always splits. [default: shared]"
)
@click.option("--runs", callback=_count, metavar="N", help="Runs per cell. [default: 25]")
@click.option("--quick", is_flag=True, help="A small grid, under two minutes on two cores.")
@click.option("--out", default="reproduction", show_default=True, help="Folder of results; a second run resumes there.")
@click.option("--gotv", help="Parquet file of the letters trial (Gerber, Green and Larimer 2008).")
@click.option("--voting", help="CSV file of the paper's voting data.")
@click.option("--jobs", callback=_count, metavar="N", help="Local processes. [default: one per core]")
@click.option("--backend", default="local", show_default=True, help="local or dask.")
@click.option("--scheduler", help="Address of a running Dask scheduler.")
def reproduce(**options: Any) -> None:  # noqa: ANN401 - values of the options above
    """Rerun the paper's experiments: figures 1 to 3 and tables, ours beside the paper's.

    Writes figures (PNG and SVG) and summary.md. Runs are kept in runs.sqlite as they end: call again to resume. Without
    --quick, the paper's learners take hours on two cores; --models additive leaves them out.
    """
    from dpcate.experiments.reproduction import reproduce as run

    grid = ("setups", "sizes", "epsilons", "learners", "models", "plans", "runs")
    given = {name: options[name] for name in grid if options[name] is not None}
    make = quick_request if options["quick"] else Request
    paths = StudyPaths(gotv=options["gotv"], voting=options["voting"])
    request = make(figures=_figures(options["figure"]), paths=paths, **given)
    directory = Path(options["out"])
    if directory.exists() and not directory.is_dir():
        raise ParameterError(f"--out must be a folder; {str(directory)!r} is a file.")
    where = {name: options[name] for name in ("backend", "scheduler", "jobs")}
    try:
        for path in run(request, directory, **where):
            click.echo(str(path))
    except KeyboardInterrupt:
        click.echo(
            f"dpcate: stopped. The runs that ended are kept in {str(directory)!r}; call again to resume.", err=True
        )
        click.get_current_context().exit(INTERRUPTED)
