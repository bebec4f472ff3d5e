"""``dpcate``: one command, one verb per act; how each ends is in `dpcate.cli.errors`."""

from __future__ import annotations

import sys

import click

from dpcate.cli.card import card
from dpcate.cli.check import check
from dpcate.cli.demo import demo
from dpcate.cli.effect import effect
from dpcate.cli.errors import run
from dpcate.cli.fit import fit
from dpcate.cli.init import init
from dpcate.cli.ledger import ledger
from dpcate.cli.plan import plan
from dpcate.cli.report import report
from dpcate.cli.reproduce import reproduce

__all__ = ["main"]


class InOrder(click.Group):
    """A group that lists its commands in the order in which a data owner needs them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names in the order of registration."""
        return list(self.commands)


@click.group(cls=InOrder, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dpcate")
def commands() -> None:
    """Estimate who benefits from a treatment, and by how much, with privacy.

    A working day: init, fill in the schema, check, ledger create, fit; then publish the folder. `dpcate demo` does it
    on a real trial. Exit codes: 2 bad input, 3 over budget, 1 unexpected.
    """


for command in (init, check, plan, fit, effect, card, report, ledger, demo, reproduce):
    commands.add_command(command)


def main() -> None:
    """Run the command line."""
    sys.exit(run(commands))
