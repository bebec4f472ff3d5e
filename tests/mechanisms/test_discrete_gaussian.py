import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcate.accounting import Gaussian, Guarantee
from dpcate.errors import ParameterError
from dpcate.mechanisms import DiscreteGaussian, SeededNoise, SystemNoise
from dpcate.mechanisms.discrete_gaussian import LARGEST_SCALE, SMOOTHING

LIMIT_SQUARED = 2**40


def make(squared_sensitivity=1, mu=1.0, neighbours="replace"):
    return DiscreteGaussian(squared_sensitivity=squared_sensitivity, mu=mu, neighbours=neighbours)


@settings(deadline=None)
@given(squared=st.integers(1, 2**70), mu=st.floats(1e-8, 1e8))
def test_the_scale_in_exact_arithmetic_is_never_below_the_formula(squared, mu):
    wanted = Fraction(squared) / Fraction(mu) ** 2 + Fraction(SMOOTHING) ** 2
    if wanted > Fraction(LARGEST_SCALE) ** 2 / 2:
        return
    scale = Fraction(make(squared, mu).scale)
    assert wanted <= scale**2 <= wanted * (1 + Fraction(1, 2**38))


def test_the_guarantee_is_the_stated_gaussian_under_the_stated_relation():
    assert make(mu=0.7, neighbours="add_remove").guarantee == Guarantee(Gaussian(0.7), "add_remove")


@pytest.mark.parametrize("squared", [0, -1, 1.5, math.nan])
def test_a_sensitivity_that_is_no_positive_integer_is_refused(squared):
    with pytest.raises(ParameterError, match="squared_sensitivity"):
        make(squared)


@pytest.mark.parametrize("mu", [0.0, -1.0, math.nan, math.inf])
def test_a_budget_that_is_no_positive_number_is_refused(mu):
    with pytest.raises(ParameterError, match="mu"):
        make(mu=mu)


@pytest.mark.parametrize("mu", [1e-12, 1e-200, 5e-324])
def test_a_budget_too_small_for_integers_is_refused(mu):
    with pytest.raises(ParameterError, match="too small"):
        make(LIMIT_SQUARED, mu)


def test_a_huge_budget_leaves_the_smoothing_noise():
    assert make(mu=1e300).scale == pytest.approx(SMOOTHING)


def test_an_unknown_relation_is_refused():
    with pytest.raises(ParameterError, match="neighbours"):
        make(neighbours="swap")


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.uint64, bool])
@pytest.mark.parametrize("size", [0, 3])
def test_only_exact_integers_are_released(dtype, size):
    with pytest.raises(ParameterError, match="exact int64"):
        make().release(np.zeros(size, dtype=dtype), SeededNoise(0))


@pytest.mark.parametrize("wrong", [1.0, None, np.float64(2)])
def test_an_object_array_with_anything_but_integers_is_refused(wrong):
    with pytest.raises(ParameterError, match="exact int64"):
        make().release(np.array([1, wrong], dtype=object), SeededNoise(0))


def test_integers_beyond_int64_keep_every_digit():
    exact = np.array([2**80 + 1, -(2**70)], dtype=object)
    released = make().release(exact, SeededNoise(2))
    assert (released - exact).tolist() == SeededNoise(2).discrete_gaussian(make().scale, 2).tolist()


def test_noise_that_is_drawn_apart_is_the_noise_of_a_release():
    assert np.array_equal(make().draw(4, SeededNoise(1)), make().release(np.zeros(4, dtype=np.int64), SeededNoise(1)))


@pytest.mark.parametrize("noise", [SystemNoise(), SeededNoise(1)])
@pytest.mark.parametrize("shape", [(0,), (5,), (2, 3)])
def test_a_release_keeps_shape_and_type(noise, shape):
    released = make().release(np.zeros(shape, dtype=np.int64), noise)
    assert released.shape == shape
    assert released.dtype == np.int64


def test_a_release_is_the_statistic_plus_the_source_s_noise():
    exact = np.array([5, -7, 10**15])
    noise = make(LIMIT_SQUARED).release(exact, SeededNoise(3)) - exact
    assert np.array_equal(noise, SeededNoise(3).discrete_gaussian(make(LIMIT_SQUARED).scale, 3))


def test_statistics_near_the_row_limit_do_not_overflow_at_the_largest_scale():
    scale_at_limit = make(LIMIT_SQUARED, mu=2.0**20 / LARGEST_SCALE * 1.001)
    assert scale_at_limit.scale > 0.99 * LARGEST_SCALE
    exact = np.full(500, 2**53)
    noise = scale_at_limit.release(exact, SystemNoise()) - exact
    assert np.abs(noise).max() < 8 * LARGEST_SCALE


def test_the_sampler_cuts_off_at_the_ends_of_int64_and_not_before():
    draws = SystemNoise().discrete_gaussian(2.0**66, 200)
    assert {int(np.abs(draw)) if draw > 0 else int(draw) for draw in draws if abs(int(draw)) >= 2**63 - 1} == {
        -(2**63),
        2**63 - 1,
    }
