"""Whom to treat: the best tree is the best, the gain is what it says, and its limits hold for a chosen rule."""

import itertools

import numpy as np
import pytest

from dpcate import Category, Number, RLearner, Schema, load
from dpcate.accounting import Guarantee, Identity
from dpcate.errors import NotAvailableError, ParameterError
from dpcate.learners.policy import make_policy
from dpcate.learners.policy_tree import Split, search_tree
from dpcate.models import AdditiveFunction
from dpcate.models.additive.basis import make_basis
from dpcate.models.additive.confidence import Confidence
from dpcate.models.additive.uncertainty import POSTERIOR, posterior_document
from dpcate.tables import GRID

SCHEMA = Schema(
    outcome=Number("y", -5, 5),
    treatment=Category("t", [0, 1]),
    features=[Number("age", 0, 1), Category("site", ["north", "south", "west"])],
)


def released(slope=1.0, sites=(0.0, 0.5, -0.5, 0.0), intercept=0.0, variance=None, shift=0.0, low=-10.0, high=10.0):
    """A released effect: linear in age, one value per site, uniform shares; each coefficient's centre is shifted."""
    grid = np.concatenate([[0.0], slope * ((np.arange(GRID) + 0.5) / GRID - 0.5)])
    shares = (np.concatenate([[0.0], np.full(GRID, 1 / GRID)]), np.array([0.0, 1, 1, 1]) / 3)
    details = {}
    if variance is not None:
        basis = make_basis(SCHEMA.features, shares, None, n_features=2)
        everything, nothing = np.ones(basis.n_terms, dtype=bool), np.zeros(basis.n_terms)
        found = Confidence(nothing + shift, variance * np.eye(basis.n_terms), np.zeros(2))
        details[POSTERIOR] = posterior_document(basis, everything, found, nothing, n_features=2)
    return AdditiveFunction(
        columns=SCHEMA.features,
        intercept=intercept,
        tables=(grid, np.array(sites)),
        shares=shares,
        guarantee_=Guarantee(Identity(), "replace"),
        low=low,
        high=high,
        details=details,
    )


def policy(cost=0.0, depth=2, **facts):
    return make_policy(SCHEMA, {"effect": released(**facts)}, cost=cost, depth=depth)


def test_the_threshold_treats_exactly_those_whose_effect_is_above_the_cost():
    rule = policy(cost=0.3, depth=None)
    X = np.array([[0.9, "north"], [0.9, "west"], [0.1, "north"], [0.99, "south"]], dtype=object)
    assert rule.treat(X).tolist() == [True, True, False, False]
    assert "above 0.3" in rule.rules()


def test_the_gain_of_the_threshold_is_the_mean_of_what_is_won():
    rule = policy(depth=None, sites=(0.0, 0.0, 0.0, 0.0))
    assert rule.expected_gain == pytest.approx(1 / 8, rel=0.03)  # E max(U - 1/2, 0)
    assert rule.share_treated == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_no_tree_wins_more_than_the_one_found(depth):
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 2, size=(300, 4)).astype(np.uint16)
    gains = rng.normal(size=300) + 0.5 * (codes[:, 0] ^ codes[:, 1])
    splits = [Split(j, np.array([False, True]), f"x{j}", f"not x{j}") for j in range(4)]
    leaves = search_tree(splits, codes, gains, depth)
    found = sum(gains[leaf.members(codes)].sum() for leaf in leaves if leaf.treat)
    assert sum(leaf.members(codes).sum() for leaf in leaves) == len(codes)
    assert found == pytest.approx(best_by_hand(codes, gains, depth))


def best_by_hand(codes, gains, depth):
    """The best total over all trees, by trying them one at a time."""
    if depth == 0:
        return max(gains.sum(), 0.0)
    best = max(gains.sum(), 0.0)
    for j in range(codes.shape[1]):
        passes = codes[:, j] == 1
        best = max(best, sum(best_by_hand(codes[side], gains[side], depth - 1) for side in (passes, ~passes)))
    return best


def test_a_tree_finds_the_rule_that_made_the_effect():
    rule = policy(slope=0.0, sites=(0.0, 1.0, -1.0, -1.0), depth=2)
    assert rule.rules().splitlines() == ["treat: site is north", "do not treat: site is not north"]
    assert rule.share_treated == pytest.approx(1 / 3, abs=0.01)
    assert rule.expected_gain == pytest.approx(1 / 3, abs=0.01)


def test_more_questions_never_win_less_and_the_threshold_wins_most():
    gains = [policy(depth=depth).expected_gain for depth in (0, 1, 2, None)]
    assert gains == sorted(gains)
    assert gains[0] < gains[1] < gains[2]


def test_a_missing_value_follows_the_words_of_the_rule():
    rule = policy(slope=-1.0, sites=(0.0, 0.0, 0.0, 0.0), depth=1)
    yes, no = rule.rules().splitlines()
    assert yes.startswith("treat: age <")
    assert no.startswith("do not treat: (age >=")
    assert "or missing" in no
    assert rule.treat(np.array([[np.nan, "north"], [0.01, "north"]], dtype=object)).tolist() == [False, True]


def test_a_rule_that_treats_nobody_wins_exactly_nothing():
    rule = policy(cost=4.0, depth=2, variance=0.01)
    assert rule.rules() == "do not treat: everybody"
    assert (rule.expected_gain, rule.share_treated, rule.gain_interval()) == (0.0, 0.0, (0.0, 0.0))


def test_the_interval_of_a_fixed_rule_that_treats_all_is_that_of_the_average():
    rule = policy(intercept=1.0, slope=0.0, sites=(0.0,) * 4, depth=0, variance=0.04)
    low, high = rule.gain_interval(0.05, chosen=False)
    assert high - low == pytest.approx(2 * 1.96 * 0.2, rel=0.01)
    assert (low + high) / 2 == pytest.approx(1.0)
    assert rule.gain_interval(0.05)[0] < low


@pytest.mark.parametrize("chosen", [True, False])
@pytest.mark.parametrize("shift", [0.01, -0.01, 2.0, -2.0])
def test_the_gain_s_interval_is_centred_where_effects_are_shrunk_less_and_holds_the_expected_gain(shift, chosen):
    plain, moved = (policy(cost=0.2, depth=2, variance=0.01, shift=size) for size in (0.0, shift))
    assert moved.expected_gain == plain.expected_gain
    assert 0.1 < moved.share_treated < 0.9
    treated = moved._treated(moved.people)
    by = np.where(treated, moved.known.shifts(moved.people), 0.0).mean()
    gain, (low, high) = plain.expected_gain, plain.gain_interval(0.1, chosen=chosen)
    assert (low + high) / 2 == pytest.approx(gain)
    assert abs(by) > 0.005 * abs(shift), "the shift is no matter of rounding"
    found = moved.gain_interval(0.1, chosen=chosen)
    assert found == pytest.approx((min(low + by, gain), max(high + by, gain)), rel=1e-9)
    assert (gain in found) == (abs(by) > (high - low) / 2)


def test_limits_of_a_chosen_rule_hold_where_those_of_a_fixed_rule_fail():
    """The truth is no effect at all; each release is noise, and the rule is the best one for that noise."""
    rng = np.random.default_rng(0)
    sd, hits = 0.1, {True: [], False: []}
    template = policy(depth=None, variance=sd**2)
    columns = template.known.basis.columns
    for _ in range(40):
        draw = rng.normal(0, sd, 9)
        tables = (draw[1:7] @ columns[0].values, draw[7:] @ columns[1].values)
        noisy = released(slope=0.0, variance=sd**2, intercept=draw[0])
        noisy = AdditiveFunction(
            columns=noisy.columns,
            intercept=draw[0],
            tables=tables,
            shares=noisy.shares,
            guarantee_=noisy.guarantee_,
            details=noisy.details,
        )
        rule = make_policy(SCHEMA, {"effect": noisy}, cost=0.0, depth=None)
        for chosen, found in hits.items():
            low, high = rule.gain_interval(0.05, chosen=chosen)
            found.append(low <= 0.0 <= high)  # the true gain of every rule is zero
    assert np.mean(hits[True]) >= 0.9
    assert np.mean(hits[False]) < 0.8


def test_a_model_that_does_not_know_its_error_has_a_rule_but_no_interval():
    rule = policy()
    assert rule.expected_gain > 0
    with pytest.raises(NotAvailableError, match="does not know its error"):
        rule.gain_interval()


@pytest.mark.parametrize("wrong", [{"cost": np.inf}, {"cost": "1"}, {"depth": 3}, {"depth": True}])
def test_wrong_questions_are_refused(wrong):
    with pytest.raises(ParameterError):
        policy(**wrong)


def test_a_saved_learner_gives_the_same_rule(tmp_path, schema, columns):
    learner = RLearner(schema, epsilon=8.0, random_state=1).fit_table(columns)
    learner.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    X = list(itertools.product([20.0, 50.0, 90.0], ["female", "male"], [10.0, 80.0]))
    X = np.array(X, dtype=object)
    for depth in (None, 2):
        one, other = learner.policy(0.05, depth=depth), again.policy(0.05, depth=depth)
        assert one.rules() == other.rules()
        assert one.treat(X).tolist() == other.treat(X).tolist()
        assert one.gain_interval(0.1) == pytest.approx(other.gain_interval(0.1))
    assert learner.policy(0.05, depth=None).treat(X).tolist() == (learner.effect(X) > 0.05).tolist()
