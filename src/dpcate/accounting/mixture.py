"""A mixture: the part that a row goes to is drawn by a coin, and the coin counts as part of the mechanism.

The hockey-stick divergence is jointly convex, so ``delta(epsilon) <= sum_p w_p delta_p(epsilon)``. Never more than the
envelope ``min{f}**``, which holds for the worst part. Valid only while nobody knows in advance where a row's coin fell
(``docs/privacy/accounting.md``, section 6).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcate.accounting.duality import biconjugate
from dpcate.accounting.losses import LossDistribution
from dpcate.accounting.members import canonical_order, check_members, listed
from dpcate.accounting.parameters import check_within
from dpcate.accounting.tradeoff import TradeOffFunction
from dpcate.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["Mixture", "mixture"]


def mixture(functions: Sequence[TradeOffFunction], weights: Sequence[float]) -> TradeOffFunction:
    """Return what stages on parts cost when the coins that fill the parts stay secret.

    Parameters
    ----------
    functions : sequence of TradeOffFunction
        Cost of each part.
    weights : sequence of float
        Probability that a row goes to each part; they sum to 1.

    Examples
    --------
    >>> from dpcate.accounting import EpsilonDelta, Identity
    >>> mixture([Identity(), EpsilonDelta(1.0, 0.5)], [0.75, 0.25]).delta(1.0)
    0.125
    """
    members = check_members(functions)
    shares = _checked_shares(weights, len(members))
    joined: dict[TradeOffFunction, float] = {}
    for member, share in zip(members, shares, strict=True):
        if share > 0.0:
            joined[member] = joined.get(member, 0.0) + share
    if len(joined) == 1:
        return next(iter(joined))
    order = canonical_order(joined)
    return Mixture(tuple(order), tuple(joined[member] for member in order))


def _checked_shares(weights: Sequence[float], count: int) -> list[float]:
    shares = check_within("weights", weights, 0.0, 1.0)
    if count == 0 or shares.shape != (count,):
        raise ParameterError(f"`weights` must hold one number per member; got shape {shares.shape} for {count}.")
    total = math.fsum(shares)
    if abs(total - 1.0) > 1e-9:
        raise ParameterError(f"`weights` must sum to 1; got {total!r}.")
    if abs(total - 1.0) > 1e-15 * count:
        shares = shares / total
    return [float(share) for share in shares]


@dataclass(frozen=True, eq=False, repr=False)
class Mixture(TradeOffFunction, kind="mixture"):
    """Trade-off function whose delta is a weighted mean of others'; made by :func:`mixture`."""

    members: tuple[TradeOffFunction, ...]
    weights: tuple[float, ...]

    def __repr__(self) -> str:
        return f"mixture([{listed(self.members)}], {list(self.weights)!r})"

    @property
    def infinite_loss(self) -> float:
        """The weighted mean of the members'."""
        return float(self._weighted(np.array([[member.infinite_loss] for member in self.members]))[0])

    @property
    def largest_loss(self) -> float:
        """The largest of the members'."""
        return max(member.largest_loss for member in self.members)

    def reverse(self) -> TradeOffFunction:
        """Return the mixture of the inverse members."""
        return mixture([member.reverse() for member in self.members], self.weights)

    def losses(self) -> LossDistribution | None:
        """Return the mixture of the members' losses if all have finitely many values, else None."""
        return self._distribution

    @cached_property
    def _distribution(self) -> LossDistribution | None:
        laws = [member.losses() for member in self.members]
        finite = [law for law in laws if law is not None]
        if len(finite) < len(laws):
            return None
        losses = np.concatenate([law.losses for law in finite])
        masses = np.concatenate([share * law.masses for share, law in zip(self.weights, finite, strict=True)])
        order = np.argsort(losses, kind="stable")
        return LossDistribution(losses[order], masses[order], self.infinite_loss)

    def _values(self, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
        # The attacker may use the same alpha in every part: an upper bound that removes round-off on the unsafe side
        ceiling = self._weighted(np.array([member(alpha) for member in self.members]))
        return np.minimum(biconjugate(self, alpha), ceiling)

    def _deltas(self, epsilon: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.minimum(self._weighted(np.array([member.delta(epsilon) for member in self.members])), 1.0)

    def _weighted(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        total = np.zeros(rows.shape[1])
        for share, row in zip(self.weights, rows, strict=True):
            total = total + share * row
        return total

    def _parameters(self) -> dict[str, Any]:
        return {"members": [member.to_dict() for member in self.members], "weights": list(self.weights)}

    @classmethod
    def _from_parameters(cls, parameters: Mapping[str, Any]) -> TradeOffFunction:
        members = [TradeOffFunction.from_dict(member) for member in parameters["members"]]
        return mixture(members, parameters["weights"])
