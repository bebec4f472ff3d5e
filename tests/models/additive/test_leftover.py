"""The law that a stage releases of what it left, for a stage that takes a mean."""

from types import SimpleNamespace

import numpy as np
import pytest

from dpcate.models.additive.leftover import LEAST_LEFT, law_to_release
from dpcate.models.additive.target import TargetLaw

TOTAL = TargetLaw(0.0, np.array([-2.0, 2.0]), np.array([0.5, 0.5]))
NARROW = TOTAL.scaled(0.3)


def stage(*, before_mean=True):
    return SimpleNamespace(target=TOTAL, clip=1.0, data=SimpleNamespace(before_mean=before_mean))


def seen(trust, explained=1.0):
    """A round with one function, whose coefficient of one explains this much variance, and a mean square of two."""
    gram = SimpleNamespace(matrix=np.array([[50.0 * explained]]))
    return SimpleNamespace(trust=lambda _total: trust, gram=gram, n_weighted=50.0, mean_square=2.0)


def released(trust, explained=1.0, *, clip=5.0, **options):
    """The scale that is released after two rounds, the last one on targets as the law says that are left."""
    rounds, last = [seen(trust, explained), seen(trust)], SimpleNamespace(target=NARROW, clip=clip)
    return law_to_release(stage(**options), last, rounds, NARROW, np.ones(1)).scale


def test_where_no_mean_square_was_seen_all_is_left_that_the_coefficients_do_not_explain():
    assert released(0.0) == pytest.approx(np.sqrt(4.0 - 1.0))
    assert released(0.0, explained=0.0) == pytest.approx(2.0), "a regression that says nothing leaves everything"
    assert released(0.0, explained=9.0) == pytest.approx(np.sqrt(LEAST_LEFT * 4.0))


def test_a_mean_square_that_was_seen_counts_as_far_as_it_was():
    assert released(1.0) == pytest.approx(np.sqrt(2.0)), "though the law of the round was narrower"
    assert released(0.25) == pytest.approx(np.sqrt(0.25 * 2.0 + 0.75 * 3.0))


def test_other_stages_release_what_their_rounds_saw():
    assert released(0.0, before_mean=False) == NARROW.scale
