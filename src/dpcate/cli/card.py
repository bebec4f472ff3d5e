"""``dpcate card``: what a release guarantees, for a person to read."""

from __future__ import annotations

import json
import math
import textwrap
from typing import TYPE_CHECKING, Any

import click

from dpcate.cli.models import load_model

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["card"]

_WIDTH = 78


@click.command()
@click.argument("model")
@click.option("--json", "as_json", is_flag=True, help="Print the whole card as JSON.")
def card(model: str, as_json: bool) -> None:
    """Print what a release guarantees to each person.

    MODEL is the folder of a release or its model.json. A void or nominal guarantee is said first.
    """
    from dpcate.report import make_card

    made = make_card(load_model(model))
    click.echo(json.dumps(made, indent=1) if as_json else "\n".join(card_lines(made)))


def card_lines(made: dict[str, Any]) -> list[str]:
    """Return a card as lines of text."""
    privacy = made["privacy"]
    lines = [line for warning in made["warnings"] for line in _wrapped(warning, "! ")]
    lines += ["", made["title"], "=" * min(len(made["title"]), _WIDTH)] if lines else [made["title"], ""]
    lines += _facts(
        [
            ("guarantee", _numbers(privacy)),
            ("unit", privacy["unit"]),
            ("relation", privacy["relation"]),
            ("covers", "the effect and all models behind it: " + ", ".join(made["release"]["models"])),
        ]
    )
    lines += ["", "The best test of whether a given person is in the table:"]
    lines += _grid(("false alarms", "found at most"), [_rates(row) for row in privacy["membership"]])
    lines += ["", f"Spent per stage (plan: {privacy['plan']}):"]
    lines += _grid(("stage", "epsilon", "mu"), [_spent(row) for row in privacy["spend"]])
    lines += ["", "It holds if:"]
    lines += [line for text in made["assumptions"] for line in _wrapped(text, "  - ")]
    return lines


def _numbers(numbers: dict[str, Any]) -> str:
    mu = "" if numbers["mu"] is None else f", mu = {numbers['mu']:.4g}"
    return f"epsilon = {_number(numbers['epsilon'])} at delta = {numbers['delta']:g}{mu}"


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.4g}"


def _rates(row: dict[str, float]) -> tuple[str, str]:
    return f"{100 * row['false_positive_rate']:.3g} %", f"{_rounded_up(100 * row['true_positive_rate']):.3g} %"


def _rounded_up(value: float) -> float:
    """Return the value with three digits, never less than it is."""
    if value <= 0:
        return 0.0
    step = 10.0 ** (math.floor(math.log10(value)) - 2)
    return math.ceil(value / step * (1 - 1e-12)) * step


def _spent(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["stage"], _number(row["epsilon"]), _number(row["mu"])


def _facts(facts: Iterable[tuple[str, str]]) -> list[str]:
    return [line for name, text in facts for line in _wrapped(text, f"{name:<11}")]


def _grid(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[at]) for row in (headings, *rows)) for at in range(len(headings))]
    return [
        "  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in (headings, *rows)
    ]


def _wrapped(text: str, start: str = "") -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=start, subsequent_indent=" " * len(start))
