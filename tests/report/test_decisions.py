"""Groups, the rule of whom to treat, and the check on held-out rows: the library's numbers, as text."""

from dataclasses import replace

import altair as alt
import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from tests.report.conftest import BAD_LEVELS, HOSTILE, rows, study

from dpcate import Category, MultiStage, Number, RLearner, Schema, SLearner, Stage
from dpcate.report import make_card, page, render_report
from dpcate.report.charts import MOST_LEVELS
from dpcate.report.subgroups import MOST_FEATURES, WIDTH, describe_subgroups
from dpcate.report.uplift import describe_uplift
from dpcate.report.whom import describe_calibration, describe_rule
from dpcate.report.wording import signed


@pytest.fixture(scope="module")
def validated():
    learner = RLearner(study(), epsilon=4.0, validate=0.3, random_state=2).fit_table(rows())
    learner.guarantee_ = replace(learner.guarantee_, void=False, notes=())
    return learner


def with_effect_of(features, columns, *, n=400, epsilon=8.0):
    """A learner whose "effect" is a regression: quick, and as wide as a test needs."""
    schema = Schema(Number("y", 0, 1), Category("t", [0, 1]), features, propensity=0.5)
    rng = np.random.default_rng(1)
    table = {**columns(rng, n), "y": rng.uniform(size=n), "t": rng.integers(0, 2, n)}
    stage = Stage(name="effect", target=lambda rows, _: rows.Y, bounds=lambda *_: (0, 1))
    return MultiStage(schema, [stage], epsilon=epsilon, random_state=0).fit_table(table)


def test_groups_have_the_librarys_effects_and_simultaneous_intervals(fitted):
    shown = describe_subgroups(fitted, 4)
    assert {feature["name"] for feature in shown["features"]} == {feature.name for feature in study().features}
    for feature in shown["features"]:
        found = fitted.group_effects(feature["name"])
        assert found.simultaneous
        assert [row["label"] for row in feature["rows"]] == [group.label for group in found]
        for row, group in zip(feature["rows"], found, strict=True):
            assert row["effect"] == signed(group.effect, 4)
            assert row["interval"] == f"{signed(group.lower, 4)} to {signed(group.upper, 4)}"


def test_the_pictures_of_groups_share_one_scale(fitted):
    pictures = [row for feature in describe_subgroups(fitted, 4)["features"] for row in feature["rows"]]
    effects = [
        group.effect
        for feature in describe_subgroups(fitted, 4)["features"]
        for group in fitted.group_effects(feature["name"])
    ]
    inside = [(effect, row["dot"]) for effect, row in zip(effects, pictures, strict=True) if row["dot"] is not None]
    slope, start = np.polyfit(*zip(*inside, strict=True), 1)
    assert slope > 0
    assert np.abs([start + slope * effect - dot for effect, dot in inside]).max() < 0.2
    assert len({row["zero"] for row in pictures}) == 1
    assert all(0 <= row["left"] <= row["right"] <= WIDTH for row in pictures)


def test_groups_that_lie_apart_are_said_to_differ_and_others_are_not(fitted):
    words = {feature["name"]: feature["words"] for feature in describe_subgroups(fitted, 3)["features"]}
    assert "intervals lie apart" in words["age"]
    assert words["smokes"] == "No clear difference: all intervals overlap."
    groups = list(fitted.group_effects("age"))
    assert max(group.lower for group in groups) > min(group.upper for group in groups)


def test_at_most_six_features_and_thirty_levels_are_shown():
    n_levels = MOST_LEVELS + 10
    features = [Category("many", list(range(n_levels))), *(Number(f"x{k}", 0, 1) for k in range(8))]

    def columns(rng, n):
        return {"many": rng.integers(0, n_levels, n), **{f"x{k}": rng.uniform(size=n) for k in range(8)}}

    shown = describe_subgroups(with_effect_of(features, columns), 3)
    assert len(shown["features"]) == MOST_FEATURES
    assert shown["cut"]
    many = next(feature for feature in shown["features"] if feature["name"] == "many")
    assert len(many["rows"]) == MOST_LEVELS
    assert f"{MOST_LEVELS} most common of " in many["note"]


def test_a_table_of_a_few_rows_still_gives_all_sections():
    tiny = RLearner(study(), epsilon=0.2).fit_table({name: values[:3] for name, values in rows(10).items()})
    html = render_report(tiny, make_card(tiny))
    assert 'id="subgroups"' in html
    assert 'id="whom"' in html


def test_the_rule_is_the_librarys(fitted):
    shown, policy = describe_rule(fitted, 4), fitted.policy(cost=0.0, depth=2)
    assert "\n".join(f"{verdict}: {words}" for verdict, words in shown["lines"]) == policy.rules()
    assert shown["gain"] == signed(policy.expected_gain, 4)
    low, high = policy.gain_interval()
    assert shown["interval"] == f"{signed(low, 4)} to {signed(high, 4)}"
    assert shown["sure"] == (low > 0)
    assert float(shown["share"].split()[0]) == pytest.approx(100 * policy.share_treated, abs=0.06)


def test_where_the_model_does_not_know_its_error_nothing_is_shown(seeded):
    assert describe_subgroups(seeded, 3) is describe_rule(seeded, 3) is describe_calibration(seeded, 3) is None


def test_the_page_has_the_sections_with_their_numbers(open_page, validated):
    html = render_report(validated, make_card(validated))
    shown = open_page(html)
    text = shown.locator("main").inner_text()
    assert shown.troubles == []
    assert shown.locator("table.dots").count() == len(study().features)
    assert shown.locator("table.dots tbody tr").count() == shown.locator("svg.dot").count() > 8
    assert shown.locator("svg.dot").first.bounding_box()["width"] > 100
    rule = describe_rule(validated, 3)
    assert shown.locator("ul.rules li").count() == len(rule["lines"])
    assert "Take care: the rule follows from noisy averages" in text
    assert "Checked on held-out people" in text
    assert len(html.encode()) < page.LARGEST


def test_hostile_names_stay_text_in_groups_and_rules(open_page):
    """The hostile category is the only feature, so groups and rule must name it and its levels."""
    schema = Schema(Number("y", 0, 1), Category("t", [0, 1]), [Category(HOSTILE, BAD_LEVELS)], propensity=0.5)
    rng = np.random.default_rng(0)
    level, arm = rng.integers(0, 4, 8000), rng.integers(0, 2, 8000)
    table = {"y": 0.5 + (arm - 0.5) * np.where(level < 2, 0.8, -0.8), "t": arm, HOSTILE: np.array(BAD_LEVELS)[level]}
    learner = RLearner(schema, epsilon=8.0, random_state=1).fit_table(table)
    html = render_report(learner, make_card(learner))
    shown = open_page(html)
    assert shown.troubles == []
    assert shown.locator("#subgroup-1").inner_text() == HOSTILE
    heads = shown.locator("table.dots tbody th").all_inner_texts()
    assert [head.rsplit(" (", 1)[0] for head in heads] == BAD_LEVELS
    rules = shown.locator("ul.rules").inner_text()
    assert HOSTILE in rules
    assert any(level in rules for level in BAD_LEVELS[:2])
    assert html.count(HOSTILE) == 0
    assert shown.locator("img").count() == 0


def test_without_a_known_error_the_sections_say_why_they_are_left_out(open_page, seeded):
    text = open_page(render_report(seeded, make_card(seeded))).locator("main").inner_text()
    assert "Average effects of groups are left out" in text
    assert "A rule of whom to treat is left out" in text
    assert "held-out people" not in text


def test_one_effect_for_everybody_has_no_groups_but_a_rule():
    learner = SLearner(study(), epsilon=4.0).fit_table(rows(2000))
    html = render_report(learner, make_card(learner))
    assert "All groups have the average effect" in html
    assert [words for _, words in describe_rule(learner, 3)["lines"]] == ["everybody"]


def test_checks_are_a_section_of_their_own_and_not_models(open_page, validated):
    assert {"validation_mean", "validation_slope", "validation_curve"} < set(validated.models_)
    shown = open_page(render_report(validated, make_card(validated)))
    assert not any("validation" in text for text in shown.locator("h3").all_inner_texts())
    assert shown.locator("div.chart").count() == 14  # 13 as without held-out rows, and the uplift curve
    found = validated.calibration()
    mean, slope = describe_calibration(validated, 4)["rows"]
    assert mean["value"] == signed(found.mean, 4)
    assert mean["interval"] == f"{signed(found.mean_interval[0], 4)} to {signed(found.mean_interval[1], 4)}"
    assert slope["right"].startswith("+1")
    assert slope["agrees"] == (found.slope_interval[0] <= 1 <= found.slope_interval[1])
    cells = shown.locator("section[aria-labelledby=calibration] td").all_inner_texts()
    assert slope["interval"] in cells


def test_the_uplift_curve_is_drawn_and_told_with_the_librarys_numbers(open_page, validated):
    shown = open_page(render_report(validated, make_card(validated)))
    assert shown.troubles == []
    section, curve = shown.locator("section[aria-labelledby=uplift]"), validated.uplift_curve()
    assert section.locator("div.chart svg, div.chart canvas").count() == 1
    told = describe_uplift(validated, 3, {}, iter(["here"]))
    heads, cells = section.locator("tbody th").all_inner_texts(), section.locator("tbody td").all_inner_texts()
    assert [float(head.split()[0]) for head in heads] == pytest.approx([100 * p.share for p in curve], abs=0.06)
    assert told["rows"][0][1] == signed(curve.points[0].gain, 3)
    assert told["rows"][-1][1] == told["rows"][-1][3], "everybody treated is the same at random"
    assert len(cells) == 3 * len(curve)
    assert told["area"] in section.inner_text()
    assert told["verdict"] == ("better" if curve.qini_interval[0] > 0 else "unclear")


def test_the_picture_of_the_uplift_curve_is_valid_and_starts_at_zero(validated):
    charts = {}
    describe_uplift(validated, 3, charts, iter(["here"]))
    spec = charts["here"]
    alt.LayerChart.from_dict(spec, validate=True)
    assert {layer["data"]["name"] for layer in spec["layer"]} == set(spec["datasets"])
    gains, at_random = spec["datasets"]["gains"], spec["datasets"]["random"]
    assert gains[0] == {"x": 0.0, "y": 0.0, "lower": 0.0, "upper": 0.0}
    assert [row["y"] for row in gains[1:]] == pytest.approx([p.gain for p in validated.uplift_curve()], rel=1e-5)
    assert at_random[-1]["y"] == gains[-1]["y"]


def test_an_effect_without_differences_has_no_uplift_curve_in_the_page(validated):
    flat = RLearner(study(), epsilon=4.0, validate=0.3, random_state=2).fit_table(rows())
    document = flat.models_["validation_curve"].details["slices"]
    whole = {
        name: [sum(value)] if isinstance(value, list) else value for name, value in document.items() if name != "shift"
    }
    one = {"slices": {**whole, "cuts": [], "loadings": [0.25], "shift": [[0.0]]}}
    flat.models_["validation_curve"] = replace(flat.models_["validation_curve"], details=one)
    assert flat.uplift_curve().qini == 0.0
    assert describe_uplift(flat, 3, {}, iter(())) is None


def test_a_learner_without_held_out_rows_has_no_check(fitted):
    assert describe_calibration(fitted, 3) is None
    assert describe_uplift(fitted, 3, {}, iter(())) is None
    html = render_report(fitted, make_card(fitted))
    assert 'id="calibration"' not in html
    assert 'id="uplift"' not in html


@pytest.mark.parametrize("width", [1100, 360])
def test_a_page_with_all_sections_is_open_to_everybody_and_fits_a_phone(open_page, validated, width):
    shown = open_page(render_report(validated, make_card(validated)), width=width)
    shown.evaluate("document.querySelectorAll('details').forEach(node => { node.open = true; })")
    found = Axe().run(shown).response["violations"]
    assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []
    assert shown.evaluate("document.documentElement.scrollWidth") <= width
    assert shown.locator("svg.dot").first.is_visible() == (width > 480)  # a phone has the numbers alone
    assert shown.locator("table.dots td").first.is_visible()
