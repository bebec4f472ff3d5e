"""Slices of people by a released function: even, falling, row by row; and the base learner that sums over them."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
from tests.models.stages import altered

from dpcate.accounting import Gaussian, Guarantee, Identity
from dpcate.errors import ParameterError
from dpcate.mechanisms import SeededNoise, SystemNoise
from dpcate.models import SLICES, AdditiveFunction, BaseLearner, Budget, SliceSums, StageData, make_slices
from dpcate.models.additive.target import RESIDUAL, TargetLaw, clip_at
from dpcate.schema import Category, Number
from dpcate.tables import n_codes

COLUMNS = (Number("age", 0, 1), Category("sex", ["f", "m"]))
GENERATOR = np.random.default_rng(3)
PEOPLE = np.asfortranarray(
    np.column_stack([GENERATOR.integers(1, 1025, 4000), GENERATOR.integers(1, 3, 4000)]), dtype=np.uint16
)


def function(*tables):
    shares = [np.full(n_codes(column), 1 / n_codes(column)) for column in COLUMNS]
    return AdditiveFunction(
        columns=COLUMNS, intercept=0.5, tables=tables, shares=shares, guarantee_=Guarantee(Identity(), "replace")
    )


RISING = function(np.linspace(-1, 1, 1025), np.zeros(3))
BY_SEX = function(np.zeros(1025), np.array([0.0, -1.0, 1.0]))
FLAT = function(np.zeros(1025), np.zeros(3))


def test_slices_hold_equally_many_people_with_the_largest_values_first():
    slices = make_slices(RISING, PEOPLE, 5)
    mine = slices.of(PEOPLE)
    np.testing.assert_allclose(np.bincount(mine) / len(PEOPLE), 0.2, atol=0.002)
    values = RISING.predict(PEOPLE)
    ends = [(values[mine == k].max(), values[mine == k].min()) for k in range(5)]
    assert all(low > high for (_, low), (high, _) in itertools.pairwise(ends))
    assert [low for _, low in ends[:-1]] == list(slices.cuts), "a cut belongs to the slice above it"


@pytest.mark.parametrize(("released", "n_slices"), [(BY_SEX, 2), (FLAT, 1)])
def test_people_with_the_same_value_are_never_parted(released, n_slices):
    slices = make_slices(released, PEOPLE, 5)
    assert slices.n_slices == n_slices
    values, mine = released.predict(PEOPLE), slices.of(PEOPLE)
    assert all(len(set(mine[values == value])) == 1 for value in set(values))


def test_a_slice_does_not_depend_on_the_company():
    slices = make_slices(RISING, PEOPLE, 5)
    together = slices.of(PEOPLE)
    alone = np.concatenate([slices.of(PEOPLE[k : k + 1]) for k in range(300)])
    np.testing.assert_array_equal(alone, together[:300])
    assert len(slices.of(PEOPLE[:0])) == 0


def stage(**changes):
    generator = np.random.default_rng(1)
    arm = generator.integers(0, 2, len(PEOPLE)) - 0.5
    slices = make_slices(RISING, PEOPLE, 4)
    target = arm * np.where(slices.of(PEOPLE) < 2, 2.0, 0.0) + 0.1 * generator.normal(size=len(PEOPLE))
    facts = {"low": -3.0, "high": 3.0, "loading_bound": 0.5, "n_features": 2, "slices": slices}
    law = lambda codes: (np.full(len(codes), 0.5), np.full(len(codes), 0.25))  # noqa: E731
    data = StageData.of_arrays(
        columns=COLUMNS, codes=PEOPLE, target=target, loading=arm, loading_law=law, n_rows=len(PEOPLE), **facts
    )
    return altered(data, **changes)


def fit(data, *, mu=1e3, neighbours="replace", noise=None):
    budget = Budget(mu=mu, epsilon=1.0, delta=1e-5, neighbours=neighbours)
    return SliceSums().fit(data, budget=budget, noise=noise or SeededNoise(4), released={})


def test_the_sums_tell_the_coefficient_of_each_slice():
    found = fit(stage()).details[SLICES]
    coefficients = np.array(found["sums"]) / (np.array(found["counts"]) * found["loadings"])
    np.testing.assert_allclose(coefficients, [2.0, 2.0, 0.0, 0.0], atol=0.05)
    np.testing.assert_allclose(found["counts"], len(PEOPLE) / 4, rtol=0.02)
    squares = np.array(found["squares"]) / found["counts"]
    np.testing.assert_allclose(squares, [0.25 + 0.0025, 0.25 + 0.0025, 0.0025, 0.0025], atol=0.02)


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_the_learner_costs_what_it_promised_and_releases_plain_numbers(neighbours):
    learner, budget = SliceSums(), Budget(mu=0.7, epsilon=1.0, delta=1e-5, neighbours=neighbours)
    assert isinstance(learner, BaseLearner)
    model = learner.fit(stage(), budget=budget, noise=SystemNoise(), released={})
    assert model.guarantee_ == learner.promise(budget) == Guarantee(Gaussian(0.7), neighbours)
    json.dumps(model.to_dict(), allow_nan=False)
    assert fit(stage(), neighbours=neighbours).guarantee_.void


def test_rows_beyond_the_bounds_count_as_the_bounds():
    wild = stage().held.target.copy()
    wild[:5] = [np.inf, -np.inf, np.nan, 1e300, -1e300]
    tame = wild.copy()
    tame[:5] = [3.0, -3.0, 0.0, 3.0, -3.0]
    assert fit(stage(target=wild)).details == fit(stage(target=tame)).details


def test_a_stage_without_slices_is_refused():
    with pytest.raises(ParameterError, match="slices"):
        fit(stage(slices=None))


@pytest.mark.parametrize("few_values", [True, False])
def test_what_clipping_leaves_of_an_effect_depends_on_whether_it_moves_everybody(few_values):
    law = replace(TargetLaw.of_yes(0.03), few_values=few_values)
    released = {"outcome": replace(RISING, details={RESIDUAL: law.to_dict()})}
    budget = Budget(mu=1e3, epsilon=1.0, delta=1e-5, neighbours="replace")
    data = replace(stage(), residual_of="outcome", low=-1.0, high=1.0)
    found = SliceSums().fit(data, budget=budget, noise=SeededNoise(4), released=released).details[SLICES]
    clip = max(clip_at(law, mu=1.0, n_rows=1.0, n_terms=1, farthest=1.0), 3.0 * law.scale)
    assert clip < 0.97, "a yes is clipped"
    of_a_yes = (0.97 * 0.03**2 + 0.03 * 0.97 * clip) / (0.97 * 0.03)
    assert found["attenuation"] == pytest.approx(of_a_yes if few_values else 0.97)
