"""Which laws of a target are a single heap; others are not clipped nearer before a mean."""

import numpy as np
import pytest

from dpcate.models.additive.heaps import one_heap
from dpcate.models.additive.target import TargetLaw, clip_at

OPTIONS = {"mu": 0.1, "n_rows": 4_000, "n_terms": 37, "farthest": 40.0}


def law_of(points, density):
    shares = density / density.sum()
    centre = float(shares @ points)
    return TargetLaw(centre, points - centre, shares)


def spending(chance):
    """Amounts that are mostly zero: spent with a chance, and then spread like an exponential."""
    points = np.linspace(0.0, 40.0, 160)
    density = np.exp(-points / 8.0)
    density *= chance / density.sum()
    density[0] += 1.0 - chance
    return law_of(points, density)


def heaps(away):
    """Two normal heaps on either side of zero."""
    points = np.linspace(-10.0, 10.0, 321)
    return law_of(points, np.exp(-0.5 * (points - away) ** 2) + np.exp(-0.5 * (points + away) ** 2))


SEVERAL = {
    "a yes that is rare": TargetLaw(0.05, np.array([-0.05, 0.95]), np.array([0.95, 0.05]), few_values=True),
    "the same, not known for one": TargetLaw(0.05, np.array([-0.05, 0.95]), np.array([0.95, 0.05])),
    **{f"{chance:.0%} spend something": spending(chance) for chance in (0.05, 0.2, 0.4)},
    "two heaps": heaps(5.0),
}
POINTS = np.linspace(0.0, 1.0, 321)
ONE = {
    "even": law_of(POINTS, np.ones(321)),
    "normal": law_of(POINTS, np.exp(-0.5 * ((POINTS - 0.5) / 0.1) ** 2)),
    "exponential": law_of(POINTS, np.exp(-POINTS / 0.1)),
    "flat at its top": heaps(1.2),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_what_is_no_single_heap_is_not_clipped_nearer(name):
    law = SEVERAL[name]
    assert not one_heap(law)
    assert not one_heap(law.scaled(0.3)), "what a model leaves has the same shape"
    assert clip_at(law, **OPTIONS, misread=0.2) == clip_at(law, **OPTIONS)
    assert clip_at(law, **OPTIONS, misread=0.0) >= clip_at(law, **OPTIONS), "fairer may be asked for all the same"


@pytest.mark.parametrize("name", ONE)
def test_common_laws_are_a_single_heap(name):
    assert one_heap(ONE[name])
    assert one_heap(ONE[name].scaled(0.3))
