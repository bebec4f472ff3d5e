"""How a command ends: an exit code and, if something is wrong, one line on standard error.

Code 2 is wrong use or bad input, 3 is over budget, 1 is unexpected. No line and no traceback holds a value of the
table: what a library says about its own failure may quote one, so only its kind is printed.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from typing import TYPE_CHECKING

import click

from dpcate.errors import BudgetError, DpcateError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["BAD_INPUT", "INTERRUPTED", "OVER_BUDGET", "UNEXPECTED", "cannot_write", "run"]

UNEXPECTED = 1
BAD_INPUT = 2
OVER_BUDGET = 3
INTERRUPTED = 130

DEBUG = "DPCATE_DEBUG"
"""Set to 1, this variable of the environment asks for the place of an unexpected error."""


def run(command: click.Command, arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    Examples
    --------
    >>> run(click.Command("hello", callback=lambda: click.echo("hello")), [])
    hello
    0
    """
    try:
        with warnings.catch_warnings():  # what a library warns of may quote the table
            warnings.simplefilter("ignore")
            code = command.main(args=arguments, prog_name="dpcate", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as asked:
        click.echo(asked.format_message(), err=True)
        return BAD_INPUT
    except (click.Abort, KeyboardInterrupt):
        _say("stopped. A release is whole or not there; what a ledger has entered stays spent.")
        return INTERRUPTED
    except Exception as error:
        return _ended(error)
    return code if isinstance(code, int) else 0


def cannot_write(path: object, error: OSError) -> str:
    """Return the line that says why a place cannot be written to."""
    return f"cannot write {str(path)!r}: {error.strerror or type(error).__name__}."


def _ended(error: Exception) -> int:
    """Say in one line what went wrong and return the exit code."""
    if isinstance(error, click.ClickException):
        _say(_usage(error))
        return BAD_INPUT
    if isinstance(error, DpcateError):
        _say(str(error))
        return OVER_BUDGET if isinstance(error, BudgetError) else BAD_INPUT
    if isinstance(error, OSError):  # the system's own words, about a path that the caller gave
        where = "" if error.filename is None else f" {str(error.filename)!r}"
        _say(f"cannot use{where or ' a file'}: {error.strerror or type(error).__name__}.")
        return BAD_INPUT
    if os.environ.get(DEBUG) == "1":
        click.echo("".join(traceback.format_tb(error.__traceback__)), err=True, nl=False)
    _say(
        f"unexpected error ({type(error).__name__}); its text is withheld, since it may quote the table. "
        f"{DEBUG}=1 shows where it happened."
    )
    return UNEXPECTED


def _usage(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    path = "dpcate" if context is None else context.command_path
    message = error.format_message().rstrip(".")
    return f"{message}. See `{path} --help`."


def _say(text: str) -> None:
    sys.stdout.flush()
    click.echo("dpcate: " + " ".join(text.split()), err=True)
