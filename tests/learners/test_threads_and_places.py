"""Row functions of anybody's: which thread calls them, with what, and whether rounding depends on a row's place."""

import threading
import warnings
from contextlib import nullcontext

import numpy as np
import pytest

from dpcate import Category, DRLearner, MultiStage, Number, Schema, Stage
from dpcate.errors import ParameterError, TransformationError
from dpcate.kernels.totals import PART_LIMIT, add_up, combine
from dpcate.tables import HeldRows, encode_table

SCHEMA = Schema(Number("y", 0, 1), Category("t", [0, 1]), [Number("a", 0, 1), Number("b", 0, 1)])
N_ROWS = 2**17 + 5


def make_table(n_rows=N_ROWS):
    generator = np.random.default_rng(0)
    return {name: generator.uniform(size=n_rows) for name in ("y", "a", "b")} | {
        "t": generator.integers(2, size=n_rows)
    }


def stage_of(function, **options):
    return Stage(name="effect", target=function, bounds=lambda schema, released: (0.0, 1.0), **options)


def fit(stage, table):
    return MultiStage(SCHEMA, [stage], random_state=3, neighbours="add_remove").fit_table(table).models_["effect"]


def test_a_function_that_promised_nothing_is_called_in_the_caller_s_thread_only():
    seen = set()

    def target(rows, released):
        seen.add(threading.get_ident())
        return rows.Y

    fit(stage_of(target), make_table())
    assert seen == {threading.get_ident()}


def test_a_function_that_promised_to_be_safe_is_shared_among_threads():
    seen = set()
    both = threading.Barrier(2, timeout=20)

    def target(rows, released):
        if threading.get_ident() not in seen and one_thread is False:
            seen.add(threading.get_ident())
            both.wait()  # each of two threads must come by
        seen.add(threading.get_ident())
        return rows.Y

    one_thread = False
    source = HeldRows(encode_table(make_table(), SCHEMA), SCHEMA, threads=2)
    source.total(lambda first, rows: [np.array([len(target(rows, None))])])
    assert len(seen) == 2
    seen.clear()
    one_thread = True
    source.total(lambda first, rows: [np.array([len(target(rows, None))])], one_thread=True)
    assert seen == {threading.get_ident()}


def test_a_function_may_return_its_own_scratch_buffer():
    scratch = np.empty(2**17 + 100)

    def careless(rows, released):
        scratch[: len(rows)] = rows.Y
        return scratch[: len(rows)]

    table = make_table()
    one, other = fit(stage_of(careless), table), fit(stage_of(lambda rows, released: rows.Y), table)
    assert one.intercept == other.intercept
    assert all(np.array_equal(a, b) for a, b in zip(one.tables, other.tables, strict=True))


BETAS = [(0.3, 0.5), (0.1, 0.7), (0.2, 0.9)]


def place_matters(beta, layout):
    """Whether this machine's matrix products give a row another last bit in company than alone."""
    codes = np.random.default_rng(1).integers(1026, size=(2000, 2)) / 1025.0

    def product(part):
        return np.array(part, order=layout) @ np.array(beta)

    alone = np.concatenate([product(codes[i : i + 1]) for i in range(len(codes))])
    return any(not np.array_equal(product(codes[:length]), alone[:length]) for length in range(2, 2001))


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("layout", ["C", "F"])
def test_a_matrix_product_is_refused_wherever_its_rounding_depends_on_the_place(beta, layout):
    """Which products do is up to the processor: of rows one after another on some, of columns on others."""

    def product(rows, released):
        return np.asarray(rows.codes / 1025.0, order=layout) @ np.array(beta)

    def one_by_one(rows, released):
        return rows.codes[:, 0] / 1025.0 * beta[0] + rows.codes[:, 1] / 1025.0 * beta[1]

    refused = pytest.raises(TransformationError, match="by itself") if place_matters(beta, layout) else nullcontext()
    with refused:
        fit(stage_of(product), make_table(500))
    assert fit(stage_of(one_by_one), make_table(500)).columns == SCHEMA.features


@pytest.mark.parametrize("width", [2, 4, 8, 16])
def test_a_sum_whose_last_rows_are_added_in_another_order_is_refused(width):
    """What vectorised code does, on every processor: whole blocks one way, the rest another."""

    def in_blocks(rows, released):
        a, b, c = rows.codes[:, 0] / 1025.0, 0.3 * rows.codes[:, 1] / 1025.0, rows.Y / 3.0
        in_a_block = np.arange(len(rows)) < len(rows) // width * width
        return np.where(in_a_block, (a + b) + c, a + (b + c)) / 3.0

    with pytest.raises(TransformationError, match="by itself"):
        fit(stage_of(in_blocks), make_table(500))


def test_a_sum_over_rows_in_disguise_is_refused():
    def by_length(rows, released):
        return rows.Y + (len(rows) > 1500)

    with pytest.raises(TransformationError, match="by itself"):
        fit(stage_of(by_length), make_table(500))


def test_a_fit_leaves_the_filters_of_warnings_as_they_were():
    before = list(warnings.filters)
    DRLearner(SCHEMA, random_state=0).fit_table(make_table())
    assert list(warnings.filters) == before


@pytest.mark.parametrize(
    "part", [np.array([0.5]), np.array([1], dtype=np.int32), np.array([PART_LIMIT + 1]), np.array([-(2**63)])]
)
def test_totals_that_could_be_rounded_or_wrap_are_refused(part):
    with pytest.raises(ParameterError, match="64-bit"):
        add_up([[part]])


def test_totals_of_workers_may_be_larger_than_a_part():
    total = add_up([[np.array([PART_LIMIT])]] * 200)
    assert combine([total, total], 400)[0].tolist() == [400 * PART_LIMIT]
    assert combine([total], 200)[0].tolist() == [200 * PART_LIMIT]
