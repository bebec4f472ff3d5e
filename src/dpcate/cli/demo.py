"""``dpcate demo``: a private effect on a real trial, from nothing to numbers.

The trial is Thornton (2008): people in rural Malawi were offered money for collecting the result of an HIV test. The
data come with the PyPI package ``causaldata``. The schema below is written from the trial's description, as a data
owner would: no bound and no level is read from the table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from dpcate.errors import NotAvailableError
from dpcate.learners import RLearner
from dpcate.schema import Category, Number, Schema

if TYPE_CHECKING:
    from dpcate.models import Shape

__all__ = ["demo"]

SCHEMA = Schema(
    outcome=Number("got", 0, 1),
    treatment=Category("any", [0, 1]),
    features=[Number("age", 15, 90), Number("distvct", 0, 6), Category("hiv2004", [0, 1])],
)
LABELS = {"age": "age in years", "distvct": "distance to the centre in km", "hiv2004": "HIV positive in 2004"}
POINTS = {"age": (20.0, 35.0, 50.0, 65.0), "distvct": (0.5, 2.0, 3.5, 5.0)}


def load_trial() -> Any:  # noqa: ANN401 - a pandas frame; pandas is not a dependency
    """Return the trial's table."""
    try:
        from causaldata import thornton_hiv
    except ImportError:
        raise NotAvailableError('the demonstration data need an extra: pip install "dpcate[demo]".') from None
    return thornton_hiv.load_pandas().data


@click.command()
@click.option("--epsilon", default=1.0, show_default=True, help="Privacy budget of the whole fit.")
@click.option("--delta", default=1e-5, show_default=True, help="Probability with which epsilon may fail.")
def demo(epsilon: float, delta: float) -> None:
    """Fit a private effect on a real trial and print it with its guarantee.

    The trial: did an offer of money make people collect their HIV test result (Thornton 2008, rural Malawi)?
    """
    console = Console()
    console.print("[bold]Thornton (2008)[/bold]: does an offer of money make people collect their HIV test result?")
    console.print(
        "One row per person. Public: the schema (bounds and levels), the number of rows. Private: every value.\n"
    )
    learner = RLearner(SCHEMA, epsilon=epsilon, delta=delta).fit_table(load_trial())
    console.print(f"Guarantee: {learner.guarantee_}")
    console.print(f"Average effect of the offer: [bold]{100 * learner.ate():+.1f}[/bold] percentage points\n")
    console.print(_effects(learner.shapes(), learner.ate()))
    console.print("Every number above is a differentially private release: run it again and the noise will differ.")


def _effects(shapes: dict[str, Shape], average: float) -> Table:
    table = Table(title="Effect for people who are average but for one feature, percentage points")
    for heading in ("feature", "value", "effect"):
        table.add_column(heading, justify="left" if heading == "feature" else "right")
    for name, shape in shapes.items():
        for value in POINTS.get(name, shape.grid):
            at = int(np.argmin(np.abs(np.asarray(shape.grid, dtype=float) - float(value))))
            table.add_row(LABELS[name], f"{value:g}", f"{100 * (average + shape.effect[at]):+.1f}")
    return table
