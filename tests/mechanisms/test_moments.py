import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dpcate.accounting import Gaussian, Guarantee
from dpcate.errors import ParameterError
from dpcate.mechanisms import ROW_LIMIT, MomentRelease, SeededNoise, SystemNoise, moments
from dpcate.mechanisms.moments import rows_to_grid

DIMENSION = 3
NASTY = [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -0.0, 0.0, 1.0, -1.0, 1 - 2**-53, 1 + 2**-52, 0.7]
floats = st.one_of(st.sampled_from(NASTY), st.floats(), st.floats(-1, 1))
rows = hnp.arrays(np.float64, DIMENSION, elements=floats)
inside = hnp.arrays(np.float64, DIMENSION, elements=st.floats(-0.57, 0.57))  # never too long, so never zeroed
any_row = st.one_of(rows, inside)
SQUARED = {"replace": 2 * ROW_LIMIT**4, "add_remove": ROW_LIMIT**4}
each_relation = pytest.mark.parametrize("neighbours", list(SQUARED))


def make(neighbours="replace", mu=1.0, dimension=DIMENSION):
    return MomentRelease(dimension=dimension, mu=mu, neighbours=neighbours)


def summed(*some):
    table = np.array(some, dtype=np.float64).reshape(len(some), DIMENSION)
    return make().exact([table.copy()])


def squared_distance(one, other):
    """Squared Frobenius distance in Python's integers, which cannot overflow."""
    return sum((int(a) - int(b)) ** 2 for a, b in zip(one.ravel(), other.ravel(), strict=True))


@settings(deadline=None)
@given(others=st.lists(any_row, max_size=4), old=any_row, new=any_row)
def test_replacing_a_row_moves_the_sum_by_no_more_than_stated(others, old, new):
    assert squared_distance(summed(*others, old), summed(*others, new)) <= SQUARED["replace"]


@settings(deadline=None)
@given(others=st.lists(any_row, max_size=4), old=any_row, place=st.integers(0, 4))
def test_adding_a_row_moves_the_sum_by_no_more_than_stated(others, old, place):
    with_it = summed(*others[:place], old, *others[place:])
    assert squared_distance(with_it, summed(*others)) <= SQUARED["add_remove"]


def test_the_stated_sensitivities_are_reached():
    first, second, nothing = summed([1.0, 0, 0]), summed([0, 1.0, 0]), summed()
    assert squared_distance(first, second) == SQUARED["replace"]
    assert squared_distance(first, nothing) == SQUARED["add_remove"]
    assert squared_distance(first, summed([-1.0, 0, 0])) == 0, "opposite rows have the same product"


@settings(deadline=None)
@given(row=rows)
def test_every_row_on_the_grid_is_whole_and_short_enough(row):
    grid = rows_to_grid(row[None].copy())[0]
    assert all(value == int(value) for value in grid)
    assert sum(int(value) ** 2 for value in grid) <= ROW_LIMIT**2


@settings(deadline=None)
@given(row=inside)
def test_rows_inside_the_unit_are_truncated_toward_zero_and_keep_all_else(row):
    grid = rows_to_grid(row[None].copy())[0]
    assert [int(value) for value in grid] == [int(value * ROW_LIMIT) for value in row.tolist()]


@pytest.mark.parametrize(
    "row",
    [
        [1.0, 2**-15, 0.0],
        [3.0, 4.0, 0.0],
        [0.9, 0.9, 0.0],
        [math.nan, 0.1, 0.1],
        [0.0, math.inf, 0.0],
        [1e308, -1e308, 1e308],
    ],
)
def test_rows_that_are_too_long_or_no_numbers_contribute_nothing(row):
    assert not summed(row).any()
    assert np.array_equal(summed([0.1, 0.2, 0.3], row), summed([0.1, 0.2, 0.3]))


@settings(deadline=None)
@given(table=st.lists(any_row, min_size=1, max_size=30), data=st.data())
def test_orderings_and_batches_of_the_same_rows_give_identical_integers(table, data):
    whole = summed(*table)
    order = data.draw(st.permutations(range(len(table))))
    cut = data.draw(st.integers(0, len(table)))
    assert np.array_equal(whole, summed(*(table[i] for i in order)))
    batches = [np.array(part).reshape(len(part), DIMENSION) for part in (table[:cut], table[cut:])]
    assert np.array_equal(whole, make().exact(batches))
    assert whole.dtype == np.int64


@pytest.mark.parametrize("chunk", [1, 7, 1000, 2**20])
@pytest.mark.parametrize("order", ["C", "F"])
def test_chunks_and_memory_layout_do_not_change_a_large_sum(chunk, order, monkeypatch):
    table = np.random.default_rng(0).uniform(-0.3, 0.3, (5000, 8))
    truth = np.trunc(table * ROW_LIMIT).astype(np.int64)
    monkeypatch.setattr(moments, "_CHUNK", chunk)
    exact = make(dimension=8).exact([np.array(table, order=order)])
    assert np.array_equal(exact, truth.T @ truth)


def test_products_of_the_longest_rows_are_exact_where_single_precision_would_not_be():
    n_rows = 3 * moments._CHUNK + 1
    table = np.tile([1.0 - 2**-15, 2**-15], (n_rows, 1))
    long, short = ROW_LIMIT - 1, 1
    expected = [[n_rows * long**2, n_rows * long], [n_rows * long, n_rows * short]]
    assert make(dimension=2).exact([table]).tolist() == expected
    assert float(np.float32(expected[0][0])) != expected[0][0]


def test_float_moments_of_the_same_rows_do_depend_on_order():
    """What the grid is for: the same test on plain floats fails."""
    table = np.random.default_rng(1).normal(size=(10_000, 2)) / 10
    backwards = np.ascontiguousarray(table[::-1])
    assert not np.array_equal(np.cumsum(table[:, 0] ** 2)[-1], np.cumsum(backwards[:, 0] ** 2)[-1])
    assert np.array_equal(make(dimension=2).exact([table.copy()]), make(dimension=2).exact([backwards]))


@each_relation
def test_guarantee_and_noise_scale_follow_the_formula(neighbours):
    release = make(neighbours, mu=0.5)
    distance = math.sqrt(2.0 if neighbours == "replace" else 1.0)
    assert release.guarantee == Guarantee(Gaussian(0.5), neighbours)
    assert release.noise_scale == pytest.approx(distance / math.sqrt(2) / 0.5, rel=1e-6)
    on, off = release._mechanisms()
    assert on.squared_sensitivity == SQUARED[neighbours] == 2 * off.squared_sensitivity


@each_relation
def test_the_noise_is_round_on_an_orthonormal_basis_of_symmetric_matrices(neighbours):
    """Scale s on E_ii and on (E_ij + E_ji) / sqrt(2): off-diagonal entries carry s / sqrt(2)."""
    on, off = make(neighbours, mu=0.3)._mechanisms()
    smallest = math.sqrt(SQUARED[neighbours]) / 0.3
    assert on.scale >= smallest
    assert off.scale * math.sqrt(2) >= smallest
    assert on.scale == pytest.approx(off.scale * math.sqrt(2), rel=1e-6)


def variance_fits(draws, scale):
    """Whether the mean square is within 6 standard errors of scale^2: a right one fails once in 1e9."""
    return abs(float(np.mean(draws**2)) / scale**2 - 1) < 6 * math.sqrt(2 / len(draws))


@each_relation
@pytest.mark.parametrize("source", [SystemNoise(), SeededNoise(5)], ids=["system", "seeded"])
def test_the_noise_has_the_stated_law_and_the_test_would_notice_otherwise(neighbours, source):
    release = make(neighbours, mu=2.0, dimension=4)
    draws = np.array([release.release([], source) for _ in range(2500)])
    on = np.diagonal(draws, axis1=1, axis2=2).ravel()
    off = draws[:, *np.triu_indices(4, 1)].ravel()
    for values, scale in ((off, release.noise_scale), (on, math.sqrt(2) * release.noise_scale)):
        assert variance_fits(values, scale)
        assert abs(values.mean()) < 6 * scale / math.sqrt(len(values))
        assert not variance_fits(1.1 * values, scale)
        assert not variance_fits(values / 1.1, scale)


def test_the_released_matrix_is_symmetric_and_in_units_of_one_row():
    table = np.random.default_rng(2).uniform(-0.4, 0.4, (500, DIMENSION))
    for mu in (0.5, 1e9):
        noisy = make(mu=mu).release([table.copy()], SystemNoise())
        assert np.array_equal(noisy, noisy.T)
    assert noisy == pytest.approx(table.T @ table, abs=500 * 2 / ROW_LIMIT)


def test_each_off_diagonal_entry_has_noise_of_its_own():
    noisy = make(dimension=30).release([np.zeros((0, 30))], SystemNoise())
    upper = noisy[np.triu_indices(30)]
    assert len(np.unique(upper)) == len(upper)


def test_no_rows_and_no_batches_release_noise_of_the_same_form():
    assert make().release([], SeededNoise(0)).shape == (DIMENSION, DIMENSION)
    assert make().exact([np.zeros((0, DIMENSION))]).tolist() == np.zeros((DIMENSION, DIMENSION)).tolist()


@pytest.mark.parametrize(
    "wrong",
    [
        *({"mu": mu} for mu in (0.0, -1.0, math.nan, math.inf, 1e-8, 1e-300)),
        {"neighbours": "add-remove"},
        {"dimension": 0},
        {"dimension": 2.5},
    ],
)
def test_wrong_parameters_are_refused_before_any_row_is_read(wrong):
    with pytest.raises(ParameterError):
        make(**wrong)


def test_a_batch_of_another_width_is_refused():
    for width in (1, 2, 4):
        with pytest.raises(ParameterError, match="columns"):
            make().exact([np.zeros((5, width))])
