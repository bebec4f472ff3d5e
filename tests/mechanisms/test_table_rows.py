"""Looked-up rows: never too long, and summed exactly: compared with vectors written down in Python's integers."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcate.errors import ParameterError
from dpcate.kernels import totals
from dpcate.mechanisms import ENTRY_LIMIT, ROW_LIMIT, TableProduct, TableRows, table_rows

NASTY = [math.nan, math.inf, -math.inf, 1e308, -1e308, 1e150, 5e-324, -0.0, 0.0, 0.5, 1.0, -1.0, float(ROW_LIMIT)]
wild = st.one_of(
    st.sampled_from(NASTY), st.floats(), st.floats(-600, 600), st.floats(-1.1 * ROW_LIMIT, 1.1 * ROW_LIMIT)
)
entries = st.one_of(st.integers(-3, 3), st.integers(-2000, 2000), st.integers(-ENTRY_LIMIT, ENTRY_LIMIT))
N_CODES = (4, 3, 6)


def table(size, n_codes, seed, largest=300):
    drawn = np.random.default_rng(seed).integers(-largest, largest + 1, (size, n_codes))
    return drawn.astype(np.int64)


def product(first=0, second=1, mean=0.25, factor=40.0):
    generator = np.random.default_rng(5)
    sides = generator.normal(size=N_CODES[first]), generator.normal(size=N_CODES[second])
    return TableProduct(first, second, *sides, mean, factor)


def make(*, constant=100, largest=300, target_only=False, products=None, n_alone=0):
    """Three columns: one leading coordinate of three; a single one; and levels of which none is dense."""
    tables = tuple(table(size, n, seed, largest) for seed, (size, n) in enumerate(zip((3, 1, 5), N_CODES, strict=True)))
    products = (product(), product(0, 2, factor=-25.0)) if products is None else products
    return TableRows(
        constant=constant,
        tables=tables,
        dense=(1, 0, None),
        products=products,
        n_alone=n_alone,
        target_only=target_only,
    )


THREE_PRODUCTS = (product(), product(0, 2, factor=-25.0), product(1, 2, mean=-0.1, factor=60.0))


def make_codes(n_rows, seed=0):
    drawn = np.random.default_rng(seed).integers(0, N_CODES, (n_rows, 3))
    return np.asfortranarray(drawn, dtype=np.uint16)


def fill(rows, codes, multiplier, target):
    codes = np.array(codes, dtype=np.uint16).reshape(-1, 3)
    return rows.batch(codes).filled(np.array(multiplier, dtype=float), np.array(target, dtype=float))


def make_batch(rows, n_rows=200, seed=0):
    generator = np.random.default_rng(seed)
    targets = generator.integers(-ROW_LIMIT // 2, ROW_LIMIT // 2, n_rows)
    return fill(rows, make_codes(n_rows, seed), generator.integers(-512, 513, n_rows), targets)


def vectors(rows, batch):
    """Every row's vector, in Python's integers, from the definition and from nothing that the sums use."""
    written = []
    for i, codes in enumerate(batch.codes.tolist()):
        m, t = int(batch.multiplier[i]), int(batch.target[i])
        looked_up = [int(line[code]) for one, code in zip(rows.tables, codes, strict=True) for line in one]
        for term in rows.products:
            value = float(term.left[codes[term.first]]) * float(term.right[codes[term.second]]) - term.mean
            looked_up.append(max(-ENTRY_LIMIT, min(ENTRY_LIMIT, round(value * term.factor))))
        written.append([m * value for value in (rows.constant, *looked_up)] + [t])
    return written


def dense_sum(rows, *batches):
    """The plain sum of v v', zero where nothing is released."""
    total = np.zeros((rows.dimension, rows.dimension), dtype=object)
    for vector in itertools.chain.from_iterable(vectors(rows, batch) for batch in batches):
        total = total + np.outer(np.array(vector, dtype=object), np.array(vector, dtype=object))
    return np.where(rows.released, total, 0)


def squared_length(vector):
    return sum(value * value for value in vector)


@settings(deadline=None, max_examples=200)
@given(
    numbers=st.lists(entries, min_size=6, max_size=6),
    constant=st.one_of(st.integers(1, 5), st.integers(1, ENTRY_LIMIT)),
    m=wild,
    t=wild,
    factor=st.sampled_from([0.0, 1.0, -3e3, 1e12]),
)
def test_no_vector_is_longer_than_the_limit_whatever_comes_in(numbers, constant, m, t, factor):
    tables = (np.array(numbers[:4], dtype=np.int64).reshape(2, 2), np.array(numbers[4:], dtype=np.int64).reshape(1, 2))
    term = TableProduct(0, 1, np.array([1.5, -2e5]), np.array([0.3, 7e8]), 0.1, factor)
    rows = TableRows(constant=constant, tables=tables, dense=(0, None), products=(term,))
    codes = np.array(list(itertools.product(range(2), repeat=2)), dtype=np.uint16)
    batch = rows.batch(codes).filled(np.full(4, m), np.full(4, t))
    assert max(squared_length(vector) for vector in vectors(rows, batch)) <= ROW_LIMIT**2
    assert np.abs(batch.multiplier).max() <= ROW_LIMIT
    assert np.isfinite(batch.products).all()
    assert np.array_equal(rows.exact([batch]), dense_sum(rows, batch))


@pytest.mark.parametrize(
    ("m", "t", "kept"),
    [
        *((m, t, True) for m, t in ((ROW_LIMIT, 0), (-ROW_LIMIT, 0), (0, ROW_LIMIT), (0, -ROW_LIMIT), (3, 4))),
        *((m, t, False) for m, t in ((ROW_LIMIT, 1), (1, ROW_LIMIT), (ROW_LIMIT + 1, 0), (0, ROW_LIMIT + 1))),
    ],
)
def test_a_row_is_kept_as_it_is_up_to_the_last_grid_step(m, t, kept):
    rows = TableRows(constant=1, tables=(), dense=(), products=())
    batch = rows.batch(np.zeros((1, 0), dtype=np.uint16)).filled(np.array([float(m)]), np.array([float(t)]))
    assert ([batch.multiplier[0], batch.target[0]] == [m, t]) == kept
    assert batch.multiplier[0] ** 2 + batch.target[0] ** 2 <= ROW_LIMIT**2


@pytest.mark.parametrize(
    ("m", "t"), list(itertools.product([math.nan, math.inf, 1e308, 1.0], [math.nan, -math.inf, 1e200]))
)
def test_rows_that_are_no_numbers_or_much_too_long_contribute_nothing(m, t):
    rows = make()
    lost, kept = fill(rows, [[0, 0, 0]], [m], [t]), make_batch(rows, 5)
    assert lost.multiplier.tolist() == lost.target.tolist() == [0.0]
    assert np.array_equal(rows.exact([lost, kept]), rows.exact([kept]))


def test_a_row_that_is_a_little_too_long_is_shortened_and_one_bad_row_does_not_touch_its_company():
    rows = make(products=())
    codes = make_codes(3)
    longest = ROW_LIMIT / np.sqrt(rows.batch(codes).squares)
    batch = rows.batch(codes).filled(np.array([longest[0] * 1.01, 17.0, math.nan]), np.array([0.0, -5.0, 1.0]))
    assert batch.multiplier[0] == np.trunc(np.rint(longest[0] * 1.01) * 0.98)
    assert batch.multiplier.tolist()[1:] == [17.0, 0.0]
    assert batch.target.tolist() == [0.0, -5.0, 0.0]


def test_squared_lengths_beyond_exact_floats_are_never_taken_for_short():
    """Ten thousand coordinates of the largest size: the sum of squares exceeds 2^53 and is rounded."""
    wide = np.full((10_000, 1), ENTRY_LIMIT, dtype=np.int64)
    rows = TableRows(constant=1, tables=(wide, wide), dense=(0, None), products=())
    batch = rows.batch(np.zeros((3, 2), dtype=np.uint16))
    assert batch.squares.min() > 2**53
    filled = batch.filled(np.array([1.0, 0.0, -1.0]), np.array([0.0, 9.0, 9.0]))
    assert filled.multiplier.tolist() == [0.0, 0.0, 0.0]
    assert filled.target.tolist() == [0.0, 9.0, 8.0]


def test_products_are_clipped_so_that_a_multiplier_of_zero_makes_them_zero():
    huge = TableProduct(0, 1, np.array([1e150] * 4), np.array([-1e150] * 3), 0.0, 1e7)
    rows = make(products=(huge,))
    batch = fill(rows, [[0, 0, 0]], [1.0], [7.0])
    assert batch.products.tolist() == [[-ENTRY_LIMIT]]
    assert rows.exact([batch]).tolist() == dense_sum(rows, batch).tolist()
    assert batch.multiplier[0] == 0


FULL = make()
a_row = st.tuples(st.tuples(*(st.integers(0, n - 1) for n in N_CODES)), wild, wild)


def exact_of(some):
    codes, multipliers, targets = ([row[k] for row in some] for k in range(3))
    return FULL.exact([fill(FULL, codes, multipliers, targets)])


def squared_distance(one, other):
    return sum(int(a - b) ** 2 for a, b in zip(one.ravel(), other.ravel(), strict=True))


@settings(deadline=None)
@given(others=st.lists(a_row, max_size=3), old=a_row, new=a_row)
def test_replacing_or_adding_a_row_moves_the_sums_by_no_more_than_stated(others, old, new):
    before, after, without = exact_of([*others, old]), exact_of([*others, new]), exact_of(others)
    assert squared_distance(before, after) <= 2 * ROW_LIMIT**4
    assert squared_distance(before, without) <= ROW_LIMIT**4


def tiny_rows():
    """One column of two codes and one coordinate: few enough vectors to look at all pairs."""
    tables = (np.array([[3, -4]], dtype=np.int64),)
    return TableRows(constant=1, tables=tables, dense=(0,), products=())


def test_by_brute_force_the_sensitivities_are_met_and_reached_under_both_relations():
    rows = tiny_rows()
    multipliers = [0, 1, -7, 100_000, -ROW_LIMIT // 5, int(ROW_LIMIT / 10**0.5), ROW_LIMIT]
    targets = [0, 3, -ROW_LIMIT, ROW_LIMIT, ROW_LIMIT // 2]
    sums = []
    for code, m, t in itertools.product((0, 1), multipliers, targets):
        batch = rows.batch(np.array([[code]], dtype=np.uint16)).filled(np.array([float(m)]), np.array([float(t)]))
        sums.append(rows.exact([batch]))
    added = max(squared_distance(one, np.zeros_like(one)) for one in sums)
    replaced = max(squared_distance(one, other) for one, other in itertools.combinations(sums, 2))
    assert added == ROW_LIMIT**4, "a row that is all target has full length"
    assert 1.9999 * ROW_LIMIT**4 < replaced <= 2 * ROW_LIMIT**4


@pytest.mark.parametrize("some", [{"target_only": True}, {"n_alone": 1}, {"n_alone": 2}])
@pytest.mark.parametrize("seed", range(5))
def test_sums_of_some_entries_move_no_more_than_sums_of_all(seed, some):
    full, part = make(), make(**some)
    one, other = (make_batch(full, 1, seed), make_batch(full, 1, seed + 50))
    everything = [np.array(vectors(full, batch), dtype=object) for batch in (one, other)]
    distance = squared_distance(*(v.T @ v for v in everything))
    assert squared_distance(full.exact([one]), full.exact([other])) <= distance <= 2 * ROW_LIMIT**4
    only = [make_batch(part, 1, seed), make_batch(part, 1, seed + 50)]
    assert squared_distance(part.exact([only[0]]), part.exact([only[1]])) <= distance


@pytest.mark.parametrize("n_alone", range(4))
@pytest.mark.parametrize("target_only", [False, True])
def test_sums_are_those_of_vectors_that_are_written_down(target_only, n_alone):
    """Entries that are not released are zero in the sum already: what is not there cannot be released by mistake."""
    rows = make(target_only=target_only, products=THREE_PRODUCTS, n_alone=n_alone)
    batches = [make_batch(rows, 150, 1), make_batch(rows, 0), make_batch(rows, 90, 2)]
    expected = dense_sum(rows, *batches)
    assert rows.exact(batches).tolist() == expected.tolist()
    assert np.count_nonzero(expected) > 0.9 * np.count_nonzero(rows.released), "or this test shows nothing"


def test_where_products_stand_alone_the_other_sums_are_as_before():
    everything, alone = (make(products=THREE_PRODUCTS, n_alone=n) for n in (0, 2))
    whole, part = (rows.exact([make_batch(rows, 100, 4)]) for rows in (everything, alone))
    assert part.tolist() == np.where(alone.released, whole, 0).tolist()
    hidden = everything.released & ~alone.released
    assert np.count_nonzero(whole[hidden]) > 0.9 * hidden.sum(), "or this test shows nothing"


def test_only_the_target_gives_the_same_last_column_as_everything():
    full, part = make(), make(target_only=True)
    batches = [[make_batch(rows, 300, seed) for seed in (1, 2)] for rows in (full, part)]
    whole, column = full.exact(batches[0]), part.exact(batches[1])
    assert column[:, -1].tolist() == column[-1].tolist() == whole[:, -1].tolist()
    assert not column[:-1, :-1].any()


@settings(deadline=None, max_examples=30)
@given(some=st.lists(a_row, min_size=1, max_size=20), data=st.data())
def test_orderings_and_batches_of_the_same_rows_give_identical_integers(some, data):
    order, cut = data.draw(st.permutations(some)), data.draw(st.integers(0, len(some)))
    whole = exact_of(some)
    assert whole.tolist() == exact_of(order).tolist()
    parts = [fill(FULL, *([row[k] for row in part] for k in range(3))) for part in (some[:cut], some[cut:])]
    assert whole.tolist() == FULL.exact(parts).tolist()


@pytest.mark.parametrize("target_only", [False, True])
@pytest.mark.parametrize("fold", [1, 2, 50])
@pytest.mark.parametrize("chunk", [1, 7, 64])
def test_chunks_and_folds_do_not_change_a_sum(chunk, fold, target_only, monkeypatch):
    rows = make(target_only=target_only)
    batches = [make_batch(rows, 130, seed) for seed in range(3)]
    whole = dense_sum(rows, *batches)
    monkeypatch.setattr(table_rows, "CHUNK", chunk)
    monkeypatch.setattr(totals, "PARTS_PER_FOLD", fold)
    assert rows.exact(batches).tolist() == whole.tolist()


def test_sums_hold_python_integers_which_cannot_overflow():
    for target_only in (False, True):
        rows = make(target_only=target_only)
        for batches in ([], [make_batch(rows, 20)]):
            assert {type(entry) for entry in rows.exact(batches).ravel()} == {int}


def test_a_batch_without_multipliers_and_targets_adds_nothing():
    rows = make()
    assert not rows.exact([rows.batch(make_codes(50))]).any()


def test_batches_of_other_tables_are_refused():
    one, other = make(), make(largest=10)
    with pytest.raises(ParameterError, match="batch"):
        one.exact([make_batch(other, 5)])


def test_codes_without_a_table_entry_are_refused():
    with pytest.raises(IndexError):
        make().batch(np.array([[0, 3, 0]], dtype=np.uint16))
