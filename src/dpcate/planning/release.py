"""What a release can be expected to show, before anything is spent: real learners on made-up tables.

Simulated from the schema, the number of rows, the budget and stated assumptions. No table is read. Derivation:
``docs/statistics/planning.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcate.errors import ParameterError
from dpcate.learners import AverageEffect, RLearner
from dpcate.planning.world import Assumptions, World
from dpcate.splitting import public_generator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dpcate.learners import CateLearner
    from dpcate.schema import Schema

__all__ = ["Expected", "Planned", "plan_release"]

LEARNERS = {"r": RLearner, "average": AverageEffect}
N_TEST, MOST_ROWS = 2000, 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What to expect at one epsilon.

    Parameters
    ----------
    epsilon
        The budget.
    effect_error, effect_width
        Root mean squared error of single effects, and mean width of their intervals; None if only the average is
        released.
    average_error, average_width
        The same for the average effect.
    average_only
        Whether single effects would be less wrong if everybody were given the true average.
    """

    epsilon: float
    effect_error: float | None
    effect_width: float | None
    average_error: float
    average_width: float
    average_only: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """The planner's answer.

    Parameters
    ----------
    n, delta, learner, runs
        What was asked.
    assumed
        What was taken for granted.
    expected
        One entry per epsilon.
    """

    n: int
    delta: float
    learner: str
    runs: int
    assumed: Assumptions
    expected: tuple[Expected, ...]


def plan_release(
    schema: Schema,
    n: int,
    epsilons: Sequence[float],
    *,
    delta: float = 1e-5,
    neighbours: str = "replace",
    plan: str = "shared",
    learner: str = "r",
    runs: int = 8,
    alpha: float = 0.05,
    assumed: Assumptions | None = None,
) -> Planned:
    """Return what error and interval width to expect from a release, from public facts and assumptions.

    Parameters
    ----------
    schema, n
        The public facts.
    epsilons, delta, neighbours, plan
        The budgets to compare, and how they would be spent.
    learner
        ``"r"``: effects of single people by the R-learner. ``"average"``: the average effect alone.
    runs
        Made-up studies per epsilon, each with its own law.
    alpha
        Level of the intervals.
    assumed
        What to take for granted; None takes shares of the outcome's range.

    Examples
    --------
    >>> from dpcate.schema import Category, Number, Schema
    >>> schema = Schema(Number("vote", 0, 1), Category("called", [0, 1]), [Number("age", 18, 105)])
    >>> [each.average_only for each in plan_release(schema, 500, [0.1, 10.0], runs=2).expected]
    [True, False]
    """
    if learner not in LEARNERS:
        raise ParameterError(f"`learner` must be one of {tuple(LEARNERS)}; got {learner!r}.")
    n, runs = _whole("n", n, MOST_ROWS), _whole("runs", runs, 1000)
    if not len(epsilons):
        raise ParameterError("`epsilons` must name at least one budget.")
    assumed = Assumptions.of(schema) if assumed is None else assumed
    made = [
        LEARNERS[learner](schema, epsilon=epsilon, delta=delta, neighbours=neighbours, plan=plan)
        for epsilon in epsilons
    ]
    for each in made:
        each.planned_cost()  # refuses wrong options before the first simulation
    seen = np.array(_simulated(made, schema, n, assumed, runs=runs, alpha=alpha))
    return Planned(
        n=n,
        delta=delta,
        learner=learner,
        runs=runs,
        assumed=assumed,
        expected=tuple(
            _expected(float(each.epsilon), mine, learner, assumed)
            for each, mine in zip(made, seen.swapaxes(0, 1), strict=True)
        ),
    )


def _simulated(
    made: Sequence[CateLearner], schema: Schema, n: int, assumed: Assumptions, *, runs: int, alpha: float
) -> list[list[list[float]]]:
    """Return, per made-up study and learner: squared errors and widths, for single effects and their average."""
    generator = public_generator()
    found = []
    for _ in range(runs):
        world = World(schema, assumed, generator)
        study, people = world.draw(n), world.draw(N_TEST)
        mine = []
        for each in made:
            each.set_params(random_state=generator)
            each.fit(study.Y, study.T, X=study.X)
            low, high = each.effect_interval(people.X, alpha)
            bottom, top = each.ate_interval(alpha=alpha)
            errors = (each.effect(people.X) - people.effect) ** 2
            off = (each.ate() - assumed.average_effect) ** 2
            mine.append([float(errors.mean()), float((high - low).mean()), off, top - bottom])
        found.append(mine)
    return found


def _expected(epsilon: float, seen: NDArray[np.float64], learner: str, assumed: Assumptions) -> Expected:
    """Return the summary over made-up studies: roots of mean squares, means of widths."""
    error, width, off, average_width = (float(value) for value in seen.mean(axis=0))
    alone = learner == "average"
    return Expected(
        epsilon=epsilon,
        effect_error=None if alone else math.sqrt(error),
        effect_width=None if alone else width,
        average_error=math.sqrt(off),
        average_width=average_width,
        average_only=alone or math.sqrt(error) >= assumed.effect_sd,
    )


def _whole(name: str, value: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise ParameterError(f"`{name}` must be a whole number from 1 to {most:,}; got {value!r}.")
    return value
