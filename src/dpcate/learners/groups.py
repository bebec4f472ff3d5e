"""Average effects of groups: the levels of a category, or the intervals of a number, with intervals that hold together.

A group's members have its feature as released within the group; every other term stays at its released average, so
the groups' effects average to the average effect. Where to cut a number is the caller's choice or follows from released
shares, never from rows. Everything here is post-processing. Derivation: ``docs/statistics/intervals.md``.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcate.errors import ParameterError
from dpcate.learners.bands import simultaneous_quantile
from dpcate.learners.cutting import make_groups
from dpcate.learners.frames import make_frame
from dpcate.learners.intervals import limits_around, quantile

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from dpcate.models import AdditiveFunction, Uncertainty
    from dpcate.schema import Schema

__all__ = ["GroupEffect", "GroupEffects", "find_group_effects"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupEffect:
    """The average effect of one group.

    Parameters
    ----------
    label
        The level, or the interval in words.
    interval
        Ends of the interval, the left one included; None for a level.
    share
        Noisy share of rows in the group.
    effect
        Average effect.
    shift, stderr
        Where interval and test are centred, as seen from the effect, and the standard error of that centre.
    lower, upper
        Limits of the average effect.
    """

    label: str
    interval: tuple[float, float] | None
    share: float
    effect: float
    shift: float
    stderr: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupEffects:
    """Average effects of all groups of a feature; going over it gives one :class:`GroupEffect` each.

    Parameters
    ----------
    by
        The feature.
    alpha, simultaneous
        Level of the intervals, and whether they hold all at once.
    reach
        How many standard errors the intervals reach.
    groups
        The groups.
    covariance
        Of the groups' errors, for differences between groups.
    """

    by: str
    alpha: float
    simultaneous: bool
    reach: float
    groups: tuple[GroupEffect, ...]
    covariance: NDArray[np.float64]

    def __iter__(self) -> Iterator[GroupEffect]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per group, with the fields of :class:`GroupEffect` as columns."""
        rows = [asdict(group) for group in self.groups]
        return make_frame({name: [row[name] for row in rows] for name in rows[0]})

    def summary_frame(self) -> pd.DataFrame:
        """Return one row per group, under EconML's names."""
        columns = {
            "share": [group.share for group in self.groups],
            "point_estimate": [group.effect for group in self.groups],
            "stderr": [group.stderr for group in self.groups],
            "ci_lower": [group.lower for group in self.groups],
            "ci_upper": [group.upper for group in self.groups],
        }
        return make_frame(columns, [group.label for group in self.groups], name=self.by)


def find_group_effects(
    model: AdditiveFunction,
    known: Uncertainty,
    schema: Schema,
    *,
    by: str,
    edges: Sequence[float] | None,
    alpha: float,
    simultaneous: bool,
) -> GroupEffects:
    """Return the average effect of each group of the feature ``by``."""
    single, names = quantile(alpha), [column.name for column in model.columns]
    if by not in names:
        raise ParameterError(f"`by` must be one of the features {', '.join(names)}; got {by!r}.")
    at = names.index(by)
    groups = make_groups(model.columns[at], model.shares[at], edges)
    functions = np.array([_mean_functions(known, at, group.weights) for group in groups])
    covariance = functions @ known.covariance @ functions.T
    stderr = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
    reach = simultaneous_quantile(functions, known.covariance, alpha) if simultaneous else single
    widest = schema.outcome.high - schema.outcome.low
    effects = np.clip([_mean_effect(model, at, group.weights) for group in groups], -widest, widest)
    shifts = functions @ known.shift
    lower, upper = limits_around(effects, shifts, reach * stderr, widest)
    found = tuple(
        GroupEffect(
            label=group.label,
            interval=group.interval,
            share=group.share,
            effect=float(effects[k]),
            shift=float(shifts[k]),
            stderr=float(stderr[k]),
            lower=float(lower[k]),
            upper=float(upper[k]),
        )
        for k, group in enumerate(groups)
    )
    return GroupEffects(by=by, alpha=alpha, simultaneous=simultaneous, reach=reach, groups=found, covariance=covariance)


def _mean_functions(known: Uncertainty, at: int, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of every basis function in a group of column ``at`` with these weights of its codes.

    Functions of other columns stay at their released mean, zero. Given the column, the other factor of a product is
    read as released: correlation times the column's own leading term.
    """
    basis = known.basis
    own = [
        column.values @ weights if j == at else np.zeros(len(column.values)) for j, column in enumerate(basis.columns)
    ]
    products = np.zeros(len(basis.products))
    for k, product in enumerate(basis.products):
        if at in (product.first, product.second):
            factor = product.left if product.first == at else product.right
            products[k] = product.mean * _beyond(factor, weights, basis.columns[at].shares)
    return np.concatenate([[1.0], *own, products])


def _mean_effect(model: AdditiveFunction, at: int, weights: NDArray[np.float64]) -> float:
    """Return the model's mean in the group, by the same rule."""
    total = model.intercept + float(model.tables[at] @ weights)
    for product in model.products:
        if at in (product.first, product.second):
            factor = product.left if product.first == at else product.right
            total += product.mean * _beyond(factor, weights, model.shares[at])
    return total


def _beyond(factor: NDArray[np.float64], weights: NDArray[np.float64], shares: NDArray[np.float64]) -> float:
    """Return how much larger the mean square of a factor is in the group than in all, as a share of the latter."""
    overall = float(factor**2 @ shares)
    return float(factor**2 @ weights) / overall - 1.0 if overall > 0 else 0.0
