"""How much of a budget is spent and left, by composition of trade-off functions, and by adding epsilons to compare.

Whether a spend fits is decided by the composition alone; the sum of epsilons is shown, never used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcate.accounting import Gaussian, Guarantee, TradeOffFunction, compose_guarantees, covers, mu_for, sequential
from dpcate.errors import BudgetError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcate.ledger.entry import DataSet, LedgerEntry

__all__ = ["LedgerStatus", "exceeds", "over_budget", "spent_by"]

_BISECTIONS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerStatus:
    """What a data set's ledger says; every epsilon is at the budget's delta.

    Parameters
    ----------
    dataset : str
        The data set's name.
    budget, spent : Guarantee
        The whole budget, and what all entries cost together; ``spent`` is None where there is no entry.
    budget_epsilon, delta : float
        The budget as two numbers.
    entries : tuple of LedgerEntry
        Every spend, oldest first.
    head : str
        Hash of the last entry; noted elsewhere, it shows later whether the ledger was replaced by an older copy.
    problems : tuple of str
        Signs of tampering; empty for a sound ledger.
    """

    dataset: str
    budget: Guarantee
    budget_epsilon: float
    delta: float
    spent: Guarantee | None
    entries: tuple[LedgerEntry, ...]
    head: str
    problems: tuple[str, ...]

    @property
    def spent_epsilon(self) -> float:
        """Epsilon of all entries together, by composition of their trade-off functions."""
        return 0.0 if self.spent is None else self.spent.epsilon(self.delta)

    @property
    def naive_epsilon(self) -> float:
        """Sum of the entries' epsilons: the older bound, which also needs their deltas to be added."""
        return math.fsum(entry.guarantee.epsilon(self.delta) for entry in self.entries)

    @property
    def left_epsilon(self) -> float:
        """Largest epsilon of one more release with Gaussian noise that still fits."""
        return _left(None if self.spent is None else self.spent.f, self.budget_epsilon, self.delta)

    @classmethod
    def of(cls, dataset: DataSet, entries: Sequence[LedgerEntry], problems: Sequence[str]) -> LedgerStatus:
        """Return the status of a data set as it was read."""
        epsilon, delta = dataset.level
        return cls(
            dataset=dataset.name,
            budget=dataset.budget,
            budget_epsilon=epsilon,
            delta=delta,
            spent=spent_by([entry.guarantee for entry in entries]),
            entries=tuple(entries),
            head=dataset.head,
            problems=tuple(problems),
        )


def spent_by(guarantees: Sequence[Guarantee]) -> Guarantee | None:
    """Return what the guarantees cost together, None if there are none."""
    return compose_guarantees(*guarantees) if guarantees else None


def exceeds(dataset: DataSet, guarantees: Sequence[Guarantee]) -> bool:
    """Tell whether the guarantees together cost more than the budget of ``dataset``."""
    spent = spent_by(guarantees)
    return spent is not None and not covers(spent.f, *dataset.level)


def over_budget(status: LedgerStatus, requested: Guarantee) -> BudgetError:
    """Return the refusal of ``requested``, with what is spent, requested and left."""
    return BudgetError(
        f"The budget of data set {status.dataset!r} does not allow this: spent epsilon = {status.spent_epsilon:.4g}, "
        f"requested {requested.epsilon(status.delta):.4g}, left {status.left_epsilon:.4g} of "
        f"{status.budget_epsilon:.4g}, all at delta = {status.delta:g}. Nothing was computed or spent."
    )


def _left(spent: TradeOffFunction | None, epsilon: float, delta: float) -> float:
    if spent is None:
        return epsilon

    def fits(candidate: float) -> bool:
        return covers(sequential(spent, Gaussian(mu_for(candidate, delta))), epsilon, delta)

    low, high = 0.0, epsilon
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
