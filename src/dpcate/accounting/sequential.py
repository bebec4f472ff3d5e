"""Sequential composition: stages that read the same rows cost the tensor product of their functions.

Gaussians compose exactly. Otherwise the losses add up: few atoms exactly, many on a grid that errs on the safe side
only. The result carries a slack above all round-off, so its delta is never below the truth.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from dpcate.accounting.atomic import AtomicTradeOff
from dpcate.accounting.convolution import sum_of_losses
from dpcate.accounting.elementary import EpsilonDelta, Identity
from dpcate.accounting.gaussian import Gaussian
from dpcate.accounting.members import canonical_order, check_members, flattened, listed
from dpcate.accounting.tradeoff import TradeOffFunction

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpcate.accounting.losses import LossDistribution

__all__ = ["Sequential", "sequential"]


def sequential(*functions: TradeOffFunction) -> TradeOffFunction:
    """Return what stages on the same rows cost together, each free to use the releases of those before it.

    Examples
    --------
    >>> sequential(Gaussian(3.0), Gaussian(4.0), Identity())
    Gaussian(mu=5.0)
    >>> round(sequential(EpsilonDelta(1.0, 0.0), EpsilonDelta(1.0, 0.0)).epsilon(0.0), 9)
    2.0
    """
    members = [f for f in flattened(check_members(functions), Sequential) if f != Identity()]
    if any(member.infinite_loss >= 1.0 for member in members):
        return EpsilonDelta(0.0, 1.0)
    mus = [member.mu for member in members if isinstance(member, Gaussian)]
    others = [member for member in members if not isinstance(member, Gaussian)]
    if mus:
        others.append(Gaussian(mus[0] if len(mus) == 1 else math.hypot(*mus)))
    if len(others) <= 1:
        return others[0] if others else Identity()
    return Sequential(tuple(canonical_order(others)))


@dataclass(frozen=True, eq=False, repr=False)
class Sequential(AtomicTradeOff, kind="sequential"):
    """Tensor product of several trade-off functions; made by :func:`sequential`."""

    members: tuple[TradeOffFunction, ...]

    def __repr__(self) -> str:
        return f"sequential({listed(self.members)})"

    @property
    def _slack(self) -> float:
        # Above the worst case: 4,100 roundings per convolution and the error of each member, and the sum over the grid
        return 2.0**-37 + len(self.members) * 2.0**-40

    @property
    def infinite_loss(self) -> float:
        """Probability that some member's loss is unbounded."""
        return self._limit

    @property
    def largest_loss(self) -> float:
        """The sum of the members' largest losses."""
        return self._largest_loss

    def losses(self) -> LossDistribution:
        """Return the law of the summed loss, pessimistic where it is numeric."""
        return self._distribution

    @cached_property
    def _limit(self) -> float:
        if math.isinf(self.largest_loss):
            return super().infinite_loss
        chances = [member.infinite_loss for member in self.members if member.infinite_loss > 0.0]
        if len(chances) <= 1:
            return chances[0] if chances else 0.0
        return min(-math.expm1(math.fsum(math.log1p(-chance) for chance in chances)) * (1.0 + 2.0**-50), 1.0)

    @cached_property
    def _largest_loss(self) -> float:
        return math.fsum(member.largest_loss for member in self.members)

    @cached_property
    def _distribution(self) -> LossDistribution:
        return _composed(self.members)

    def reverse(self) -> TradeOffFunction:
        """Return the composition of the inverse members."""
        return sequential(*(member.reverse() for member in self.members))

    def _parameters(self) -> dict[str, Any]:
        return {"members": [member.to_dict() for member in self.members]}

    @classmethod
    def _from_parameters(cls, parameters: Mapping[str, Any]) -> TradeOffFunction:
        return sequential(*(TradeOffFunction.from_dict(member) for member in parameters["members"]))


@lru_cache(maxsize=128)
def _composed(members: tuple[TradeOffFunction, ...]) -> LossDistribution:
    return sum_of_losses(Counter(members))
