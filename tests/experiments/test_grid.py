"""Cells: what may be asked for, and seeds that follow from it."""

import pytest

from dpcate.errors import ParameterError
from dpcate.experiments.grid import Cell, make_cells


def test_all_learners_see_the_same_rows_and_none_shares_its_noise():
    cells = make_cells("A", (500,), (1.0, None), models=("additive", "ebm"), plans=("shared", "split"))
    assert len({cell.data_seed(3) for cell in cells}) == 1
    assert len({cell.seed(replicate) for cell in cells for replicate in range(5)}) == 5 * len(cells)


def test_rows_differ_between_studies_sizes_and_replicates():
    cells = make_cells(("A", "B"), (500, 1000), (1.0,), learners=("R",))
    assert len({cell.data_seed(replicate) for cell in cells for replicate in range(25)}) == 100


def test_seeds_are_the_same_on_every_machine():
    cell = Cell("A", 500, 1.0, "R", "additive", "shared")
    assert (cell.data_seed(0), cell.seed(0)) == (7181545411150803881, 6908379376028763826)


def test_whole_and_decimal_numbers_name_the_same_cell():
    assert Cell("A", 500, 1, "R") == Cell("A", 500, 1.0, "R")
    assert Cell("A", 500, 1, "R").seed(0) == Cell("A", 500, 1.0, "R").seed(0)


def test_the_published_learners_always_split():
    cells = make_cells("A", (500,), (1.0,), learners=("DR",), models=("published",), plans=("shared", "split"))
    assert [cell.plan for cell in cells] == ["split"]


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"learner": "T"}, "learner"),
        ({"model": "forest"}, "model"),
        ({"plan": "both"}, "plan"),
        ({"n": 0}, "n"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": float("inf")}, "epsilon"),
    ],
)
def test_what_cannot_be_run_is_refused_by_name(change, name):
    with pytest.raises(ParameterError, match=f"`{name}`"):
        Cell(**{"study": "A", "n": 500, "epsilon": 1.0, "learner": "R", **change})
