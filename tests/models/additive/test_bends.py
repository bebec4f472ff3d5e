"""Bends between two rounds: which pairs of features are looked at, and what is written down for those that were not."""

import json
from dataclasses import replace

import numpy as np
import pytest

from dpcate import Category, DRLearner, Number, RLearner, Schema
from dpcate.errors import DocumentError
from dpcate.learners.released import Released
from dpcate.mechanisms import SeededNoise
from dpcate.models import POSTERIOR, Additive, AdditiveFunction, Budget, StageData, uncertainty_of
from dpcate.models.additive import bends, heredity
from dpcate.models.additive.products import BENT
from dpcate.tables import GRID

NAMES = "abcd"
COLUMNS = tuple(Number(name, -1, 1) for name in NAMES)
BUDGET = Budget(mu=30.0, epsilon=1.0, delta=1e-5, neighbours="replace")
N_ROWS = 12_000


SCHEMA = Schema(
    outcome=Number("y", -5, 5), treatment=Category("t", [0, 1]), features=[Number(name, -1, 1) for name in NAMES]
)


def bend(x):
    return 2 * np.abs(x) - 1


def stage(target, *, shared_with, **changes):
    """Even, independent features and a target made of them."""
    X = np.random.default_rng(0).uniform(-1, 1, (N_ROWS, 4))
    noise = 0.3 * np.random.default_rng(1).normal(size=N_ROWS)
    codes = np.clip(np.ceil((X + 1) / 2 * GRID), 1, GRID).astype(np.uint16)
    public = {"columns": COLUMNS, "low": -5.0, "high": 5.0, "n_rows": N_ROWS, "n_features": 4}
    data = StageData.of_arrays(
        codes=np.asfortranarray(codes), target=target(X.T, noise), shared_with=shared_with, **{**public, **changes}
    )
    return data, X.T


def propensity(X, noise):
    """Who is treated hangs on a and b, and on how both go together."""
    return ((0.5 + 0.2 * X[0] + 0.2 * X[1] + 0.15 * bend(X[0]) * X[1]) > 0.5 + noise).astype(float)


def outcome(X, noise):
    return X[0] + 0.8 * X[1] + 1.2 * bend(X[0]) * X[1] + 1.5 * X[3] + noise


def fit(data, released, seed=0):
    return Additive().fit(data, budget=BUDGET, noise=SeededNoise(seed), released=released)


@pytest.fixture(scope="module")
def treated():
    data, _ = stage(propensity, shared_with=None, low=0.0, high=1.0, kind="probability")
    return fit(data, {})


def pairs_of(function):
    return [tuple(pair) for pair in function.details[POSTERIOR]["bends"]]


def test_the_features_that_both_functions_follow_are_looked_at_and_what_they_share_is_found(treated):
    data, X = stage(outcome, shared_with="who")
    found, plain = (fit(replace(data, shared_with=name), {"who": treated}) for name in ("who", None))
    assert (0, 1) in pairs_of(found)
    assert pairs_of(plain) == []
    truth = outcome(X, 0.0)
    errors = [float(np.mean((each.predict(data.held.codes) - truth) ** 2)) for each in (found, plain)]
    assert errors[0] < 0.2 * errors[1]


def test_a_product_that_is_seen_clearly_is_followed_though_the_other_function_does_not_have_it(treated):
    data, _ = stage(lambda X, noise: X[2] + X[3] + X[2] * X[3] + noise, shared_with="who")
    assert pairs_of(fit(data, {"who": treated}))[0] == (2, 3)


def test_no_more_pairs_are_looked_at_than_is_said(treated):
    def everything(X, noise):
        return sum(X[i] * X[j] for i in range(4) for j in range(i)) + sum(X) + noise

    data, _ = stage(everything, shared_with="who")
    found = fit(data, {"who": treated})
    assert bends.MOST_CLEAR <= len(pairs_of(found)) <= bends.MOST_CLEAR + bends.MOST_SHARED
    assert len(found.products) == 6 + 3 * len(pairs_of(found))


@pytest.mark.parametrize("mu", [0.01, 30.0])
def test_with_little_budget_for_curves_nothing_is_looked_for(treated, mu):
    data, _ = stage(outcome, shared_with="who")
    budget = replace(BUDGET, mu=mu)
    found = Additive().fit(data, budget=budget, noise=SeededNoise(0), released={"who": treated})
    assert bool(pairs_of(found)) == (mu > 1)


def test_without_the_other_function_nothing_is_looked_for():
    data, _ = stage(outcome, shared_with="who")
    assert pairs_of(fit(data, {})) == []
    assert pairs_of(fit(data, Released(SCHEMA))) == []


def test_a_stage_that_looks_at_all_bends_anyway_adds_none(treated):
    data, _ = stage(outcome, shared_with="who", interactions="bent")
    found = fit(data, {"who": treated})
    assert pairs_of(found) == []
    assert len({(term.first, term.second) for term in found.products}) == 6


def test_the_first_round_is_written_down_as_it_was_released_whatever_prior_came_after(treated, monkeypatch):
    moved = []
    inner = bends.with_bends

    def spy(now, at, other):
        after, n_old = inner(now, at, other), at.basis.n_terms
        moved.append(np.abs(after.seen.gram.matrix[:n_old, :n_old] - at.seen.gram.matrix).max() / N_ROWS)
        return after

    monkeypatch.setattr("dpcate.models.additive.rounds.with_bends", spy)
    monkeypatch.setattr(heredity, "_EXPECTED", np.inf)  # products follow their columns
    data, _ = stage(outcome, shared_with="who", interactions="treated")
    assert pairs_of(fit(data, {"who": treated}))
    assert max(moved) < 1e-9


def test_what_the_first_round_did_not_see_counts_for_nothing_and_the_rest_as_before(treated, monkeypatch):
    kept = {}
    inner = bends.with_bends

    def spy(now, at, other):
        kept["before"], kept["after"] = at, inner(now, at, other)
        return kept["after"]

    monkeypatch.setattr("dpcate.models.additive.rounds.with_bends", spy)
    data, _ = stage(outcome, shared_with="who")
    fit(data, {"who": treated})
    before, after, n_old = kept["before"], kept["after"], kept["before"].basis.n_terms
    assert after.basis.n_terms > n_old
    assert np.isinf(after.seen.z_noise[n_old:]).all()
    assert np.isfinite(after.seen.z_noise[:n_old]).all()
    assert after.seen.z[:n_old] == pytest.approx(before.seen.z)
    assert after.seen.gram.matrix[:n_old, :n_old] == pytest.approx(before.seen.gram.matrix, abs=N_ROWS * 1e-9)
    assert (after.seen.gram.variance[n_old:] > 0).all()
    assert after.everything.keep(after.kept).n_terms == after.basis.n_terms
    assert (after.basis.orders[n_old:] == BENT).all()
    new = after.seen.functions[:, n_old:]
    assert np.abs(new.mean(axis=0)).max() < 1e-12


def test_the_error_of_a_function_with_bends_comes_back_from_its_document(treated):
    data, _ = stage(outcome, shared_with="who")
    found = fit(data, {"who": treated})
    codes = data.held.codes[:500]
    again = AdditiveFunction.from_dict(json.loads(json.dumps(found.to_dict())))
    one, other = uncertainty_of(found), uncertainty_of(again)
    assert other.basis.n_bent == 3 * len(pairs_of(found)) > 0
    assert other.variance(codes) == pytest.approx(one.variance(codes), rel=1e-12)


def test_a_document_from_before_there_were_bends_is_read_as_one_without():
    data, _ = stage(outcome, shared_with=None)
    found = fit(data, {})
    posterior = {key: value for key, value in found.details[POSTERIOR].items() if key != "bends"}
    codes = data.held.codes[:500]
    old = uncertainty_of(replace(found, details={POSTERIOR: posterior}))
    assert old.variance(codes) == pytest.approx(uncertainty_of(found).variance(codes), rel=1e-12)


@pytest.mark.parametrize(
    "wrong", [[[0, 4]], [[-4, -3]], [[1, 0]], [[0.0, 1.0]], [["0", "1"]], [[0, 1], [0, 1]], [0], 7]
)
def test_a_document_with_impossible_bends_is_refused(treated, wrong):
    found = fit(stage(outcome, shared_with="who")[0], {"who": treated})
    posterior = {**found.details[POSTERIOR], "bends": wrong}
    with pytest.raises(DocumentError, match="bends"):
        uncertainty_of(replace(found, details={POSTERIOR: posterior}))


@pytest.mark.parametrize("learner", [RLearner, DRLearner])
def test_a_trial_whose_propensity_is_known_has_no_other_function_and_is_fitted(learner):
    generator = np.random.default_rng(0)
    X, t = generator.uniform(-1, 1, (4, 3000)), generator.integers(2, size=3000)
    table = {"y": X[0] + 0.5 * t, "t": t, **dict(zip(NAMES, X, strict=True))}
    found = learner(replace(SCHEMA, propensity=0.5), epsilon=20.0, random_state=0).fit_table(table)
    assert found.ate() == pytest.approx(0.5, abs=0.1)
    assert pairs_of(found.models_["outcome"]) == []


@pytest.mark.parametrize("learner", [RLearner, DRLearner])
def test_a_shared_interaction_is_no_longer_taken_for_an_effect(learner, monkeypatch):
    def average(seed):
        generator = np.random.default_rng(seed)
        X = generator.uniform(-1, 1, (4, 20_000))
        both = bend(X[0]) * X[1]
        t = generator.uniform(size=20_000) < np.clip(0.5 + 0.45 * both, 0.05, 0.95)
        y = 1.5 * both + X[1] + 0.5 * X[0] + 0.5 * t + 0.5 * generator.normal(size=20_000)
        table = {"y": y, "t": t.astype(int), **dict(zip(NAMES, X, strict=True))}
        return learner(SCHEMA, epsilon=20.0, random_state=seed).fit_table(table).ate() - 0.5

    errors = np.array([average(seed) for seed in range(4)])
    monkeypatch.setattr(bends, "MOST_SHARED", 0)
    without = np.array([average(seed) for seed in range(4)])
    assert np.abs(errors).mean() < 0.5 * np.abs(without).mean()
    assert without.min() > 0.1, "there is something to find, or this test shows nothing"
