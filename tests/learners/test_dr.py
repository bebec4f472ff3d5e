"""The doubly robust score: bounds that no row can leave, whatever was released."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcate import Category, Number, Schema
from dpcate.accounting import Gaussian, Guarantee
from dpcate.learners.arms import ArmsByDifference, ArmsOfOutcome
from dpcate.learners.average import TreatedScore
from dpcate.learners.dr import Score
from dpcate.learners.nuisances import Propensity
from dpcate.learners.released import Released
from dpcate.models import AdditiveFunction, Product
from dpcate.tables import Rows, n_codes

LOW, HIGH = -2.0, 3.0
SCHEMA = Schema(
    outcome=Number("y", LOW, HIGH),
    treatment=Category("t", [0, 1]),
    features=[Category("town", list("abcd")), Category("sex", ["f", "m"])],
)
INPUTS = (*SCHEMA.features, SCHEMA.treatment)
PROPENSITY = Propensity(None, 0.05)
sizes = st.sampled_from([0.0, 0.1, 1.0, 10.0, 1e6])
PAIRS = [(0, 1), (0, 2), (1, 2), (2, 0), (2, 1)]


def make_function(seed, columns, *, low, high, tables=1.0, products=1.0, pairs=()):
    generator = np.random.default_rng(seed)
    lengths = [n_codes(column) for column in columns]

    def drawn(j, size):
        return size * generator.normal(size=lengths[j])

    return AdditiveFunction(
        columns=columns,
        intercept=float(generator.normal(scale=0.5)),
        tables=tuple(drawn(j, tables) for j in range(len(columns))),
        shares=tuple(np.full(length, 1 / length) for length in lengths),
        products=tuple(Product(i, j, drawn(i, products), drawn(j, 1.0), generator.normal()) for i, j in pairs),
        guarantee_=Guarantee(Gaussian(1.0), "replace"),
        low=low,
        high=high,
    )


def every_row():
    """All codes, both arms, outcomes at both bounds and inside."""
    parts = np.meshgrid(*(np.arange(n_codes(column)) for column in SCHEMA.features), [0, 1], [LOW, 0.3, HIGH])
    town, sex, arm, y = (part.ravel() for part in parts)
    codes = np.asfortranarray(np.column_stack([town, sex]), dtype=np.uint16)
    return Rows(codes, y, arm.astype(np.int8), np.ones(len(y), dtype=bool))


def make_released(seed, *, tables, products, pairs, treat=0.2):
    return Released(
        SCHEMA,
        {
            "propensity": make_function(seed + 1, SCHEMA.features, low=0.0, high=1.0, tables=treat, pairs=[(0, 1)]),
            "outcome": make_function(seed, INPUTS, low=LOW, high=HIGH, tables=tables, products=products, pairs=pairs),
        },
    )


def make_difference(seed, *, tables, size, shift=0.0, treat=0.2):
    """An outcome of the features alone and a difference between the arms, which has no bounds."""
    pairs = [(0, 1)]
    outcome = make_function(seed, SCHEMA.features, low=LOW, high=HIGH, tables=tables, products=tables, pairs=pairs)
    difference = make_function(
        seed + 2, SCHEMA.features, low=-np.inf, high=np.inf, tables=size, products=size, pairs=pairs
    )
    return Released(
        SCHEMA,
        {
            "propensity": make_function(seed + 1, SCHEMA.features, low=0.0, high=1.0, tables=treat, pairs=pairs),
            "outcome": outcome,
            "difference": replace(difference, intercept=difference.intercept + shift),
        },
    )


def assert_within_bounds(score, released):
    scores = score.of(every_row(), released)
    low, high = score.bounds(SCHEMA, released)
    assert low <= scores.min() + 1e-9
    assert scores.max() <= high + 1e-9
    assert np.isfinite([low, high]).all()
    assert max(-low, high) <= (HIGH - LOW) * (1 + 1 / 0.05) + 1e-9, "nor are they wider than any score can be"


@settings(max_examples=200)
@given(
    seed=st.integers(0, 10**6),
    tables=sizes,
    products=sizes,
    treat=sizes,
    pairs=st.lists(st.sampled_from(PAIRS), max_size=6),
    score=st.sampled_from([Score, TreatedScore]),
)
def test_no_row_s_score_leaves_the_bounds(seed, tables, products, treat, pairs, score):
    released = make_released(seed, tables=tables, products=products, pairs=pairs, treat=treat)
    assert_within_bounds(score(PROPENSITY, ArmsOfOutcome()), released)


@settings(max_examples=200)
@given(
    seed=st.integers(0, 10**6),
    tables=sizes,
    size=sizes,
    shift=st.sampled_from([-1e6, -5.0, 0.0, 5.0, 1e6]),
    treat=sizes,
    known=st.sampled_from([None, 0.05, 0.5, 0.9]),
    score=st.sampled_from([Score, TreatedScore]),
)
def test_nor_does_one_whose_arms_come_from_a_difference(seed, tables, size, shift, treat, known, score):
    propensity = Propensity(known, 0.05)
    released = make_difference(seed, tables=tables, size=size, shift=shift, treat=treat)
    assert_within_bounds(score(propensity, ArmsByDifference(propensity.as_it_is)), released)


@pytest.mark.parametrize("pair", [(0, 2), (2, 0)])
def test_a_product_with_the_arm_widens_the_bounds_by_what_it_can_add(pair):
    """Without it a row whose effect is larger than the arm's own term would leave them."""
    own = np.array([0.0, 0.5, 1.0])
    factor = np.array([0.0, -0.4, 0.1, 0.2, 0.6])
    arm = np.array([9.0, -0.5, 0.5])  # the first is no arm
    sides = (factor, arm) if pair == (0, 2) else (arm, factor)
    outcome = AdditiveFunction(
        columns=INPUTS,
        intercept=0.0,
        tables=(np.zeros(5), np.zeros(3), own),
        shares=(np.full(5, 0.2), np.full(3, 1 / 3), np.full(3, 1 / 3)),
        products=(Product(*pair, *sides, 0.3), Product(0, 1, 100 * factor, np.ones(3))),
        guarantee_=Guarantee(Gaussian(1.0), "replace"),
        low=LOW,
        high=HIGH,
    )
    released = Released(SCHEMA, {"outcome": outcome})
    reach = (HIGH - LOW) / 0.5
    score = Score(Propensity(0.5, 0.05), ArmsOfOutcome())
    assert score.bounds(SCHEMA, released) == pytest.approx((-reach, 0.5 + 0.6 + reach))
    steep = tuple(replace(product, left=3 * product.left) for product in outcome.products)
    released = Released(SCHEMA, {"outcome": replace(outcome, products=steep)})
    low, _ = score.bounds(SCHEMA, released)
    assert low == pytest.approx(0.5 - 3 * 0.4 - reach)


def test_without_products_of_the_arm_the_bounds_are_those_of_its_term():
    released = make_released(3, tables=0.2, products=0.5, pairs=[(0, 1)])
    table = released["outcome"].tables[-1]
    jump = float(table[2] - table[1])
    e_low, e_high = PROPENSITY.extremes(released)
    reach = (HIGH - LOW) / min(e_low, 1 - e_high)
    found = Score(PROPENSITY, ArmsOfOutcome()).bounds(SCHEMA, released)
    assert found == pytest.approx((min(jump, 0) - reach, max(jump, 0) + reach))


@pytest.mark.parametrize("known", [None, 0.2])
def test_the_arms_of_a_difference_are_as_far_apart_as_it_says_and_meet_the_outcome_in_between(known):
    propensity, rows = Propensity(known, 0.05), every_row()
    released = make_difference(5, tables=0.1, size=0.1)
    control, treated = ArmsByDifference(propensity).means(rows, released)
    assert LOW < min(control.min(), treated.min()) < max(control.max(), treated.max()) < HIGH, "no bound is in force"
    assert treated - control == pytest.approx(released.predict("difference", rows))
    e = propensity.of(rows, released)
    assert e * treated + (1 - e) * control == pytest.approx(released.predict("outcome", rows))
    low, high = ArmsByDifference(propensity).jumps(released)
    assert low <= (treated - control).min() < (treated - control).max() <= high


def test_the_arms_of_a_large_difference_stay_within_the_outcome_s_bounds():
    released = make_difference(5, tables=0.1, size=0.1, shift=100.0)
    control, treated = ArmsByDifference(PROPENSITY).means(every_row(), released)
    assert set(control) == {LOW}
    assert set(treated) == {HIGH}
