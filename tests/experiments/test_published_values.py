"""The published figures: found where there are some, and under the name of the data they belong to."""

from importlib.resources import files

import pytest

from dpcate.experiments.published_values import published


def test_a_published_cell_has_error_bias_variance_and_how_many_runs_it_rests_on():
    found = published("A", 500, "DR", 1.0)
    assert (found.mse, found.bias2, found.variance, found.replicates) == (615.897, 9.48512, 606.412, 24)
    assert found.model == "dp-ebm"


def test_the_published_d_and_e_are_not_the_paper_s_table():
    assert published("D", 4000, "DR", 1.0) is None
    assert published("E", 4000, "DR", 1.0) is None
    assert published("D-published", 4000, "DR", 1.0).mse > 0
    assert published("E-published", 500, "DR", 1.0).mse == 7068.14


def test_voting_was_published_and_gotv_was_not():
    assert published("voting", 16_000, "S", 1.0).mse == pytest.approx(0.016, abs=0.002)
    assert published("GOTV", 16_000, "S", 1.0) is None


def test_without_privacy_the_authors_published_a_lasso():
    assert published("A", 500, "DR", None).model == "lasso"


def test_variance_is_published_as_error_less_bias():
    for setup in ("A", "B", "C", "D-published"):
        for epsilon in (1.0, 4.0, 16.0):
            found = published(setup, 8000, "DR", epsilon)
            assert found.variance == pytest.approx(found.mse - found.bias2, rel=1e-3)


def test_every_line_of_the_file_can_be_asked_for():
    text = files("dpcate.experiments").joinpath("data", "published_mse.csv").read_text(encoding="utf-8")
    names = {"D": "D-published", "E": "E-published", "Voting": "voting"}
    lines = [line.split(",") for line in text.splitlines() if not line.startswith(("#", "setup"))]
    assert len(lines) == 793
    for setup, n, learner, _, epsilon, mse, *_ in lines:
        found = published(names.get(setup, setup), int(n), learner, float(epsilon) if epsilon else None)
        assert found.mse == float(mse)
