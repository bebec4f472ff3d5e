"""How a feature is cut into groups: by level, or into intervals.

Cuts are public or follow from released shares. The default ones lie on the ends of the released histogram's cells, for
nothing is known inside a cell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from dpcate.errors import ParameterError
from dpcate.models.additive.basis import OTHER_SHARE
from dpcate.models.additive.curves import N_CELLS
from dpcate.schema import Number
from dpcate.tables import GRID, cell_midpoints

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dpcate.schema import Feature

__all__ = ["Group", "make_groups"]

_QUARTERS = (0.25, 0.5, 0.75)


@dataclass(frozen=True, slots=True)
class Group:
    """A part of a feature's codes.

    Parameters
    ----------
    label
        What it is called.
    interval
        Ends of an interval; None for a level.
    weights
        Released distribution of the codes within the group; sums to one.
    share
        Released share of rows in the group.
    """

    label: str
    interval: tuple[float, float] | None
    weights: NDArray[np.float64]
    share: float

    @classmethod
    def of(
        cls, label: str, inside: NDArray[np.bool_], shares: NDArray[np.float64], interval: tuple[float, float] | None
    ) -> Group:
        """Return the group of the codes that are ``inside``; they count alike where no share was released for them."""
        weights = np.where(inside, shares, 0.0)
        share = float(weights.sum())
        return cls(label, interval, weights / share if share > 0 else inside / inside.sum(), share)


def make_groups(column: Feature, shares: NDArray[np.float64], edges: Sequence[float] | None) -> list[Group]:
    """Return the groups of a column; missing values are one where the released share of them is not small.

    Parameters
    ----------
    column
        The feature.
    shares
        Released share of rows at each code.
    edges
        Where to cut a number: inside its bounds, rising. The bounds themselves are always ends, named or not. None cuts
        at the quartiles of the released shares.
    """
    codes = np.arange(len(shares))
    if isinstance(column, Number):
        groups = _intervals(column, shares, _default_edges(column, shares) if edges is None else edges)
    elif edges is not None:
        raise ParameterError(f"`edges` are for numbers, and {column.name!r} is a category: its levels are the groups.")
    else:
        groups = [Group.of(str(level), codes == k + 1, shares, None) for k, level in enumerate(column.levels)]
    if shares[0] > OTHER_SHARE:
        groups.append(Group.of("(missing)" if isinstance(column, Number) else "(other)", codes == 0, shares, None))
    return groups


def _default_edges(column: Number, shares: NDArray[np.float64]) -> list[float]:
    """Return the ends of histogram cells that are nearest to the quartiles of the released shares."""
    by_cell = shares[1:].reshape(N_CELLS, -1).sum(axis=1)
    if not by_cell.sum() > 0.0:  # nobody has a known value, as far as the noise tells
        by_cell = np.ones(N_CELLS)
    reached = np.concatenate([[0.0], np.cumsum(by_cell)]) / by_cell.sum()
    nearest = {int(np.abs(reached - level).argmin()) for level in _QUARTERS}
    return [column.low + (column.high - column.low) * k / N_CELLS for k in sorted(nearest) if 0 < k < N_CELLS]


def _intervals(column: Number, shares: NDArray[np.float64], edges: Sequence[float]) -> list[Group]:
    """Return the groups between neighbouring edges; a cell of the public grid goes where its middle lies."""
    inner = _checked(column, edges)
    ends = [column.low, *inner, column.high]
    cell = np.concatenate([[-1], np.searchsorted(inner, cell_midpoints(column), side="right")])
    groups = []
    for k, (low, high) in enumerate(pairwise(ends)):
        inside = cell == k
        if not inside.any():
            raise ParameterError(
                f"`edges` must be at least {(column.high - column.low) / GRID:g} apart, a cell of {column.name!r}."
            )
        groups.append(Group.of(f"{low:.6g} to {high:.6g}", inside, shares, (float(low), float(high))))
    return groups


def _checked(column: Number, edges: Sequence[float]) -> list[float]:
    """Return the edges strictly inside the bounds, or refuse."""
    try:
        values = [float(edge) for edge in edges]
    except (TypeError, ValueError):
        raise ParameterError(f"`edges` must be a list of numbers; got {type(edges).__name__}.") from None
    rising = all(one < other for one, other in pairwise(values))
    if not rising or not all(math.isfinite(value) and column.low <= value <= column.high for value in values):
        raise ParameterError(
            f"`edges` must rise and lie between the bounds of {column.name!r}, {column.low:g} and {column.high:g}; "
            f"got {values}."
        )
    return [value for value in values if column.low < value < column.high]
