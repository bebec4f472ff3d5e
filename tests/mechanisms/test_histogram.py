import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcate.accounting import Gaussian, Guarantee
from dpcate.errors import ParameterError
from dpcate.mechanisms import LIMIT, HistogramRelease, SeededNoise

N_CELLS = (3, 1, 4)
NASTY = [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -0.0, 0.0, 1.0, 1 - 2**-53, 2.0]

row = st.tuples(st.tuples(*[st.integers(0, k - 1) for k in N_CELLS]), st.one_of(st.sampled_from(NASTY), st.floats()))
tables = st.lists(row, max_size=6)


def make(neighbours="replace", mu=1.0, n_cells=N_CELLS):
    return HistogramRelease(n_cells=n_cells, mu=mu, neighbours=neighbours)


def exact(rows, *, weighted, release=None):
    cells = [np.array([cell[j] for cell, _ in rows], dtype=np.uint16) for j in range(len(N_CELLS))]
    weights = np.array([weight for _, weight in rows], dtype=np.float64) if weighted else None
    return (release or make()).exact(cells, weights)


def squared_distance(one, other):
    return sum((int(a) - int(b)) ** 2 for a, b in zip(one, other, strict=True))


@settings(deadline=None)
@given(rows=tables, old=row, new=row, weighted=st.booleans())
def test_replacing_a_row_moves_the_histograms_by_no_more_than_stated(rows, old, new, weighted):
    distance = squared_distance(exact([*rows, old], weighted=weighted), exact([*rows, new], weighted=weighted))
    assert distance <= make("replace").mechanism.squared_sensitivity == 2 * len(N_CELLS) * LIMIT**2


@settings(deadline=None)
@given(rows=tables, old=row, weighted=st.booleans(), place=st.integers(0, 6))
def test_adding_a_row_moves_the_histograms_by_no_more_than_stated(rows, old, weighted, place):
    longer = [*rows[:place], old, *rows[place:]]
    distance = squared_distance(exact(longer, weighted=weighted), exact(rows, weighted=weighted))
    assert distance <= make("add_remove").mechanism.squared_sensitivity == len(N_CELLS) * LIMIT**2


@settings(deadline=None)
@given(rows=tables, old=row, weighted=st.booleans())
def test_replacing_a_row_by_an_inactive_one_is_covered_by_replace(rows, old, weighted):
    distance = squared_distance(exact([*rows, old], weighted=weighted), exact(rows, weighted=weighted))
    assert distance <= make("replace").mechanism.squared_sensitivity


def test_the_stated_sensitivities_are_reached():
    release = make("replace", n_cells=(2, 2))
    one = release.exact([np.array([0]), np.array([0])], None)
    other = release.exact([np.array([1]), np.array([1])], None)
    assert squared_distance(one, other) == release.mechanism.squared_sensitivity
    empty = [np.zeros(0, dtype=int)] * 2
    adding = make("add_remove", n_cells=(2, 2)).mechanism.squared_sensitivity
    assert squared_distance(one, release.exact(empty, None)) == adding


@settings(deadline=None)
@given(rows=st.lists(row, min_size=1, max_size=30), weighted=st.booleans(), data=st.data())
def test_orderings_and_batches_of_the_same_rows_give_identical_integers(rows, weighted, data):
    whole = exact(rows, weighted=weighted)
    shuffled = data.draw(st.permutations(rows))
    cut = data.draw(st.integers(0, len(rows)))
    assert np.array_equal(whole, exact(shuffled, weighted=weighted))
    batches = exact(rows[:cut], weighted=weighted) + exact(rows[cut:], weighted=weighted)
    assert np.array_equal(whole, batches)
    assert whole.dtype == np.int64


def test_large_weighted_sums_stay_exact():
    weights = np.random.default_rng(0).uniform(size=200_000)
    cells = [np.zeros(200_000, dtype=np.uint16)]
    truth = sum(int(weight * LIMIT) for weight in weights)
    assert int(make(n_cells=(1,)).exact(cells, weights)[0]) == truth


def test_counting_is_weighting_by_one():
    cells = [np.array([0, 2, 2]), np.array([0, 0, 0]), np.array([3, 3, 1])]
    assert np.array_equal(make().exact(cells, None), make().exact(cells, np.ones(3)))


def test_cells_beyond_the_last_are_left_out_and_do_not_change_the_length():
    release = make(n_cells=(2, 3))
    cells = [np.array([0, 7]), np.array([1, 2])]
    for weights in (None, np.ones(2)):
        assert (release.exact(cells, weights) // LIMIT).tolist() == [1, 0, 0, 1, 1]


def test_a_release_gives_one_histogram_per_column_in_rows():
    release = make(mu=1e9)
    cells = [np.array([0, 2, 2]), np.array([0, 0, 0]), np.array([3, 3, 1])]
    histograms = release.release(cells, SeededNoise(0))
    assert [np.rint(histogram).tolist() for histogram in histograms] == [[1, 0, 2], [3], [0, 1, 0, 2]]
    half = release.release(cells, SeededNoise(0), weights=np.full(3, 0.5))
    assert half[1][0] == pytest.approx(1.5, abs=1e-3)


@pytest.mark.parametrize(("neighbours", "moves"), [("replace", 2), ("add_remove", 1)])
def test_guarantee_and_noise_scale_follow_the_formula(neighbours, moves):
    release = make(neighbours, mu=0.5)
    assert release.guarantee == Guarantee(Gaussian(0.5), neighbours)
    assert release.noise_scale == pytest.approx(math.sqrt(moves * len(N_CELLS)) / 0.5, rel=1e-9)


@pytest.mark.parametrize(
    "wrong",
    [{"n_cells": ()}, {"n_cells": (3, 0)}, {"mu": 0.0}, {"mu": math.nan}, {"mu": 1e-300}, {"neighbours": "Replace"}],
)
def test_wrong_parameters_are_refused_before_any_row_is_read(wrong):
    with pytest.raises(ParameterError):
        make(**wrong)
