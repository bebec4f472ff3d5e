"""Figures, findings and what they are made from."""

import re

import numpy as np
import pytest

from dpcate.errors import NotAvailableError, ParameterError
from dpcate.experiments.age_shapes import AGES, AgeShape, collect_age_shapes, fit_age_shape, true_age_shape
from dpcate.experiments.figures import style
from dpcate.experiments.figures.figure1 import draw_figure1
from dpcate.experiments.figures.figure2 import draw_figure2
from dpcate.experiments.figures.figure3 import draw_figure3
from dpcate.experiments.figures.panels import Measured
from dpcate.experiments.figures.style import Method
from dpcate.experiments.findings import check_jumpiness, check_stages, check_variance, total_variation
from dpcate.experiments.grid import Cell, make_cells
from dpcate.experiments.published_values import PublishedValues, published
from dpcate.experiments.request import Request, quick_request
from dpcate.experiments.studies import StudyPaths
from dpcate.experiments.summary import CellSummary
from dpcate.experiments.summary_page import render_summary

pytest.importorskip("matplotlib")
OURS, PAPERS = Method("additive", "shared"), Method("published", "split")
LEVELS = (1.0, 4.0, None)


def summary(cell, mse=1.0, bias2=0.25, variance=0.75, failed=0):
    return CellSummary(
        cell=cell, runs=5, failed=failed, mse=mse, mse_se=0.1, bias2=bias2, variance=variance, bias2_pairs=bias2,
        variance_pairs=variance, published_mse=None,
    )  # fmt: skip


def measured(known=published, learners=("DR", "R", "S"), **numbers):
    cells = make_cells("AC", (500, 4000), LEVELS, learners=learners, models=("additive", "published"))
    return Measured({cell: summary(cell, **numbers) for cell in cells}, known, (OURS,))


def n_marks(path):
    return path.read_text(encoding="utf-8").count("<use ")


def svg(paths):
    assert [path.suffix for path in paths] == [".png", ".svg"]
    assert paths[0].read_bytes().startswith(b"\x89PNG")
    return paths[1]


def test_figure_2_has_text_as_text_of_readable_size_and_names_every_line(tmp_path):
    text = svg(draw_figure2("A", measured(learners=["R", "S"]), tmp_path)).read_text(encoding="utf-8")
    for words in ("ours (additive, shared)", "the paper's learner, rerun", "n = 4,000", "ε = 4", "published value"):
        assert words in text
    sizes = [float(size) for size in re.findall(r"font(?:-size)?: ?(?:[a-z0-9]+ )?([0-9.]+)px", text)]
    assert min(sizes) >= 11


def test_published_values_are_marks_in_figures_2_and_3(tmp_path):
    def none(*_):
        return None

    for draw, what in ((draw_figure2, "A"), (draw_figure3, {"A": 500})):
        with_marks = n_marks(svg(draw(what, measured(learners=["DR"]), tmp_path, name="with")))
        assert with_marks > n_marks(svg(draw(what, measured(none, learners=["DR"]), tmp_path, name="without")))


def test_without_a_rerun_the_published_values_still_have_a_panel(tmp_path):
    everything = measured().summaries
    ours = Measured({c: s for c, s in everything.items() if c.model == "additive"}, published, (OURS,))
    assert "the paper's learner, published" in svg(draw_figure3({"A": 500}, ours, tmp_path)).read_text(encoding="utf-8")


def test_the_published_lasso_is_no_mark_of_the_papers_learner():
    lasso = PublishedValues("lasso", 1.0, 0.5, 0.5, 25)
    assert measured(lambda *_: lasso).published_value(Cell("A", 500, None, "DR")) is None
    assert measured(lambda *_: lasso).published_value(Cell("A", 500, 1.0, "DR")) == 1.0


def test_a_squared_bias_below_zero_is_marked_and_not_lost(tmp_path):
    drawn = n_marks(svg(draw_figure3({"A": 500}, measured(), tmp_path)))
    below = n_marks(svg(draw_figure3({"A": 500}, measured(bias2=-0.01), tmp_path)))
    assert below == drawn


def test_a_logarithmic_axis_spans_a_decade_and_all_values():
    figure = style.make_figure(4, 3)
    axes = figure.subplots()
    axes.plot([1, 2, 3], [0.0160, 0.0161, float("nan")])
    low, high = style.log_axes([axes])
    assert high / low >= 10
    assert low < 0.0160 < 0.0161 < high


def test_drawing_leaves_matplotlibs_settings_alone(tmp_path):
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    draw_figure3({"A": 500}, measured(), tmp_path)
    assert dict(mpl.rcParams) == before


def test_without_matplotlib_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(style, "find_spec", lambda _: None)
    with pytest.raises(NotAvailableError, match=r"dpcate\[reproduce\]"):
        draw_figure2("A", measured(), tmp_path)


def shape(method, epsilon, height, replicate=0, error=None):
    cell = Cell("made-up voters", 500, epsilon, "DR", method.model, method.plan)
    curve = () if error else tuple(height * (-1.0) ** np.arange(len(AGES)))
    return AgeShape(cell=cell, replicate=replicate, effect=curve, error=error)


def test_figure_1_says_whose_curves_and_how_jumpy(tmp_path):
    shapes = [shape(method, level, 0.5) for method in (OURS, PAPERS) for level in LEVELS]
    text = svg(draw_figure1(shapes, AGES, np.zeros(len(AGES)), tmp_path, study="made-up")).read_text(encoding="utf-8")
    for words in ("made-up", "n = 500", "ε = 1", "not private", f"total variation {len(AGES) - 1:.2f}"):
        assert words in text


def test_jumpiness_is_judged_per_method_and_failed_fits_do_not_count():
    shapes = [shape(PAPERS, 1.0, 9.0), shape(PAPERS, 16.0, 1.0), shape(PAPERS, 1.0, 0.0, 1, error="ValueError")]
    shapes += [shape(PAPERS, None, 99.0)]  # jumpy without noise: not what the finding is about
    shapes += [shape(OURS, 1.0, 1.4), shape(OURS, 16.0, 1.0)]
    papers, ours = check_jumpiness(shapes)
    assert (papers.holds, ours.holds) == (True, False)
    assert papers.measured[0] == ("ε = 1", pytest.approx(18.0 * (len(AGES) - 1)))
    assert total_variation([1.0, 1.0]) == 0.0


@pytest.mark.parametrize(("bias2", "variance", "holds"), [(0.5, 3.0, True), (3.0, 0.5, False)])
def test_the_share_of_variance_is_that_of_what_privacy_adds(bias2, variance, holds):
    private, without = (Cell("A", 500, level, "DR") for level in (1.0, None))
    cells = {
        private: summary(private, bias2=7.0 + bias2, variance=0.1 + variance),
        without: summary(without, bias2=7.0, variance=0.1),
    }
    (finding,) = check_variance(cells)
    assert finding.holds is holds
    assert finding.measured == (("ε = 1", pytest.approx(variance / 3.5)),)


@pytest.mark.parametrize(("single", "holds"), [(2.0, True), (50.0, False)])
def test_stages_are_compared_by_what_they_lose_not_by_their_error(single, holds):
    losses = {"DR": 10.0, "R": 5.0, "S": single}
    cells = {Cell("A", 500, level, name): loss for name, loss in losses.items() for level in (1.0, None)}
    found = {c: summary(c, mse=cells[c] if c.epsilon else 1.0) for c in cells}
    (finding,) = check_stages(found)
    assert finding.holds is holds
    assert dict(finding.measured) == pytest.approx(losses)


def test_the_page_shows_ratios_and_counts_failures():
    page = render_summary(measured(failed=3), [], ["A note."], ["figure2.png"])
    assert "- A note." in page
    assert "![figure2](figure2.png)" in page
    assert "| 500 | 1 | 1 ± 0.1 | 1 ± 0.1 | 616 | 616 | 0.00162 | 6 |" in page
    assert "| ours (additive, shared) | DR | 12 | 60 | 36 |" in page


def test_the_true_age_shape_falls_and_averages_zero():
    curve = true_age_shape(StudyPaths())
    assert np.corrcoef(AGES, curve)[0, 1] < -0.98
    assert curve[0] > 0 > curve[-1]


def test_curves_resume_after_a_line_that_was_cut_off(tmp_path):
    file, cell = tmp_path / "shapes.jsonl", Cell("made-up voters", 500, 1.0, "DR")
    options = {"jobs": 1, "progress": False}
    first = collect_age_shapes([cell], 2, file, StudyPaths(), **options)
    lines = file.read_text(encoding="utf-8").splitlines()
    file.write_text(lines[0] + "\n" + lines[1][:50], encoding="utf-8")
    assert collect_age_shapes([cell], 2, file, StudyPaths(), **options) == first
    mended = file.read_bytes()
    assert collect_age_shapes([cell], 2, file, StudyPaths(), **options) == first
    assert file.read_bytes() == mended
    assert first[0] == fit_age_shape(cell, 0, StudyPaths())


def test_a_request_asks_for_what_each_figure_needs():
    sizes = Request().figure3_sizes
    assert sizes == {"A": 16000, "B": 16000, "C": 4000, "D-published": 4000, "E-published": 4000}
    assert Request(figures=(2,)).figure2_studies == ("A",)
    assert Request(figures=(2,), paths=StudyPaths(gotv="x")).figure2_studies == ("GOTV",)
    assert len(Request(figures=(2,)).cells()) == 7 * 6 * 3 * 2
    assert {cell.n for cell in Request(sizes=(500, 5000), figures=(3,)).cells()} == {5000}
    assert Request(figures=(1,)).cells() == []


def test_a_quick_request_leaves_out_the_slow_cells_but_not_from_figure_1():
    request = quick_request()
    assert not [c for c in request.cells() if c.model == "published" and c.epsilon is None]
    assert [c for c in request.shape_cells("x") if c.model == "published" and c.epsilon is None]
    with pytest.raises(ParameterError, match="`runs` must be at least 1"):
        quick_request(runs=0)
