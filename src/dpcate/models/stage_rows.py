"""The rows of a stage, wherever they are: passed over in batches, of which only exact totals come back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dpcate.kernels.totals import add_up
from dpcate.tables import BATCH

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["NO_ROWS", "ChangedStage", "HeldStage", "StageRows", "StageSource", "StageWork"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StageRows:
    """Some rows as a stage sees them; private.

    Parameters
    ----------
    codes
        Encoded inputs, one row per person.
    target
        What to explain.
    loading
        Multiplies f (the R-loss has T - e here); None is one everywhere.
    """

    codes: NDArray[np.uint16]
    target: NDArray[np.float64]
    loading: NDArray[np.float64] | None = None


StageWork = Callable[[StageRows], Sequence["NDArray[np.int64]"]]


class StageSource(Protocol):
    """The rows of a stage, wherever they are."""

    def total(self, work: StageWork) -> list[NDArray[Any]]:
        """Return the exact totals over all batches of what ``work`` returns: whole-number arrays of fixed shapes."""
        ...

    def held(self) -> StageRows:
        """Return all rows in memory, for models that need them at once."""
        ...


@dataclass(frozen=True, slots=True)
class HeldStage:
    """Rows of a stage that are in memory already."""

    rows: StageRows

    def total(self, work: StageWork) -> list[NDArray[Any]]:
        """Return what ``work`` says, batch by batch."""
        starts = range(0, max(len(self.rows.target), 1), BATCH)
        return add_up(work(self._part(slice(start, start + BATCH))) for start in starts)

    def _part(self, part: slice) -> StageRows:
        loading = self.rows.loading
        return StageRows(self.rows.codes[part], self.rows.target[part], None if loading is None else loading[part])

    def held(self) -> StageRows:
        """Return the rows."""
        return self.rows


NO_ROWS = HeldStage(StageRows(np.zeros((0, 0), dtype=np.uint16), np.zeros(0)))
"""Stands for the rows where only the description of a stage is needed."""


@dataclass(frozen=True, slots=True)
class ChangedStage:
    """A source whose rows are changed one by one on their way."""

    source: StageSource
    change: Callable[[StageRows], StageRows]

    def total(self, work: StageWork) -> list[NDArray[Any]]:
        """Return the totals over changed rows."""
        change = self.change  # the work may travel: it must not carry the source
        return self.source.total(lambda rows: work(change(rows)))

    def held(self) -> StageRows:
        """Return the changed rows."""
        return self.change(self.source.held())
