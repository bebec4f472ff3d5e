"""Pictures are valid Vega-Lite, and names are never more than text in them."""

import altair as alt
import numpy as np
import pytest
from tests.report.conftest import BAD_LEVELS, HOSTILE

from dpcate.report import make_card
from dpcate.report.charts import MOST_LEVELS, shape_chart, shape_table, shared_domain, typical_points
from dpcate.report.sections import report_content
from dpcate.schema import Category, Number


@pytest.fixture(scope="module")
def charts(fitted):
    return report_content(fitted, make_card(fitted))[1]


def texts_by_place(value, path=()):
    if isinstance(value, dict):
        for key, item in value.items():
            yield from texts_by_place(item, (*path, key))
    elif isinstance(value, list):
        for item in value:
            yield from texts_by_place(item, path)
    elif isinstance(value, str):
        yield path, value


def test_every_picture_is_valid(charts):
    assert len(charts) == 13
    for spec in charts.values():
        alt.LayerChart.from_dict(spec, validate=True)
        names = {layer["data"]["name"] for layer in spec["layer"]}
        assert names == set(spec["datasets"])


def test_names_and_levels_enter_as_titles_and_data_only(charts, fitted):
    number = shape_chart(Number(HOSTILE, 0, 1), fitted.shapes()["age"], axis="a", domain=(-1, 1))
    found = [
        path
        for spec in (*charts.values(), number)
        for path, text in texts_by_place(spec)
        if text in (HOSTILE, *BAD_LEVELS)
    ]
    assert found
    assert {path[-1] for path in found} == {"title", "level"}


def test_the_axis_holds_zero_and_all_typical_bands(fitted):
    model, shapes = fitted.models_["effect"], list(fitted.shapes().values())
    low, high = shared_domain(model.columns, shapes)
    assert low < 0 < high
    for column, shape in zip(model.columns, shapes, strict=True):
        typical = typical_points(column, shape)
        assert low <= shape.lower[typical].min()
        assert shape.upper[typical].max() <= high


def test_the_curve_in_the_picture_is_the_released_one(fitted):
    column, shape = fitted.schema_.features[0], fitted.shapes()["age"]
    spec = shape_chart(column, shape, axis="a", domain=(-1, 1))
    points = spec["datasets"]["terms"]
    assert [points[0]["x"], points[-1]["x"]] == [18.0, 105.0]
    at = [np.argmin(np.abs(shape.grid - point["x"])) for point in points]
    assert np.allclose([point["y"] for point in points], shape.effect[at], rtol=1e-5)
    assert np.allclose([point["lower"] for point in points], shape.lower[at], rtol=1e-5)
    assert np.allclose([point["upper"] for point in points], shape.upper[at], rtol=1e-5)


def test_the_table_says_what_the_picture_shows(fitted):
    name = "smokes"
    column, shape = fitted.schema_.features[3], fitted.shapes()[name]
    rows = shape_table(column, shape, 4)
    assert [row[0] for row in rows] == ["0", "1"]
    shown = [float(row[1].replace("\N{MINUS SIGN}", "-")) for row in rows]
    assert shown == pytest.approx(shape.effect.tolist(), abs=1e-4)
    age = shape_table(Number("age", 18, 105), fitted.shapes()["age"], 3)
    assert (age[0][0], age[-1][0], len(age)) == ("18", "105", 9)


def test_a_category_with_very_many_levels_shows_the_common_ones(fitted):
    shape = fitted.shapes()["smokes"]
    n = 100
    share = np.full(n, 0.001)
    share[50:70] = 0.04
    many = type(shape)(
        name="town", grid=np.array([f"town {k}" for k in range(n)], dtype=object), effect=np.arange(n) / n, lower=None,
        upper=None, other=0.0, share=share,
    )  # fmt: skip
    spec = shape_chart(Category("town", list(many.grid)), many, axis="a", domain=(0, 1))
    shown = [row["level"] for row in spec["datasets"]["terms"]]
    assert len(shown) == MOST_LEVELS
    assert {f"town {k}" for k in range(50, 70)} <= set(shown)
