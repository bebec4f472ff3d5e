"""One data set's page in a ledger, as a fit needs it: look first, enter, sum up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcate.accounting import compose_guarantees, covers
from dpcate.errors import LedgerError
from dpcate.ledger import Ledger
from dpcate.ledger.status import over_budget

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpcate.accounting import Guarantee
    from dpcate.ledger import LedgerEntry

__all__ = ["Book"]

_RECORDED = ("learner", "model", "plan", "epsilon", "delta", "title")


class Book:
    """Where a fit's cost is entered.

    Parameters
    ----------
    where
        SQLite file or PostgreSQL URL.
    dataset
        The data set's name in the ledger.
    """

    def __init__(self, where: str, dataset: str) -> None:
        self._ledger = Ledger.open(where)
        self._dataset = dataset
        self._entry: LedgerEntry | None = None

    def check(self, cost: Guarantee) -> None:
        """Refuse what cannot be entered, before any row is read; `enter` decides again, under the ledger's lock."""
        status = self._ledger.status(self._dataset)
        if status.budget.neighbours != cost.neighbours:
            raise LedgerError(
                f"The budget of data set {self._dataset!r} is for --neighbours {status.budget.neighbours}; "
                f"the fit is for {cost.neighbours}."
            )
        together = cost if status.spent is None else compose_guarantees(status.spent, cost)
        if not covers(together.f, status.budget_epsilon, status.delta):
            raise over_budget(status, cost)

    def enter(self, cost: Guarantee, options: Mapping[str, Any]) -> None:
        """Enter the cost; it is on disk when this returns."""
        recorded = {name: options[name] for name in _RECORDED}
        what = f"fit: {options['learner']} learner, {options['model']}, {options['plan']}"
        self._entry = self._ledger.reserve(self._dataset, cost, what=what, options=recorded)

    def summary(self) -> str:
        """Return what is spent and left, and the hash to note elsewhere."""
        assert self._entry is not None
        status = self._ledger.status(self._dataset)
        return (
            f"Ledger: spent epsilon = {status.spent_epsilon:.4g} of {status.budget_epsilon:.4g} at delta = "
            f"{status.delta:g}; one more release may cost {status.left_epsilon:.4g}.\n"
            f"Entry {self._entry.number}: {self._entry.hash}"
        )
