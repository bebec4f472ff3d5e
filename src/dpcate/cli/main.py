"""``dpcate``: one command, one verb per act; errors are one line on standard error and exit code 2."""

from __future__ import annotations

import sys

import click

from dpcate.cli.demo import demo
from dpcate.errors import DpcateError

__all__ = ["main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dpcate")
def commands() -> None:
    """Estimate who benefits from a treatment, and by how much, with differential privacy."""


commands.add_command(demo)


def main() -> None:
    """Run the command line."""
    try:
        commands()
    except DpcateError as error:
        click.echo(f"dpcate: {error}", err=True)
        sys.exit(2)
