"""The pictures of the report, as Vega-Lite specifications made with Altair.

Names from the schema enter a specification as titles and as data only, never as a field name or an expression, so
nothing in a name can be evaluated. Each picture comes with a table that says the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np

from dpcate.report.groups import typical_codes
from dpcate.report.wording import level_text, plain_number, signed
from dpcate.schema import Number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dpcate.learners.uplift import UpliftCurve
    from dpcate.models import Shape
    from dpcate.schema import Feature

__all__ = [
    "MOST_LEVELS",
    "shape_chart",
    "shape_table",
    "shared_domain",
    "tradeoff_chart",
    "typical_points",
    "uplift_chart",
]

MOST_LEVELS = 30
"""A picture shows so many levels at most: the most common ones under the released shares."""

_EVERY = 8
_INK, _BLUE, _BAND, _GREY, _SHADE = "#1c2733", "#1f5f99", "#9dc3e6", "#5b6673", "#eef1f4"
_HEIGHT, _ROW = 190, 26
_ROWS_OF_TABLE = 9


def shape_chart(column: Feature, shape: Shape, *, axis: str, domain: tuple[float, float]) -> dict[str, Any]:
    """Return the picture of one term: a curve with its band, or a dot per level with its bar.

    Parameters
    ----------
    column, shape
        The feature and its term.
    axis
        Title of the axis of the term.
    domain
        Ends of that axis; the same for all features of a model, so that their pictures can be compared.
    """
    scale = alt.Scale(domain=list(domain), nice=False, zero=False)
    return _curve(column, shape, axis, scale) if isinstance(column, Number) else _dots(shape, axis, scale)


def shared_domain(columns: Sequence[Feature], shapes: Sequence[Shape]) -> tuple[float, float]:
    """Return an axis that holds zero and all terms with their bands, as far as people are typical."""
    low = high = 0.0
    for column, shape in zip(columns, shapes, strict=True):
        typical = typical_points(column, shape)
        for values in (shape.effect, shape.lower, shape.upper):
            if values is not None:
                low, high = min(low, float(values[typical].min())), max(high, float(values[typical].max()))
    room = 0.08 * (high - low) or 1.0
    return _short(low - room), _short(high + room)


def typical_points(column: Feature, shape: Shape) -> NDArray[np.intp]:
    """Return the places on a shape's grid that ordinary people have."""
    return typical_codes(column, np.concatenate([[0.0], shape.share])).astype(np.intp) - 1


def _curve(column: Number, shape: Shape, axis: str, scale: alt.Scale) -> dict[str, Any]:
    typical = typical_points(column, shape)
    ends = {"from": _short(shape.grid[typical[0]]), "to": _short(shape.grid[typical[-1]])}
    x = alt.X("x:Q", title=column.name, scale=alt.Scale(domain=[column.low, column.high], nice=False, zero=False))
    y = alt.Y("y:Q", title=axis, scale=scale)
    layers: list[Any] = [
        _of("typical").mark_rect(color=_SHADE).encode(x="from:Q", x2="to:Q"),
        _of("origin").mark_rule(color=_GREY, strokeDash=[4, 3]).encode(y="zero:Q"),
    ]
    if shape.lower is not None:
        layers.append(
            _of("terms")
            .mark_area(color=_BAND, opacity=0.55, clip=True)
            .encode(x=x, y=alt.Y("lower:Q", title=axis, scale=scale), y2="upper:Q")
        )
    layers.append(_of("terms").mark_line(color=_BLUE, strokeWidth=2.5, clip=True).encode(x=x, y=y))
    return _spec(layers, _HEIGHT, terms=_points(column, shape), typical=[ends], origin=[{"zero": 0}])


def _points(column: Number, shape: Shape) -> list[dict[str, float]]:
    """Return the curve at every eighth cell and at the last one."""
    at = np.unique(np.append(np.arange(0, len(shape.grid), _EVERY), len(shape.grid) - 1))
    points = [{"x": _short(shape.grid[k]), "y": _short(shape.effect[k])} for k in at]
    if shape.lower is not None and shape.upper is not None:
        for point, k in zip(points, at, strict=True):
            point.update(lower=_short(shape.lower[k]), upper=_short(shape.upper[k]))
    points[0]["x"], points[-1]["x"] = column.low, column.high
    return points


def _dots(shape: Shape, axis: str, scale: alt.Scale) -> dict[str, Any]:
    common = sorted(np.argsort(-shape.share, kind="stable")[:MOST_LEVELS].tolist())
    rows = []
    for k in common:
        row = {"level": level_text(shape.grid[k]), "y": _short(shape.effect[k])}
        if shape.lower is not None and shape.upper is not None:
            row.update(lower=_short(shape.lower[k]), upper=_short(shape.upper[k]))
        rows.append(row)
    levels = alt.Y("level:N", title=None, sort=None, axis=alt.Axis(labelLimit=140))
    layers: list[Any] = [_of("origin").mark_rule(color=_GREY, strokeDash=[4, 3]).encode(x="zero:Q")]
    if shape.lower is not None:
        bar = _of("terms").mark_rule(color=_BAND, strokeWidth=7, clip=True)
        layers.append(bar.encode(y=levels, x=alt.X("lower:Q", title=axis, scale=scale), x2="upper:Q"))
    dot = _of("terms").mark_circle(color=_BLUE, size=90, opacity=1, clip=True)
    layers.append(dot.encode(y=levels, x=alt.X("y:Q", title=axis, scale=scale)))
    return _spec(layers, max(_ROW * len(rows), 2 * _ROW), terms=rows, origin=[{"zero": 0}])


def tradeoff_chart(points: list[dict[str, float]]) -> dict[str, Any]:
    """Return the attacker's best curve against guessing without any data."""
    rows = [{"x": point["alpha"], "y": _short(1 - point["beta"])} for point in points]
    share = alt.Axis(format="%", values=[0, 0.25, 0.5, 0.75, 1])
    x = alt.X("x:Q", title="wrongly suspected", axis=share, scale=alt.Scale(domain=[0, 1]))
    y = alt.Y("y:Q", title="rightly suspected, at most", axis=share, scale=alt.Scale(domain=[0, 1]))
    layers = [
        _of("best").mark_line(color=_BLUE, strokeWidth=2.5).encode(x=x, y=y),
        _of("guess").mark_line(color=_GREY, strokeDash=[4, 3]).encode(x=x, y=y),
    ]
    return _spec(layers, 240, best=rows, guess=[{"x": 0, "y": 0}, {"x": 1, "y": 1}])


def uplift_chart(curve: UpliftCurve) -> dict[str, Any]:
    """Return the gain by the share of people treated, with the band of the whole curve and treating at random."""
    start = {"x": 0.0, "y": 0.0, "lower": 0.0, "upper": 0.0}
    rows = [start] + [
        {
            "x": _short(point.share),
            "y": _short(point.gain),
            "lower": _short(point.band_lower),
            "upper": _short(point.band_upper),
        }
        for point in curve
    ]
    share = alt.Axis(format="%", values=[0, 0.2, 0.4, 0.6, 0.8, 1])
    x = alt.X("x:Q", title="people treated", axis=share, scale=alt.Scale(domain=[0, 1]))
    y, lower = (alt.Y(field, title="gain per person") for field in ("y:Q", "lower:Q"))
    layers = [
        _of("gains").mark_area(color=_BAND, opacity=0.55).encode(x=x, y=lower, y2="upper:Q"),
        _of("random").mark_line(color=_GREY, strokeDash=[4, 3]).encode(x=x, y=y),
        _of("gains").mark_line(color=_BLUE, strokeWidth=2.5, point=True).encode(x=x, y=y),
    ]
    return _spec(layers, 240, gains=rows, random=[{"x": 0, "y": 0}, {"x": 1, "y": rows[-1]["y"]}])


def shape_table(column: Feature, shape: Shape, decimals: int) -> list[tuple[str, str, str]]:
    """Return the picture in words: value, term, interval (empty where there is none)."""
    if isinstance(column, Number):
        at = np.linspace(0, len(shape.grid) - 1, _ROWS_OF_TABLE).round().astype(int).tolist()
        values = [plain_number(float(value)) for value in np.linspace(column.low, column.high, _ROWS_OF_TABLE)]
    else:
        at = sorted(np.argsort(-shape.share, kind="stable")[:MOST_LEVELS].tolist())
        values = [level_text(shape.grid[k]) for k in at]
    rows = []
    for k, value in zip(at, values, strict=True):
        band = ""
        if shape.lower is not None and shape.upper is not None:
            band = f"{signed(float(shape.lower[k]), decimals)} to {signed(float(shape.upper[k]), decimals)}"
        rows.append((value, signed(float(shape.effect[k]), decimals), band))
    return rows


def _of(name: str) -> alt.Chart:
    """Return a layer that will read the rows of this name; the rows join last, as Altair copies and checks them."""
    return alt.Chart(alt.NamedData(name))


def _short(value: float) -> float:
    """Return a number with six digits: pictures need no more."""
    return float(f"{float(value):.6g}")


def _spec(layers: Sequence[Any], height: int, **rows: list[dict[str, Any]]) -> dict[str, Any]:
    styled = alt.layer(*layers).properties(width="container", height=height)
    styled = styled.configure(
        font="system-ui, sans-serif",
        aria=False,
        background="transparent",
        autosize=alt.AutoSizeParams(type="fit-x", contains="padding"),
    )
    styled = styled.configure_axis(
        labelColor=_INK,
        titleColor=_INK,
        labelFontSize=12,
        titleFontSize=12,
        titleFontWeight="normal",
        grid=False,
        tickCount=5,
    )
    spec: dict[str, Any] = styled.configure_view(stroke=None).to_dict(validate=False)  # a test validates
    return {**spec, "datasets": rows}
