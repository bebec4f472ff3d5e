"""Figure 1: the age shape function of the effect at each privacy level, ours above the paper's.

One panel per privacy level, all on one vertical axis, the true shape dotted in each. The bold curve is the first fit,
the faint ones are further fits on other rows.
"""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from dpcate.experiments.figures.style import MUTED, epsilon_label, key, make_figure, save, styled
from dpcate.experiments.findings import rising, total_variation

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from dpcate.experiments.age_shapes import AgeShape

__all__ = ["draw_figure1"]

_COLORS = {"published": "#D55E00"}
_OURS = "#0072B2"


@styled
def draw_figure1(
    shapes: Sequence[AgeShape],
    ages: NDArray[np.float64],
    truth: NDArray[np.float64],
    directory: Path,
    *,
    study: str,
    name: str = "figure1",
) -> list[Path]:
    """Draw the curves and return the paths that were written.

    Parameters
    ----------
    shapes
        Curves of fits that ended well.
    ages, truth
        Where the curves were taken, and the true curve there.
    study
        Which people, as the heading names them.
    directory, name
        Where the files go.
    """
    methods = list(dict.fromkeys(shape.method for shape in shapes))
    levels = rising({shape.epsilon for shape in shapes})
    cell = shapes[0].cell
    figure = make_figure(max(2.35 * len(levels), 9) + 1.2, 2.9 * len(methods) + 1.5)
    title = f"Figure 1.  Effect by age, {cell.learner}-learner, {study}, n = {cell.n:,}"
    figure.suptitle(title, x=0.01, ha="left", fontsize=15)
    grid = figure.subplots(len(methods), len(levels), sharex=True, sharey=True, squeeze=False)
    for row, method in zip(grid, methods, strict=True):
        for axes, level in zip(row, levels, strict=True):
            heading = epsilon_label(level) if method == methods[0] else ""
            curves = [shape.effect for shape in shapes if (shape.method, shape.epsilon) == (method, level)]
            _panel(axes, ages, truth, curves, color=_COLORS.get(method.model, _OURS), heading=heading)
        row[0].set_ylabel(f"{method.label}\nage part of the effect")
    for axes in grid[-1]:
        axes.set_xlabel("age")
    handles = [
        key(linewidth=2.2),
        key(alpha=0.35, linewidth=1),
        key(color=MUTED, linestyle=(0, (1, 1.5)), linewidth=2.5),
    ]
    names = ["one fit", "fits on other rows", "true shape (nearest additive function)"]
    figure.legend(handles, names, loc="outside lower left", ncols=3)
    return save(figure, directory, name)


def _panel(
    axes: Axes,
    ages: NDArray[np.float64],
    truth: NDArray[np.float64],
    curves: Sequence[Sequence[float]],
    *,
    color: str,
    heading: str,
) -> None:
    for curve in curves[1:]:
        axes.plot(ages, curve, color=color, alpha=0.3, linewidth=1)
    for curve in curves[:1]:
        axes.plot(ages, curve, color=color, linewidth=2.2)
    axes.plot(ages, truth, color=MUTED, linestyle=(0, (1, 1.5)), linewidth=2.5)
    axes.set_xticks([20, 40, 60, 80])
    variation = f"total variation {fmean(map(total_variation, curves)):.2f}" if curves else "no fit ended well"
    axes.set_title(f"{heading}\n{variation}" if heading else variation, fontsize=12)
