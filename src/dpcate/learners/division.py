"""How much of a budget, or of the rows, a mean gets and how much the first stages before it.

The mean's own noise falls with the budget times the number of rows; the product of two first-stage errors, which biases
it, falls faster. So the less there is to see, the more the first stages get. Looks at public facts alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcate.learners.stage import Stage

__all__ = ["divided"]

_AT, _PART, _POWER = 1_000.0, 0.3, 1 / 3
"""Where mu times the number of rows is the first number, a mean gets the second; the third is the power of that product
which it grows with. Chosen on `benchmarks/tuning_data.py`, as are the next two."""

_LEAST, _MOST = 0.15, 0.5
"""What it gets at the least and at the most."""


def divided(stages: Sequence[Stage], *, mean: str, fixed: str, mu: float, n_rows: int) -> tuple[Stage, ...]:
    """Return the stages with weights and shares of rows for a budget and a number of rows that are public.

    Parameters
    ----------
    stages
        With weights, and shares, that sum to one.
    mean, fixed
        Names of the stage whose share is wanted, and of one that keeps what it has. The others share the rest in
        proportion to what they had.
    mu, n_rows
        The budget, and how many rows there are.
    """
    part = min(max(_PART * (mu * n_rows / _AT) ** _POWER, _LEAST), _MOST)
    kept = {stage.name: stage for stage in stages}
    before = [stage for stage in stages if stage.name not in (mean, fixed)]
    weights = (1.0 - kept[fixed].weight - part) / sum(stage.weight for stage in before)
    shares = (1.0 - kept[fixed].share - part) / sum(stage.share for stage in before)
    for stage in before:
        kept[stage.name] = replace(stage, weight=stage.weight * weights, share=stage.share * shares)
    kept[mean] = replace(kept[mean], weight=part, share=part)
    return tuple(kept.values())
