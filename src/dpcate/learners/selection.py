"""Which rows a stage reads: those of its parts that are complete.

Coins belong to row numbers, so every pass over any batch finds the same rows again without storing anything.
Proof: ``docs/privacy/plans.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcate.splitting import row_parts

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from dpcate.models import StageRows, StageWork
    from dpcate.tables import Rows, RowSource

__all__ = ["ChosenRows", "Selection"]

_COUNTED_AT_ONCE = 2**20


@dataclass(frozen=True, slots=True, repr=False)
class Selection:
    """The parts that a stage reads.

    Parameters
    ----------
    shares
        Probability of each part.
    read
        The parts that are read.
    key
        Key of the rows' coins; secret under add/remove.
    """

    shares: tuple[float, ...]
    read: tuple[int, ...]
    key: int

    @property
    def everything(self) -> bool:
        """Whether all parts are read."""
        return len(set(self.read)) == len(self.shares)

    def mask(self, first: int, n_rows: int) -> NDArray[np.bool_]:
        """Return whether each of the rows ``first .. first + n_rows - 1`` is read, by its number alone."""
        if self.everything:
            return np.ones(n_rows, dtype=bool)
        return np.isin(row_parts(first, n_rows, shares=self.shares, key=self.key), self.read)

    def count(self, n_rows: int) -> int:
        """Return how many of ``n_rows`` rows are read: a fact about coins, not about rows."""
        if self.everything:
            return n_rows
        starts = range(0, n_rows, _COUNTED_AT_ONCE)
        return sum(int(self.mask(start, min(_COUNTED_AT_ONCE, n_rows - start)).sum()) for start in starts)

    def of(self, first: int, rows: Rows) -> Rows:
        """Return the rows of a batch that are read and have both outcome and treatment."""
        mine = self.mask(first, len(rows)) & rows.active
        return rows if mine.all() else rows.take(mine)


@dataclass(frozen=True, slots=True, repr=False)
class ChosenRows:
    """A stage's rows: chosen from a source, transformed batch by batch."""

    source: RowSource
    selection: Selection
    transform: Callable[[Rows], StageRows]
    one_thread: bool = False

    def total(self, work: StageWork) -> list[NDArray[Any]]:
        """Return the exact totals of ``work`` over all chosen rows."""
        selection, transform = self.selection, self.transform  # the work may travel: it must not carry the source
        return self.source.total(
            lambda first, rows: work(transform(selection.of(first, rows))), one_thread=self.one_thread
        )

    def held(self) -> StageRows:
        """Return all chosen rows in memory."""
        return self.transform(self.selection.of(0, self.source.held()))
