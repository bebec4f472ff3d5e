"""What clipping makes of means: against plain sums over the points of a law."""

import numpy as np
import pytest

from dpcate.models.additive.clipping import Residuals
from dpcate.models.additive.target import TargetLaw

POINTS = np.linspace(-3.0, 3.0, 129)
BELL = TargetLaw(0.0, POINTS, (d := np.exp(-(POINTS**2))) / d.sum())
TAIL = TargetLaw(0.0, np.linspace(-1.0, 5.0, 128), (d := np.exp(-np.linspace(0.0, 6.0, 128))) / d.sum())
MEANS = np.linspace(-6.0, 6.0, 25)[None, :] + np.zeros((4, 1))
WEIGHTS = np.array([0.3, 1.0, -2.5, -8.0])


def plainly(law, means, weights, clip):
    """The mean over residuals of either sign, one by one."""
    total = np.zeros_like(means)
    for size, share in zip(np.abs(law.deviations), law.shares, strict=True):
        for r in (-size, size):
            total += 0.5 * share * np.clip(means + weights[:, None] * r, -clip, clip)
    return total


@pytest.mark.parametrize("law", [BELL, TAIL], ids=["bell", "tail"])
@pytest.mark.parametrize("clip", [0.5, 2.0, 7.0, 100.0])
def test_the_mean_of_clipped_targets(law, clip):
    found = Residuals(law).clipped(MEANS, WEIGHTS, clip)
    assert found == pytest.approx(plainly(law, MEANS, WEIGHTS, clip), abs=2e-3 * np.abs(WEIGHTS).max())
    assert np.abs(found).max() <= clip + 1e-9


def test_without_a_bound_nothing_changes_and_without_weight_the_mean_itself_is_clipped():
    residuals = Residuals(BELL)
    assert residuals.clipped(MEANS, WEIGHTS, np.inf) == pytest.approx(MEANS)
    assert residuals.clipped(MEANS, np.zeros(4), 2.0) == pytest.approx(np.clip(MEANS, -2.0, 2.0), abs=1e-6)


def test_residuals_that_are_all_zero_have_no_spread():
    nothing = TargetLaw(0.0, np.zeros(3), np.full(3, 1 / 3))
    assert Residuals(nothing).clipped(MEANS, WEIGHTS, 2.0) == pytest.approx(np.clip(MEANS, -2.0, 2.0))


def test_the_spread_softens_the_bound():
    """A mean at the bound is cut already, as half of its targets lie beyond; one far inside is left alone."""
    at_the_bound, inside = Residuals(BELL).clipped(np.array([[2.0, 0.5]]), np.array([0.4]), 2.0)[0]
    assert at_the_bound < 1.9
    assert inside == pytest.approx(0.5, abs=0.01)
