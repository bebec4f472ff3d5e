"""What a fit spends, from what it draws."""

import itertools

import numpy as np
import pytest
from tests.models.stages import altered

from dpcate.errors import ParameterError
from dpcate.mechanisms import LIMIT, ROW_LIMIT, SeededNoise, SystemNoise
from dpcate.models import Additive, Budget, StageData
from dpcate.schema import Category, Number

COLUMNS = (Number("age", 0, 1), Number("income", 0, 1), Category("sex", ["f", "m"]))
each_relation = pytest.mark.parametrize("neighbours", ["replace", "add_remove"])


def make_stage(n_rows=500, **changes):
    generator = np.random.default_rng(0)
    codes = [generator.integers(1, 1025, n_rows), generator.integers(1, 1025, n_rows), generator.integers(1, 3, n_rows)]
    data = StageData.of_arrays(
        columns=COLUMNS,
        codes=np.asfortranarray(np.column_stack(codes), dtype=np.uint16),
        target=generator.uniform(-1, 1, n_rows),
        low=-1.0,
        high=1.0,
        n_rows=n_rows,
        n_features=3,
    )
    return altered(data, **changes)


def fit(data, *, mu, noise, released=None, **options):
    budget = Budget(mu=mu, epsilon=1.0, delta=1e-5, neighbours="replace")
    return Additive(**options).fit(data, budget=budget, noise=noise, released=released or {})


@each_relation
def test_the_squared_shares_of_all_releases_sum_to_the_budget(neighbours):
    for changes, n_new, look in itertools.product(({}, {"kind": "probability"}), range(4), (False, True)):
        data = make_stage(10, **changes)
        data = data if neighbours == "replace" else altered(data, n_rows=None)
        mus = Additive()._split(data, 0.8, n_new=n_new, with_target="kind" not in changes, first_look=look)
        assert sum(mu**2 for mu in mus.values()) == pytest.approx(0.8**2, rel=1e-14)
        assert (mus["columns"] == 0) == (n_new == 0)
        assert (mus["count"] == 0) == (neighbours == "replace")
        assert (mus["look"] == 0) == (not look)


class Ledger:
    """A noise source that writes down how much noise was drawn."""

    void = True

    def __init__(self, source):
        self.source, self.scales = source, []

    def discrete_gaussian(self, scale, size):
        self.scales.append(scale)
        return self.source.discrete_gaussian(scale, size)

    def coins(self):
        return self.source.coins()

    def key(self):
        return self.source.key()


def test_shares_that_an_earlier_stage_released_are_not_paid_for_again():
    first, second = Ledger(SeededNoise(0)), Ledger(SeededNoise(0))
    earlier = fit(make_stage(), noise=first, mu=1.0)
    later = fit(make_stage(), noise=second, mu=1.0, released={"outcome": earlier})
    assert len(second.scales) == len(first.scales) - 1
    for old, new in zip(earlier.shares, later.shares, strict=True):
        assert np.array_equal(old, new)


@pytest.mark.parametrize(
    ("rounds", "loose", "n_rounds"),
    [((1.0,), False, 1), ((0.1, 0.2, 0.7 + 5e-10), False, 3), (None, False, 2), (None, True, 3), ((0.5, 0.5), True, 2)],
)
def test_what_was_drawn_adds_up_to_the_budget(rounds, loose, n_rounds):
    """From the scales alone: each release's mu is its sensitivity over its scale, and their squares sum to mu^2."""
    ledger = Ledger(SeededNoise(0))
    fit(make_stage(loose=loose), mu=0.8, noise=ledger, rounds=rounds)
    columns, target, *moments = ledger.scales
    off, on = np.array(moments[::2]), np.array(moments[1::2])
    assert len(off) == len(on) == n_rounds + loose  # such a stage looks at correlations first
    assert on == pytest.approx(np.sqrt(2) * off, rel=1e-9)
    spent = 2 * len(COLUMNS) * (LIMIT / columns) ** 2 + 2 * (LIMIT / target) ** 2 + (ROW_LIMIT**4 / off**2).sum()
    assert spent <= 0.8**2
    assert spent == pytest.approx(0.8**2, rel=1e-6)


@pytest.mark.parametrize(("interactions", "mu", "n_rounds"), [("plain", 2.0, 1), ("bent", 0.05, 1), ("bent", 2.0, 2)])
def test_a_probability_that_looks_for_bends_spends_its_budget_in_two_rounds(interactions, mu, n_rounds):
    ledger, generator = Ledger(SeededNoise(0)), np.random.default_rng(1)
    data = make_stage(target=generator.integers(0, 2, 500).astype(float), low=0.0, kind="probability")
    fit(altered(data, interactions=interactions), mu=mu, noise=ledger)
    columns, *moments = ledger.scales
    off = np.array(moments[::2])
    assert len(off) == n_rounds
    spent = 2 * len(COLUMNS) * (LIMIT / columns) ** 2 + (ROW_LIMIT**4 / off**2).sum()
    assert spent <= mu**2
    assert spent == pytest.approx(mu**2, rel=1e-6)
    assert (ROW_LIMIT**4 / off[0] ** 2) / (ROW_LIMIT**4 / off**2).sum() == pytest.approx(1.0 if n_rounds == 1 else 0.6)


def test_whether_there_are_two_rounds_does_not_depend_on_the_rows():
    scales = []
    for seed in range(3):
        ledger, generator = Ledger(SeededNoise(0)), np.random.default_rng(seed)
        target = (generator.uniform(size=500) < (0.0, 0.5, 1.0)[seed]).astype(float)
        data = make_stage(target=target, low=0.0, kind="probability")
        fit(altered(data, interactions="bent"), mu=2.0, noise=ledger)
        scales.append(ledger.scales)
    assert scales[0] == scales[1] == scales[2]


def test_a_round_with_too_little_is_refused_before_any_noise_is_drawn():
    ledger = Ledger(SystemNoise())
    with pytest.raises(ParameterError, match="too small"):
        fit(make_stage(), mu=1e-3, noise=ledger, rounds=(1 - 1e-9, 1e-9))
    assert ledger.scales == []


def test_a_budget_that_is_too_small_is_refused_before_any_noise_is_drawn():
    ledger = Ledger(SystemNoise())
    with pytest.raises(ParameterError, match="too small"):
        fit(make_stage(), mu=1e-9, noise=ledger)
    assert ledger.scales == []


def test_a_first_look_is_taken_once_and_only_where_it_is_asked_for():
    earlier = fit(make_stage(loose=True), noise=SeededNoise(0), mu=1.0)
    counts = []
    for changes, released in (({}, {}), ({"loose": True}, {}), ({"loose": True}, {"propensity": earlier})):
        ledger = Ledger(SeededNoise(0))
        fit(make_stage(**changes), noise=ledger, mu=1.0, released=released, rounds=(0.5, 0.5))
        counts.append(len(ledger.scales))
    assert counts == [6, 8, 5]  # histograms of columns (once) and target, then two scales for each release of moments


def test_a_look_with_too_little_is_refused_before_any_noise_is_drawn():
    ledger = Ledger(SystemNoise())
    with pytest.raises(ParameterError, match="too small"):
        fit(make_stage(loose=True), mu=1e-3, noise=ledger, look_share=1e-9)
    assert ledger.scales == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"columns_share": 0.0},
        {"look_share": 0.0},
        {"target_share": 1.0},
        {"count_share": -0.1},
        {"columns_share": 0.95},
    ],
)
def test_shares_that_leave_nothing_for_the_moments_are_refused(wrong):
    with pytest.raises(ParameterError, match="shares"):
        Additive(**wrong)
