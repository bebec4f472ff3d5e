"""The paper's learners as published: void, stratified, and at the settings that the published figures need."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcate.accounting import mu_for
from dpcate.errors import DpcateError, ParameterError
from dpcate.experiments import make_setup, published, published_boosting
from dpcate.experiments.published import fit_published, stratified_parts
from dpcate.schema import Category, Number, Schema

pytest.importorskip("interpret")

LEARNERS = ("DR", "R", "S")
each_learner = pytest.mark.parametrize("learner", LEARNERS)


def table_of(name, n, seed=1):
    setup = make_setup(name)
    sample = setup.draw(n, seed)
    columns = dict(zip(setup.schema.feature_names, sample.X.T, strict=True))
    return setup.schema, {**columns, "t": sample.T, "y": sample.Y}, sample


@pytest.fixture
def machines(monkeypatch):
    """Every option that interpret's regressor or classifier was made with, and what it was fitted to."""
    from interpret import privacy

    made = []
    for name in ("DPExplainableBoostingClassifier", "DPExplainableBoostingRegressor"):
        original = getattr(privacy, name)

        class Spy(original):
            _original = original

            def __init__(self, **options):
                self._original.__init__(self, **options)
                made.append({"kind": self._original.__name__, "options": options})

            def fit(self, X, y, sample_weight=None):
                made[-1] |= {"X": X, "y": y, "weight": sample_weight}
                plain = self._original(**made[-1]["options"])
                return plain.fit(X, y, sample_weight=sample_weight)

        monkeypatch.setattr(privacy, name, Spy)
    return made


@each_learner
@pytest.mark.parametrize("epsilon", [4.0, None])
def test_a_published_result_is_void_and_says_why(learner, epsilon, monkeypatch):
    if epsilon is None:
        monkeypatch.setattr(published, "_LEARNERS", {learner: lambda *_: {"constant": 0.0}})
    schema, table, _ = table_of("B", 200)
    guarantee = fit_published(schema, table, epsilon, learner, 1).guarantee_
    assert guarantee.void
    assert str(guarantee).startswith("VOID")
    assert any("read from the rows" in note for note in guarantee.notes)
    assert any("strata" in note for note in guarantee.notes)
    if epsilon is None:
        assert guarantee.delta(100.0) == 1.0


@given(n_control=st.integers(0, 300), n_treated=st.integers(0, 300), seed=st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_the_split_is_a_partition_with_the_same_share_of_treated_rows_in_every_part(n_control, n_treated, seed):
    generator = np.random.default_rng(seed)
    T = generator.permutation(np.repeat([0.0, 1.0], [n_control, n_treated]))
    parts = stratified_parts(T, generator)
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(T)))
    for part, share in zip(parts, (0.25, 0.25, 0.5), strict=True):
        assert abs(T[part].sum() - share * n_treated) <= 1
        assert abs((1 - T[part]).sum() - share * n_control) <= 1


def test_the_split_follows_the_seed():
    T = np.repeat([0.0, 1.0], 50)
    first, again, other = (stratified_parts(T, np.random.default_rng(seed))[0].tolist() for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_every_stage_runs_at_the_paper_s_settings_with_bounds_from_its_own_rows(machines):
    schema, table, _ = table_of("B", 600)
    fit_published(schema, table, 2.0, "DR", 1)
    assert [m["kind"][-10:] for m in machines] == ["Classifier", "gRegressor", "gRegressor"]
    for machine in machines:
        options, X = machine["options"], machine["X"]
        assert (options["max_rounds"], options["learning_rate"], options["max_bins"]) == (300, 0.01, 32)
        assert (options["max_leaves"], options["bin_budget_frac"]) == (3, 0.1)
        assert (options["epsilon"], options["delta"]) == (2.0, 1e-5)
        for j, (low, high) in options["privacy_bounds"].items():
            assert (low, high) == (X[:, j].min(), X[:, j].max())
    for machine in machines[1:]:
        assert machine["options"]["privacy_target_min"] == machine["y"].min()
        assert machine["options"]["privacy_target_max"] == machine["y"].max()
    assert [len(m["X"]) for m in machines] == pytest.approx([150, 150, 300], abs=2)
    assert machines[1]["options"]["feature_types"] == ["nominal"] + ["continuous"] * 6


def test_written_settings_are_interpret_s_defaults():
    from interpret.privacy import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor

    for machine in (DPExplainableBoostingClassifier(), DPExplainableBoostingRegressor()):
        defaults = machine.get_params()
        assert {name: defaults[name] for name in published_boosting.SETTINGS} == published_boosting.SETTINGS


def test_only_the_weighted_stage_of_the_r_learner_takes_the_old_smaller_step(machines):
    schema, table, _ = table_of("B", 600)
    fit_published(schema, table, 2.0, "R", 1)
    effect = machines[-1]
    weight = effect["weight"]
    assert effect["options"]["learning_rate"] == pytest.approx(0.01 * weight.mean())
    assert weight.min() >= 0.05**2
    assert weight.max() <= 0.95**2
    assert machines[0]["weight"] is None
    assert machines[1]["options"]["learning_rate"] == 0.01
    assert machines[1]["X"].shape[1] == 6, "the R-learner's outcome model does not see the treatment"


class KnownStages:
    """Stages that know the answer, and keep what the effect model is asked to fit."""

    def propensity(self, X, T):
        return lambda rows: rows[:, 0]

    def outcome(self, X, Y):
        self.outcome_columns = X.shape[1]
        return lambda rows: rows.sum(axis=1)

    def effect(self, X, target, weight=None):
        self.fitted = X, target, weight


@pytest.mark.parametrize("learner", ["DR", "R"])
def test_pseudo_outcomes_are_the_paper_s_row_by_row(learner):
    generator = np.random.default_rng(4)
    X = generator.uniform(size=(200, 3))  # the first column is the propensity, clipped to [0.05, 0.95]
    T, Y = generator.integers(2, size=200).astype(float), generator.normal(size=200)
    stages = KnownStages()
    published._LEARNERS[learner](stages, X, T, Y, generator)
    rows = {tuple(x): (t, y) for x, t, y in zip(X, T, Y, strict=True)}
    fitted, target, weight = stages.fitted
    assert len(fitted) == pytest.approx(100, abs=1)
    for i, x in enumerate(fitted):
        (t, y), e = rows[tuple(x)], min(max(x[0], 0.05), 0.95)
        if learner == "R":
            assert target[i] == pytest.approx((y - x.sum()) / (t - e))
            assert weight[i] == pytest.approx((t - e) ** 2)
        else:
            residual = y - (x.sum() + t)
            assert target[i] == pytest.approx(1 + (residual / e if t == 1 else -residual / (1 - e)))
    assert stages.outcome_columns == (3 if learner == "R" else 4)


def test_the_old_weighting_keeps_boosting_s_budget_and_gives_bins_the_noise_of_counts():
    weight = np.array([0.1, 0.2, 0.9])
    for epsilon in (1.0, 16.0):
        options = published_boosting.old_weighting(epsilon, weight)
        bins = options["epsilon"] * options["bin_budget_frac"]
        assert options["epsilon"] - bins == pytest.approx(0.9 * epsilon)
        # interpret's noise on weights is largest weight / mu; over the mean weight it must be 1 / mu of counts
        noise = weight.max() / mu_for(bins, 0.5e-5) / weight.mean()
        assert noise == pytest.approx(1 / mu_for(0.1 * epsilon, 0.5e-5), rel=1e-6)


def test_equal_weights_change_the_step_alone():
    options = published_boosting.old_weighting(4.0, np.full(10, 0.25))
    assert options["learning_rate"] == pytest.approx(0.0025)
    assert options["epsilon"] == pytest.approx(4.0)
    assert options["bin_budget_frac"] == pytest.approx(0.1)


def test_the_old_step_stops_short_of_the_effect(monkeypatch):
    """The floor of the published R-learner on B: 300 steps of a quarter of the size do not arrive."""
    schema, table, sample = table_of("B", 4_000)
    slopes = {}
    for name, emulate in (("old", published_boosting.old_weighting), ("today", lambda *_: {})):
        monkeypatch.setattr(published_boosting, "old_weighting", emulate)
        effect = fit_published(schema, table, 1e3, "R", 1).effect(sample.X)
        slopes[name] = np.polyfit(sample.X[:, 0], effect, 1)[0]
    assert slopes["old"] < 0.6
    assert slopes["today"] > 0.75


def test_the_s_learner_sees_both_indicators_and_finds_one_number(machines):
    schema, table, sample = table_of("B", 600)
    fitted = fit_published(schema, table, 16.0, "S", 1)
    (machine,) = machines
    assert machine["options"]["feature_types"] == ["nominal"] * 2 + ["continuous"] * 6
    assert machine["X"][:, 0] == pytest.approx(1 - sample.T)
    assert machine["X"][:, 1] == pytest.approx(sample.T)
    effect = fitted.effect(sample.X)
    assert np.unique(effect).size == 1
    grid, values = fitted.shape("x1")
    assert len(grid) == len(values)
    assert not values.any()


@each_learner
def test_same_seed_same_result_and_other_seed_other_noise(learner):
    schema, table, sample = table_of("B", 200)
    first, again, other = (fit_published(schema, table, 2.0, learner, s).effect(sample.X) for s in (2**63, 2**63, 5))
    assert first.tolist() == again.tolist()
    assert first.tolist() != other.tolist()


@pytest.mark.parametrize("learner", ["DR", "R"])
def test_effects_are_the_sum_of_the_shapes(learner):
    schema, table, _ = table_of("E-published", 800)
    fitted = fit_published(schema, table, 8.0, learner, 3)
    shapes = {name: fitted.shape(name) for name in schema.feature_names}
    generator = np.random.default_rng(0)
    places = {name: generator.integers(len(grid), size=50) for name, (grid, _) in shapes.items()}
    X = {name: shapes[name][0][places[name]] for name in shapes}
    total = sum(shapes[name][1][places[name]] for name in shapes)
    rest = fitted.effect(X) - total
    assert rest == pytest.approx(rest[0])
    assert np.ptp(total) > 0.1


def test_large_budgets_find_the_effect():
    schema, table, _ = table_of("B", 4_000)
    test = make_setup("B").draw(5_000, 99)
    effect = fit_published(schema, table, 1e3, "DR", 1).effect(test.X)
    assert np.mean((effect - test.effect) ** 2) < 0.3 * test.effect.var()
    without = np.mean((effect[::-1] - test.effect) ** 2)
    assert without > test.effect.var()


@pytest.mark.slow
@each_learner
def test_without_privacy_the_effect_is_found(learner, monkeypatch):
    monkeypatch.setattr(published_boosting, "BAGS", 2)
    schema, table, _ = table_of("B", 1_000)
    test = make_setup("B").draw(5_000, 99)
    fitted = fit_published(schema, table, None, learner, 1)
    error = np.mean((fitted.effect(test.X) - test.effect) ** 2)
    assert error < (1.1 if learner == "S" else 0.7) * test.effect.var()
    assert error > 1e-3


def test_columns_by_name_and_arrays_in_order_are_the_same_rows():
    schema, table, sample = table_of("E-published", 400)
    fitted = fit_published(schema, table, 8.0, "DR", 3)
    by_name = {name: table[name] for name in reversed(schema.feature_names)}
    assert fitted.effect(by_name).tolist() == fitted.effect(sample.X).tolist()


def test_levels_may_be_words():
    generator = np.random.default_rng(0)
    sex, age = generator.choice(["f", "m"], 400), generator.uniform(20, 80, 400)
    T = generator.choice(["letter", "none"], 400)
    Y = generator.normal(size=400) + 4.0 * ((sex == "m") & (T == "letter"))
    schema = Schema(
        outcome=Number("y", -5, 9),
        treatment=Category("arm", ["none", "letter"]),
        features=[Category("sex", ["f", "m"]), Number("age", 20, 80)],
    )
    fitted = fit_published(schema, {"sex": sex, "age": age, "arm": T, "y": Y}, 1e3, "DR", 1)
    levels, values = fitted.shape("sex")
    assert levels.tolist() == ["f", "m"]
    assert values[1] - values[0] > 1.5


def test_unknown_learners_and_features_are_refused():
    schema, table, _ = table_of("B", 100)
    with pytest.raises(ParameterError, match="learner"):
        fit_published(schema, table, 1.0, "T", 1)
    with pytest.raises(ParameterError, match="x9"):
        published.PublishedEffect(schema=schema, guarantee_=None, constant=0.0).shape("x9")


def test_no_private_learner_offers_the_published_mode():
    from dpcate import RLearner

    schema, table, _ = table_of("B", 100)
    with pytest.raises(DpcateError):
        RLearner(schema, epsilon=1.0, delta=1e-5, model="published").fit_table(table)
