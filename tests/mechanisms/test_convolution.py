"""The proof of docs/privacy/discrete_gaussian.md, step by step, in numbers."""

import math
from functools import cache

import mpmath
import numpy as np
import pytest

from dpcate.accounting import Gaussian
from dpcate.mechanisms import DiscreteGaussian
from dpcate.mechanisms.discrete_gaussian import SMOOTHING

EPSILONS = np.array([0.0, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0])


def bump(x, scale):
    return mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * mpmath.mpf(scale) ** 2))


def total(scale, centre=0):
    reach = math.ceil(9 * scale) + 2
    return mpmath.fsum(bump(k - centre, scale) for k in range(-reach, reach + 1))


def ripple(eta):
    """The e of the page: by how much the normaliser may deviate from a constant, relatively."""
    return 2 * mpmath.nsum(lambda j: mpmath.exp(-2 * mpmath.pi**2 * mpmath.mpf(eta) ** 2 * j**2), [1, 20])


@cache
def rounded_normal(k, r, eta):
    """Probability that N(0, r^2), rounded at random with scale eta, gives k: by numerical integration."""

    def density(x):
        return mpmath.npdf(x, 0, r) * bump(k - x, eta) / total(eta, centre=x)

    middle = k * r**2 / (r**2 + eta**2)
    width = 12 * r * eta / math.hypot(r, eta)
    return mpmath.quad(density, [middle - width, middle - width / 4, middle, middle + width / 4, middle + width])


@pytest.mark.parametrize("eta", [0.4, 0.6, 1.0])
def test_the_normaliser_ripples_by_exactly_the_stated_amount(eta):
    constant = mpmath.mpf(eta) * mpmath.sqrt(2 * mpmath.pi)
    e = ripple(eta)
    ratios = [total(eta, centre=mpmath.mpf(x) / 20) / constant for x in range(20)]
    assert all(1 - e <= ratio <= (1 + e) * (1 + mpmath.mpf(10) ** -12) for ratio in ratios)
    assert mpmath.almosteq(ratios[0], 1 + e, rel_eps=1e-10)


@pytest.mark.parametrize("r", [0.2, 1.0])
def test_rounded_normals_are_discrete_gaussians_up_to_the_stated_factor(r):
    eta = 0.6
    sigma, e = math.hypot(r, eta), ripple(eta)
    ratios = [rounded_normal(k, r, eta) / (bump(k, sigma) / total(sigma)) for k in range(3)]
    tiny = mpmath.mpf(10) ** -10
    assert all(1 / (1 + e) - tiny <= ratio <= (1 + e) / (1 - e) + tiny for ratio in ratios)


def test_a_tenth_of_the_stated_factor_would_be_too_little():
    eta, r = 0.6, 0.2
    sigma, tenth = math.hypot(r, eta), ripple(eta) / 10
    ratios = [rounded_normal(k, r, eta) / (bump(k, sigma) / total(sigma)) for k in range(3)]
    assert any(not 1 / (1 + tenth) <= ratio <= (1 + tenth) / (1 - tenth) for ratio in ratios)


def test_at_the_smoothing_in_use_the_factor_is_beyond_any_delta():
    assert ripple(SMOOTHING) * 5 * 10**6 < mpmath.mpf(10) ** -130


def law(centre, scale, reach):
    outcomes = np.arange(-reach, reach + 1)
    weights = np.exp(-((outcomes - centre) ** 2) / (2 * scale**2))
    return weights / weights.sum()


def exact_deltas(shift, scale):
    """Delta at each epsilon between the noise at 0 and at ``shift``, by enumerating all outputs."""
    reach = math.ceil(11 * scale) + max(shift)
    p, q = np.ones(1), np.ones(1)
    for step in shift:
        p = np.multiply.outer(p, law(0, scale, reach)).ravel()
        q = np.multiply.outer(q, law(step, scale, reach)).ravel()
    return np.array([np.maximum(p - math.exp(epsilon) * q, 0).sum() for epsilon in EPSILONS])


@pytest.mark.parametrize("mu", [0.25, 1.0, 3.0])
@pytest.mark.parametrize("squared", [1, 2, 25, 400])
def test_no_pair_of_neighbours_in_one_dimension_is_easier_to_tell_apart_than_stated(squared, mu):
    mechanism = DiscreteGaussian(squared_sensitivity=squared, mu=mu, neighbours="replace")
    stated = Gaussian(mu).delta(EPSILONS)
    for shift in range(1, math.isqrt(squared) + 1):
        assert (exact_deltas((shift,), mechanism.scale) <= stated + 1e-12).all()


@pytest.mark.parametrize("shift", [(5, 0), (3, 4), (4, 1), (1, 1)])
@pytest.mark.parametrize("mu", [0.5, 2.0])
def test_no_pair_of_neighbours_in_two_dimensions_is_easier_to_tell_apart_than_stated(shift, mu):
    mechanism = DiscreteGaussian(squared_sensitivity=25, mu=mu, neighbours="replace")
    assert (exact_deltas(shift, mechanism.scale) <= Gaussian(mu).delta(EPSILONS) + 1e-12).all()


def test_the_statement_is_tight_when_the_sensitivity_is_many_grid_steps():
    mechanism = DiscreteGaussian(squared_sensitivity=400**2, mu=1.0, neighbours="replace")
    exact = exact_deltas((400,), mechanism.scale)[:5]
    assert exact == pytest.approx(Gaussian(1.0).delta(EPSILONS[:5]), rel=0.01)


def test_without_smoothing_the_statement_would_be_false():
    assert (exact_deltas((1,), 4.0) > Gaussian(0.25).delta(EPSILONS) + 1e-4).any()
