"""``dpcate plan``: what a release would show, before anything is spent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from dpcate.cli.progress import step
from dpcate.errors import ParameterError
from dpcate.planning import Assumptions, plan_release
from dpcate.schema import Schema

if TYPE_CHECKING:
    from dpcate.planning import Planned

__all__ = ["plan"]


@click.command(short_help="Say what error to expect, before spending.")
@click.option("--schema", required=True, metavar="FILE", help="The public facts; see `dpcate init`.")
@click.option("--n", "n_rows", required=True, type=int, help="Number of rows of the table.")
@click.option("--epsilon", required=True, metavar="LIST", help="One or more budgets, e.g. 0.5,1,2.")
@click.option("--delta", default=1e-5, show_default=True, help="Probability with which epsilon may fail.")
@click.option("--effect-sd", type=float, help="How much effects differ. [default: 5 % of the range]")
@click.option("--average-effect", type=float, help="Mean of the effects. [default: as much as they differ]")
@click.option("--noise-sd", type=float, help="Spread that no feature explains. [default: 14 %]")
@click.option("--baseline-sd", type=float, help="Spread that features explain. [default: 14 %]")
@click.option("--treated", default=0.5, show_default=True, help="Share of the treated, where the schema knows none.")
@click.option("--correlation", default=0.0, show_default=True, help="How strongly features hang together, 0 to 1.")
@click.option(
    "--learner",
    type=click.Choice(["r", "average"]),
    default="r",
    show_default=True,
    help="Effects of single people, or the average alone.",
)
@click.option("--runs", default=8, show_default=True, help="Made-up tables.")
def plan(  # noqa: PLR0917 - one parameter per option
    schema: str,
    n_rows: int,
    epsilon: str,
    delta: float,
    effect_sd: float | None,
    average_effect: float | None,
    noise_sd: float | None,
    baseline_sd: float | None,
    treated: float,
    correlation: float,
    learner: str,
    runs: int,
) -> None:
    """Say what error and interval width to expect from a fit, and when to release the average effect only.

    The real learner is run on made-up tables that fit SCHEMA. No table is read and nothing is spent. The answer is
    as good as the assumptions, which are printed with it.
    """
    facts = Schema.load(schema)
    budgets = _numbers(epsilon)
    assumed = Assumptions.of(
        facts,
        effect_sd=effect_sd,
        average_effect=average_effect,
        noise_sd=noise_sd,
        baseline_sd=baseline_sd,
        treated=treated,
        correlation=correlation,
    )
    with step("Simulating"):
        planned = plan_release(facts, n_rows, budgets, delta=delta, learner=learner, runs=runs, assumed=assumed)
    for line in (*_assumptions(planned, facts.propensity), "", *_table(planned), "", *_advice(planned)):
        click.echo(line)


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ParameterError(f"`epsilon` must be numbers between commas, e.g. 0.5,1,2; got {text!r}.") from None


def _assumptions(planned: Planned, known: float | None) -> list[str]:
    assumed = planned.assumed
    treated = assumed.treated if known is None else known
    return [
        f"Assumed, not read from any table ({planned.n:,} rows, delta {planned.delta:g}):",
        f"  effects differ by a standard deviation of {assumed.effect_sd:.3g}, around {assumed.average_effect:.3g}",
        f"  the features explain a standard deviation of {assumed.baseline_sd:.3g} of the outcome; noise has "
        f"{assumed.noise_sd:.3g}",
        f"  of the people {100 * treated:.3g} % are treated",
        f"  features hang together with correlations of {assumed.correlation:.3g}",
    ]


def _table(planned: Planned) -> list[str]:
    lines = [f"{'':>8}  {'single effects':^19}  {'average effect':^19}"]
    lines.append(f"{'epsilon':>8}  {'error':>9} {'interval':>9}  {'error':>9} {'interval':>9}")
    for row in planned.expected:
        single = [
            f"{'-' if value is None else format(value, '.3g'):>9}" for value in (row.effect_error, row.effect_width)
        ]
        average = [f"{value:>9.3g}" for value in (row.average_error, row.average_width)]
        lines.append(f"{row.epsilon:>8g}  {' '.join(single)}  {' '.join(average)}")
    return lines


def _advice(planned: Planned) -> list[str]:
    if planned.learner == "average":
        return ["Only the average effect is planned for."]
    only = [row.epsilon for row in planned.expected if row.average_only]
    lines = [f"epsilon {value:g}: release the average effect only; single effects drown in noise." for value in only]
    worth = [row.epsilon for row in planned.expected if not row.average_only]
    lines += [f"epsilon {value:g}: single effects are closer to the truth than their average." for value in worth]
    return lines
