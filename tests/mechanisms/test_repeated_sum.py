"""Repeated sums: exact integers, noise of the stated scale, and no release that was not paid for."""

import math

import numpy as np
import pytest

from dpcate.accounting import Gaussian
from dpcate.errors import BudgetError, ParameterError
from dpcate.mechanisms import LIMIT, RepeatedSum, SeededNoise, SystemNoise

GROUPS = np.array([0, 1, 1, 2])


def make_sums(**changes):
    options = {"bound": 2.0, "mu": 1.0, "n_releases": 4, "n_groups": 3, "neighbours": "replace"}
    return RepeatedSum(**{**options, **changes})


@pytest.fixture
def session():
    return make_sums().start(SeededNoise(0))


@pytest.fixture
def rows():
    generator = np.random.default_rng(0)
    return generator.normal(size=500), generator.integers(4, size=500)


def test_all_releases_together_cost_what_was_asked_for():
    sums = make_sums(n_releases=330)
    assert sums.guarantee.f == Gaussian(1.0)
    assert sums.one.mu**2 * 330 == pytest.approx(1.0, rel=1e-14)


@pytest.mark.parametrize(("neighbours", "sensitivity"), [("add_remove", 2.0), ("replace", 4.0)])
def test_noise_scale_is_sensitivity_times_root_of_releases_over_mu(neighbours, sensitivity):
    sums = make_sums(neighbours=neighbours, mu=0.5, n_releases=9)
    assert sums.noise_scale == pytest.approx(sensitivity * 3 / 0.5, rel=1e-6)


def test_a_release_beyond_the_last_raises(session, rows):
    for _ in range(4):
        session.release(*rows, GROUPS)
    with pytest.raises(BudgetError, match="used up"):
        session.release(*rows, GROUPS)


def test_every_release_has_noise_of_its_own(session, rows):
    first, second = session.release(*rows, GROUPS), session.release(*rows, GROUPS)
    assert (first != second).all()


def test_released_noise_has_the_stated_scale_and_a_tenth_more_would_be_noticed():
    sums = make_sums(n_releases=2500)
    session = sums.start(SystemNoise())
    empty = np.zeros(0), np.zeros(0, dtype=np.intp)
    noise = np.concatenate([session.release(*empty, GROUPS) for _ in range(2500)])
    ratio = noise.std() / sums.noise_scale
    tolerance = 5 / math.sqrt(2 * len(noise))
    assert abs(ratio - 1) < tolerance
    assert abs(ratio / 1.1 - 1) > tolerance


def test_exact_sums_do_not_depend_on_order_or_batches(session, rows):
    values, cells = rows
    whole = session.exact(values, cells, GROUPS)
    order = np.random.default_rng(1).permutation(len(values))
    assert np.array_equal(session.exact(values[order], cells[order], GROUPS), whole)
    batches = [slice(0, 7), slice(7, 8), slice(8, 333), slice(333, None)]
    assert np.array_equal(sum(session.exact(values[b], cells[b], GROUPS) for b in batches), whole)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 2.0, np.nextafter(2.0, 3.0), -0.0])
def test_no_row_contributes_more_than_the_bound(session, value):
    exact = session.exact(np.array([value]), np.array([1]), GROUPS)
    assert abs(exact).sum() <= LIMIT


@pytest.mark.parametrize("bound", [0.1, 1 / 3, 7e-99, 3e99])
def test_the_bound_holds_in_integers_for_awkward_bounds(bound):
    session = make_sums(bound=bound).start(SeededNoise(0))
    assert session.exact(np.array([bound]), np.array([0]), GROUPS)[0] <= LIMIT


def test_a_row_whose_cell_has_no_group_contributes_nothing(session):
    assert not session.exact(np.array([1.0]), np.array([17]), GROUPS).any()


@pytest.mark.parametrize("changes", [{"n_releases": 0}, {"n_groups": 0}, {"mu": 0.0}, {"bound": 0.0}, {"mu": 1e-12}])
def test_impossible_options_are_refused_before_noise_is_drawn(changes):
    with pytest.raises(ParameterError):
        make_sums(**changes)
