"""``dpcate ledger``: budgets of data sets, what was spent of them, and whether the record is intact."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dpcate.accounting import check_neighbours
from dpcate.errors import LedgerError
from dpcate.ledger import Ledger

if TYPE_CHECKING:
    from dpcate.ledger import LedgerEntry, LedgerStatus

__all__ = ["ledger"]

_PHRASES = {"replace": "replacing one row", "add_remove": "adding or removing one row"}


@click.group()
def ledger() -> None:
    """Keep account of how much privacy each data set has left.

    LEDGER is the path of a SQLite file, or the URL of a PostgreSQL database such as postgresql://user@host/database.
    """


@ledger.command()
@click.argument("ledger")
@click.argument("dataset")
@click.option("--epsilon", type=float, required=True, help="Whole budget, for all releases together.")
@click.option("--delta", type=float, default=1e-5, show_default=True, help="Failure probability of the whole budget.")
@click.option("--neighbours", default="replace", show_default=True, help="replace or add_remove: what one row may do.")
def create(ledger: str, dataset: str, epsilon: float, delta: float, neighbours: str) -> None:
    """Enter DATASET with its whole budget; the budget cannot be changed afterwards."""
    relation = check_neighbours(neighbours)
    opened = Ledger.open(ledger)
    opened.create(dataset, epsilon=epsilon, delta=delta, neighbours=relation)
    click.echo(
        f"{_shown(dataset)}: epsilon = {epsilon:g} at delta = {delta:g} for {_PHRASES[relation]}, in {opened.label}"
    )


@ledger.command()
@click.argument("ledger")
@click.argument("dataset", required=False)
def show(ledger: str, dataset: str | None) -> None:
    """Show what was spent and what is left, of DATASET or of all.

    "spent" composes the trade-off functions of all entries; that is what the budget is compared with. The sum of their
    epsilons, the older and looser way, stands beside it.
    """
    opened = Ledger.open(ledger)
    console = Console()
    for name in [dataset] if dataset is not None else opened.datasets():
        status = opened.status(name)
        console.print(Text(_heading(status), style="bold"))
        console.print(_totals(status))
        if status.entries:
            console.print(_entries(status))
        console.print(Text(f"head {status.head}", overflow="fold"))
        if status.spent is not None and (status.spent.void or status.spent.nominal):
            console.print("Some entries are void or nominal: for them the numbers are not a guarantee.")
        for problem in status.problems:
            console.print(Text(f"TAMPERED: {_shown(problem)}", style="bold red"))


@ledger.command()
@click.argument("ledger")
@click.option(
    "--seen", multiple=True, metavar="HASH", help="A hash noted earlier that must still be there; repeatable."
)
def verify(ledger: str, seen: tuple[str, ...]) -> None:
    """Check that no entry was changed, removed or reordered.

    A ledger that was replaced by an older copy of itself looks intact: only --seen with a head that `show` or a fit
    printed earlier finds that out.
    """
    opened = Ledger.open(ledger)
    problems = opened.verify(seen=seen)
    for problem in problems:
        click.echo(_shown(problem))
    if problems:
        raise LedgerError(f"The ledger {opened.label} does not verify; problems found: {len(problems)}.")
    click.echo(f"{opened.label}: intact.")


def _heading(status: LedgerStatus) -> str:
    relation = _PHRASES[status.budget.neighbours]
    return f"{_shown(status.dataset)}: epsilons at delta = {status.delta:g}, for {relation}"


def _totals(status: LedgerStatus) -> Table:
    table = Table()
    for heading in ("budget", "spent", "left", "sum of epsilons"):
        table.add_column(heading, justify="right")
    values = (status.budget_epsilon, status.spent_epsilon, status.left_epsilon, status.naive_epsilon)
    table.add_row(*(f"{value:.4g}" for value in values))
    return table


def _entries(status: LedgerStatus) -> Table:
    table = Table()
    for heading in ("entry", "recorded", "what", "epsilon", "remarks", "hash"):
        table.add_column(heading, justify="right" if heading in ("entry", "epsilon") else "left")
    for entry in status.entries:
        epsilon = f"{entry.guarantee.epsilon(status.delta):.4g}"
        cells = (str(entry.number), entry.recorded, entry.what, epsilon, _remarks(entry), entry.hash[:12])
        table.add_row(*(Text(_shown(cell)) for cell in cells))
    return table


def _remarks(entry: LedgerEntry) -> str:
    flags = {"VOID": entry.guarantee.void, "nominal": entry.guarantee.nominal}
    return ", ".join(name for name, holds in flags.items() if holds)


def _shown(text: str) -> str:
    """Return ``text`` without characters that a terminal would obey."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
