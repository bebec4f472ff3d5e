"""The boosting machine: what it recovers when noise is small, and how it behaves when noise wins."""

import numpy as np
import pytest
from tests.models.stages import altered

from dpcate.accounting import Gaussian
from dpcate.errors import ParameterError
from dpcate.mechanisms import SeededNoise
from dpcate.models import Budget, Ebm, StageData
from dpcate.models.logistic import logistic
from dpcate.schema import Category, Number

COLUMNS = (Number("age", 0, 1), Number("income", -5, 5), Category("sex", ["f", "m"]))


class CountingNoise(SeededNoise):
    """Seeded noise that remembers what was drawn."""

    def __init__(self, seed):
        super().__init__(seed)
        self.drawn = []

    def discrete_gaussian(self, scale, size):
        self.drawn.append((scale, size))
        return super().discrete_gaussian(scale, size)


def make_codes(n_rows, seed=0):
    generator = np.random.default_rng(seed)
    columns = generator.integers(1, 1025, (n_rows, 2)), generator.integers(1, 3, (n_rows, 1))
    return np.asfortranarray(np.column_stack(columns), dtype=np.uint16)


def curve(codes):
    return np.sin(3 * codes[:, 0] / 1024) + 0.5 * (codes[:, 2] == 2)


def make_stage(n_rows=4000, sigma=0.2, **changes):
    codes = make_codes(n_rows)
    target = curve(codes) + sigma * np.random.default_rng(1).normal(size=n_rows)
    data = StageData.of_arrays(
        columns=COLUMNS, codes=codes, target=np.clip(target, -3, 3), low=-3.0, high=3.0, n_rows=n_rows
    )
    return altered(data, **changes)


def fit(learner, data, *, mu, neighbours="replace", noise=None, released=None):
    budget = Budget(mu=mu, epsilon=1.0, delta=1e-5, neighbours=neighbours)
    return learner.fit(data, budget=budget, noise=noise or SeededNoise(5), released=released or {})


def explained(function, truth_of):
    codes = make_codes(5000, seed=77)
    truth = truth_of(codes)
    return 1 - np.mean((function.predict(codes) - truth) ** 2) / truth.var()


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_without_noise_a_smooth_function_is_recovered(neighbours):
    data = make_stage() if neighbours == "replace" else altered(make_stage(), n_rows=None)
    assert explained(fit(Ebm(), data, mu=1000.0, neighbours=neighbours), curve) > 0.9


def test_the_paper_s_preset_recovers_the_same_function():
    assert explained(fit(Ebm.paper(), make_stage(), mu=1000.0), curve) > 0.9


def test_without_noise_a_propensity_is_recovered():
    codes = make_codes(20000)

    def propensity(rows):
        return logistic(1.5 * curve(rows) - 1)

    target = (np.random.default_rng(2).uniform(size=len(codes)) < propensity(codes)).astype(float)
    data = StageData.of_arrays(
        columns=COLUMNS, codes=codes, target=target, low=0.0, high=1.0, kind="probability", n_rows=20000
    )
    function = fit(Ebm(), data, mu=1000.0)
    assert function.link == "logistic"
    assert explained(function, propensity) > 0.9


def test_without_noise_the_r_loss_recovers_the_effect_though_loadings_are_unequal():
    data = make_stage(n_rows=8000)
    loading = np.where(np.random.default_rng(3).uniform(size=8000) < 0.3, 0.7, -0.3)
    target = np.clip(loading * curve(data.held.codes), -3, 3)
    function = fit(Ebm(), altered(data, target=target, loading=loading, loading_bound=0.95), mu=1000.0)
    assert explained(function, curve) > 0.9


def test_a_rare_outcome_is_fitted_at_its_mean():
    target = (np.random.default_rng(4).uniform(size=20000) < 0.1).astype(float)
    function = fit(Ebm(), make_stage(n_rows=20000, target=target, low=0.0, high=1.0), mu=1000.0)
    assert function.intercept == pytest.approx(target.mean(), abs=0.005)  # clipped residuals would give 0.056


def test_an_input_without_signal_gets_a_flat_curve_and_no_fit_is_worse_than_a_constant_by_much():
    errors, flat = [], 0
    codes = make_codes(4000, seed=77)
    for seed in range(8):
        function = fit(Ebm(), make_stage(), mu=0.2, noise=SeededNoise(seed))
        errors.append(np.mean((function.predict(codes) - curve(codes)) ** 2))
        flat += np.ptp(function.tables[1]) == 0
    assert np.mean(errors) < 2 * curve(codes).var()
    assert flat >= 2


def test_the_guarantee_is_exactly_the_budget_and_the_noise_pays_for_it():
    noise = CountingNoise(0)
    function = fit(Ebm(), make_stage(), mu=0.8, noise=noise)
    assert function.guarantee_.f == Gaussian(0.8)
    sensitivities = np.array([2 * 3, 2, 4]) * 2.0**40  # three histograms, one of the target, leaf sums
    releases = np.array([1, 1, 90])
    spent = sum(releases * sensitivities / np.array([scale for scale, _ in noise.drawn]) ** 2)
    assert spent == pytest.approx(0.8**2, rel=1e-6)
    assert spent <= 0.8**2


def test_a_probability_has_no_use_for_a_range_and_gives_its_share_to_the_boosting():
    noise = CountingNoise(0)
    data = make_stage(target=np.zeros(4000), low=0.0, high=1.0, kind="probability")
    fit(Ebm(), data, mu=0.8, noise=noise)
    spent = sum(np.array([1, 90]) * np.array([6, 4]) * 2.0**40 / np.array([scale for scale, _ in noise.drawn]) ** 2)
    assert spent == pytest.approx(0.8**2, rel=1e-6)


def test_a_budget_too_small_for_exact_noise_is_refused_before_noise_is_drawn():
    noise = CountingNoise(0)
    with pytest.raises(ParameterError, match="too small"):
        fit(Ebm(), make_stage(n_rows=10), mu=1e-12, noise=noise)
    assert noise.drawn == []


def test_the_number_of_draws_does_not_depend_on_the_rows():
    def draws(data):
        noise = CountingNoise(0)
        fit(Ebm(), data, mu=1.0, neighbours="add_remove", noise=noise)
        return noise.drawn

    assert draws(make_stage(n_rows=10)) == draws(make_stage(n_rows=2000))


def test_averages_of_a_weighted_stage_are_over_people():
    earlier = fit(Ebm(), make_stage(), mu=1000.0)
    data = make_stage(loading=np.where(make_codes(4000)[:, 2] == 2, 0.9, 0.1), loading_bound=0.9)
    alone = fit(Ebm(), data, mu=1000.0)
    informed = fit(Ebm(), data, mu=1000.0, released={"outcome": earlier})
    assert alone.shares[2][2] > 0.9
    assert informed.shares[2][2] == pytest.approx(0.5, abs=0.03)
    assert np.array_equal(informed.shares[0], earlier.shares[0])


@pytest.mark.parametrize(
    "options",
    [{"rounds": 0}, {"rounds": 2.5}, {"leaves": 1}, {"max_bins": 0}, {"learning_rate": 0.0}, {"learning_rate": 1.5},
     {"binning_share": 0.0}, {"range_share": -0.1}, {"binning_share": 0.6, "range_share": 0.4}],
)  # fmt: skip
def test_options_out_of_range_are_refused(options):
    with pytest.raises(ParameterError):
        Ebm(**options)


def test_a_category_with_many_levels_works():
    columns = (Category("town", [f"town {k}" for k in range(500)]),)
    codes = np.random.default_rng(0).integers(0, 501, (2000, 1)).astype(np.uint16)
    data = make_stage(2000, columns=columns, codes=np.asfortranarray(codes), target=(codes[:, 0] % 2).astype(float))
    assert len(fit(Ebm(), data, mu=1.0).tables[0]) == 501
