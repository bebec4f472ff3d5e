import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcate.accounting import EpsilonDelta, Gaussian, Guarantee
from dpcate.errors import ParameterError
from dpcate.splitting import Plan

STAGES = ("propensity", "outcome", "effect")
EPSILONS = np.array([0.0, 0.3, 1.0, 2.0, 5.0])
ALPHAS = np.linspace(0.01, 0.99, 25)


@st.composite
def plans(draw):
    """Any plan of up to four parts and four stages in which every part is read."""
    n_parts = draw(st.integers(1, 4))
    raw = draw(st.lists(st.integers(1, 9), min_size=n_parts, max_size=n_parts))
    n_stages = draw(st.integers(1, 4))
    part_sets = st.sets(st.integers(0, n_parts - 1), min_size=1)
    reads = [tuple(sorted(draw(part_sets))) for _ in range(n_stages)]
    unread = set(range(n_parts)) - {part for parts in reads for part in parts}
    reads[0] = tuple(sorted({*reads[0], *unread}))
    return Plan(
        shares=tuple(share / sum(raw) for share in raw),
        reads=tuple((f"stage {s}", parts) for s, parts in enumerate(reads)),
        weights=tuple(draw(st.floats(0.1, 10.0)) for _ in range(n_stages)),
    )


def spend(plan, mu):
    return {name: Guarantee(Gaussian(budget), "replace") for name, budget in plan.budgets(mu).items()}


@settings(deadline=None)
@given(plan=plans(), mu=st.floats(0.01, 10.0))
def test_within_every_part_the_budgets_compose_to_at_most_mu(plan, mu):
    budgets = plan.budgets(mu)
    for part in range(len(plan.shares)):
        spent = math.fsum(budgets[name] ** 2 for name, parts in plan.reads if part in parts)
        assert spent <= mu**2 * (1 + 1e-12)


@settings(deadline=None)
@given(plan=plans())
def test_the_fullest_part_uses_the_whole_budget(plan):
    fractions = plan.fractions()
    loads = [
        math.fsum(fractions[name] for name, parts in plan.reads if part in parts) for part in range(len(plan.shares))
    ]
    assert max(loads) == pytest.approx(1.0)


@settings(deadline=None, max_examples=30)
@given(plan=plans(), mu=st.floats(0.1, 3.0))
def test_a_plan_run_on_its_budgets_costs_at_most_the_gaussian_of_mu(plan, mu):
    cost = plan.cost(spend(plan, mu))
    assert (cost.delta(EPSILONS) <= Gaussian(mu).delta(EPSILONS) * (1 + 1e-9) + 1e-15).all()


def test_a_split_of_equal_gaussians_costs_that_gaussian():
    plan = Plan.split(STAGES, shares=(0.25, 0.25, 0.5))
    cost = plan.cost(spend(plan, 0.8))
    assert cost.neighbours == "replace"
    assert cost.tradeoff(ALPHAS) == pytest.approx(Gaussian(0.8)(ALPHAS), rel=1e-9)


def test_shared_stages_compose_to_the_gaussian_of_mu():
    plan = Plan.shared(STAGES, weights=(1, 2, 5))
    cost = plan.cost(spend(plan, 0.8))
    assert cost.tradeoff(ALPHAS) == pytest.approx(Gaussian(0.8)(ALPHAS), rel=1e-9)


def test_a_stage_that_reads_two_parts_counts_in_both():
    plan = Plan(shares=(0.5, 0.5), reads=(("a", (0,)), ("b", (1,)), ("c", (0, 1))), weights=(1.0, 3.0, 1.0))
    assert plan.fractions() == pytest.approx({"a": 0.5, "b": 0.75, "c": 0.25})
    cost = plan.cost({name: Guarantee(Gaussian(mu), "replace") for name, mu in (("a", 3.0), ("b", 1.0), ("c", 4.0))})
    assert cost.tradeoff(ALPHAS) == pytest.approx(Gaussian(5.0)(ALPHAS), rel=1e-9)


def test_parts_of_different_cost_cost_as_much_as_the_worst_at_each_epsilon():
    plan = Plan.split(("a", "b"), shares=(0.5, 0.5))
    kinds = {"a": Gaussian(1.0), "b": EpsilonDelta(1.0, 0.01)}
    cost = plan.cost({name: Guarantee(f, "add_remove") for name, f in kinds.items()})
    worst = np.maximum(kinds["a"].delta(EPSILONS), kinds["b"].delta(EPSILONS))
    assert cost.delta(EPSILONS) == pytest.approx(worst, rel=1e-6, abs=1e-12)
    assert cost.neighbours == "add_remove"


@settings(deadline=None, max_examples=25)
@given(plan=plans(), data=st.data())
def test_secret_coins_are_never_less_private_than_the_worst_part(plan, data):
    mus = {name: data.draw(st.floats(0.1, 3.0)) for name, _ in plan.reads}
    spent = {name: Guarantee(Gaussian(mu), "replace") for name, mu in mus.items()}
    known, secret = plan.cost(spent), plan.cost(spent, secret_coins=True)
    assert (secret.delta(EPSILONS) <= known.delta(EPSILONS) * (1 + 1e-9) + 1e-15).all()


def test_secret_coins_average_the_deltas_of_the_parts():
    plan = Plan.split(("a", "b"), shares=(0.25, 0.75))
    spent = {"a": Guarantee(Gaussian(2.0), "replace"), "b": Guarantee(Gaussian(0.5), "replace")}
    average = 0.25 * Gaussian(2.0).delta(EPSILONS) + 0.75 * Gaussian(0.5).delta(EPSILONS)
    assert plan.cost(spent, secret_coins=True).delta(EPSILONS) == pytest.approx(average, rel=1e-6)


def test_a_part_that_nobody_reads_leaves_the_cost_at_the_worst_part():
    plan = Plan(shares=(0.5, 0.5), reads=(("a", (0,)),), weights=(1.0,))
    spent = {"a": Guarantee(Gaussian(1.0), "replace")}
    assert plan.cost(spent, secret_coins=True) == plan.cost(spent)
    assert plan.cost(spent).delta(1.0) == pytest.approx(Gaussian(1.0).delta(1.0))


def test_void_nominal_and_notes_are_passed_on():
    plan = Plan.split(("a", "b"), shares=(0.5, 0.5))
    spent = {
        "a": Guarantee(Gaussian(1.0), "replace", void=True, notes=("seeded",)),
        "b": Guarantee(Gaussian(0.5), "replace", nominal=True),
    }
    for secret in (False, True):
        cost = plan.cost(spent, secret_coins=secret)
        assert cost.void
        assert cost.nominal
        assert "seeded" in cost.notes


def test_stages_under_different_relations_do_not_add_up():
    plan = Plan.split(("a", "b"), shares=(0.5, 0.5))
    spent = {"a": Guarantee(Gaussian(1.0), "replace"), "b": Guarantee(Gaussian(1.0), "add_remove")}
    with pytest.raises(ParameterError):
        plan.cost(spent)


def test_shared_rows_have_less_noise_than_split_rows():
    """Relative noise k for a split, sqrt(k) for shared rows: docs/privacy/plans.md."""
    n_rows, k = 9000, 3
    split = Plan.split(STAGES, shares=(1, 1, 1)).budgets(1.0)["effect"]
    shared = Plan.shared(STAGES, weights=(1, 1, 1)).budgets(1.0)["effect"]
    noise_split, noise_shared = 1 / (split * n_rows / k), 1 / (shared * n_rows)
    assert noise_split / noise_shared == pytest.approx(math.sqrt(k))


def test_shares_are_normalised():
    assert Plan.split(STAGES, shares=(1, 1, 2)).shares == (0.25, 0.25, 0.5)


@pytest.mark.parametrize(
    "wrong",
    [
        {"shares": ()},
        {"shares": (0.5, 0.4)},
        {"shares": (1.5, -0.5)},
        {"shares": (1.0, 0.0)},
        {"shares": (math.nan, 0.5)},
        {"reads": ()},
        {"reads": (("a", (0,)), ("a", (1,)))},
        {"reads": (("a", ()), ("b", (1,)))},
        {"reads": (("a", (0,)), ("b", (2,)))},
        {"reads": (("a", (-1,)), ("b", (1,)))},
        {"weights": (1.0,)},
        {"weights": (1.0, 0.0)},
        {"weights": (1.0, math.inf)},
        {"weights": (1.0, math.nan)},
    ],
)
def test_plans_that_make_no_sense_are_refused(wrong):
    right = {"shares": (0.5, 0.5), "reads": (("a", (0,)), ("b", (1,))), "weights": (1.0, 1.0)}
    Plan(**right)
    with pytest.raises(ParameterError):
        Plan(**{**right, **wrong})


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0, 0, 0), (-1, -1, -1), (1, 1, math.inf), (1, 1, math.nan)])
def test_splits_that_make_no_sense_are_refused(shares):
    with pytest.raises(ParameterError):
        Plan.split(STAGES, shares=shares)


def test_more_parts_than_labels_are_refused():
    with pytest.raises(ParameterError, match="127 parts"):
        Plan.split([f"stage {i}" for i in range(128)], shares=[1.0] * 128)
