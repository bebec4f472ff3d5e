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
    assert sum(len(data.held.target) for data, _, _ in seen) == len(columns["vote"])
    assert [len(data.held.target) for data, _, _ in seen] == [data.n_rows for data, _, _ in seen]
    assert [sorted(released) for _, _, released in seen] == [[], ["propensity"], ["outcome", "propensity"]]
    assert len({budget.mu for _, budget, _ in seen}) == 1


def test_the_shared_plan_shows_every_row_to_every_stage_and_shares_mu_squared(schema, columns):
    seen = []
    fitted = RLearner(schema, plan="shared", model=Recorder(seen), random_state=0).fit_table(columns)
    assert [len(data.held.target) for data, _, _ in seen] == [len(columns["vote"])] * 3
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
    assert len(seen[0][0].held.target) == len(columns["vote"]) - 30
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
    assert np.abs(data.held.target).max() <= 1.0
    assert np.abs(data.held.loading).max() <= 0.5


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


@pytest.mark.parametrize(
    "target",
    [
        lambda rows, _: np.where(rows.codes[:, 0] == 0, rows.codes[:, 0].mean(), rows.codes[:, 0]) / 1024,
        lambda rows, _: rows.Y - (rows.Y == 1).mean(),
        lambda rows, _: rows.Y * (len(rows) > 100),
        lambda rows, _: rows.Y - rows.Y[0],
        lambda rows, _: np.cumsum(rows.Y) / 1e6,
    ],
    ids=["imputes missing values by the mean", "counts ones", "asks how many rows", "looks at the first", "cumulates"],
)
def test_realistic_transformations_across_rows_are_caught(target, schema, columns):
    with pytest.raises(TransformationError, match="effect"):
        MultiStage(schema, [Stage(name="effect", target=target, bounds=UNIT)], random_state=0).fit_table(columns)


def test_no_row_can_stop_a_run_that_has_begun(schema, columns):
    """What a function does on a row that the rehearsal did not foresee is that row's affair alone."""
    seen = []

    def fragile(rows, released):
        if (rows.codes[:, 2] == 777).any():
            raise ValueError(str(rows.Y))
        return rows.Y

    table = {**columns, "income": np.where(np.arange(600) == 5, 100 * 776.5 / 1024, 12.0)}
    MultiStage(
        schema, [Stage(name="effect", target=fragile, bounds=UNIT)], model=Recorder(seen), random_state=0
    ).fit_table(table)
    expected = np.clip(columns["vote"].astype(float), -1, 1)
    expected[5] = 0.0
    np.testing.assert_array_equal(seen[0][0].held.target, expected)


def test_warnings_of_a_transformation_do_not_get_out(schema, columns):
    def chatty(rows, released):
        import warnings

        warnings.warn(f"saw {rows.Y.sum()}", stacklevel=1)
        return rows.Y

    MultiStage(schema, [Stage(name="effect", target=chatty, bounds=UNIT)], random_state=0).fit_table(columns)


def test_a_stage_cannot_write_rows_into_a_released_model(schema, columns):
    def thief(rows, released):
        released["first"].tables[0][: len(rows)] = rows.Y
        return rows.Y

    first = Stage(name="first", target=lambda rows, released: rows.Y, bounds=UNIT)
    with pytest.raises(TransformationError):
        MultiStage(schema, [first, Stage(name="effect", target=thief, bounds=UNIT)], random_state=0).fit_table(columns)


def test_only_system_noise_is_not_void(schema, columns):
    class Zero:
        void = False

        def discrete_gaussian(self, scale, size):
            return np.zeros(size, dtype=np.int64)

        def coins(self):
            return np.random.default_rng(0)

        def key(self):
            return 0

    fitted = RLearner(schema, random_state=Zero()).fit_table(columns)
    assert fitted.guarantee_.void
    recorded = RLearner(schema, model=Recorder([]), random_state=0).fit_table(columns)
    assert all(model.guarantee_.void for model in recorded.models_.values())


def test_a_stage_with_too_little_budget_is_refused_before_any_noise(schema, columns):
    stages = [
        Stage(name="first", target=lambda rows, released: rows.Y, bounds=UNIT),
        Stage(name="effect", target=lambda rows, released: rows.Y, bounds=UNIT, weight=1e-16),
    ]
    noise = SeededNoise(0)
    before = noise._generator.bit_generator.state
    with pytest.raises(ParameterError, match="effect"):
        MultiStage(schema, stages, random_state=noise).fit_table(columns)
    assert noise._generator.bit_generator.state == before
