import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dpcate.accounting import Gaussian, Guarantee
from dpcate.errors import ParameterError
from dpcate.mechanisms import LIMIT, SeededNoise, VectorSum

NASTY = [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -0.0, 0.0, 1.0, -1.0, 1 - 2**-53, 0.7]
floats = st.one_of(st.sampled_from(NASTY), st.floats(), st.floats(-2, 2))
N_ENTRIES, N_CELLS = 3, 4
vectors = hnp.arrays(np.float64, N_ENTRIES, elements=floats)
cell_rows = st.tuples(floats, st.integers(0, N_CELLS - 1))


def make(neighbours="replace", mu=1.0, bound=1.0):
    return VectorSum(bound=bound, mu=mu, neighbours=neighbours)


def summed(rows):
    return make().exact(np.array(rows, dtype=np.float64).reshape(len(rows), N_ENTRIES))


def summed_by_cell(rows):
    values = np.array([value for value, _ in rows], dtype=np.float64)
    return make().exact_by_cell(values, np.array([cell for _, cell in rows], dtype=np.uint16), N_CELLS)


def squared_distance(one, other):
    return sum((int(a) - int(b)) ** 2 for a, b in zip(one, other, strict=True))


ways = pytest.mark.parametrize(("statistic", "row"), [(summed, vectors), (summed_by_cell, cell_rows)])


@ways
def test_replacing_a_row_moves_the_sum_by_no_more_than_stated(statistic, row):
    @settings(deadline=None)
    @given(rows=st.lists(row, max_size=5), old=row, new=row)
    def check(rows, old, new):
        distance = squared_distance(statistic([*rows, old]), statistic([*rows, new]))
        assert distance <= make("replace").mechanism.squared_sensitivity == 4 * LIMIT**2

    check()


@ways
def test_adding_a_row_moves_the_sum_by_no_more_than_stated(statistic, row):
    @settings(deadline=None)
    @given(rows=st.lists(row, max_size=5), old=row, place=st.integers(0, 5))
    def check(rows, old, place):
        distance = squared_distance(statistic([*rows[:place], old, *rows[place:]]), statistic(rows))
        assert distance <= make("add_remove").mechanism.squared_sensitivity == LIMIT**2

    check()


def test_the_stated_sensitivities_are_reached():
    up, down = summed([[math.inf, 0, 0]]), summed([[-math.inf, 0, 0]])
    assert squared_distance(up, down) == make("replace").mechanism.squared_sensitivity
    assert squared_distance(up, summed([])) == make("add_remove").mechanism.squared_sensitivity


@ways
def test_orderings_and_batches_of_the_same_rows_give_identical_integers(statistic, row):
    @settings(deadline=None)
    @given(rows=st.lists(row, min_size=1, max_size=30), data=st.data())
    def check(rows, data):
        whole = statistic(rows)
        order = data.draw(st.permutations(range(len(rows))))
        cut = data.draw(st.integers(0, len(rows)))
        assert np.array_equal(whole, statistic([rows[i] for i in order]))
        assert np.array_equal(whole, statistic(rows[:cut]) + statistic(rows[cut:]))
        assert whole.dtype == np.int64

    check()


def test_float_sums_of_the_same_rows_do_depend_on_order():
    """What the grid is for: the same test on plain floats fails."""
    rows = np.random.default_rng(0).normal(size=10_000)
    assert rows.sum() != np.cumsum(np.sort(rows))[-1]
    by_cell = [make().exact_by_cell(order, np.zeros(10_000, dtype=int), 1) for order in (rows, np.sort(rows))]
    assert np.array_equal(*by_cell)


def test_large_sums_stay_exact():
    values = np.random.default_rng(0).uniform(-1, 1, size=200_000)
    truth = sum(int(value * LIMIT) for value in values)
    assert int(make().exact_by_cell(values, np.zeros(len(values), dtype=int), 1)[0]) == truth
    assert int(make().exact(values[:, None])[0]) == truth


@settings(deadline=None)
@given(rows=st.lists(cell_rows, max_size=12))
def test_sums_by_cell_are_sums_of_one_hot_vectors(rows):
    one_hot = np.zeros((len(rows), N_CELLS))
    for i, (value, cell) in enumerate(rows):
        one_hot[i, cell] = value
    difference = summed_by_cell(rows) - make().exact(one_hot)
    beyond = sum(abs(value) > 1 for value, _ in rows)
    assert np.abs(difference).sum() <= beyond, "shortening may lose a grid step where clipping does not"


def test_cells_beyond_the_last_contribute_nothing_and_do_not_change_the_length():
    sums = make().exact_by_cell(np.ones(3), np.array([0, 9, 1]), 2)
    assert (sums // LIMIT).tolist() == [1, 1]


def test_a_release_is_in_the_units_of_the_caller():
    release = make(mu=1e9, bound=5.0)
    assert release.release(np.array([[3.0, 0.0], [1.0, -2.0]]), SeededNoise(0)) == pytest.approx([4, -2], abs=1e-3)
    by_cell = release.release_by_cell(np.array([3.0, 9.0]), np.array([1, 0]), 2, SeededNoise(0))
    assert by_cell == pytest.approx([5, 3], abs=1e-3)


@pytest.mark.parametrize(("neighbours", "reach"), [("replace", 2), ("add_remove", 1)])
def test_guarantee_and_noise_scale_follow_the_formula(neighbours, reach):
    release = make(neighbours, mu=0.5, bound=3.0)
    assert release.guarantee == Guarantee(Gaussian(0.5), neighbours)
    assert release.noise_scale == pytest.approx(reach * 3.0 / 0.5, rel=1e-9)


@pytest.mark.parametrize(
    "wrong",
    [
        *({"bound": bound} for bound in (0.0, -1.0, math.nan, math.inf, 1e-200, 1e200)),
        *({"mu": mu} for mu in (0.0, math.inf, 1e-300)),
        {"neighbours": "add-remove"},
    ],
)
def test_wrong_parameters_are_refused_before_any_row_is_read(wrong):
    with pytest.raises(ParameterError):
        make(**wrong)
