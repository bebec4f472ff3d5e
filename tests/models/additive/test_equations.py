from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcate.mechanisms import ENTRY_LIMIT, ROW_LIMIT, MomentRelease, SeededNoise
from dpcate.models import HeldStage, StageData, StageRows
from dpcate.models.additive import equations
from dpcate.models.additive.basis import Basis, ColumnBasis, make_basis
from dpcate.models.additive.equations import Equations, Layout, released_entries
from dpcate.models.additive.products import BENT, PAIR, ProductBasis
from dpcate.schema import Category, Number
from dpcate.tables import GRID

COLUMNS = (Number("age", 0, 1), Number("income", 0, 9), Category("sex", ["f", "m"]))
SHARES = [np.append(0.2, np.full(GRID, 0.8 / GRID)), np.append(0.0, np.full(GRID, 1 / GRID)), np.array([0.0, 0.7, 0.3])]
BASIS = make_basis(COLUMNS, SHARES, np.eye(3), n_features=3)
BENDING = make_basis(COLUMNS, SHARES, np.eye(3), n_features=3, interactions="bent")
WEIGHTS = np.random.default_rng(0).uniform(0.2, 1.0, BASIS.n_terms)
codes_of_a_row = st.tuples(st.integers(0, GRID), st.integers(0, GRID), st.integers(0, 2))
wild = st.one_of(st.floats(), st.sampled_from([np.nan, np.inf, -np.inf, 1e308, 5e-324]))


def make_layout(longest=1.5, centre=0.3, clip=0.8):
    return Layout(BASIS, WEIGHTS, longest, centre, clip)


def parts_of(n_rows=500, *, with_loading=True, **changes):
    generator = np.random.default_rng(1)
    codes = [generator.integers(0, GRID + 1, n_rows), generator.integers(0, GRID + 1, n_rows)]
    return {
        "columns": COLUMNS,
        "codes": np.asfortranarray(np.column_stack([*codes, generator.integers(1, 3, n_rows)]), dtype=np.uint16),
        "target": generator.uniform(-1, 1, n_rows),
        "low": -1.0,
        "high": 1.0,
        "loading": generator.uniform(-0.9, 0.9, n_rows) if with_loading else None,
        "loading_bound": 0.9 if with_loading else 1.0,
        "n_features": 3,
        **changes,
    }


def make_data(n_rows=500, *, with_loading=True, **changes):
    return StageData.of_arrays(**parts_of(n_rows, with_loading=with_loading, **changes))


def vectors(layout, data, size=None):
    """Every row's vector as whole numbers, from tables, products, multipliers and targets; exact in float64."""
    rows = layout.table_rows(data.loading_bound)
    written = []
    held = data.held
    size = size or max(len(held.target), 1)
    for start in range(0, max(len(held.target), 1), size):
        part = slice(start, start + size)
        loading = None if held.loading is None else held.loading[part]
        batch = layout.batch(rows, data, StageRows(held.codes[part], held.target[part], loading))
        looked_up = [table[:, batch.codes[:, j]].T for j, table in enumerate(rows.tables)]
        functions = np.column_stack([np.full(len(batch.codes), rows.constant), *looked_up, batch.products])
        written.append(np.column_stack([functions * batch.multiplier[:, None], batch.target]))
    return np.concatenate(written)


def longest(rows):
    return max(sum(int(value) ** 2 for value in row) for row in rows)


def propensity_law(codes):
    e = 0.1 + 0.8 * codes[:, 0] / GRID
    return np.maximum(e, 1 - e), e * (1 - e)


@settings(deadline=None)
@given(
    codes=codes_of_a_row,
    target=st.floats(-1, 1),
    loading=st.one_of(st.floats(-1, 1), st.sampled_from([5.0, -5.0])),
    reach=st.sampled_from([1e-3, 0.5, 2.0, 1e3]),
    clip=st.sampled_from([1e-3, 0.3, 10.0]),
)
def test_no_row_is_longer_than_the_limit_nor_shortened_by_the_grid(codes, target, loading, reach, clip):
    one = {"codes": np.array([codes], dtype=np.uint16), "target": np.array([target]), "loading": np.array([loading])}
    for law in (None, propensity_law):
        layout, stage = make_layout(reach, 0.1, clip), make_data(1, **one, loading_law=law)
        assert longest(vectors(layout, stage)) <= ROW_LIMIT**2
        if reach < 0.1:
            continue  # tables are clipped: no row has room
        factor = layout.shortening(BASIS.matrix(one["codes"]) ** 2 @ WEIGHTS**2, stage.reach(one["codes"]))
        residual = factor * np.clip(target - 0.1, -clip, clip) * layout.target_scale / layout.unit
        assert vectors(layout, stage)[0, -1] / ROW_LIMIT == pytest.approx(residual[0], rel=0.02, abs=1e-5)


@settings(deadline=None)
@given(codes=codes_of_a_row, target=wild, loading=wild, reach=wild)
def test_a_row_of_wild_values_is_short_enough_or_dropped(codes, target, loading, reach):
    """Even if nobody had brought the values inside their bounds."""
    raw = HeldStage(StageRows(np.array([codes], dtype=np.uint16), np.array([target]), np.array([loading])))
    for law in (None, lambda codes: (np.full(len(codes), reach), np.ones(len(codes)))):
        data = StageData(
            columns=COLUMNS, source=raw, low=-1.0, high=1.0, weighted=True, loading_bound=0.9, loading_law=law
        )
        with np.errstate(all="ignore"):
            rows = vectors(make_layout(), data)
        assert longest(rows) <= ROW_LIMIT**2
        if np.isnan(target) or np.isnan(loading):
            assert not rows.any()


@pytest.mark.parametrize("size", [1e3, 1e9, 1e30, 1e100])
def test_functions_with_wild_values_become_tables_that_the_mechanism_takes(size):
    """A nearly constant column has a function that is huge at a rare code: nobody there has room in the vector."""
    column = ColumnBasis(np.array([[0.0, 1.0, -size]]), np.zeros(1, dtype=np.int64), np.ones(1), np.ones(3) / 3)
    product = ProductBasis(0, 1, column.leading, column.leading, 0.0, PAIR)
    basis = Basis((column, column), (product,))
    layout = Layout(basis, np.ones(4), 2.0, 0.0, 1.0)
    codes = np.array([[1, 1], [2, 1], [2, 2], [0, 2]], dtype=np.uint16)
    data = make_data(4, with_loading=False, columns=COLUMNS[:2], codes=codes, target=np.array([1.0, -1, 1, -1]))
    tables = layout.table_rows(1.0).tables
    assert max(np.abs(table).max() for table in tables) <= ENTRY_LIMIT
    rows = vectors(layout, data)
    assert longest(rows) <= ROW_LIMIT**2
    assert rows[0, :4].all(), "ordinary codes keep their vector"


def test_the_constant_is_at_least_one_grid_step():
    for reach in (1e6, 1e-6):
        assert 1 <= make_layout(reach).table_rows(0.9).constant <= ENTRY_LIMIT


@pytest.mark.parametrize("with_loading", [True, False])
def test_a_row_has_the_same_bits_in_every_batch_and_place(with_loading):
    parts = parts_of(with_loading=with_loading, loading_law=propensity_law)
    layout, data = make_layout(), StageData.of_arrays(**parts)
    whole = vectors(layout, data)
    for size in (1, 7, 499):
        assert np.array_equal(vectors(layout, data, size), whole)
    backwards = {
        name: value[::-1] if name in ("codes", "target", "loading") and value is not None else value
        for name, value in parts.items()
    }
    assert np.array_equal(vectors(layout, StageData.of_arrays(**backwards)), whole[::-1])


def test_the_shortening_factor_does_not_look_at_target_or_arm():
    """Whoever has the same features is shortened alike: the multiplier over the loading is the same."""
    layout = make_layout(longest=0.4)
    e = 0.1 + 0.8 * 1000 / GRID
    alike = {"codes": np.array([[1000, 3, 1]] * 2, dtype=np.uint16), "loading_law": propensity_law}
    both = {"loading": np.array([1 - e, -e]), "target": np.array([9.0, -9.0]), "low": -20.0, "high": 20.0}
    rows = vectors(layout, make_data(2, **alike, **both))
    m = rows[:, 0] / layout.table_rows(0.9).constant
    assert m.tolist() == np.rint(m).tolist()
    assert abs(m[0] / (1 - e) - m[1] / -e) <= 0.5 / (1 - e) + 0.5 / e, "alike but for whole multipliers"
    assert m[0] < 0.9 * (1 - e) * equations.MULTIPLIER / 0.9, "shortened, or this test shows nothing"
    assert rows[0, -1] == -rows[1, -1]


@pytest.mark.parametrize("basis", [BASIS, BENDING], ids=["plain", "bent"])
@pytest.mark.parametrize("target_only", [True, False])
@pytest.mark.parametrize("with_loading", [True, False])
def test_without_noise_the_equations_are_those_of_weighted_least_squares(with_loading, target_only, basis):
    weights = np.random.default_rng(0).uniform(0.2, 1.0, basis.n_terms)
    layout, data = Layout(basis, weights, 1.5, 0.3, 0.8), make_data(20_000, with_loading=with_loading)
    mechanism = MomentRelease(mu=1e6, neighbours="replace")
    seen = Equations.release(layout, data, mechanism, SeededNoise(0), target_only=target_only)
    held = data.held
    q = basis.matrix(held.codes)
    factor = layout.shortening(q**2 @ weights**2, data.reach(held.codes))
    assert factor.min() < 1, "some rows are shortened, or this test shows nothing"
    q = q * (factor * (held.loading if with_loading else 1.0))[:, None]
    r = factor * np.clip(held.target - layout.centre, -layout.clip, layout.clip)
    G, released = q.T @ q, np.isfinite(seen.gram_noise)
    level = np.sqrt(np.outer(*[np.diagonal(G)] * 2))
    assert np.abs((seen.gram - G) / level)[released].max(initial=0.0) < 5e-3
    assert np.abs((seen.z - q.T @ r) / np.sqrt(np.diagonal(G) * (r @ r))).max() < 1e-3
    assert seen.squares == pytest.approx(r @ r, rel=1e-3)
    assert not seen.gram[~released].any()
    assert released.any() != target_only


def test_leading_functions_and_each_columns_first_three_are_released_with_each_other():
    released = np.isfinite(Equations.release(make_layout(), make_data(0), make_mechanism(), SeededNoise(0)).gram_noise)
    assert np.array_equal(released, wanted_entries(BASIS))
    assert not released.all()


def test_products_with_bends_are_released_with_themselves_and_the_intercept_only():
    for target_only in (False, True):
        mask = released_entries(BENDING, target_only=target_only)
        assert np.array_equal(
            mask,
            Layout(BENDING, np.ones(BENDING.n_terms), 1.5, 0.3, 0.8).table_rows(0.9, target_only=target_only).released,
        )
    released = released_entries(BENDING)[:-1, :-1]
    bent = BENDING.orders == BENT
    assert bent.sum() == 5
    assert np.array_equal(released[np.ix_(bent, bent)], np.eye(5, dtype=bool))
    others = released[np.ix_(bent, ~bent)]
    assert others[:, 0].all()
    assert not others[:, 1:].any()
    assert np.array_equal(released[np.ix_(~bent, ~bent)], wanted_entries(BASIS)), "and nothing else is different"


def wanted_entries(basis):
    """Leading functions and plain products with each other, a column's first three, all with intercept and itself."""
    groups, leading = basis.groups, (basis.orders <= 0) | (basis.orders == PAIR)
    first = np.array([(groups[:k] == group).sum() < 3 for k, group in enumerate(groups)])
    near = (groups[:, None] == groups[None, :]) & np.outer(first, first)
    return near | np.outer(leading, leading) | (groups == 0) | (groups == 0)[:, None] | np.eye(len(groups), dtype=bool)


def make_mechanism(neighbours="replace", mu=1.0):
    return MomentRelease(mu=mu, neighbours=neighbours)


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_the_stated_noise_of_a_later_round_is_the_noise(neighbours):
    t = equations.weigh_target(neighbours, later=True, constant=False)
    layout, nothing = replace(make_layout(), target_weight=t), make_data(0)
    mechanism = MomentRelease(mu=1.0, neighbours=neighbours, target_limit=equations.longest_target(t))
    source = SeededNoise(3)
    draws = [Equations.release(layout, nothing, mechanism, source, target_only=True) for _ in range(1500)]
    assert (np.array([draw.z / draw.z_noise for draw in draws]) ** 2).mean() == pytest.approx(1.0, abs=0.1)
    assert (np.array([draw.squares / draw.squares_noise for draw in draws]) ** 2).mean() == pytest.approx(1.0, abs=0.2)
    assert np.isinf(draws[0].gram_noise).all()


def test_a_target_weighs_less_where_that_lessens_the_noise():
    for constant in (True, False):
        assert equations.weigh_target("add_remove", later=True, constant=constant) == equations.LIGHT_WEIGHT == 0.5
        assert equations.weigh_target("replace", later=True, constant=constant) == equations.EVEN_WEIGHT == 1.0
    for neighbours in ("replace", "add_remove"):
        assert equations.weigh_target(neighbours, later=False, constant=True) == equations.EVEN_WEIGHT
        assert equations.weigh_target(neighbours, later=False, constant=False) == equations.TARGET_WEIGHT < 1


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_the_stated_noise_is_the_noise(neighbours):
    layout, nothing = make_layout(), make_data(0)
    mechanism = MomentRelease(mu=1.0, neighbours=neighbours)
    source = SeededNoise(3)
    draws = [Equations.release(layout, nothing, mechanism, source) for _ in range(400)]
    z = np.array([draw.z / draw.z_noise for draw in draws])
    gram = np.array([draw.gram / draw.gram_noise for draw in draws])
    released = np.isfinite(draws[0].gram_noise)
    squares = np.array([draw.squares / draw.squares_noise for draw in draws])
    assert (z**2).mean() == pytest.approx(1.0, abs=0.1)
    assert (gram[:, released] ** 2).mean() == pytest.approx(1.0, abs=0.1)
    assert not gram[:, ~released].any()
    assert np.diagonal(gram, axis1=1, axis2=2).std() == pytest.approx(1.0, abs=0.05)
    assert (squares**2).mean() == pytest.approx(1.0, abs=0.45)


def test_noise_on_the_right_hand_side_follows_the_formula_of_the_proof_page():
    t, mu = equations.TARGET_WEIGHT, 0.7
    layout = make_layout()
    for neighbours, factor in (("replace", 1.0), ("add_remove", np.sqrt(0.5))):
        mechanism = MomentRelease(mu=mu, neighbours=neighbours)
        seen = Equations.release(layout, make_data(0), mechanism, SeededNoise(0))
        expected = factor * (1 + t**2) / t * layout.longest * layout.clip / mu / WEIGHTS
        assert seen.z_noise == pytest.approx(expected * equations._MARGIN**2, rel=1e-6)


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_where_the_gram_matrix_is_not_released_the_right_hand_side_has_the_noise_of_the_proof_page(neighbours):
    mu, t = 0.7, equations.weigh_target(neighbours, later=True, constant=False)
    layout = replace(make_layout(), target_weight=t)
    mechanism = MomentRelease(mu=mu, neighbours=neighbours, target_limit=equations.longest_target(t))
    seen = Equations.release(layout, make_data(0), mechanism, SeededNoise(0), target_only=True)
    times = 2.0 if neighbours == "replace" else np.sqrt(1 + t**2 / 2)
    wanted = times * layout.longest * layout.clip / mu / WEIGHTS
    assert seen.z_noise == pytest.approx(wanted * equations._MARGIN**2, rel=1e-4)


@pytest.mark.parametrize("target_only", [False, True])
@pytest.mark.parametrize("weight", [equations.TARGET_WEIGHT, equations.EVEN_WEIGHT, equations.LIGHT_WEIGHT])
def test_the_margin_for_rounding_is_enough_for_rows_of_full_length(weight, target_only):
    """Rows that need all the room: functions as long as they may be, the target at its bound."""
    generator = np.random.default_rng(6)
    codes = np.column_stack([generator.integers(0, GRID + 1, (5_000, 2)), generator.integers(0, 3, 5_000)])
    data = make_data(5_000, codes=np.asfortranarray(codes, dtype=np.uint16), target=np.ones(5_000), with_loading=False)
    for reach in (0.5, 1.0, 1.5, 2.0, 3.0):
        layout = replace(make_layout(reach, 0.1, 0.3), target_weight=weight)
        factor = layout.shortening(BASIS.matrix(data.held.codes) ** 2 @ WEIGHTS**2, np.ones(5_000))
        wanted = factor * layout.clip * layout.target_scale / layout.unit
        batch = layout.batch(layout.table_rows(1.0, target_only=target_only), data, data.held)
        assert batch.target / ROW_LIMIT == pytest.approx(wanted, rel=5e-3)
