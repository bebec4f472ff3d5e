"""What comes out of the rounds: a function whose intercept is its average, though features hang together."""

import numpy as np
import pytest
from scipy.special import ndtr

from dpcate.mechanisms import SeededNoise
from dpcate.models import Additive, Budget, StageData
from dpcate.models.additive import rounds
from dpcate.schema import Category, Number
from dpcate.tables import GRID

COLUMNS = (Number("a", -4, 4), Number("b", -4, 4), Category("t", [0, 1]))
N_ROWS = 20_000


def make_stage(interactions, rho=0.7):
    """Two normal features, an arm that follows the first, and a target with interactions of both kinds."""
    generator = np.random.default_rng(0)
    a = generator.normal(size=N_ROWS)
    b = rho * a + np.sqrt(1 - rho**2) * generator.normal(size=N_ROWS)
    arm = generator.uniform(size=N_ROWS) < ndtr(a)
    numbers = [np.clip((x + 4) / 8 * GRID + 1, 1, GRID) for x in (a, b)]
    target = 0.4 * a * b + 0.2 * b + 0.5 * arm * a + 0.5 * generator.normal(size=N_ROWS)
    return StageData.of_arrays(
        columns=COLUMNS,
        codes=np.asfortranarray(np.column_stack([*numbers, 1 + arm]), dtype=np.uint16),
        target=target,
        low=-6.0,
        high=6.0,
        n_rows=N_ROWS,
        n_features=2,
        interactions=interactions,
    )


def fit(data):
    budget = Budget(mu=100.0, epsilon=1.0, delta=1e-5, neighbours="replace")
    return Additive().fit(data, budget=budget, noise=SeededNoise(0), released={})


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
