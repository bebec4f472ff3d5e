"""The meta-algorithm: transformations are rehearsed, stages read their own rows, reported costs are composed."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from dpcate import MultiStage, RLearner, Stage
from dpcate.accounting import Gaussian, Guarantee
from dpcate.errors import BudgetError, ParameterError, TransformationError
from dpcate.mechanisms import SeededNoise
from dpcate.models import AdditiveFunction, Ebm
from dpcate.tables import n_codes

UNIT = lambda *_: (-1.0, 1.0)  # noqa: E731


@dataclass(frozen=True)
class Recorder:
    """A base learner that releases nothing and remembers the rows that it was shown."""

    seen: list
    mu: float = 0.0

    def fit(self, data, *, budget, noise, released):
        self.seen.append((data, budget, dict(released)))
        sizes = [n_codes(column) for column in data.columns]
        return AdditiveFunction(
            columns=data.columns,
            intercept=0.0,
            tables=tuple(np.zeros(size) for size in sizes),
            shares=tuple(np.full(size, 1 / size) for size in sizes),
            guarantee_=Guarantee(Gaussian(self.mu or budget.mu), budget.neighbours),
        )


def test_a_transformation_that_looks_at_other_rows_is_refused_before_any_noise(schema, columns):
    stage = Stage(name="effect", target=lambda rows, released: rows.Y - rows.Y.mean(), bounds=UNIT)
    noise = SeededNoise(0)
    before = noise._generator.bit_generator.state
    with pytest.raises(TransformationError, match="each row by itself"):
        MultiStage(schema, [stage], random_state=noise).fit_table(columns)
    assert noise._generator.bit_generator.state == before


@pytest.mark.parametrize(
    "stage",
    [
        Stage(name="effect", target=lambda rows, released: rows.Y[:-1], bounds=UNIT),
        Stage(name="effect", target=lambda rows, released: 1 / 0, bounds=UNIT),
        Stage(name="effect", target=lambda rows, released: released.predict("absent", rows), bounds=UNIT),
        Stage(name="effect", target=lambda rows, released: rows.Y, bounds=lambda *_: (0.0, np.inf)),
        Stage(name="effect", target=lambda rows, released: rows.Y, bounds=lambda *_: (1.0, 0.0)),
    ],
    ids=["wrong shape", "raises", "unknown stage", "infinite bound", "reversed bounds"],
)
def test_a_transformation_that_fails_is_refused(stage, schema, columns):
    with pytest.raises(TransformationError, match="effect"):
        MultiStage(schema, [stage], random_state=0).fit_table(columns)


def test_the_last_stage_must_be_an_effect_of_the_features(schema, columns):
    outcome = Stage(name="outcome", target=lambda rows, released: rows.Y, bounds=UNIT, with_treatment=True)
    with pytest.raises(ParameterError, match="last stage"):
        MultiStage(schema, [outcome]).fit_table(columns)
    with pytest.raises(ParameterError, match="loading"):
        Stage(name="effect", target=lambda rows, released: rows.Y, bounds=UNIT, loading=lambda rows, released: rows.T)


def test_the_split_plan_shows_each_row_to_exactly_one_stage(schema, columns):
    seen = []
    RLearner(schema, plan="split", model=Recorder(seen), random_state=0).fit_table(columns)
    assert sum(len(data.target) for data, _, _ in seen) == len(columns["vote"])
    assert [len(data.target) for data, _, _ in seen] == [data.n_rows for data, _, _ in seen]
    assert [sorted(released) for _, _, released in seen] == [[], ["propensity"], ["outcome", "propensity"]]
    assert len({budget.mu for _, budget, _ in seen}) == 1


def test_the_shared_plan_shows_every_row_to_every_stage_and_shares_mu_squared(schema, columns):
    seen = []
    fitted = RLearner(schema, plan="shared", model=Recorder(seen), random_state=0).fit_table(columns)
    assert [len(data.target) for data, _, _ in seen] == [len(columns["vote"])] * 3
    whole = Gaussian(float(np.sqrt(sum(budget.mu**2 for _, budget, _ in seen))))
    assert fitted.guarantee_.f.mu == pytest.approx(whole.mu)
    assert whole.delta(1.0) <= 1e-5 * (1 + 1e-9)


def test_the_number_of_rows_is_kept_from_models_where_it_is_private(schema, columns):
    seen = []
    RLearner(schema, neighbours="add_remove", model=Recorder(seen), random_state=0).fit_table(columns)
    assert {data.n_rows for data, _, _ in seen} == {None}


def test_rows_without_outcome_or_arm_contribute_nothing(schema, columns):
    seen = []
    spoiled = {**columns, "vote": columns["vote"].astype(float), "called": columns["called"].copy()}
    spoiled["vote"][:10] = np.nan
    spoiled["called"][10:30] = 9
    RLearner(schema, model=Recorder(seen), random_state=0).fit_table(spoiled)
    assert len(seen[0][0].target) == len(columns["vote"]) - 30
    assert seen[0][0].n_rows == len(columns["vote"]), "the public count includes the rows that were left out"


def test_a_base_learner_that_reports_too_high_a_cost_is_refused(schema, columns):
    learner = RLearner(schema, model=Recorder([], mu=1.0), random_state=0)
    with pytest.raises(BudgetError, match="withheld"):
        learner.fit_table(columns)
    assert not hasattr(learner, "models_")


def test_targets_and_loadings_reach_the_base_learner_inside_their_bounds(schema, columns):
    seen = []
    wild = Stage(
        name="effect",
        target=lambda rows, released: np.where(rows.T == 1, 1e9, np.nan),
        bounds=UNIT,
        loading=lambda rows, released: np.where(rows.Y > 0.5, np.inf, -1e9),
        loading_bound=lambda *_: 0.5,
    )
    MultiStage(schema, [wild], model=Recorder(seen), random_state=0).fit_table(columns)
    data = seen[0][0]
    assert np.abs(data.target).max() <= 1.0
    assert np.abs(data.loading).max() <= 0.5


def test_an_ipw_learner_of_the_users_own_gets_its_guarantee_for_free(schema, columns):
    def score(rows, released):
        e = np.clip(released.predict("propensity", rows), 0.1, 0.9)
        return rows.Y * np.where(rows.T == 1, 1 / e, -1 / (1 - e))

    ipw = MultiStage(
        schema,
        [
            Stage(name="propensity", target=lambda rows, _: rows.T, bounds=lambda *_: (0, 1), kind="probability"),
            Stage(name="effect", target=score, bounds=lambda *_: (-10, 10)),
        ],
        plan="split",
        epsilon=4.0,
        model=Ebm(),
    ).fit_table(columns)
    assert ipw.guarantee_.epsilon(1e-5) == pytest.approx(4.0, rel=1e-6)
    assert not ipw.guarantee_.void
    assert replace(ipw.guarantee_, void=True).void
