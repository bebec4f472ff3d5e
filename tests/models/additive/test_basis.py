import numpy as np
import pytest

from dpcate.models.additive import basis as basis_module
from dpcate.models.additive.basis import MOST_LEVELS, RARE_SHARE, make_basis, make_column_basis
from dpcate.models.additive.density import category_shares, smooth_shares
from dpcate.models.additive.products import BENT, BENT_SIZE, PAIR, PAIR_SIZE
from dpcate.schema import Category, Number
from dpcate.tables import GRID

AGE, INCOME, SEX = Number("age", 0, 1), Number("income", 0, 9), Category("sex", ["f", "m"])
TOWN = Category("town", [f"t{i}" for i in range(500)])


def number_shares(inside=None, other=0.0):
    inside = np.ones(GRID) if inside is None else inside
    return np.concatenate([[other], (1 - other) * inside / inside.sum()])


SKEWED = np.exp(-np.arange(GRID) / 150)
BELL = np.exp(-((np.arange(GRID) - 500) ** 2) / 2 / 90**2) + 1e-4
NUMBERS = {
    "even": number_shares(),
    "skewed": number_shares(SKEWED),
    "bell": number_shares(BELL),
    "often missing": number_shares(SKEWED, other=0.3),
    "two lumps": number_shares(np.where(np.isin(np.arange(GRID), [10, 900]), 1.0, 1e-9)),
}


def make(correlation=0.2, **changes):
    shares = [NUMBERS["skewed"], NUMBERS["often missing"], np.array([0.5 * RARE_SHARE, 0.6, 0.4 - 0.5 * RARE_SHARE])]
    correlations = np.full((3, 3), correlation)
    return make_basis((AGE, INCOME, SEX), shares, **{"correlations": correlations, "n_features": 3, **changes})


def random_codes(n_rows=200, sizes=(GRID + 1, GRID + 1, 3), seed=0):
    generator = np.random.default_rng(seed)
    return np.asfortranarray(np.column_stack([generator.integers(0, size, n_rows) for size in sizes]), dtype=np.uint16)


@pytest.mark.parametrize("name", NUMBERS)
def test_the_functions_of_a_number_are_orthonormal_among_rows_that_have_one(name):
    shares = NUMBERS[name]
    column = make_column_basis(AGE, shares)
    curves = column.values[column.orders <= len(basis_module.CURVE_SIZES)]
    known = shares[1:] / shares[1:].sum()
    assert (curves[:, 1:] * known) @ curves[:, 1:].T == pytest.approx(np.eye(len(curves)), abs=1e-8)
    assert curves[:, 1:] @ known == pytest.approx(np.zeros(len(curves)), abs=1e-8)
    assert not curves[:, 0].any(), "a missing value has no place on the curve"


def test_a_number_that_is_often_missing_gets_an_indicator_of_unit_variance_apart_from_the_curves():
    shares = NUMBERS["often missing"]
    with_it, without = make_column_basis(AGE, shares), make_column_basis(AGE, NUMBERS["skewed"])
    assert len(with_it.values) == len(without.values) + 1
    indicator = with_it.values[-1]
    assert indicator @ shares == pytest.approx(0.0, abs=1e-12)
    assert indicator**2 @ shares == pytest.approx(1.0)
    assert (with_it.values[:-1] * shares) @ indicator == pytest.approx(np.zeros(len(without.values)), abs=1e-8)


def test_the_leading_function_of_a_number_is_a_straight_line():
    slope = np.diff(make_column_basis(AGE, NUMBERS["bell"]).leading[1:])
    assert slope == pytest.approx(np.full(GRID - 1, slope[0]))
    assert slope[0] > 0


def test_curves_that_a_lumpy_distribution_cannot_tell_apart_are_left_out():
    """On two points every odd cosine of the rank is the straight line again."""
    orders = make_column_basis(AGE, NUMBERS["two lumps"]).orders
    assert orders[0] == 0
    assert not set(orders[1:]) & {1, 3, 5}


@pytest.mark.parametrize("where", [0, 1, 512, GRID])
def test_released_shares_with_nearly_all_rows_at_one_code_give_a_finite_basis(where):
    counts = np.zeros(64)
    counts[min(where // 16, 63)] = 1e6
    inside = np.repeat(smooth_shares(counts, 1e-5), GRID // 64)
    other = 1 - 1e-9 if where == 0 else 0.0
    column = make_column_basis(AGE, number_shares(inside, other))
    assert np.isfinite(column.values).all()
    assert (column.sizes > 0).all()


def test_the_levels_of_a_category_get_centred_indicators_of_unit_variance_but_the_most_common():
    shares = np.array([0.001, 0.5, 0.3, 0.199])
    column = make_column_basis(Category("c", list("abc")), shares)
    assert len(column.values) == 2
    assert column.values @ shares == pytest.approx([0, 0], abs=1e-12)
    assert column.values**2 @ shares == pytest.approx([1, 1])
    assert [np.argmax(values) for values in column.values] == [2, 3]
    assert (column.orders == 0).all()


def test_rare_levels_are_pooled_by_their_noisy_share():
    shares = np.full(501, 0.3 * RARE_SHARE)
    shares[[3, 7]] = [0.2, 0.1]
    shares[0] = 1 - shares[1:].sum()
    column = make_column_basis(TOWN, shares)
    assert len(column.values) == 3, "two levels of their own, one function for all others, none for the most common"
    rare = np.setdiff1d(np.arange(501), [0, 3, 7])
    assert len(np.unique(column.values[-1][rare])) == 1
    assert column.values[-1][rare[0]] > 0 > column.values[-1][3]


def test_five_hundred_levels_from_noise_alone_stay_few_functions():
    noisy = np.random.default_rng(0).normal(scale=40.0, size=501) + 40.0
    column = make_column_basis(TOWN, category_shares(noisy, 40.0))
    assert len(column.values) <= MOST_LEVELS + 1
    assert np.isfinite(column.values).all()
    assert column.sizes.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("shares", [[1.0, 0.0], [0.0, 1.0], [0.5 * RARE_SHARE, 1 - 0.5 * RARE_SHARE]])
def test_a_category_with_one_level_has_no_function(shares):
    assert make_column_basis(Category("c", ["a"]), np.array(shares)).values.shape == (0, 2)


def places(basis):
    return [(product.first, product.second) for product in basis.products]


@pytest.mark.parametrize("interactions", ["plain", "bent", "treated"])
def test_the_matrix_is_what_the_tables_say_entry_by_entry(interactions):
    basis, codes = make(interactions=interactions, n_features=2), random_codes()
    assert len(basis.products) == {"plain": 1, "bent": 4, "treated": 3}[interactions]
    matrix = basis.matrix(codes)
    for i in (0, 5, 77):
        row = [1.0]
        for j, column in enumerate(basis.columns):
            row += [values[codes[i, j]] for values in column.values]
        for product in basis.products:
            row.append(product.left[codes[i, product.first]] * product.right[codes[i, product.second]] - product.mean)
        assert matrix[i] == pytest.approx(np.array(row), rel=1e-12)


@pytest.mark.parametrize("interactions", ["plain", "bent"])
def test_a_row_has_the_same_bits_alone_and_in_any_company(interactions):
    basis, codes = make(interactions=interactions), random_codes(1000)
    matrix = basis.matrix(codes)
    for part in (slice(3, 4), slice(500, 777), slice(None, None, -1)):
        assert np.array_equal(basis.matrix(codes[part]), matrix[part])


def test_products_are_made_of_features_with_one_leading_function_where_correlations_are_known():
    basis = make()
    assert places(basis) == [(0, 1), (0, 2), (1, 2)]
    assert [product.mean for product in basis.products] == pytest.approx([0.2] * 3)
    for product in basis.products:
        assert np.array_equal(product.left, basis.columns[product.first].leading)
        assert np.array_equal(product.right, basis.columns[product.second].leading)
    assert places(make(n_features=2)) == [(0, 1)], "the treatment is no feature"
    assert make(correlations=None).products == ()
    assert make(correlations=None, interactions="bent").products == ()


def test_groups_orders_and_sizes_line_up_with_the_columns_of_the_matrix():
    basis = make()
    assert len(basis.groups) == len(basis.orders) == len(basis.sizes) == basis.n_terms
    assert basis.groups[0] == 0
    assert basis.orders[0] == -1
    assert (basis.orders[-3:] == PAIR).all()
    assert basis.groups[-1] == len(basis.columns) + 1
    assert basis.sizes[basis.orders == PAIR].sum() == pytest.approx(PAIR_SIZE)
    assert basis.n_bent == 0


def test_products_with_bends_come_last_in_a_group_of_their_own_with_one_size_for_all():
    basis = make(interactions="bent")
    assert basis.n_bent == 5, "three of two numbers, one of each number with the yes/no feature"
    assert basis.orders[-8:].tolist() == [PAIR] * 3 + [BENT] * 5
    assert basis.groups[-8:].tolist() == [4] * 3 + [5] * 5
    assert basis.sizes[basis.orders == PAIR] == pytest.approx(PAIR_SIZE / 3)
    assert basis.sizes[basis.orders == BENT] == pytest.approx(BENT_SIZE / 5)
    assert len(basis.groups) == len(basis.orders) == len(basis.sizes) == basis.n_terms


@pytest.mark.parametrize(("interactions", "n_bent"), [("plain", 0), ("bent", 2)])
def test_keeping_some_coefficients_keeps_their_columns_of_the_matrix(interactions, n_bent):
    basis, codes = make(interactions=interactions), random_codes()
    chosen = basis.orders <= 1
    chosen[np.flatnonzero(basis.orders == PAIR)[1]] = True
    chosen[np.flatnonzero(basis.orders == BENT)[1 : 1 + n_bent]] = True
    kept = basis.keep(chosen)
    assert kept.n_terms == chosen.sum()
    assert np.array_equal(kept.matrix(codes), basis.matrix(codes)[:, chosen])
    assert np.array_equal(kept.groups, basis.groups[chosen])
    assert np.array_equal(kept.orders, basis.orders[chosen])
    assert places(kept)[0] == (0, 2)
    assert kept.n_bent == n_bent


def one_after_the_other(candidates, shares):
    """The same functions, removed from one another singly."""
    kept = []
    for candidate in candidates:
        function = candidate - shares @ candidate
        before = np.sqrt(shares @ function**2)
        for earlier in kept + kept:
            function = function - (shares @ (function * earlier)) * earlier
        after = np.sqrt(shares @ function**2)
        if before >= 1e-9 and after >= 0.12 * before:
            kept.append(function / after)
    return np.array(kept)


@pytest.mark.parametrize("name", NUMBERS)
def test_functions_removed_at_once_are_those_removed_one_after_the_other(name):
    shares = NUMBERS[name][1:] / NUMBERS[name][1:].sum()
    rank = np.cumsum(shares) - shares / 2
    candidates = np.vstack([np.arange(GRID) / GRID, *(np.cos(np.pi * k * rank) for k in range(1, 6))])
    functions, orders = basis_module._orthonormalised(candidates.copy(), shares)
    assert functions == pytest.approx(one_after_the_other(candidates, shares), abs=1e-9)
    assert orders == sorted(orders)
    assert len(orders) == len(functions)


def test_a_basis_that_was_kept_is_the_one_for_these_shares_and_cannot_be_written_to():
    first, second = (make_column_basis(AGE, NUMBERS[name].copy()) for name in ("even", "skewed"))
    assert make_column_basis(INCOME, NUMBERS["even"].copy()) is first
    assert second.shares.tolist() == NUMBERS["skewed"].tolist()
    assert len(make_column_basis(SEX, np.array([0.0, 0.7, 0.3])).values) == 1, "a category has its own functions"
    with pytest.raises(ValueError, match="read-only"):
        first.values[0, 0] = 1.0
