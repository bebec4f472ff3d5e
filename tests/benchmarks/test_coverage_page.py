"""The documentation shows the coverage that was measured last."""

import json

import pytest
from benchmarks.coverage_page import PAGE, page
from benchmarks.report import RESULTS


@pytest.fixture(scope="module")
def cells():
    return json.loads((RESULTS / "coverage.json").read_text(encoding="utf-8"))["cells"]


def test_the_page_is_that_of_the_last_results(cells):
    assert PAGE.read_text(encoding="utf-8") == page(cells)


def test_every_cell_is_shown_and_those_beyond_the_bar_are_marked(cells):
    text = page(cells)
    beyond = sum(not 0.93 <= cell["people"] <= 0.99 for cell in cells)
    beyond += sum(not 0.93 <= cell["aipw"] <= 0.98 for cell in cells)
    assert text.count("**") == 2 * (beyond + 1), "and the word that explains it"
    assert text.count(" (") >= 2 * len(cells)
    worse = [{**cell, "aipw": 0.5} for cell in cells]
    assert page(worse).count("**50.0**") == len(cells)
