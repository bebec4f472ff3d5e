"""Rounds of a mean: what they do not share averages out, what bounds cut in all of them does not."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from dpcate.models.additive.combining import Round, combined
from dpcate.models.additive.gram import Gram
from dpcate.models.additive.posterior import Prior

N = 1000.0


class Same:
    """Coefficients are measured as they are."""

    def measured(self, coefficients):
        return coefficients

    def measured_variances(self, covariance):
        return np.diagonal(covariance)

    def equations(self, z, noise, level):
        return z, noise, level


class Cut:
    """A law of which any bound cuts its due."""

    def bias(self, reach, farthest):
        assert farthest == 8.0
        return {1.0: 0.5, 2.0: 0.1, 3.0: 0.0}[reach]


def stated(clips, noise=30.0, cut=None):
    one = np.ones((1, 1))
    seen = SimpleNamespace(
        gram=Gram(N * one, 0.0 * one),
        z=np.array([N]),
        z_noise=np.array([noise]),
        n_weighted=N,
        attenuation=0.8,
        shift=0.0 * one,
    )
    rounds = [Round(seen, np.zeros(1), clip, 8.0) for clip in clips]
    before = SimpleNamespace(mean=np.ones(1), covariance=0.0 * one, log_scales=np.zeros(0))
    flat = Prior(np.array([1e6]), np.array([0]))
    return math.sqrt(combined(rounds, before, 1e-9, flat, Same(), cut=cut).covariance[0, 0])


def test_noise_of_two_rounds_averages_out():
    assert stated([3.0, 3.0], cut=Cut()) == pytest.approx(30.0 / N / math.sqrt(2), rel=1e-3)
    assert stated([1.0, 1.0]) == pytest.approx(30.0 / N / math.sqrt(2), rel=1e-3), "a regression's bounds are no bias"


def test_what_both_rounds_cut_is_stated_in_full():
    assert stated([2.0, 2.0], cut=Cut()) == pytest.approx(math.hypot(0.03 / math.sqrt(2), 0.1 / 0.8), rel=1e-3)


def test_a_round_that_clipped_too_near_hardly_counts():
    alone = math.hypot(0.03, 0.1 / 0.8)
    assert stated([1.0, 2.0], cut=Cut()) == pytest.approx(alone, rel=0.25)
    assert stated([1.0, 3.0], cut=Cut()) == pytest.approx(0.03, rel=0.1)
