import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcate.mechanisms import ROW_LIMIT, MomentRelease, SeededNoise, moments
from dpcate.models import StageData
from dpcate.models.additive import equations
from dpcate.models.additive.basis import make_basis
from dpcate.models.additive.equations import Equations, Layout
from dpcate.schema import Category, Number
from dpcate.tables import GRID

COLUMNS = (Number("age", 0, 1), Number("income", 0, 9), Category("sex", ["f", "m"]))
SHARES = [np.append(0.2, np.full(GRID, 0.8 / GRID)), np.append(0.0, np.full(GRID, 1 / GRID)), np.array([0.0, 0.7, 0.3])]
BASIS = make_basis(COLUMNS, SHARES, np.eye(3), n_features=3)
WEIGHTS = np.random.default_rng(0).uniform(0.2, 1.0, BASIS.n_terms)
codes_of_a_row = st.tuples(st.integers(0, GRID), st.integers(0, GRID), st.integers(0, 2))
wild = st.one_of(st.floats(), st.sampled_from([np.nan, np.inf, -np.inf, 1e308, 5e-324]))


def make_layout(longest=1.5, centre=0.3, clip=0.8):
    return Layout(BASIS, WEIGHTS, longest, centre, clip)


def make_data(n_rows=500, *, with_loading=True, **changes):
    generator = np.random.default_rng(1)
    codes = [generator.integers(0, GRID + 1, n_rows), generator.integers(0, GRID + 1, n_rows)]
    return StageData(
        **{
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
    )


def vectors(layout, data):
    return np.concatenate(list(layout.vectors(data)))


def propensity_law(codes):
    e = 0.1 + 0.8 * codes[:, 0] / GRID
    return np.maximum(e, 1 - e), e * (1 - e)


@settings(deadline=None)
@given(
    codes=codes_of_a_row,
    target=st.floats(-1, 1),
    loading=st.one_of(st.floats(-1, 1), st.sampled_from([5.0, -5.0])),
    longest=st.sampled_from([1e-3, 0.5, 2.0, 1e3]),
    clip=st.sampled_from([1e-3, 0.3, 10.0]),
)
def test_no_row_is_longer_than_one(codes, target, loading, longest, clip):
    data = make_data(
        1, codes=np.array([codes], dtype=np.uint16), target=np.array([target]), loading=np.array([loading])
    )
    for law in (None, propensity_law):
        row = vectors(make_layout(longest, 0.1, clip), StageData(**{**fields(data), "loading_law": law}))
        assert np.linalg.norm(row) <= 1.0


def fields(data):
    return {name: getattr(data, name) for name in data.__slots__}


@settings(deadline=None)
@given(codes=codes_of_a_row, target=wild, loading=wild)
def test_a_row_of_wild_values_is_inside_the_unit_or_dropped_by_the_grid(codes, target, loading):
    data = make_data(
        1, codes=np.array([codes], dtype=np.uint16), target=np.array([target]), loading=np.array([loading])
    )
    with np.errstate(all="ignore"):
        grid = moments.rows_to_grid(vectors(make_layout(), data))
    assert sum(int(value) ** 2 for value in grid[0]) <= ROW_LIMIT**2


@pytest.mark.parametrize("with_loading", [True, False])
def test_a_row_has_the_same_bits_in_every_batch_and_place(with_loading, monkeypatch):
    layout, data = make_layout(), make_data(with_loading=with_loading, loading_law=propensity_law)
    whole = vectors(layout, data)
    for size in (1, 7, 499):
        monkeypatch.setattr(equations, "_BATCH", size)
        assert np.array_equal(vectors(layout, data), whole)
    backwards = {
        name: value[::-1] if name in ("codes", "target", "loading") and value is not None else value
        for name, value in fields(data).items()
    }
    assert np.array_equal(vectors(layout, StageData(**backwards)), whole[::-1])


def test_the_shortening_factor_does_not_look_at_target_or_arm():
    """Whoever has the same features is shortened alike: the first coordinate over the loading is the same."""
    layout = make_layout(longest=0.4)
    data = make_data(2, codes=np.array([[1000, 3, 1]] * 2, dtype=np.uint16), loading_law=propensity_law)
    e = 0.1 + 0.8 * 1000 / GRID
    rows = vectors(
        layout, StageData(**{**fields(data), "loading": np.array([1 - e, -e]), "target": np.array([9.0, -9])})
    )
    assert rows[0, 0] / (1 - e) == pytest.approx(rows[1, 0] / -e, rel=1e-12)
    assert rows[0, -1] == -rows[1, -1]


@pytest.mark.parametrize("with_loading", [True, False])
def test_without_noise_the_equations_are_those_of_weighted_least_squares(with_loading):
    layout, data = make_layout(), make_data(20_000, with_loading=with_loading)
    mechanism = MomentRelease(dimension=BASIS.n_terms + 1, mu=1e6, neighbours="replace")
    seen = Equations.release(layout, data, mechanism, SeededNoise(0))
    q = BASIS.matrix(data.codes)
    factor = layout.shortening(data.codes, data.reach(data.codes))
    assert factor.min() < 1, "some rows are shortened, or this test shows nothing"
    q = q * (factor * (data.loading if with_loading else 1.0))[:, None]
    r = factor * np.clip(data.target - layout.centre, -layout.clip, layout.clip)
    level = np.sqrt(np.outer(*[np.diagonal(q.T @ q)] * 2))
    assert np.abs((seen.gram - q.T @ q) / level).max() < 1e-3
    assert np.abs((seen.z - q.T @ r) / np.sqrt(np.diagonal(q.T @ q) * (r @ r))).max() < 1e-3
    assert seen.squares == pytest.approx(r @ r, rel=1e-3)


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_the_stated_noise_is_the_noise(neighbours):
    layout, nothing = make_layout(), make_data(0)
    mechanism = MomentRelease(dimension=BASIS.n_terms + 1, mu=1.0, neighbours=neighbours)
    source = SeededNoise(3)
    draws = [Equations.release(layout, nothing, mechanism, source) for _ in range(400)]
    z = np.array([draw.z / draw.z_noise for draw in draws])
    gram = np.array([draw.gram / draw.gram_noise for draw in draws])
    squares = np.array([draw.squares / draw.squares_noise for draw in draws])
    assert (z**2).mean() == pytest.approx(1.0, abs=0.1)
    assert (gram**2).mean() == pytest.approx(1.0, abs=0.1)
    assert np.diagonal(gram, axis1=1, axis2=2).std() == pytest.approx(1.0, abs=0.05)
    assert (squares**2).mean() == pytest.approx(1.0, abs=0.45)


def test_noise_on_the_right_hand_side_follows_the_formula_of_the_proof_page():
    t, mu = equations.TARGET_WEIGHT, 0.7
    layout = make_layout()
    for neighbours, factor in (("replace", 1.0), ("add_remove", np.sqrt(0.5))):
        mechanism = MomentRelease(dimension=BASIS.n_terms + 1, mu=mu, neighbours=neighbours)
        seen = Equations.release(layout, make_data(0), mechanism, SeededNoise(0))
        expected = factor * (1 + t**2) / t * layout.longest * layout.clip / mu / WEIGHTS
        assert seen.z_noise == pytest.approx(expected, rel=1e-6)
