import numpy as np
import pytest

from dpcate.models.additive.newton import minimise


def quadratic(centre, matrix):
    def evaluate(at):
        away = at - centre
        return 0.5 * away @ matrix @ away, matrix @ away, matrix, np.eye(len(at))

    return evaluate


MATRIX = np.array([[2.0, 0.6], [0.6, 1.0]])


def test_a_quadratic_takes_one_step():
    calls = []
    evaluate = quadratic(np.array([1.0, -0.5]), MATRIX)
    found = minimise(lambda at: calls.append(at) or evaluate(at), np.zeros(2), low=-3.0, high=3.0, near=1e-7)
    assert found == pytest.approx([1.0, -0.5], abs=1e-12)
    assert len(calls) == 2


def test_outside_the_box_the_minimum_is_on_its_edge():
    found = minimise(quadratic(np.array([5.0, 0.0]), MATRIX), np.zeros(2), low=-2.0, high=2.0, near=1e-7)
    assert found[0] == 2.0
    assert found[1] == pytest.approx(0.6 * 3.0, abs=1e-9)  # where the slope along the edge is zero


@pytest.mark.parametrize("start", [-0.3, 0.3, 2.5])
def test_where_the_curvature_is_negative_the_search_still_goes_down(start):
    def double_well(at):
        return float((at**2 - 1) @ (at**2 - 1)), 4 * at * (at**2 - 1), np.diag(12 * at**2 - 4), np.diag(12 * at**2 + 4)

    assert minimise(double_well, np.array([start]), low=-3.0, high=3.0, near=1e-7) == pytest.approx(
        [np.sign(start)], abs=1e-6
    )


def test_a_step_that_overshoots_is_shortened():
    def steep(at):
        return float(np.sqrt(1 + at @ at)), at / np.sqrt(1 + at @ at), np.eye(1) / (1 + at @ at) ** 1.5, np.eye(1)

    assert minimise(steep, np.array([2.0]), low=-9.0, high=9.0, near=1e-7) == pytest.approx([0.0], abs=1e-6)


def test_a_start_outside_the_box_is_moved_inside():
    assert minimise(
        quadratic(np.zeros(2), MATRIX), np.array([9.0, -9.0]), low=-2.0, high=2.0, near=1e-7
    ) == pytest.approx([0.0, 0.0], abs=1e-9)
