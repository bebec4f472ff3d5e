"""``dpcate demo``: a data owner's day on a real trial, from nothing to a report.

The trial is Thornton (2008): people in rural Malawi were offered money for collecting the result of an HIV test. The
data come with the PyPI package ``causaldata``. The schema below is written from the trial's description, as a data
owner would: no bound and no level is read from the table.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from dpcate.cli.card import card
from dpcate.cli.effect import effect
from dpcate.cli.fit import fit
from dpcate.cli.ledger import ledger
from dpcate.cli.writing import check_new
from dpcate.errors import NotAvailableError
from dpcate.learners.options import check_budget
from dpcate.schema import Category, Number, Schema

__all__ = ["demo"]

SCHEMA = Schema(
    outcome=Number("got", 0, 1),
    treatment=Category("any", [0, 1]),
    features=[Number("age", 15, 90), Number("distvct", 0, 6), Category("hiv2004", [0, 1])],
)
PEOPLE = "age,distvct,hiv2004\n20,0.5,0\n35,2,0\n50,3.5,0\n65,5,1\n"
TITLE = "Does an offer of money make people collect their HIV test result?"
BUDGET = 3.0
"""How many times the fit's epsilon the demonstration's ledger allows."""

_COMMANDS = {"ledger": ledger, "fit": fit, "effect": effect, "card": card}


def load_trial() -> Any:  # noqa: ANN401 - a pandas frame; pandas is not a dependency
    """Return the trial's table."""
    try:
        from causaldata import thornton_hiv
    except ImportError:
        raise NotAvailableError('the demonstration data need an extra: pip install "dpcate[demo]".') from None
    return thornton_hiv.load_pandas().data


@click.command()
@click.option("--epsilon", default=1.0, show_default=True, help="Privacy budget of the fit.")
@click.option("--delta", default=1e-5, show_default=True, help="Probability with which epsilon may fail.")
@click.option("--out", metavar="FOLDER", help="The new folder. [default: demo, or demo-2 and so on]")
def demo(epsilon: float, delta: float, out: str | None) -> None:
    """Go from nothing to a report on a real trial, in seconds.

    The trial: did an offer of money make people collect their HIV test result (Thornton 2008, rural Malawi)? The
    commands that a data owner would type are printed and run.
    """
    check_budget(epsilon, delta)
    trial = load_trial()
    folder = _free_folder() if out is None else check_new(out, "The folder")
    folder.mkdir()
    click.echo(f"{TITLE} (Thornton 2008, rural Malawi)")
    click.echo("Public: the schema (bounds and levels) and the number of rows. Private: every value.\n")
    _put(folder / "trial.csv", trial.to_csv(index=False), "one row per person")
    SCHEMA.dump(folder / "schema.toml")
    click.echo(f"Wrote {folder / 'schema.toml'}: public facts, from the trial's description")
    _put(folder / "people.csv", PEOPLE, "four people to predict for")
    for line in _lines(folder, epsilon, delta):
        _run(line)
    click.echo(f"\nRead the report in a browser: {folder / 'release' / 'report.html'}")


def _lines(folder: Path, epsilon: float, delta: float) -> list[list[str]]:
    """Return the commands of the day."""
    ledger_file, release = str(folder / "ledger.sqlite"), str(folder / "release")
    budget = ["--epsilon", f"{epsilon:g}", "--delta", f"{delta:g}"]
    whole = ["--epsilon", f"{BUDGET * epsilon:g}", "--delta", f"{delta:g}"]
    table = [str(folder / "trial.csv"), "--schema", str(folder / "schema.toml")]
    entered = ["--ledger", ledger_file, "--dataset", "trial"]
    return [
        ["ledger", "create", ledger_file, "trial", *whole],
        ["fit", *table, *budget, *entered, "--title", TITLE, "--out", release],
        ["effect", release, str(folder / "people.csv")],
        ["card", release],
        ["ledger", "show", ledger_file],
    ]


def _run(line: list[str]) -> None:
    name, *arguments = line
    click.echo(f"\n$ dpcate {shlex.join(line)}")
    _COMMANDS[name].main(arguments, prog_name=f"dpcate {name}", standalone_mode=False)


def _put(path: Path, text: str, what: str) -> None:
    path.write_text(text, encoding="utf-8")
    click.echo(f"Wrote {path}: {what}")


def _free_folder() -> Path:
    folder, number = Path("demo"), 1
    while folder.exists():
        number += 1
        folder = Path(f"demo-{number}")
    return folder
