"""Figure 3: mean squared error, integrated squared bias and integrated variance, one pair of panels per study.

Ours stands beside the paper's on one logarithmic axis. Open diamonds are published values. An estimate at or below zero
has no place on a logarithmic axis: it is drawn as an open triangle on the floor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcate.experiments.figures.panels import PUBLISHED, above_zero, study_title
from dpcate.experiments.figures.style import (
    INK,
    MUTED,
    PUBLISHED_MARK,
    epsilon_axis,
    key,
    log_axes,
    make_figure,
    place,
    save,
    styled,
)
from dpcate.experiments.grid import Cell

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dpcate.experiments.figures.panels import Measured
    from dpcate.experiments.figures.style import Method

__all__ = ["draw_figure3"]

_PARTS = {
    "mse": ("mean squared error", INK, "o"),
    "variance": ("integrated variance", "#D55E00", "^"),
    "bias2": ("integrated squared bias", "#0072B2", "s"),
}
_COLUMNS = 2
_FLOOR_MARK: dict[str, Any] = {"marker": "v", "linestyle": "none", "markersize": 8, "markerfacecolor": "none"}


@styled
def draw_figure3(
    sizes: Mapping[str, int], measured: Measured, directory: Path, *, learner: str = "DR", name: str = "figure3"
) -> list[Path]:
    """Draw the studies and return the paths that were written.

    Parameters
    ----------
    sizes
        The studies to draw, each with its number of rows.
    measured
        What was measured and published.
    learner
        The learner; the paper shows DR.
    directory, name
        Where the files go.
    """
    cells = [c for c in measured.summaries if sizes.get(c.study) == c.n and c.learner == learner]
    rows = -(-len(sizes) // _COLUMNS)
    n_methods = max(len(measured.methods([c for c in cells if c.study == study])) for study in sizes)
    figure = make_figure(max(3.5 * _COLUMNS * n_methods, 10) + 1.2, 3.3 * rows + 1.6)
    runs = measured.runs(cells)
    title = f"Figure 3.  Where the error of the {learner}-learner comes from, means over {runs}"
    figure.suptitle(title, x=0.01, ha="left", fontsize=15)
    _key(figure)
    subfigures = figure.subfigures(rows, _COLUMNS, squeeze=False, wspace=0.03).ravel()
    for subfigure, (study, n) in zip(subfigures, sizes.items(), strict=False):
        mine = [cell for cell in cells if cell.study == study]
        methods = measured.methods(mine)
        subfigure.suptitle(f"{study_title(study)}, n = {n:,}", fontsize=14)
        panels = subfigure.subplots(1, len(methods), squeeze=False)[0]
        for axes, (method, heading) in zip(panels, methods, strict=True):
            axes.set_title(heading, fontsize=12, color=MUTED)
            _panel(axes, measured, _cells_of(mine, method))
            axes.tick_params(labelleft=axes is panels[0])
            axes.set_xlabel("privacy ε (none: not private)")
        _floor(panels, measured, [_cells_of(mine, method) for method, _ in methods])
    return save(figure, directory, name)


def _cells_of(cells: Sequence[Cell], method: Method) -> list[Cell]:
    """Return the same cells as this method would fit them."""
    named = [Cell(c.study, c.n, c.epsilon, c.learner, method.model, method.plan) for c in cells]
    return list(dict.fromkeys(named))


def _panel(axes: Axes, measured: Measured, cells: Sequence[Cell]) -> None:
    levels = measured.levels(cells)
    epsilon_axis(axes, levels)
    for part, (_, color, marker) in _PARTS.items():
        for apart in (False, True):
            drawn = [c for level in levels for c in cells if c.epsilon == level and (level is None) == apart]
            places = [place(cell.epsilon, levels) for cell in drawn]
            values = [above_zero(measured.value(cell, part)) for cell in drawn]
            axes.plot(places, values, color=color, marker=marker, linestyle="none" if apart else "solid")
            if drawn and drawn[0].model == PUBLISHED.model:
                marks = [above_zero(measured.published_value(cell, part)) for cell in drawn]
                axes.plot(places, marks, color=color, **PUBLISHED_MARK)


def _floor(panels: Sequence[Axes], measured: Measured, cells: Sequence[Sequence[Cell]]) -> None:
    """Give the panels one axis and mark estimates at or below zero on its floor."""
    low, high = log_axes(panels)
    for axes, drawn in zip(panels, cells, strict=True):
        floor = low * (high / low) ** 0.05
        for part, (_, color, _) in _PARTS.items():
            values = [(cell, measured.value(cell, part)) for cell in drawn]
            below = [place(cell.epsilon, measured.levels(drawn)) for cell, v in values if v is not None and v <= 0]
            axes.plot(below, [floor] * len(below), color=color, **_FLOOR_MARK)


def _key(figure: Figure) -> None:
    handles = [key(color=color, marker=marker) for _, color, marker in _PARTS.values()]
    handles += [key(color=MUTED, **PUBLISHED_MARK), key(color=MUTED, **_FLOOR_MARK)]
    names = [*(label for label, _, _ in _PARTS.values()), "published value", "estimate at or below zero"]
    figure.legend(handles, names, loc="outside lower left", ncols=5, columnspacing=1.5)
