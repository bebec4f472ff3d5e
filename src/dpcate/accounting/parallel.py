"""Parallel composition: stages that read disjoint rows cost ``min{f_1, ..., f_k}**``.

This is Theorem 1 of the paper. In terms of delta it is a maximum, ``delta(epsilon) = max_i delta_i(epsilon)``, which is
exact; only values of f itself need a search, and that search errs on the safe side.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcate.accounting.comparison import is_proved_at_least_as_private
from dpcate.accounting.duality import biconjugate
from dpcate.accounting.elementary import Identity
from dpcate.accounting.members import canonical_order, check_members, flattened, listed
from dpcate.accounting.piecewise import PiecewiseLinear, lower_hull
from dpcate.accounting.tradeoff import TradeOffFunction

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["Parallel", "parallel"]


def parallel(*functions: TradeOffFunction) -> TradeOffFunction:
    """Return what stages on disjoint rows cost together: the lower convex envelope ``min{f}**``.

    The result is the simplest value that is exact: members that another one provably covers are dropped, and piecewise
    linear members join into one.

    Examples
    --------
    >>> from dpcate.accounting import EpsilonDelta, Gaussian
    >>> parallel(Gaussian(0.5), Gaussian(1.0), Gaussian(0.2))
    Gaussian(mu=1.0)
    >>> parallel(EpsilonDelta(1.0, 1e-6), EpsilonDelta(1.0, 1e-6))
    EpsilonDelta(epsilon=1.0, delta=1e-06)
    """
    distinct = set(flattened(check_members(functions), Parallel)) - {Identity()}
    members = canonical_order(distinct)
    kept: list[TradeOffFunction] = []
    for member in members:
        if any(is_proved_at_least_as_private(member, other) for other in kept):
            continue
        kept = [other for other in kept if not is_proved_at_least_as_private(other, member)]
        kept.append(member)
    if len(kept) <= 1:
        return kept[0] if kept else Identity()
    linear = [member for member in kept if isinstance(member, PiecewiseLinear)]
    if len(linear) > 1:
        hull = PiecewiseLinear(lower_hull(point for member in linear for point in member.points))
        return parallel(hull, *(member for member in kept if not isinstance(member, PiecewiseLinear)))
    return Parallel(tuple(kept))


@dataclass(frozen=True, eq=False, repr=False)
class Parallel(TradeOffFunction, kind="parallel"):
    """Lower convex envelope of several trade-off functions; made by :func:`parallel`."""

    members: tuple[TradeOffFunction, ...]

    def __repr__(self) -> str:
        return f"parallel({listed(self.members)})"

    @property
    def infinite_loss(self) -> float:
        """The largest of the members'."""
        return max(member.infinite_loss for member in self.members)

    @property
    def largest_loss(self) -> float:
        """The largest epsilon that a member needs to meet the common limit."""
        return max(member.epsilon(self.infinite_loss) for member in self.members)

    def reverse(self) -> TradeOffFunction:
        """Return the envelope of the inverse members."""
        return self._reversed

    @cached_property
    def _reversed(self) -> TradeOffFunction:
        return parallel(*(member.reverse() for member in self.members))

    def _values(self, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
        lowest = np.asarray(np.min([member(alpha) for member in self.members], axis=0))
        return np.asarray(np.minimum(biconjugate(self, alpha), lowest))

    def _deltas(self, epsilon: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.max([member.delta(epsilon) for member in self.members], axis=0))

    def _epsilon(self, delta: float) -> float:
        return max(member.epsilon(delta) for member in self.members)

    def _parameters(self) -> dict[str, Any]:
        return {"members": [member.to_dict() for member in self.members]}

    @classmethod
    def _from_parameters(cls, parameters: Mapping[str, Any]) -> TradeOffFunction:
        return parallel(*(TradeOffFunction.from_dict(member) for member in parameters["members"]))
