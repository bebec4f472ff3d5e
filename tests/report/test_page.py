"""The report in a real browser: it draws, asks for nothing, and computes what the library computes."""

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from tests.learners.confounded import shifted
from tests.report.conftest import BAD_LEVELS, HOSTILE, rows, study

from dpcate import MultiStage, Number, Schema, SLearner, Stage, load
from dpcate.report import make_card, page, render_report

CLOSE = 1e-6
PEOPLE = [  # age, hostile category, income, smokes; None is not known
    ("18", BAD_LEVELS[0], "-0.3", "0"),
    ("105", BAD_LEVELS[1], "199.7", "1"),
    ("64.37", BAD_LEVELS[3], "12.5", "1"),
    ("300", BAD_LEVELS[2], "-40", "0"),  # beyond the bounds
    (None, None, "55", "1"),
    ("41", BAD_LEVELS[1], None, None),
    (None, None, None, None),
]


@pytest.fixture(scope="module")
def html(fitted):
    return render_report(fitted, make_card(fitted))


@pytest.fixture(scope="module")
def html_void(seeded):
    return render_report(seeded, make_card(seeded))


def describe(shown, person):
    for index, value in enumerate(person):
        field = shown.locator(f"#feature-{index}")
        if field.evaluate("node => node.tagName") == "SELECT":
            field.select_option(**({"value": "0"} if value is None else {"label": value}))
        else:
            field.fill("" if value is None else value)


def as_frame(person, schema):
    return {
        feature.name: np.array(
            [value if value is None or not isinstance(feature, Number) else float(value)], dtype=object
        )
        for feature, value in zip(schema.features, person, strict=True)
    }


def answer(shown, name):
    return float(shown.locator("#answer").get_attribute(f"data-{name}"))


def test_the_panel_gives_the_librarys_effect_and_interval(open_page, html, fitted):
    shown = open_page(html)
    seen = set()
    for person in PEOPLE:
        describe(shown, person)
        people = as_frame(person, fitted.schema_)
        low, high = fitted.effect_interval(people)
        assert answer(shown, "effect") == pytest.approx(fitted.effect(people)[0], abs=CLOSE), person
        assert answer(shown, "lower") == pytest.approx(low[0], abs=CLOSE), person
        assert answer(shown, "upper") == pytest.approx(high[0], abs=CLOSE), person
        seen.add(answer(shown, "effect"))
    assert len(seen) > 4
    assert shown.troubles == []


def test_the_panel_s_interval_is_centred_where_the_librarys_is(open_page, fitted):
    release = shifted(fitted, 0.04)
    shown, at_an_end, cut = open_page(render_report(release, make_card(release))), [], []
    for person in PEOPLE:
        describe(shown, person)
        people = as_frame(person, release.schema_)
        low, high = release.effect_interval(people)
        assert answer(shown, "lower") == pytest.approx(low[0], abs=CLOSE), person
        assert answer(shown, "upper") == pytest.approx(high[0], abs=CLOSE), person
        at_an_end.append(release.effect(people)[0] in (low[0], high[0]))
        cut.append(low[0] == -1.0 or high[0] == 1.0)
    assert set(at_an_end) == {True, False}, "some had to be made longer to hold the estimate"
    assert set(cut) == {True, False}, "some stop at the bounds"
    assert shown.troubles == []


def test_the_fit_under_test_has_products_so_that_the_panel_must_compute_them(fitted):
    assert fitted.models_["effect"].products


def test_moving_a_slider_changes_the_number(open_page, html, fitted):
    shown = open_page(html)
    seen = set()
    for value in (20, 40, 60, 80):
        shown.locator("#slider-0").evaluate(
            "(node, value) => { node.value = value; node.dispatchEvent(new Event('input')); }", value
        )
        seen.add(answer(shown, "effect"))
        assert float(shown.locator("#feature-0").input_value()) == value
    shown.locator("#slider-0").focus()
    before = answer(shown, "effect")
    for _ in range(12):
        shown.keyboard.press("ArrowLeft")
    assert answer(shown, "effect") != before
    assert len(seen) == 4
    text = shown.locator("#answer").inner_text()
    assert float(text.replace("\N{MINUS SIGN}", "-")) == pytest.approx(answer(shown, "effect"), abs=0.006)


def test_the_page_draws_without_errors_or_requests_and_stays_small(open_page, html):
    shown = open_page(html)
    assert shown.troubles == []
    places = shown.locator("div.chart")
    assert places.count() == 13  # three models of four features, and the trade-off curve
    for index in range(places.count()):
        box = places.nth(index).locator("svg.marks").bounding_box()
        assert box["width"] > 200
        assert box["height"] > 40
    assert len(html.encode()) < page.LARGEST


def test_names_and_levels_stay_text(open_page, html):
    shown = open_page(html)
    assert shown.troubles == []
    assert shown.locator("label[for=feature-1]").inner_text() == HOSTILE
    assert shown.locator("#feature-1 option").all_inner_texts() == [*BAD_LEVELS, "other or not known"]
    assert shown.locator("img").count() == 0
    assert "alert(" not in "".join(shown.locator("script:not([type])").all_inner_texts()[1:])
    assert shown.locator("script").count() == 3
    assert html.count(HOSTILE) == 0


def test_a_script_that_got_in_would_not_run(open_page, html):
    shown = open_page(html.replace("</footer>", "<script>document.title = 'taken over'</script></footer>"))
    assert shown.title() == "The effect of called on vote"
    assert any("Content Security Policy" in trouble for trouble in shown.troubles)


def test_nothing_stands_in_the_way_of_people_with_disabilities(open_page, html, html_void):
    for each, width in ((html, 1100), (html_void, 360)):
        shown = open_page(each, width=width)
        shown.evaluate("document.querySelectorAll('details').forEach(node => { node.open = true; })")
        found = Axe().run(shown).response["violations"]
        assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []


def test_a_phone_needs_no_sideways_scrolling(open_page, html, html_void):
    for each in (html, html_void):
        shown = open_page(each, width=360)
        shown.evaluate("document.querySelectorAll('details').forEach(node => { node.open = true; })")
        assert shown.evaluate("document.documentElement.scrollWidth") <= 360


def test_on_paper_the_controls_go_and_the_described_person_appears(open_page, html):
    shown = open_page(html)
    assert not shown.locator("#described").is_visible()
    shown.emulate_media(media="print")
    assert not shown.locator("#person").is_visible()
    assert shown.locator("#described").is_visible()
    assert shown.locator("#described").inner_text().startswith("age: ")
    assert shown.pdf(format="A4")[:4] == b"%PDF"


def test_a_void_release_says_so_before_anything_else(open_page, html_void, html):
    shown = open_page(html_void)
    assert shown.locator("main").inner_text().startswith("VOID")
    assert "Void: the limits below do not hold" in shown.locator("main").inner_text()
    assert "VOID" not in open_page(html).locator("main").inner_text()


def test_a_model_that_does_not_know_its_error_shows_no_interval(open_page, html_void, seeded):
    shown = open_page(html_void)
    describe(shown, PEOPLE[2])
    assert answer(shown, "effect") == pytest.approx(seeded.effect(as_frame(PEOPLE[2], study()))[0], abs=CLOSE)
    assert shown.locator("#answer").get_attribute("data-lower") is None
    text = shown.locator("main").inner_text()
    assert "95 % interval" not in text
    assert text.count("this model does not report its error") >= 3


def test_a_constant_effect_is_called_the_same_for_everybody(open_page):
    learner = SLearner(study(), epsilon=4.0).fit_table(rows(2000))
    shown = open_page(render_report(learner, make_card(learner), title="A title & more"))
    assert "one effect for everybody" in shown.locator("main").inner_text()
    assert shown.locator("h1").inner_text() == "A title & more"
    assert answer(shown, "effect") == pytest.approx(learner.ate(), abs=CLOSE)
    assert answer(shown, "lower") == pytest.approx(learner.ate_interval()[0], abs=CLOSE)
    assert shown.troubles == []


def test_a_saved_learner_gives_the_same_page(fitted, html, tmp_path):
    fitted.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert render_report(again, make_card(again)) == html


def many_features(n):
    columns = [Number(f"x{k}", 0, 1) for k in range(n)]
    schema = Schema(Number("y", 0, 1), study().treatment, columns, propensity=0.5)
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, n))
    stage = Stage(name="effect", target=lambda rows, _: rows.Y, bounds=lambda *_: (0, 1))
    return MultiStage(schema, [stage], epsilon=5.0, random_state=0).fit(X[:, 0], rng.integers(0, 2, 300), X=X)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "drawn", "panel"), [(25, True, True), (45, True, False)])
def test_with_very_many_features_the_page_gives_up_extras_but_stays_small(open_page, n, drawn, panel):
    learner = many_features(n)
    html = render_report(learner, make_card(learner))
    assert len(html.encode()) <= page.LARGEST
    shown = open_page(html)
    assert shown.troubles == []
    assert (shown.locator("img.chart").count() > n // 2) == drawn
    assert (shown.locator("#answer").count() == 1) == panel
    assert "dpcate effect" in shown.locator("main").inner_text() or panel
    if panel:
        X = np.full((1, n), 0.25)
        for index in range(n):
            shown.locator(f"#feature-{index}").fill("0.25")
        assert answer(shown, "effect") == pytest.approx(learner.effect(X)[0], abs=CLOSE)
        assert answer(shown, "upper") == pytest.approx(learner.effect_interval(X)[1][0], abs=CLOSE)
