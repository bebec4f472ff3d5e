"""How all figures look: fonts, colours, the axis of epsilon, and where they are written.

A learner, a size and a privacy level keep their colour in every figure. The colours can be told apart by colour-blind
readers, and what colour says is said a second time by a label or a marker.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import wraps
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from dpcate.errors import NotAvailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

__all__ = [
    "INK",
    "MUTED",
    "PUBLISHED_MARK",
    "Method",
    "check_matplotlib",
    "epsilon_axis",
    "epsilon_label",
    "key",
    "log_axes",
    "make_figure",
    "place",
    "ramp",
    "save",
    "size_axis",
    "size_label",
    "styled",
]

P = ParamSpec("P")
R = TypeVar("R")

INK = "#222222"
MUTED = "#6b6b6b"
PUBLISHED_MARK: dict[str, Any] = {"marker": "D", "linestyle": "none", "markersize": 7, "markerfacecolor": "none"}
"""Values published with the paper: open diamonds, everywhere."""

_SETTINGS: dict[str, Any] = {
    "font.size": 13,
    "axes.titlesize": 13,
    "axes.labelsize": 13,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.8,
    "xtick.color": INK,
    "ytick.color": INK,
    "text.color": INK,
    "lines.linewidth": 1.9,
    "lines.markersize": 5,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "dpcate",
}
_RAMP = ((0.99, 0.65, 0.22), (0.90, 0.36, 0.37), (0.67, 0.18, 0.52), (0.42, 0.10, 0.60), (0.16, 0.07, 0.45))
_NOT_PRIVATE_AT = 4.0  # steps of the axis: how many times the largest epsilon


@dataclass(frozen=True, slots=True)
class Method:
    """A way to fit that gets panels of its own: a model and a plan."""

    model: str
    plan: str

    @property
    def label(self) -> str:
        """Return the heading of the method's panels."""
        if self.model == "published":
            return "the paper's learner, rerun"
        if self.model == "interpret":
            return f"interpret's model ({self.plan})"
        return f"ours ({self.model}, {self.plan})"


def check_matplotlib() -> None:
    """Refuse to start where matplotlib is not installed."""
    if find_spec("matplotlib") is None:
        raise NotAvailableError('the figures need an extra: pip install "dpcate[reproduce]".')


def styled(draw: Callable[P, R]) -> Callable[P, R]:
    """Make a function draw in the common style, and leave matplotlib's own settings as they were."""

    @wraps(draw)
    def drawn(*args: P.args, **options: P.kwargs) -> R:
        check_matplotlib()
        import matplotlib as mpl

        with mpl.rc_context(_SETTINGS):  # type: ignore[arg-type] # names of settings are strings here
            return draw(*args, **options)

    return drawn


def make_figure(width: float, height: float) -> Figure:
    """Return an empty figure, sizes in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, directory: Path, name: str) -> list[Path]:
    """Write the figure as PNG and as SVG with text as text; return the paths."""
    directory.mkdir(parents=True, exist_ok=True)
    paths = [directory / f"{name}.{suffix}" for suffix in ("png", "svg")]
    for path in paths:
        metadata = {"Date": None} if path.suffix == ".svg" else {}
        figure.savefig(path, dpi=150, metadata=metadata, facecolor="white")
        figure.set_layout_engine("none")  # the places were found for the first file and stay
    return paths


def ramp(count: int) -> list[tuple[float, float, float]]:
    """Return ``count`` colours from light orange to dark violet, evenly spaced in a ramp of falling lightness."""
    stops = np.asarray(_RAMP)
    at = np.linspace(0, len(stops) - 1, count) if count > 1 else np.array([len(stops) - 1.0])
    channels = [np.interp(at, np.arange(len(stops)), stops[:, channel]) for channel in range(3)]
    return [(float(r), float(g), float(b)) for r, g, b in zip(*channels, strict=True)]


def epsilon_label(epsilon: float | None) -> str:
    """Return how a privacy level is named in keys."""
    return "not private" if epsilon is None else f"ε = {epsilon:g}"


def size_label(n: int) -> str:
    """Return how a sample size is named in keys."""
    return f"n = {n:,}"


def place(epsilon: float | None, levels: Iterable[float | None]) -> float:
    """Return where a privacy level stands on the axis: not private stands apart, right of the largest epsilon."""
    if epsilon is not None:
        return epsilon
    return _NOT_PRIVATE_AT * max((level for level in levels if level is not None), default=1.0)


def epsilon_axis(axes: Axes, levels: Sequence[float | None]) -> None:
    """Make the horizontal axis one of privacy levels."""
    axes.set_xscale("log", base=2)
    names = ["none" if level is None else f"{level:g}" for level in levels]
    _ticks(axes, [place(level, levels) for level in levels], names)


def size_axis(axes: Axes, sizes: Sequence[int]) -> None:
    """Make the horizontal axis one of sample sizes."""
    axes.set_xscale("log", base=2)
    names = [f"{n / 1000:g}k" if n >= 1000 else str(n) for n in sizes]
    _ticks(axes, [float(n) for n in sizes], names)


def _ticks(axes: Axes, places: list[float], names: list[str]) -> None:
    from matplotlib.ticker import NullLocator

    axes.set_xticks(places, names)
    axes.xaxis.set_minor_locator(NullLocator())
    if places:
        axes.set_xlim(min(places) / 1.35, max(places) * 1.35)


def log_axes(panels: Sequence[Axes]) -> tuple[float, float]:
    """Give panels one logarithmic vertical axis of at least a decade, with plain numbers; return its limits."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    heights = [float(y) for axes in panels for line in axes.get_lines() for y in np.ravel(line.get_ydata())]
    seen = [height for height in heights if 0 < height < np.inf] or [0.1, 1.0]
    low, high = min(seen), max(seen)
    stretch = max(1.0, np.sqrt(10 / (high / low))) * (high / low) ** 0.06
    low, high = low / stretch, high * stretch
    for axes in panels:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(base=10, subs=(1.0,) if high / low > 1000 else (1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(FuncFormatter(_plain))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.set_ylim(low, high)
    return low, high


def _plain(value: float, _: object) -> str:
    return f"{value:g}" if 1e-4 <= value < 1e5 else f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e")


def key(**options: Any) -> Line2D:  # noqa: ANN401 - line properties
    """Return one entry of a key: a line or a mark without data."""
    from matplotlib.lines import Line2D

    return Line2D([], [], **{"color": INK, **options})
