"""Leading functions that are mixed until uncorrelated: the same functions in other terms, measured with less noise."""

import numpy as np
import pytest
from tests.models.stages import altered

from dpcate.mechanisms import SeededNoise
from dpcate.models import Additive, Budget, StageData
from dpcate.models.additive import mixing
from dpcate.models.additive.basis import make_basis
from dpcate.models.additive.correlations import CORRELATIONS
from dpcate.models.additive.dependence import draw_codes
from dpcate.models.additive.equations import Layout, released_entries
from dpcate.models.additive.mixing import MOST_MIXED, Frame, mix, unmixed
from dpcate.models.additive.uncertainty import uncertainty_of
from dpcate.schema import Category, Number
from dpcate.tables import GRID

NUMBERS = tuple(Number(f"x{j}", 0, 1) for j in range(3))
COLUMNS = (*NUMBERS, Category("site", ["a", "b", "c"]), Category("arm", [0, 1]))
N_FEATURES = 4
EVEN = np.append(0.0, np.full(GRID, 1 / GRID))
SHARES = [EVEN, EVEN, EVEN, np.array([0.0, 0.5, 0.3, 0.2]), np.array([0.0, 0.5, 0.5])]
CHAIN = np.array([[1.0, 0.9, 0.8], [0.9, 1.0, 0.9], [0.8, 0.9, 1.0]])


def correlated(strength=1.0):
    matrix = np.eye(5)
    matrix[:3, :3] += strength * (CHAIN - np.eye(3))
    return matrix


def make(strength=1.0, *, products=True):
    known = correlated(strength)
    plain = make_basis(COLUMNS, SHARES, known if products else None, n_features=N_FEATURES)
    return plain, mix(plain, known, n_features=N_FEATURES)


def codes_of(basis, n_rows=4096):
    return draw_codes(basis.columns, correlated(), n_rows)


def test_mixed_functions_have_no_correlation_and_the_same_variance():
    plain, mixed = make()
    values = mixed.matrix(codes_of(plain))
    first = mixed.n_terms - len(mixed.products) - 3
    assert np.corrcoef(values[:, first : first + 3].T) == pytest.approx(np.eye(3), abs=0.08)
    assert values[:, first : first + 3].std(axis=0) == pytest.approx(np.ones(3), abs=0.05)


def test_each_mixed_function_belongs_to_the_feature_that_it_is_nearest_to():
    plain, mixed = make()
    codes, first = codes_of(plain), mixed.n_terms - len(mixed.products) - 3
    for place, column in enumerate(mixed.mixed):
        values = mixed.matrix(codes)[:, first + place]
        others = [np.corrcoef(values, np.take(plain.columns[j].leading, codes[:, j]))[0, 1] for j in range(3)]
        assert int(np.argmax(others)) == column
        assert (mixed.groups[first + place], mixed.orders[first + place]) == (column + 1, 0)


def test_the_basis_is_the_same_functions_in_other_terms():
    plain, mixed = make()
    generator = np.random.default_rng(0)
    assert mixed.n_terms == plain.n_terms
    assert unmixed(mixed).columns == plain.columns
    to_plain, to_mixed = Frame.of(mixed, mixed=True), Frame.of(mixed, mixed=False)
    coefficients, codes = generator.normal(size=mixed.n_terms), codes_of(plain, 200)
    there = to_plain.plain(coefficients)
    assert mixed.matrix(codes) @ coefficients == pytest.approx(plain.matrix(codes) @ there)
    assert to_mixed.measured(there) == pytest.approx(coefficients)


def test_equations_and_errors_follow_the_functions():
    plain, mixed = make()
    frame, generator = Frame.of(mixed, mixed=False), np.random.default_rng(1)
    codes = codes_of(plain, 500)
    target = generator.normal(size=500)
    z, gram = mixed.matrix(codes).T @ target, mixed.matrix(codes).T @ mixed.matrix(codes)
    found_z, found_noise, found_gram = frame.equations(z, gram, gram)
    assert found_z == pytest.approx(plain.matrix(codes).T @ target)
    assert found_gram == pytest.approx(plain.matrix(codes).T @ plain.matrix(codes))
    assert (found_noise == found_noise.T).all()
    root = generator.normal(size=(mixed.n_terms, 2000))
    covariance = Frame.of(mixed, mixed=True).plain_covariance(np.cov(root))
    there = np.array([Frame.of(mixed, mixed=True).plain(draw) for draw in root.T]).T
    assert covariance == pytest.approx(np.cov(there))
    assert frame.measured_variances(covariance) == pytest.approx(np.diagonal(np.cov(root)))


def test_what_is_not_mixed_is_the_same_object():
    plain, _ = make()
    assert mix(plain, None, n_features=N_FEATURES) is plain
    assert mix(plain, correlated(0.3), n_features=N_FEATURES) is plain  # hardly
    assert mix(plain, correlated(), n_features=1) is plain  # one feature cannot hang together
    many = tuple(Number(f"x{j}", 0, 1) for j in range(MOST_MIXED + 1))
    wide = make_basis(many, [EVEN] * len(many), None, n_features=len(many))
    assert mix(wide, np.full((len(many),) * 2, 0.95) + 0.05 * np.eye(len(many)), n_features=len(many)) is wide
    frame, square = Frame.of(plain, mixed=False), np.eye(plain.n_terms)
    assert frame == Frame(None, None)
    assert frame.equations(square[0], square, square)[2] is square


def test_levels_and_the_treatment_are_never_mixed():
    _, mixed = make()
    assert mixed.mixed == (0, 1, 2)
    assert len(mixed.columns[3].values) == 2
    assert len(mixed.columns[4].values) == 1


def test_rows_on_the_grid_are_the_mixed_functions():
    plain, mixed = make()
    weights = np.random.default_rng(2).uniform(0.3, 1.0, mixed.n_terms)
    layout = Layout(mixed, weights, 5.0, 0.0, 1.0)
    rows, codes = layout.table_rows(1.0), codes_of(plain, 300)
    assert rows.released.shape == released_entries(mixed).shape
    assert (rows.released == released_entries(mixed)).all()
    batch = rows.batch(codes)
    first, step = mixed.n_terms - len(mixed.products) - 3, rows.constant / weights[0]
    wanted = mixed.matrix(codes)[:, first:] * weights[first:] * step
    assert np.abs(batch.products - wanted).max() <= 4  # roundings: one per table, one of the constant
    squared = (mixed.matrix(codes) ** 2 @ weights**2) * step**2
    assert batch.squares == pytest.approx(squared, rel=0.02)


def stage_of(n_rows=4000, seed=0, **changes):
    """A target that is the difference of two features which are nearly the same."""
    generator = np.random.default_rng(seed)
    common = generator.normal(size=(n_rows, 1))
    x = np.clip(0.5 + 0.15 * (common + 0.25 * generator.normal(size=(n_rows, 3))), 0, 0.999)
    target = 6.0 * (x[:, 0] - x[:, 1]) + 0.1 * generator.normal(size=n_rows)
    codes = np.asfortranarray(1 + np.floor(x * GRID), dtype=np.uint16)
    data = StageData.of_arrays(
        columns=NUMBERS, codes=codes, target=target, low=-4.0, high=4.0, n_rows=n_rows, n_features=3
    )
    return altered(data, **changes), codes, 6.0 * (x[:, 0] - x[:, 1])


def fit(data, seed, *, released=None, **options):
    budget = Budget(mu=0.4, epsilon=1.0, delta=1e-5, neighbours="replace")
    return Additive(**options).fit(data, budget=budget, noise=SeededNoise(seed), released=released or {})


def known_before(data, seed):
    return {"propensity": fit(altered(data, loose=True), seed)}


def error(model, codes, truth):
    return float(np.sqrt(np.mean((model.predict(codes) - truth) ** 2)))


@pytest.mark.parametrize("loose", [True, False])
def test_what_nearly_equal_features_differ_by_is_measured_far_better(loose, monkeypatch):
    def mean_error():
        found = []
        for seed in range(6):
            data, codes, truth = stage_of(seed=seed, loose=loose)
            released = {} if loose else known_before(data, 100 + seed)
            found.append(error(fit(data, seed, released=released), codes, truth))
        return np.mean(found)

    mixed = mean_error()
    monkeypatch.setattr(mixing, "HARDLY", 0.0)  # as they are, whatever their correlations
    assert mixed < 0.6 * mean_error()


@pytest.mark.parametrize("rounds", [(1.0,), (0.5, 0.5)])
def test_the_stated_error_is_that_of_the_released_function(rounds):
    held = []
    for seed in range(8):
        data, codes, truth = stage_of(seed=seed)
        model = fit(data, seed, released=known_before(data, 100 + seed), rounds=rounds)
        spread = np.sqrt(uncertainty_of(model).variance(codes))
        held.append(np.mean(np.abs(model.predict(codes) - truth) <= 1.96 * spread))
    assert 0.85 <= np.mean(held) <= 1.0


def test_correlations_go_on_to_the_next_stage():
    data, _, _ = stage_of(loose=True)
    model = fit(data, 0)
    again = fit(data, 1, released={"propensity": model})
    assert model.details[CORRELATIONS] == again.details[CORRELATIONS]
    assert np.array(model.details[CORRELATIONS]["matrix"])[0, 1] > 0.7
