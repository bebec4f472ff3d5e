"""Compiled and plain kernels agree bit for bit, whatever the shapes and layouts, and refuse codes beyond a table."""

import shutil
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dpcate import kernels
from dpcate.kernels import plain
from dpcate.schema import Number
from dpcate.tables import grid

compiled = pytest.mark.skipif(not kernels.COMPILED, reason="the compiled kernels were not built: no C compiler")
each_size = pytest.mark.parametrize("n", [0, 1, 5000])
each_width = pytest.mark.parametrize("d", range(1, 13))
each_layout = pytest.mark.parametrize("layout", ["columns", "slice", "rows", "every other row"])
BOTH = [pytest.param(kernels, id="default"), pytest.param(plain, id="plain")]


def lay_out(codes, layout):
    """The same codes in another memory layout."""
    n, d = codes.shape
    if layout == "rows":
        return np.ascontiguousarray(codes)
    if layout == "columns":
        return np.asfortranarray(codes)
    step = 2 if layout == "every other row" else 1
    big = np.full((step * n + 12, d), 65535, np.uint16, order="F")
    view = big[7 : 7 + step * n : step]
    view[...] = codes
    return view


def study(n, d, layout, seed=0):
    """Codes, table lengths and a generator; some tables are as short as one entry."""
    rng = np.random.default_rng([seed, n, d])
    lengths = rng.integers(1, 1100, d)
    codes = (rng.random((n, d)) * lengths).astype(np.uint16)
    return lay_out(codes, layout), lengths, rng


def same_bits(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def whole(rng, n, k):
    return tuple(rng.integers(-(2**39) + 1, 2**39, n).astype(np.float64) for _ in range(k))


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or shutil.which("gcc") is None, reason="only Linux with gcc must compile"
)
def test_the_kernels_are_compiled_where_there_is_a_compiler():
    assert kernels.COMPILED


@compiled
@each_size
@pytest.mark.parametrize("layout", ["columns", "slice"])
def test_fitting_layouts_are_done_by_the_compiled_module(monkeypatch, n, layout):
    for name in plain.__all__:
        monkeypatch.delattr(plain, name)
    codes, lengths, rng = study(n, 6, layout)
    for call in calls_with(kernels, codes, int(lengths.max())):
        call()
    out = np.empty(n, np.uint16)
    kernels.cell_codes(out, rng.normal(size=n), -1.0, 1.0, 8)
    with pytest.raises(AttributeError):
        kernels.add_counts((np.zeros(9, np.int64),) * 2, np.zeros((3, 2), np.uint16))


@compiled
@each_size
@each_width
@each_layout
def test_lookups_add_up_to_the_same_bits(n, d, layout):
    codes, lengths, rng = study(n, d, layout)
    tables = tuple(rng.normal(size=m) * 10.0 ** rng.integers(-9, 9, m) for m in lengths)
    fast, slow = np.repeat(rng.normal(size=(1, n)), 2, axis=0)
    loop = slow.copy()
    kernels.add_lookups(fast, codes, tables)
    plain.add_lookups(slow, codes, tables)
    for j in range(d):
        loop += np.take(tables[j], codes[:, j])
    assert same_bits(fast, slow)
    assert same_bits(fast, loop)


@compiled
@each_size
@each_width
@each_layout
def test_counts_are_the_same(n, d, layout):
    codes, lengths, _ = study(n, d, layout)
    fast, slow = ([np.arange(m, dtype=np.int64) for m in lengths] for _ in range(2))
    kernels.add_counts(tuple(fast), codes)
    plain.add_counts(tuple(slow), codes)
    assert all(map(same_bits, fast, slow))
    assert [int(count.sum()) - m * (m - 1) // 2 for count, m in zip(fast, lengths.tolist(), strict=True)] == [n] * d


@compiled
@each_size
@each_width
@each_layout
@pytest.mark.parametrize("k", [1, 2])
def test_weighted_counts_are_the_same(n, d, layout, k):
    codes, lengths, rng = study(n, d, layout)
    weights = whole(rng, n, k)
    fast, slow = ([np.ones((m, k), np.int64) for m in lengths] for _ in range(2))
    kernels.add_weighted_counts(tuple(fast), codes, weights)
    plain.add_weighted_counts(tuple(slow), codes, weights)
    assert all(map(same_bits, fast, slow))


@compiled
@each_size
@each_width
@each_layout
@pytest.mark.parametrize("order", ["F", "C"])
def test_scaled_lookups_are_the_same_bits(n, d, layout, order):
    codes, lengths, rng = study(n, d, layout)
    columns = rng.integers(0, d, 5).tolist()
    tables = tuple(rng.normal(size=lengths[j]) for j in columns)
    scale = rng.normal(size=n)
    fast, slow = (np.full((n, 5), np.nan, order=order) for _ in range(2))
    kernels.scaled_lookups(fast, codes, columns, tables, scale)
    plain.scaled_lookups(slow, codes, columns, tables, scale)
    assert same_bits(fast, slow)
    for q, j in enumerate(columns):
        assert same_bits(fast[:, q].copy(), tables[q][codes[:, j]] * scale)


def values_of(rng, low, high, n):
    """Values in, on, near and beyond the bounds, on and near the edges of the cells, and no values at all."""
    width = high - low
    edges = low + width * (rng.integers(0, 1025, n) / 1024)
    special = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, low, high, 5e-324, -5e-324, 1.7e308, -1.7e308]
    near = [np.nextafter(edges, np.inf), np.nextafter(edges, -np.inf), low + width * rng.uniform(-0.1, 1.1, n)]
    return rng.permutation(np.concatenate([edges, *near, special]))


@pytest.mark.parametrize("module", BOTH)
@pytest.mark.parametrize(
    ("low", "high"), [(0, 1), (18, 105), (-3.3, 7.7), (-8e307, 8e307), (0, 5e-324), (1, 1 + 2**-52), (-1e-310, 1e-310)]
)
def test_cell_codes_are_those_of_the_grid(module, low, high):
    number = Number("x", low, high)
    values = values_of(np.random.default_rng(3), number.low, number.high, 3000)
    out = np.full(len(values), 9, np.uint16)
    module.cell_codes(out, values, number.low, number.high, grid.GRID)
    assert same_bits(out, grid.cell_codes(values.copy(), number))


@compiled
@pytest.mark.parametrize("n_cells", [1, 7, 1024, 65535])
@pytest.mark.parametrize("step", [1, 2])
def test_cell_codes_are_the_same_for_any_number_of_cells_and_any_step(n_cells, step):
    values = values_of(np.random.default_rng(4), -2.5, 4.1, 3001)[::step]
    fast, slow = (np.full((len(values), step), 9, np.uint16)[:, 0] for _ in range(2))
    kernels.cell_codes(fast, values, -2.5, 4.1, n_cells)
    plain.cell_codes(slow, values, -2.5, 4.1, n_cells)
    assert same_bits(fast, slow)
    assert fast.max() == n_cells


@pytest.mark.parametrize("module", BOTH)
def test_sums_of_whole_numbers_are_exact_where_floats_would_round(module):
    n, largest = 2**15 + 3, 2**39 - 1
    count = np.zeros((2, 1), np.int64)
    codes = np.ones((n, 1), np.uint16)
    module.add_weighted_counts((count,), codes, (np.full(n, float(largest)),))
    assert count.ravel().tolist() == [0, n * largest]
    assert float(n * largest) != n * largest


def calls_with(module, codes, end):
    """Each kernel, called with tables of ``end`` entries."""
    n, d = codes.shape
    tables = (np.zeros(end),) * d
    return [
        lambda: module.add_lookups(np.zeros(n), codes, tables),
        lambda: module.add_counts(tuple(np.zeros(end, np.int64) for _ in range(d)), codes),
        lambda: module.add_weighted_counts((np.zeros((end, 1), np.int64),) * d, codes, (np.ones(n),)),
        lambda: module.add_weighted_counts((np.zeros((end, 2), np.int64),) * d, codes, (np.ones(n),) * 2),
        lambda: module.scaled_lookups(np.zeros((n, d), order="F"), codes, range(d), tables, np.ones(n)),
    ]


@pytest.mark.parametrize("module", BOTH)
@pytest.mark.parametrize("layout", ["columns", "rows"])
@pytest.mark.parametrize("d", [1, 4, 7])
def test_a_code_beyond_its_table_raises_without_being_quoted(module, layout, d):
    codes = lay_out(np.full((5000, d), 30, np.uint16), layout)
    for call in calls_with(module, codes, 31):
        call()
    for row, j in ((0, 0), (4999, d - 1)):
        codes[row, j] = 31
        for call in calls_with(module, codes, 31):
            with pytest.raises(IndexError) as caught:
                call()
            assert str(caught.value) == "A code is beyond the end of its table."
            assert caught.value.__context__ is None
        codes[row, j] = 30
    for call in calls_with(module, codes, 0):
        with pytest.raises(IndexError):
            call()


@pytest.mark.parametrize("module", BOTH)
def test_shapes_that_do_not_belong_together_are_refused(module):
    codes, table = np.zeros((3, 2), np.uint16, order="F"), np.zeros(4)
    calls = [
        lambda: module.add_lookups(np.zeros(3), codes, (table,)),
        lambda: module.add_lookups(np.zeros(4), codes, (table, table)),
        lambda: module.add_lookups(np.zeros(3), codes.astype(np.int16, order="F"), (table, table)),
        lambda: module.add_counts((np.zeros(4, np.int64),), codes),
        lambda: module.add_weighted_counts((np.zeros((4, 1), np.int64),) * 2, codes, (np.ones(3),) * 2),
        lambda: module.add_weighted_counts((np.zeros((4, 1), np.int64),) * 2, codes, (np.ones(2),)),
        lambda: module.scaled_lookups(np.zeros((3, 1), order="F"), codes, [0, 1], (table, table), np.ones(3)),
        lambda: module.scaled_lookups(np.zeros((3, 1), order="F"), codes, [0], (table,), np.ones(2)),
        lambda: module.cell_codes(np.zeros(2, np.uint16), np.zeros(3), 0.0, 1.0, 8),
        lambda: module.cell_codes(np.zeros(3, np.uint16), np.zeros(3), 1.0, 1.0, 8),
        lambda: module.cell_codes(np.zeros(3, np.uint16), np.zeros(3), 0.0, 1.0, 65536),
    ]
    for call in calls:
        with pytest.raises(ValueError):
            call()


def test_what_may_not_be_written_stays_as_it_was():
    codes, total = np.zeros((3, 1), np.uint16), np.zeros(3)
    total.flags.writeable = False
    with pytest.raises(ValueError):
        kernels.add_lookups(total, codes, (np.ones(1),))
    assert total.tolist() == [0, 0, 0]


def test_two_threads_at_once_give_what_each_gives_alone():
    codes, lengths, rng = study(200_000, 6, "columns")
    tables = tuple(rng.normal(size=m) for m in lengths)
    weights = whole(rng, len(codes), 2)

    def work(seed):
        total = np.full(len(codes), float(seed))
        counts = tuple(np.full((m, 2), seed, np.int64) for m in lengths)
        for _ in range(5):
            kernels.add_lookups(total, codes, tables)
            kernels.add_weighted_counts(counts, codes, weights)
        return total, *counts

    alone = [work(seed) for seed in range(4)]
    with ThreadPoolExecutor(2) as threads:
        together = list(threads.map(work, range(4)))
    assert all(
        same_bits(a, b) for one, other in zip(alone, together, strict=True) for a, b in zip(one, other, strict=True)
    )
