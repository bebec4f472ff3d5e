"""Functions of two columns: which of them a stage considers, what they are, and that a saved error finds them again."""

import itertools
import json

import numpy as np
import pytest
from tests.models.stages import altered

from dpcate.mechanisms import SeededNoise
from dpcate.models import POSTERIOR, Additive, AdditiveFunction, Budget, StageData, uncertainty_of
from dpcate.models.additive.basis import make_basis, make_column_basis
from dpcate.models.additive.products import BENT, MOST_PAIRED, PAIR, make_products, single_leading
from dpcate.schema import Category, Number
from dpcate.tables import GRID

NUMBER, YES_NO, TOWN = Number("age", 0, 1), Category("sex", ["f", "m"]), Category("town", list("abc"))
SHARES = {
    NUMBER: np.append(0.0, np.arange(1, GRID + 1) / (GRID * (GRID + 1) / 2)),
    YES_NO: np.array([0.0, 0.7, 0.3]),
    TOWN: np.array([0.001, 0.333, 0.333, 0.333]),
}
KINDS = ["plain", "bent", "treated"]


def columns_of(*kinds):
    return [make_column_basis(kind, SHARES[kind]) for kind in kinds]


def correlated(n_columns):
    """Every pair has a correlation of its own."""
    matrix = np.eye(n_columns)
    for i, j in itertools.combinations(range(n_columns), 2):
        matrix[i, j] = matrix[j, i] = 0.1 * (i + 1) - 0.01 * j
    return matrix


def products_of(*kinds, n_features=None, interactions="plain"):
    columns = columns_of(*kinds)
    n_features = len(kinds) if n_features is None else n_features
    return columns, make_products(columns, correlated(len(kinds)), n_features=n_features, interactions=interactions)


def named(columns, product):
    """Which function of each column the two factors are."""
    return tuple(
        next(order for order, values in zip(column.orders, column.values, strict=True) if np.array_equal(values, side))
        for column, side in ((columns[product.first], product.left), (columns[product.second], product.right))
    )


def test_only_columns_with_exactly_one_leading_function_have_products():
    assert single_leading(columns_of(NUMBER, TOWN, YES_NO)) == [0, 2]
    _, products = products_of(NUMBER, TOWN, YES_NO, TOWN)
    assert [(product.first, product.second) for product in products] == [(0, 2)]


@pytest.mark.parametrize("interactions", KINDS)
def test_every_kind_of_stage_has_the_products_of_leading_functions_first_each_with_its_correlation(interactions):
    columns, products = products_of(NUMBER, YES_NO, NUMBER, interactions=interactions)
    for product, pair in zip(products[:3], [(0, 1), (0, 2), (1, 2)], strict=True):
        assert (product.first, product.second) == pair
        assert named(columns, product) == (0, 0)
        assert product.mean == pytest.approx(correlated(3)[pair])
        assert product.order == PAIR
    assert all(product.order == BENT for product in products[3:])
    assert (len(products) > 3) == (interactions == "bent")


def test_two_numbers_bend_in_three_ways():
    columns, products = products_of(NUMBER, NUMBER, interactions="bent")
    bent = products[1:]
    assert {named(columns, product) for product in bent} == {(0, 2), (2, 0), (2, 2)}
    means = {named(columns, product): product.mean for product in bent}
    assert means[0, 2] == means[2, 0] == 0.0
    assert means[2, 2] == pytest.approx(correlated(2)[0, 1] ** 2)


def test_the_means_are_near_those_of_normal_features():
    """A line is the first Hermite polynomial, a bend resembles the second: E[h_k h_l] is rho^k, or 0 if k != l."""
    cells = (np.arange(GRID) - GRID / 2 + 0.5) / (GRID / 8)
    bell = np.exp(-(cells**2) / 2)
    columns = [make_column_basis(NUMBER, np.append(0.0, bell / bell.sum()))] * 2
    generator, rho = np.random.default_rng(0), 0.6
    one = generator.normal(size=400_000)
    other = rho * one + np.sqrt(1 - rho**2) * generator.normal(size=len(one))
    codes = np.column_stack([np.clip(x * GRID / 8 + GRID / 2 + 1, 1, GRID) for x in (one, other)]).astype(np.uint16)
    for product in make_products(columns, np.array([[1, rho], [rho, 1]]), n_features=2, interactions="bent"):
        values = np.empty(len(codes))
        product.values(codes, values)
        if named(columns, product) == (2, 2):
            assert abs(values.mean()) < 0.6 * (values.mean() + product.mean), "better than no mean, though not exact"
        else:
            assert abs(values.mean()) < 0.02, named(columns, product)


def test_a_yes_no_feature_has_no_bend():
    columns, products = products_of(NUMBER, YES_NO, interactions="bent")
    assert [named(columns, product) for product in products] == [(0, 0), (2, 0)]
    _, products = products_of(YES_NO, YES_NO, interactions="bent")
    assert [product.order for product in products] == [PAIR]


def test_a_number_whose_rows_lie_on_two_values_has_a_straight_line_and_no_bend():
    lumps = np.where(np.isin(np.arange(GRID), [10, 900]), 1.0, 0.0)
    columns = [make_column_basis(NUMBER, np.append(0.0, lumps / lumps.sum())), *columns_of(NUMBER)]
    products = make_products(columns, np.eye(2), n_features=2, interactions="bent")
    assert [named(columns, product) for product in products] == [(0, 0), (0, 2)]


@pytest.mark.parametrize("interactions", KINDS)
def test_the_treatment_interacts_with_features_only_where_a_stage_says_so_and_has_it(interactions):
    columns, products = products_of(NUMBER, TOWN, YES_NO, YES_NO, n_features=3, interactions=interactions)
    with_arm = [product for product in products if 3 in (product.first, product.second)]
    assert [(product.first, product.second) for product in with_arm] == (
        [(0, 3), (2, 3)] if interactions == "treated" else []
    )
    assert all(named(columns, product) == (0, 0) for product in with_arm), "the arm's own function, and a line"
    assert [product.mean for product in with_arm] == [correlated(4)[p.first, 3] for p in with_arm]
    _, without = products_of(NUMBER, TOWN, YES_NO, interactions=interactions)
    assert all(product.second < 3 for product in without)
    if interactions == "treated":
        assert [(p.first, p.second) for p in without] == [(0, 2)], "a stage without the treatment has pairs only"


@pytest.mark.parametrize("interactions", KINDS)
def test_with_too_many_features_there_are_no_products(interactions):
    most = [NUMBER] * MOST_PAIRED
    n_pairs = MOST_PAIRED * (MOST_PAIRED - 1) // 2
    wanted = {"plain": n_pairs, "bent": 4 * n_pairs, "treated": n_pairs + MOST_PAIRED}[interactions]
    assert len(products_of(*most, YES_NO, n_features=MOST_PAIRED, interactions=interactions)[1]) == wanted
    assert len(products_of(*most, TOWN, interactions=interactions)[1]) > 0, "a category of many levels does not count"
    assert products_of(*most, NUMBER, YES_NO, n_features=MOST_PAIRED + 1, interactions=interactions)[1] == ()


def test_a_product_s_values_are_looked_up_row_by_row():
    _, products = products_of(NUMBER, YES_NO, interactions="bent")
    generator = np.random.default_rng(0)
    codes = np.column_stack([generator.integers(0, GRID + 1, 50), generator.integers(0, 3, 50)]).astype(np.uint16)
    for product in products:
        values = np.full(50, np.nan)
        product.values(codes, values)
        expected = [product.left[one] * product.right[other] - product.mean for one, other in codes]
        assert values == pytest.approx(expected, rel=1e-12)


def make_stage(features, n_rows=6000, **changes):
    """A stage with these features and an arm; the target has all kinds of interactions, features are correlated."""
    generator = np.random.default_rng(0)
    shared = generator.integers(0, 2, n_rows)
    codes = [
        np.where(shared, generator.integers(GRID // 2, GRID + 1, n_rows), generator.integers(1, GRID + 1, n_rows))
        if isinstance(feature, Number)
        else 1 + (generator.uniform(size=n_rows) < 0.3 + 0.3 * shared)
        for feature in features
    ]
    codes = np.asfortranarray(np.column_stack([*codes, generator.integers(1, 3, n_rows)]), dtype=np.uint16)
    one, other = (codes[:, j] / codes[:, j].max() - 0.5 for j in (0, 1))
    target = 3 * one * other + 2 * other * (one**2 - 0.1) + 2 * one * codes[:, -1]
    return StageData.of_arrays(
        columns=(*features, Category("t", [0, 1])),
        codes=codes,
        target=target + generator.normal(scale=0.3, size=n_rows),
        low=-6.0,
        high=6.0,
        n_rows=n_rows,
        n_features=len(features),
        **changes,
    )


def fit(data, mu=100.0, released=None):
    budget = Budget(mu=mu, epsilon=1.0, delta=1e-5, neighbours="replace")
    return Additive().fit(data, budget=budget, noise=SeededNoise(1), released=released or {})


OTHER_NUMBER, OTHER_YES_NO = Number("income", 0, 9), Category("owner", ["no", "yes"])


@pytest.mark.parametrize("interactions", KINDS)
@pytest.mark.parametrize(
    "features", [(NUMBER, OTHER_NUMBER), (NUMBER, YES_NO), (YES_NO, OTHER_YES_NO)], ids=["numbers", "mixed", "yes_no"]
)
@pytest.mark.parametrize("first", [True, False])
def test_a_saved_model_of_every_kind_comes_back_with_its_products_and_its_error(features, interactions, first):
    data = make_stage(features, interactions=interactions)
    function = fit(data, released={} if first else {"propensity": fit(altered(data, interactions="plain"))})
    again = AdditiveFunction.from_dict(json.loads(json.dumps(function.to_dict(), allow_nan=False)))
    known, loaded = uncertainty_of(function), uncertainty_of(again)
    wanted = {
        "plain": 0 if first else 1,
        "treated": 3,
        "bent": 1 + (3, 1, 0)[sum(f in (YES_NO, OTHER_YES_NO) for f in features)],
    }
    assert len(known.basis.products) == wanted[interactions]
    assert len(known.covariance) == known.basis.n_terms
    np.testing.assert_array_equal(loaded.covariance, known.covariance)
    assert [product.mean for product in loaded.basis.products] == [product.mean for product in known.basis.products]
    codes = data.held.codes
    np.testing.assert_array_equal(loaded.variance(codes), known.variance(codes))
    np.testing.assert_array_equal(again.predict(codes), function.predict(codes))
    assert (known.variance(codes) > 0).all()


def test_a_release_from_before_there_were_kinds_has_pairs_of_features():
    data = make_stage((NUMBER, OTHER_NUMBER))
    function = fit(data, released={"propensity": fit(data)})
    document = json.loads(json.dumps(function.to_dict()))
    assert document["details"][POSTERIOR].pop("interactions") == "plain"
    old = uncertainty_of(AdditiveFunction.from_dict(document))
    np.testing.assert_array_equal(old.covariance, uncertainty_of(function).covariance)
    assert len(old.basis.products) == 1


@pytest.mark.parametrize(
    ("interactions", "truth"),
    [
        ("bent", lambda one, other, arm: 4 * one * (other**2 - 1 / 12)),
        ("bent", lambda one, other, arm: 20 * (one**2 - 1 / 12) * (other**2 - 1 / 12)),
        ("treated", lambda one, other, arm: 2 * one * arm),
    ],
    ids=["line and bend", "two bends", "arm and line"],
)
def test_each_kind_follows_the_interactions_that_it_is_for(interactions, truth):
    generator = np.random.default_rng(3)
    codes = np.column_stack([*generator.integers(1, GRID + 1, (2, 20_000)), generator.integers(1, 3, 20_000)])
    codes = np.asfortranarray(codes, dtype=np.uint16)
    signal = truth(codes[:, 0] / GRID - 0.5, codes[:, 1] / GRID - 0.5, codes[:, 2] - 1.5)
    target = signal + generator.normal(scale=0.3, size=len(codes))
    data = make_stage((NUMBER, OTHER_NUMBER), 20_000)
    data = altered(data, codes=codes, target=target)
    earlier = {"propensity": fit(altered(data, target=codes[:, 0] / GRID))}
    left = {
        kind: np.mean((fit(altered(data, interactions=kind), released=earlier).predict(codes) - signal) ** 2)
        / np.var(signal)
        for kind in ("plain", interactions)
    }
    assert left["plain"] > 0.5
    assert left[interactions] < 0.2


def test_no_products_where_the_model_is_to_have_none():
    data = make_stage((NUMBER, OTHER_NUMBER), interactions="bent")
    budget = Budget(mu=100.0, epsilon=1.0, delta=1e-5, neighbours="replace")
    function = Additive(pairs=False).fit(data, budget=budget, noise=SeededNoise(1), released={})
    assert function.products == ()
    assert make_basis(data.columns, function.shares, None, n_features=2, interactions="bent").products == ()
