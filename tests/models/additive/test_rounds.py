"""What comes out of the rounds: a function whose intercept is its average, though features hang together."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr
from tests.models.stages import altered

from dpcate.mechanisms import SeededNoise
from dpcate.models import Additive, Budget, StageData, uncertainty_of
from dpcate.models.additive import rounds
from dpcate.schema import Category, Number
from dpcate.tables import GRID

COLUMNS = (Number("a", -4, 4), Number("b", -4, 4), Category("t", [0, 1]))
N_ROWS = 20_000


def make_stage(interactions, rho=0.7, n_rows=N_ROWS):
    """Two normal features, an arm that follows the first, and a target with interactions of both kinds."""
    generator = np.random.default_rng(0)
    a = generator.normal(size=n_rows)
    b = rho * a + np.sqrt(1 - rho**2) * generator.normal(size=n_rows)
    arm = generator.uniform(size=n_rows) < ndtr(a)
    numbers = [np.clip((x + 4) / 8 * GRID + 1, 1, GRID) for x in (a, b)]
    target = 0.4 * a * b + 0.2 * b + 0.5 * arm * a + 0.5 * generator.normal(size=n_rows)
    return StageData.of_arrays(
        columns=COLUMNS,
        codes=np.asfortranarray(np.column_stack([*numbers, 1 + arm]), dtype=np.uint16),
        target=target,
        low=-6.0,
        high=6.0,
        n_rows=n_rows,
        n_features=2,
        interactions=interactions,
    )


TWO = 0.5, 0.5


def fit(data):
    budget = Budget(mu=100.0, epsilon=1.0, delta=1e-5, neighbours="replace")
    return Additive(rounds=TWO).fit(data, budget=budget, noise=SeededNoise(0), released={})


@pytest.mark.parametrize("interactions", ["bent", "treated"])
def test_the_intercept_is_the_average_also_where_products_were_made_before_correlations_were_known(
    interactions, monkeypatch
):
    data = make_stage(interactions)
    function = fit(data)
    assert len(function.products) > 0
    average = function.score(data.held.codes).mean()
    assert function.intercept == pytest.approx(average, abs=0.03)
    monkeypatch.setattr(rounds, "_centred", lambda function, *_: function)
    plain = fit(data)
    assert abs(plain.intercept - average) > 0.15, "there is something to centre, or this test shows nothing"
    assert plain.predict(data.held.codes) == pytest.approx(function.predict(data.held.codes), abs=1e-9)


def test_where_features_are_independent_products_average_zero_as_they_are():
    data = make_stage("bent", rho=0.0)
    function = fit(data)
    assert max(abs(product.mean) for product in function.products) < 0.02
    assert function.intercept == pytest.approx(function.score(data.held.codes).mean(), abs=0.02)


def small_budget(data, seed, *, mu=0.06, rounds=TWO):
    budget = Budget(mu=mu, epsilon=1.0, delta=1e-5, neighbours="replace")
    return Additive(rounds=rounds).fit(data, budget=budget, noise=SeededNoise(seed), released={})


def test_a_loose_stage_keeps_more_of_what_is_there_and_knows_its_error():
    """The same noise, the same moments: what is released is shrunk less, and intervals are centred on it."""
    data = make_stage("plain", n_rows=2000)
    spreads = []
    for seed in range(12):
        functions = [small_budget(replace(data, loose=loose), seed) for loose in (False, True)]
        spreads.append([function.score(data.held.codes).std() for function in functions])
        assert not any(uncertainty_of(function).shift.any() for function in functions)
    tight, loose = np.mean(spreads, axis=0)
    assert loose > 1.03 * tight


def test_with_a_huge_budget_there_is_nothing_to_loosen():
    data = make_stage("plain")
    plain, loose = fit(data), fit(replace(data, loose=True))
    assert loose.score(data.held.codes) == pytest.approx(plain.score(data.held.codes), abs=0.02)


def test_a_loose_stage_has_a_third_round_which_follows_more_of_what_features_that_hang_together_differ_by():
    generator = np.random.default_rng(0)
    a = generator.normal(size=4000)
    b = 0.97 * a + np.sqrt(1 - 0.97**2) * generator.normal(size=4000)
    numbers = [np.clip((x + 4) / 8 * GRID + 1, 1, GRID) for x in (a, b)]
    codes = np.asfortranarray(np.column_stack([*numbers, np.ones(4000)]), dtype=np.uint16)
    target = 3.0 * (a - b) + 0.3 * generator.normal(size=4000)
    data = replace(altered(make_stage("plain", n_rows=4000), codes=codes, target=target), loose=True)

    def kept(shares):
        scores = [small_budget(data, seed, mu=0.3, rounds=shares).score(codes) for seed in range(12)]
        return np.mean([np.cov(score, a - b)[0, 1] for score in scores]) / (3.0 * (a - b).var())

    two, three = kept(TWO), kept(None)
    assert two < 0.9
    assert three > two + 0.03
