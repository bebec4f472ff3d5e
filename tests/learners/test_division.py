"""The mean's part of a budget grows with what there is to see; it is worked out from public facts alone."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv
from tests.learners.confounded import SCHEMA, draw, with_known_propensity

from dpcate import AverageEffect, DRLearner, Number, RLearner, Stage
from dpcate.accounting import Gaussian, Guarantee, mu_for
from dpcate.errors import ParameterError
from dpcate.learners.division import divided
from dpcate.learners.released import Released
from dpcate.models import Ebm
from dpcate.splitting import Plan
from dpcate.tables import encode_table

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


def plans_of(n_rows, kind=AverageEffect, **options):
    """The plan as it is prepared, and as it is for so many rows."""
    learner = kind(**({"schema": SCHEMA} | options))
    run, _ = learner._prepare()
    return run.plan, learner._plan_for(run, n_rows)


@pytest.mark.parametrize("plan", ["shared", "split"])
def test_few_rows_leave_more_to_the_first_stages(plan):
    (first, few), (_, many) = (plans_of(n, plan=plan) for n in (1_000, 100_000))
    part = {"shared": lambda plan: plan.fractions()["effect"], "split": lambda plan: plan.shares[-1]}[plan]
    assert part(few) < part(first) < part(many)
    for each in (few, many):
        spent = {name: Guarantee(Gaussian(mu), "replace") for name, mu in each.budgets(0.5).items()}
        assert each.cost(spent).epsilon(1e-5) == pytest.approx(Gaussian(0.5).epsilon(1e-5))


class Renamed(AverageEffect):
    def _stages(self):
        return tuple(replace(stage, name=f"my {stage.name}", residual_of=None) for stage in super()._stages())


class Reweighed(AverageEffect):
    def _stages(self):
        return tuple(replace(stage, weight=100.0) for stage in super()._stages())


class Checked(AverageEffect):
    def __init__(self, schema):
        super().__init__(schema)
        self.validate = 0.2


@pytest.mark.parametrize(
    "options",
    [
        {"plan": Plan.shared([stage.name for stage in STAGES], weights=(1, 1, 1, 1))},
        {"model": Ebm(rounds=2)},
        {"schema": with_known_propensity()},
        {"schema": replace(SCHEMA, outcome=Number("y", 0, 1))},
        {"kind": Renamed},
        {"kind": Reweighed},
        {"kind": Checked},
    ],
    ids=[
        "own plan",
        "another model",
        "a known propensity",
        "yes or no",
        "other stages",
        "other weights",
        "rows held out",
    ],
)
def test_everything_else_is_divided_as_it_was(options):
    before, after = plans_of(1_000, **options)
    assert after is before


@pytest.fixture
def asked(monkeypatch):
    """The numbers of rows that fits are divided by, and the plans that come of it."""
    found, real = [], AverageEffect._plan_for

    def remember(self, run, n_rows):
        found.append((n_rows, real(self, run, n_rows)))
        return found[-1][1]

    monkeypatch.setattr(AverageEffect, "_plan_for", remember)
    return found


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_where_the_number_of_rows_is_private_it_decides_nothing(neighbours, asked):
    AverageEffect(SCHEMA, neighbours=neighbours, random_state=0).fit_table(draw(500, 0))
    assert [n_rows for n_rows, _ in asked] == ([500] if neighbours == "replace" else [])


@pytest.mark.parametrize("plan", ["shared", "split"])
@pytest.mark.parametrize("kind", ["in memory", "a file", "a stream"])
def test_how_many_rows_are_complete_is_private_and_decides_nothing(plan, kind, asked, tmp_path):
    table, some = draw(1_000, 0), np.arange(1_000) < 700
    for holes in (False, True):
        y, t = np.where(some & holes, np.nan, table["y"]), np.where(~some & holes, 7, table["t"])
        made = pa.table(table | {"y": y, "t": t})
        if kind == "a file":
            csv.write_csv(made, tmp_path / "people.csv")
            made = tmp_path / "people.csv"
        AverageEffect(SCHEMA, plan=plan, random_state=0).fit_table(made.to_reader() if kind == "a stream" else made)
    (n_whole, whole), (n_holes, holes) = asked
    assert n_whole == n_holes == 1_000
    assert whole == holes


@pytest.mark.parametrize("plan", ["shared", "split"])
def test_a_fit_reads_and_spends_as_it_was_divided(plan, asked, monkeypatch):
    read, real = {}, Stage.data

    def remember(self, rows, schema, released, *, n_rows):
        read[self.name] = n_rows
        return real(self, rows, schema, released, n_rows=n_rows)

    monkeypatch.setattr(Stage, "data", remember)
    fitted = AverageEffect(SCHEMA, plan=plan, random_state=0).fit_table(draw(8_000, 0))
    ((_, divided_plan),) = asked
    budgets = divided_plan.budgets(mu_for(1.0, 1e-5))
    parts = dict(divided_plan.reads)
    for name, model in fitted.models_.items():
        promised = Guarantee(Gaussian(budgets[name]), "replace")
        assert model.guarantee_.tradeoff(0.3) == pytest.approx(promised.tradeoff(0.3)), name
        assert read[name] == pytest.approx(8_000 * sum(divided_plan.shares[part] for part in parts[name]), rel=0.15)


def test_which_stages_may_misread_how_much():
    assert {stage.name: stage.misread for stage in STAGES} == {
        "propensity": None,
        "outcome": 0.2,
        "difference": 0.2,
        "effect": None,
    }
    r, dr = ({s.name: s.misread for s in kind(SCHEMA)._stages()} for kind in (RLearner, DRLearner))
    assert r == {"propensity": None, "outcome": 0.1, "effect": 0.1}
    assert set(dr.values()) == {None}


def test_a_stage_hands_on_what_it_may_misread():
    released = Released(SCHEMA)
    for misread in (None, 0.2):
        stage = Stage(name="y", target=lambda rows, _: rows.Y, bounds=lambda *_: (-2.0, 4.0), misread=misread)
        rows = encode_table(draw(50, 0), SCHEMA)
        assert stage.data(rows, SCHEMA, released, n_rows=50).misread == misread


@pytest.mark.parametrize("misread", [-0.1, float("nan"), float("inf"), True, "0.1", 1j])
def test_what_cannot_be_misread_by_is_refused(misread):
    with pytest.raises(ParameterError, match="misread"):
        Stage(name="y", target=lambda rows, _: rows.Y, bounds=lambda *_: (-2.0, 4.0), misread=misread)
