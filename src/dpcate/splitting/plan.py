"""A plan: which stage reads which part, and what the whole costs.

Rows fall into parts by private coins; a stage reads one or more parts and the released outputs of earlier stages. For
a part, the stages that read it compose sequentially; over the parts, the paper's theorem 1 takes min{f}**. The paper's
own plan has one stage per part (``Plan.split``); reading every row in every stage is ``Plan.shared``.
Proof: ``docs/privacy/plans.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcate.accounting import compose_guarantees, mixture_guarantees, parallel_guarantees
from dpcate.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpcate.accounting import Guarantee

__all__ = ["Plan"]

_MOST_PARTS = 127  # labels of parts are 8-bit


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Stages x parts.

    Parameters
    ----------
    shares
        Probability with which a row's coin sends it to each part.
    reads
        Per stage, in order of execution: its name and the parts that it reads.
    weights
        Per stage, its share of mu^2 relative to the other stages that read the same rows.

    Examples
    --------
    >>> plan = Plan.split(("propensity", "outcome", "effect"), shares=(0.25, 0.25, 0.5))
    >>> plan.budgets(1.0)
    {'propensity': 1.0, 'outcome': 1.0, 'effect': 1.0}
    >>> shared = Plan.shared(("outcome", "effect"), weights=(1, 1))
    >>> {name: round(mu, 4) for name, mu in shared.budgets(1.0).items()}
    {'outcome': 0.7071, 'effect': 0.7071}
    """

    shares: tuple[float, ...]
    reads: tuple[tuple[str, tuple[int, ...]], ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.shares or min(self.shares) <= 0 or not math.isclose(sum(self.shares), 1.0, rel_tol=1e-9):
            raise ParameterError(f"the shares of a plan must be positive and sum to 1; got {self.shares}.")
        if len(self.shares) > _MOST_PARTS:
            raise ParameterError(f"a plan may have {_MOST_PARTS} parts at most; got {len(self.shares)}.")
        if not self.reads or len(self.weights) != len(self.reads):
            raise ParameterError(f"a plan needs at least one stage and one weight per stage; got {self.weights}.")
        if not all(0 < weight < math.inf for weight in self.weights):
            raise ParameterError(f"the weights of a plan must be positive and finite; got {self.weights}.")
        if len({name for name, _ in self.reads}) != len(self.reads):
            raise ParameterError("the stages of a plan must have different names.")
        for name, parts in self.reads:
            if not parts or not set(parts) <= set(range(len(self.shares))):
                raise ParameterError(f"stage {name!r} must read existing parts; got {parts}.")

    @classmethod
    def split(cls, stages: Sequence[str], *, shares: Sequence[float]) -> Plan:
        """Return the paper's plan: each stage has a part of its own."""
        if len(stages) != len(shares):
            raise ParameterError(f"`shares` must have one entry per stage ({len(stages)}); got {len(shares)}.")
        if not all(0 < share < math.inf for share in shares):
            raise ParameterError(f"the shares of a plan must be positive and finite; got {tuple(shares)}.")
        total = sum(shares)
        return cls(
            shares=tuple(share / total for share in shares),
            reads=tuple((name, (part,)) for part, name in enumerate(stages)),
            weights=(1.0,) * len(stages),
        )

    @classmethod
    def shared(cls, stages: Sequence[str], *, weights: Sequence[float]) -> Plan:
        """Return the plan in which every stage reads every row and the stages share mu^2 by ``weights``."""
        return cls(
            shares=(1.0,), reads=tuple((name, (0,)) for name in stages), weights=tuple(float(w) for w in weights)
        )

    def fractions(self) -> dict[str, float]:
        """Return per stage the fraction of the whole mu^2 that it may spend: within each part they sum to at most 1."""
        load = [0.0] * len(self.shares)
        for (_, parts), weight in zip(self.reads, self.weights, strict=True):
            for part in parts:
                load[part] += weight
        return {
            name: weight / max(load[part] for part in parts)
            for (name, parts), weight in zip(self.reads, self.weights, strict=True)
        }

    def budgets(self, mu: float) -> dict[str, float]:
        """Return per stage the mu that it may spend so that no part costs more than ``mu``."""
        return {name: mu * math.sqrt(fraction) for name, fraction in self.fractions().items()}

    def cost(self, spent: Mapping[str, Guarantee], *, secret_coins: bool = False) -> Guarantee:
        """Return what the whole run cost, from what its stages report.

        Parameters
        ----------
        spent
            Guarantee of each stage, by name.
        secret_coins
            If True, average over the coin: delta(eps) <= sum_p lambda_p delta_p(eps). That is tighter, and for a person
            whose part is known it says too little. The default, min{f}**, holds for each person given all coins; under
            ``add_remove`` coins must stay secret either way, because they count the rows.
        """
        parts = [
            compose_guarantees(*[spent[name] for name, reads in self.reads if part in reads])
            for part in range(len(self.shares))
            if any(part in reads for _, reads in self.reads)
        ]
        if secret_coins and len(parts) == len(self.shares):
            return mixture_guarantees(parts, self.shares)
        return parallel_guarantees(*parts)
