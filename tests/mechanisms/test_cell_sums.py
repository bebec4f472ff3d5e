"""Sums, counts and squares by cell: the stated sensitivity holds for every pair of rows, and totals are exact."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from dpcate.errors import ParameterError
from dpcate.mechanisms import LIMIT, CellSums, make_noise

RELATIONS = ("replace", "add_remove")
grid_values = st.one_of(
    st.integers(-LIMIT, LIMIT), st.sampled_from([-LIMIT, 1 - LIMIT, -1, 0, 1, LIMIT - 1, LIMIT]), st.integers(-9, 9)
)


def release(neighbours="replace", *, n_cells=3, bound=2.0, mu=1.0):
    return CellSums(n_cells=n_cells, bound=bound, mu=mu, neighbours=neighbours)


def row(mechanism, value, cell):
    """The whole numbers that one row adds, as Python's own."""
    return [int(entry) for entry in mechanism.exact(np.array([value * mechanism.bound / LIMIT]), np.array([cell]))]


def squared_distance(one, other):
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))


@given(value=grid_values, other=grid_values, cells=st.sampled_from([(0, 0), (0, 1), (2, 0), (1, 3), (3, 3)]))
def test_no_replaced_row_moves_the_totals_further_than_stated(value, other, cells):
    mechanism = release()
    moved = squared_distance(row(mechanism, value, cells[0]), row(mechanism, other, cells[1]))
    assert moved <= mechanism.mechanism.squared_sensitivity == 4 * LIMIT**2


@given(value=grid_values, cell=st.integers(0, 4))
def test_no_added_row_moves_the_totals_further_than_stated(value, cell):
    mechanism = release("add_remove")
    moved = squared_distance(row(mechanism, value, cell), [0] * 9)
    assert moved <= mechanism.mechanism.squared_sensitivity < 1.13 * LIMIT**2


def test_the_stated_sensitivity_is_reached_and_the_neighbourhood_of_the_worst_pair_keeps_to_it():
    mechanism = release()
    near = [*range(LIMIT - 40, LIMIT + 1)]
    grid = np.array([*near, *(-value for value in near)])
    entries = [row(mechanism, int(value), 0) for value in grid]
    distances = [squared_distance(one, other) for one, other in itertools.combinations(entries, 2)]
    assert max(distances) == 4 * LIMIT**2
    apart = squared_distance(row(mechanism, LIMIT, 0), row(mechanism, LIMIT, 1))
    assert 4 * LIMIT**2 - 8 * LIMIT < apart <= 4 * LIMIT**2, "counts and squares use up what the sums leave"


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_totals_are_those_of_the_rows_whatever_their_order_and_batches(neighbours):
    rng = np.random.default_rng(1)
    values, cells = rng.normal(size=500), rng.integers(0, 4, 500)
    mechanism = release(neighbours)
    whole = mechanism.exact(values, cells)
    order = rng.permutation(500)
    parts = [mechanism.exact(values[order][k : k + 7], cells[order][k : k + 7]) for k in range(0, 500, 7)]
    assert whole.dtype == np.int64
    assert whole.shape == (9,)
    np.testing.assert_array_equal(sum(parts), whole)
    alone = sum(mechanism.exact(values[k : k + 1], cells[k : k + 1]) for k in range(500))
    np.testing.assert_array_equal(alone, whole)


def test_values_come_back_in_the_callers_units():
    rng = np.random.default_rng(2)
    values, cells = np.clip(rng.normal(size=4000), -2, 2), rng.integers(0, 3, 4000)
    mechanism = release(mu=1e4)
    totals = mechanism.release_total(lambda: mechanism.exact(values, cells), make_noise(3))
    np.testing.assert_allclose(totals.sums, [values[cells == k].sum() for k in range(3)], atol=0.02)
    np.testing.assert_allclose(totals.counts, np.bincount(cells), atol=0.02)
    np.testing.assert_allclose(totals.squares, [(values[cells == k] ** 2).sum() for k in range(3)], atol=0.05)


def test_hostile_values_stay_inside_the_bound():
    totals = release().exact(np.array([np.nan, np.inf, -np.inf, 1e308, -1e-320]), np.array([0, 1, 1, 2, 2]))
    weight = release().weight
    assert totals.tolist() == [0, 0, LIMIT, weight, 2 * weight, 2 * weight, 0, 2 * weight, weight]


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("times", [1.0, 1.1])
def test_the_noise_has_the_stated_scale_and_a_tenth_more_is_noticed(neighbours, times):
    mechanism = release(neighbours, n_cells=2000, mu=0.5)
    totals = mechanism.release_total(lambda: np.zeros(6000, dtype=np.int64), make_noise(7))
    scaled = np.concatenate(
        [
            totals.sums / totals.sum_noise,
            totals.counts / totals.count_noise,
            totals.squares / totals.square_noise,
        ]
    )
    sensitivity = {"replace": 2.0, "add_remove": np.sqrt(1.125)}[neighbours]
    assert totals.sum_noise == pytest.approx(sensitivity * 2.0 / 0.5, rel=1e-6)
    chance = chi2.cdf((times * scaled) @ (times * scaled), 6000)
    assert (1e-4 < chance < 1 - 1e-4) == (times == 1.0)


@pytest.mark.parametrize("wrong", [{"n_cells": 0}, {"bound": 0.0}, {"mu": 0.0}, {"neighbours": "other"}])
def test_wrong_settings_are_refused_before_any_row_is_read(wrong):
    settings = {"n_cells": 3, "bound": 1.0, "mu": 1.0, "neighbours": "replace"} | wrong
    with pytest.raises(ParameterError):
        CellSums(**settings)


def test_totals_of_another_length_are_refused():
    with pytest.raises(ParameterError, match="three entries"):
        release().release_total(lambda: np.zeros(3, dtype=np.int64), make_noise(1))
