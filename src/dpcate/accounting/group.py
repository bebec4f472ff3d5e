"""Group privacy: what a guarantee for one row says about ``k`` rows at once.

``1 - (1 - f)`` applied k times (Dong, Roth and Su). Gaussian and Laplace noise give it in closed form; others go
through the corners of their piecewise linear (or pessimistic piecewise linear) form, which compose exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcate.accounting.atomic import AtomicTradeOff
from dpcate.accounting.convolution import fine_losses
from dpcate.accounting.elementary import Identity, Laplace
from dpcate.accounting.gaussian import Gaussian
from dpcate.accounting.losses import LossDistribution
from dpcate.accounting.members import check_members
from dpcate.accounting.parameters import check_count
from dpcate.accounting.tradeoff import TradeOffFunction

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Curve = tuple[NDArray[np.float64], NDArray[np.float64]]

__all__ = ["Group", "group"]

_ROUND_OFF = 2.0**-40  # above the error of a slope computed from two corners


def group(f: TradeOffFunction, k: int) -> TradeOffFunction:
    """Return what ``f`` guarantees to a group of ``k`` rows: ``1 - (1 - f)`` composed ``k`` times.

    Examples
    --------
    >>> group(Gaussian(0.5), 3)
    Gaussian(mu=1.5)
    """
    (member,) = check_members([f])
    size = check_count("k", k)
    if size == 1 or member == Identity():
        return member
    if isinstance(member, Gaussian):
        return Gaussian(size * member.mu)
    if isinstance(member, Laplace):
        return Laplace(size * member.level)
    if isinstance(member, Group):
        return Group(member.member, size * member.size)
    return Group(member, size)


@dataclass(frozen=True, eq=False, repr=False)
class Group(AtomicTradeOff, kind="group"):
    """Trade-off function of ``size`` rows under a guarantee for one; made by :func:`group`."""

    member: TradeOffFunction
    size: int

    def __repr__(self) -> str:
        return f"group({self.member!r}, {self.size})"

    @property
    def _slack(self) -> float:
        return 2.0**-36

    @property
    def largest_loss(self) -> float:
        """The sum of the largest losses along the chain of neighbours."""
        bound = self.size * self.member.largest_loss
        return bound if math.isfinite(bound) else super().largest_loss

    def losses(self) -> LossDistribution:
        """Return the law of the loss, pessimistic where the member's is."""
        return self._distribution

    def reverse(self) -> TradeOffFunction:
        """Return the group's function of the inverse member."""
        return group(self.member.reverse(), self.size)

    @cached_property
    def _distribution(self) -> LossDistribution:
        null, alternative = _iterated(fine_losses(self.member).rejection_curve(), self.size)
        law = LossDistribution.from_masses(np.diff(null), np.diff(alternative), float(alternative[0]))
        return LossDistribution(law.losses + _ROUND_OFF * (1.0 + np.abs(law.losses)), law.masses, law.infinity)

    def _parameters(self) -> dict[str, Any]:
        return {"member": self.member.to_dict(), "size": self.size}

    @classmethod
    def _from_parameters(cls, parameters: Mapping[str, Any]) -> TradeOffFunction:
        return group(TradeOffFunction.from_dict(parameters["member"]), parameters["size"])


def _iterated(curve: Curve, times: int) -> Curve:
    if times == 1:
        return curve
    half = _iterated(curve, times // 2)
    square = _after(half, half)
    return _after(curve, square) if times % 2 else square


def _after(outer: Curve, inner: Curve) -> Curve:
    """Return the corners of ``outer(inner(x))`` for two increasing piecewise linear curves."""
    reached = outer[0] >= inner[1][0]
    x = np.concatenate([inner[0], np.interp(outer[0][reached], inner[1], inner[0])])
    y = np.concatenate([np.interp(inner[1], *outer), outer[1][reached]])
    order = np.argsort(x, kind="stable")
    return _joined(x[order], np.maximum.accumulate(y[order]))


def _joined(x: NDArray[np.float64], y: NDArray[np.float64]) -> Curve:
    """Join corners whose ``x`` differ by round-off only: the smallest ``x`` with the largest ``y``, the safe choice."""
    starts = np.flatnonzero(np.concatenate([[True], np.diff(x) > 1e-13 * x[1:]]))
    ends = np.append(starts[1:], x.size) - 1
    return x[starts], y[ends]
