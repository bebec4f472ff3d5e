"""The mean's part of a budget grows with what there is to see; it is worked out from public facts alone."""

import numpy as np
import pytest
from tests.learners.confounded import SCHEMA, draw, with_known_propensity

from dpcate import AverageEffect
from dpcate.accounting import Gaussian, Guarantee
from dpcate.learners.division import divided
from dpcate.learners.options import make_plan
from dpcate.models import Ebm
from dpcate.splitting import Plan

STAGES = AverageEffect(SCHEMA)._stages()
BUDGETS = 1e-4, 0.05, 0.27, 0.9, 3.0, 100.0


def division(mu, n_rows):
    return {stage.name: stage for stage in divided(STAGES, mean="effect", fixed="difference", mu=mu, n_rows=n_rows)}


@pytest.mark.parametrize("kind", ["weight", "share"])
def test_the_mean_gets_more_the_more_there_is_to_see_and_never_all(kind):
    parts = np.array([getattr(division(mu, n)["effect"], kind) for n in (100, 10_000, 10**9) for mu in BUDGETS])
    assert parts.min() == 0.15
    assert parts.max() == 0.5
    assert (np.diff(parts.reshape(3, -1), axis=0) >= 0.0).all()
    assert (np.diff(parts.reshape(3, -1), axis=1) >= 0.0).all()
    assert len(np.unique(parts.round(6))) >= 5


@pytest.mark.parametrize("mu", BUDGETS)
@pytest.mark.parametrize("kind", ["weight", "share"])
def test_the_parts_sum_to_one_and_the_first_stages_keep_their_proportion(mu, kind):
    stages, before = division(mu, 4_000), {stage.name: stage for stage in STAGES}
    assert sum(getattr(stage, kind) for stage in stages.values()) == pytest.approx(1.0)
    assert list(stages) == list(before), "in the same order"
    assert getattr(stages["difference"], kind) == getattr(before["difference"], kind)
    now, then = (getattr(of["propensity"], kind) / getattr(of["outcome"], kind) for of in (stages, before))
    assert now == pytest.approx(then)


def runs_of(n_rows, **options):
    """The run as it is prepared, and as it is for so many rows."""
    learner = AverageEffect(**({"schema": SCHEMA} | options))
    run, _ = learner._prepare()
    return run, learner._divided(run, n_rows)


@pytest.mark.parametrize("plan", ["shared", "split"])
def test_few_rows_leave_more_to_the_first_stages(plan):
    (first, few), (_, many) = (runs_of(n, plan=plan) for n in (1_000, 100_000))
    part = {
        "shared": lambda run: run.plan.fractions()["effect"],
        "split": lambda run: run.plan.shares[-1],
    }[plan]
    assert part(few) < part(first) < part(many)
    for run in (few, many):
        assert run.planned_cost().epsilon(1e-5) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "options",
    [
        {"plan": Plan.shared([stage.name for stage in STAGES], weights=(1, 1, 1, 1))},
        {"model": Ebm(rounds=2)},
        {"schema": with_known_propensity()},
    ],
    ids=["a plan of one's own", "another model", "a known propensity"],
)
def test_everything_else_is_divided_as_it_was(options):
    before, after = runs_of(1_000, **options)
    assert after is before


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_where_the_number_of_rows_is_private_it_decides_nothing(neighbours, monkeypatch):
    asked = []

    def remember(self, run, n_rows):
        asked.append(n_rows)
        return run

    monkeypatch.setattr(AverageEffect, "_divided", remember)
    AverageEffect(SCHEMA, neighbours=neighbours, random_state=0).fit_table(draw(500, 0))
    assert asked == ([500] if neighbours == "replace" else [])


def test_a_fit_spends_as_it_was_divided():
    fitted = AverageEffect(SCHEMA, random_state=0).fit_table(draw(2_000, 0))
    _, run = runs_of(2_000)
    assert run.plan == make_plan("shared", run.stages)
    budgets = {name: budget.mu for name, budget in run._budgets().items()}
    for name, model in fitted.models_.items():
        promised = Guarantee(Gaussian(budgets[name]), "replace")
        assert model.guarantee_.tradeoff(0.3) == pytest.approx(promised.tradeoff(0.3)), name
