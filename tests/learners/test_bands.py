"""Intervals that hold all at once: quantiles against known laws, bands against draws of the error."""

import numpy as np
import pytest
from scipy.stats import chi2, norm
from tests.learners.confounded import SCHEMA, draw, shifted

from dpcate import RLearner
from dpcate.learners.bands import simultaneous_quantile
from dpcate.models import uncertainty_of


@pytest.fixture(scope="module")
def fitted():
    return RLearner(SCHEMA, epsilon=4.0, random_state=0).fit_table(draw(3000, 0))


@pytest.mark.parametrize("n", [2, 5, 20])
@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_independent_errors_have_the_known_quantile(n, alpha):
    exact = norm.isf((1 - (1 - alpha) ** (1 / n)) / 2)
    assert simultaneous_quantile(np.eye(n), np.eye(n), alpha) == pytest.approx(exact, abs=0.04)


@pytest.mark.parametrize("sizes", [[1.0, 1.0], [1e-3, 1e3]])
def test_the_sizes_of_errors_do_not_matter(sizes):
    covariance = np.diag(np.square(sizes))
    assert simultaneous_quantile(np.eye(2), covariance, 0.1) == pytest.approx(
        simultaneous_quantile(np.eye(2), np.eye(2), 0.1), rel=1e-3
    )


def test_every_direction_of_a_plane_reaches_scheffe_s_bound():
    angles = np.linspace(0, np.pi, 400)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    found = simultaneous_quantile(circle, np.eye(2), 0.05)
    assert found == pytest.approx(np.sqrt(chi2.isf(0.05, 2)), rel=0.01)
    assert found <= np.sqrt(chi2.isf(0.05, 2))


def test_a_level_too_small_to_simulate_takes_the_safe_bound():
    assert simultaneous_quantile(np.eye(3), np.eye(3), 1e-7) == pytest.approx(norm.isf(1e-7 / 6))


def test_what_is_known_without_error_does_not_count():
    functions = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert simultaneous_quantile(functions, np.diag([1.0, 0.0]), 0.05) == pytest.approx(norm.isf(0.025))
    assert simultaneous_quantile(functions, np.zeros((2, 2)), 0.05) == pytest.approx(norm.isf(0.025))


@pytest.mark.parametrize("model", ["effect", "outcome"])
@pytest.mark.parametrize("name", ["x", "town"])
def test_a_band_holds_the_whole_curve_as_often_as_it_says(fitted, model, name):
    known = uncertainty_of(fitted.models_[model])
    place = [column.name for column in fitted.models_[model].columns].index(name)
    start = 1 + sum(len(column.values) for column in known.basis.columns[:place])
    values = known.basis.columns[place].values
    own = slice(start, start + len(values))
    draws = np.random.default_rng(11).multivariate_normal(
        np.zeros(len(values)), known.covariance[own, own], 4000, method="svd"
    )
    errors = np.abs(draws @ values[:, 1:])
    held = {}
    for simultaneous in (False, True):
        shape = fitted.shapes(model, alpha=0.1, simultaneous=simultaneous)[name]
        held[simultaneous] = (errors <= (shape.upper - shape.lower) / 2 + 1e-12).all(axis=1).mean()
    assert held[True] == pytest.approx(0.9, abs=0.02)
    assert held[False] < 0.88


def by_hand(shape, known, place, times):
    """The band of a column from its own coefficients: around the shifted curve, and no narrower than to hold it."""
    start = 1 + sum(len(column.values) for column in known.basis.columns[:place])
    values = known.basis.columns[place].values[:, 1:]
    own = slice(start, start + len(values))
    reach = times * np.sqrt(np.einsum("ik,ij,jk->k", values, known.covariance[own, own], values))
    middle = shape.effect + known.shift[own] @ values
    return np.minimum(middle - reach, shape.effect), np.maximum(middle + reach, shape.effect), middle


@pytest.mark.parametrize("simultaneous", [False, True])
@pytest.mark.parametrize(("size", "outside"), [(0.003, False), (0.5, True)])
def test_bands_are_centred_where_the_curve_is_shrunk_less_and_hold_the_curve(fitted, simultaneous, size, outside):
    release = shifted(fitted, size)
    known = uncertainty_of(release.models_["effect"])
    for place, (name, shape) in enumerate(release.shapes(simultaneous=simultaneous).items()):
        start = 1 + sum(len(column.values) for column in known.basis.columns[:place])
        values = known.basis.columns[place].values
        covariance = known.covariance[start : start + len(values), start : start + len(values)]
        times = simultaneous_quantile(values[:, 1:].T, covariance, 0.05) if simultaneous else norm.isf(0.025)
        lower, upper, middle = by_hand(shape, known, place, times)
        np.testing.assert_array_equal(shape.effect, fitted.shapes()[name].effect)
        assert shape.lower == pytest.approx(lower, rel=1e-9)
        assert shape.upper == pytest.approx(upper, rel=1e-9)
        apart = (shape.lower == shape.effect) | (shape.upper == shape.effect)
        assert apart.any() == outside
        assert ((shape.lower + shape.upper) / 2)[~apart] == pytest.approx(middle[~apart], abs=1e-12)


def test_bands_are_the_same_every_time_and_wider_than_limits_of_single_points(fitted):
    one, other = (fitted.shapes(simultaneous=True)["x"] for _ in range(2))
    np.testing.assert_array_equal(one.upper, other.upper)
    plain = fitted.shapes()["x"]
    assert ((one.upper - one.lower) > (plain.upper - plain.lower)).all()
