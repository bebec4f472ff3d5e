"""What a long command is doing, on standard error.

A spinner with the time in a terminal, one line per step elsewhere. No count and no share of work done: both could
depend on the rows.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["step"]


@contextmanager
def step(what: str) -> Iterator[None]:
    """Show ``what`` while the block runs."""
    console = Console(stderr=True)
    if not console.is_terminal:
        click.echo(f"{what} ...", err=True)
        yield
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        progress.add_task(what, total=None)
        yield
