"""Figure 2: mean squared error against epsilon for each size, and against size for each epsilon.

One row of panels per learner, ours beside the paper's, on one logarithmic axis. Open diamonds are published values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcate.experiments.figures.panels import PUBLISHED, above_zero, study_title
from dpcate.experiments.figures.style import (
    MUTED,
    PUBLISHED_MARK,
    epsilon_axis,
    epsilon_label,
    key,
    log_axes,
    make_figure,
    place,
    ramp,
    save,
    size_axis,
    size_label,
    styled,
)
from dpcate.experiments.grid import LEARNERS, Cell

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

    from dpcate.experiments.figures.panels import Measured
    from dpcate.experiments.figures.style import Method

__all__ = ["draw_figure2"]

_MARKERS = ("o", "s", "^", "v", "P", "X", "h")


@styled
def draw_figure2(study: str, measured: Measured, directory: Path, *, name: str = "figure2") -> list[Path]:
    """Draw one study and return the paths that were written.

    Parameters
    ----------
    study
        The study whose cells are drawn.
    measured
        What was measured and published.
    directory, name
        Where the files go.
    """
    drawing = _Drawing(study, measured)
    columns = 2 * len(drawing.methods)
    figure = make_figure(max(3.5 * columns, 10) + 1.2, 2.7 * len(drawing.learners) + 2.2)
    runs = measured.runs(drawing.cells)
    title = f"Figure 2.  Mean squared error of the effect, {study_title(study)}, means of {runs}"
    figure.suptitle(title, x=0.01, ha="left", fontsize=15)
    left, right = figure.subfigures(1, 2, squeeze=False, wspace=0.03)[0]
    panels = drawing.half(left, by_size=False) + drawing.half(right, by_size=True)
    for learner in drawing.learners:
        log_axes([axes for axes, drawn in panels if drawn == learner])
    return save(figure, directory, name)


class _Drawing:
    """What one study offers, and its panels."""

    def __init__(self, study: str, measured: Measured) -> None:
        self.study, self.measured = study, measured
        self.cells = [cell for cell in measured.summaries if cell.study == study]
        self.methods = measured.methods(self.cells)
        self.sizes = sorted({cell.n for cell in self.cells})
        self.levels = measured.levels(self.cells)
        self.learners = [name for name in LEARNERS if any(cell.learner == name for cell in self.cells)]

    def half(self, figure: SubFigure, *, by_size: bool) -> list[tuple[Axes, str]]:
        """Draw the panels against size, or against epsilon, and return them with their learners."""
        grid = figure.subplots(len(self.learners), len(self.methods), squeeze=False)
        panels = []
        for row, learner in zip(grid, self.learners, strict=True):
            for axes, (method, _) in zip(row, self.methods, strict=True):
                self._panel(axes, learner, method, by_size=by_size)
                axes.tick_params(labelleft=axes is row[0], labelbottom=learner == self.learners[-1])
                panels.append((axes, learner))
            row[0].set_ylabel(f"{learner}-learner, MSE")
        for axes, (_, heading) in zip(grid[0], self.methods, strict=True):
            axes.set_title(heading, fontsize=13, color=MUTED)
        for axes in grid[-1]:
            axes.set_xlabel("rows n" if by_size else "privacy ε (none: not private)")
        figure.suptitle("MSE against n, one line per ε" if by_size else "MSE against ε, one line per n", fontsize=14)
        self._key(figure, by_size=by_size)
        return panels

    def _panel(self, axes: Axes, learner: str, method: Method, *, by_size: bool) -> None:
        if by_size:
            size_axis(axes, self.sizes)
        else:
            epsilon_axis(axes, self.levels)
        for points, look in self._series(by_size=by_size):
            cells = [Cell(self.study, n, epsilon, learner, method.model, method.plan) for n, epsilon in points]
            self._line(axes, cells, look, by_size=by_size)

    def _line(self, axes: Axes, cells: Sequence[Cell], look: dict[str, Any], *, by_size: bool) -> None:
        """Join the private cells of a line; without privacy stands apart."""
        for apart in (False, True):
            part = [cell for cell in cells if (cell.epsilon is None and not by_size) == apart]
            places = [float(cell.n) if by_size else place(cell.epsilon, self.levels) for cell in part]
            values = [above_zero(self.measured.value(cell)) for cell in part]
            axes.plot(places, values, **look, linestyle="none" if apart else "solid")
            if part and part[0].model == PUBLISHED.model:
                marks = [above_zero(self.measured.published_value(cell)) for cell in part]
                axes.plot(places, marks, color=look["color"], **PUBLISHED_MARK)

    def _series(self, *, by_size: bool) -> list[tuple[list[tuple[int, float | None]], dict[str, Any]]]:
        """Return the points that each line joins, with its colour and marker."""
        if by_size:
            lines = [[(n, level) for n in self.sizes] for level in self.levels]
        else:
            lines = [[(n, level) for level in self.levels] for n in self.sizes]
        n_private = len([level for level in self.levels if level is not None])
        colors = [*ramp(n_private), MUTED] if by_size else ramp(len(lines))
        looks = [{"color": c, "marker": _MARKERS[j % len(_MARKERS)]} for j, c in enumerate(colors)]
        return list(zip(lines, looks, strict=False))

    def _key(self, figure: SubFigure, *, by_size: bool) -> None:
        names = [epsilon_label(level) for level in self.levels] if by_size else [size_label(n) for n in self.sizes]
        handles = [key(**look) for _, look in self._series(by_size=by_size)]
        if any(self.measured.published_value(cell) is not None for cell in self.cells):
            handles.append(key(color=MUTED, **PUBLISHED_MARK))
            names.append("published value")
        per_row = -(-len(names) // -(-len(names) // 5))
        figure.legend(handles, names, loc="outside lower center", ncols=per_row, columnspacing=1.2)
