"""What figures 2 and 3 share: measured and published values by cell, and which methods get panels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcate.experiments.figures.style import Method

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dpcate.experiments.grid import Cell
    from dpcate.experiments.published_values import PublishedValues
    from dpcate.experiments.summary import CellSummary

__all__ = ["PUBLISHED", "Measured", "above_zero", "study_title"]

PUBLISHED = Method("published", "split")


@dataclass(frozen=True)
class Measured:
    """What was measured, what was published, and how we fitted.

    Parameters
    ----------
    summaries
        What was measured, by cell; what is not there is left out of the figures.
    published
        Published values of a study, size, learner and epsilon, or None.
    ours
        Our models and plans, each of which gets panels.
    """

    summaries: Mapping[Cell, CellSummary]
    published: Callable[[str, int, str, float | None], PublishedValues | None]
    ours: Sequence[Method]

    def value(self, cell: Cell, name: str = "mse") -> float | None:
        """Return a measured number of a cell, None if there is none."""
        summary = self.summaries.get(cell)
        return None if summary is None else getattr(summary, name)

    def published_value(self, cell: Cell, name: str = "mse") -> float | None:
        """Return a published number for the study, size, learner and budget of a cell, None if there is none.

        Without privacy the authors published another model, a lasso, which is no mark for any of the methods here.
        """
        if cell.epsilon is None:
            return None
        found = self.published(cell.study, cell.n, cell.learner, cell.epsilon)
        return None if found is None else getattr(found, name)

    def methods(self, cells: Sequence[Cell]) -> list[tuple[Method, str]]:
        """Return what gets panels, with headings: ours, then the paper's as rerun or at least as published."""
        methods = [(method, method.label) for method in self.ours]
        if any(self.value(cell) is not None for cell in cells if cell.model == PUBLISHED.model):
            return [*methods, (PUBLISHED, PUBLISHED.label)]
        if any(self.published_value(cell) is not None for cell in cells):
            return [*methods, (PUBLISHED, "the paper's learner, published")]
        return methods

    def levels(self, cells: Sequence[Cell]) -> list[float | None]:
        """Return the budgets of the cells in rising order, without privacy last."""
        private = sorted({cell.epsilon for cell in cells if cell.epsilon is not None})
        return [*private, *([None] if any(cell.epsilon is None for cell in cells) else [])]

    def runs(self, cells: Sequence[Cell]) -> str:
        """Return how many runs are behind the means, in words."""
        counts = sorted({self.summaries[cell].runs for cell in cells if cell in self.summaries}) or [0]
        return f"{counts[-1]} runs" if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]} runs"


def study_title(name: str) -> str:
    """Return how a study is called in headings."""
    return f"setup {name}" if name.partition("-")[0] in tuple("ABCDE") else name


def above_zero(value: float | None) -> float:
    """Return a value that a logarithmic axis can show, not-a-number otherwise."""
    return float("nan") if value is None or not value > 0 else value
