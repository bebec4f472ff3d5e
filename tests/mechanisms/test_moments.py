import math
import threading
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from dpcate.accounting import Gaussian, Guarantee
from dpcate.errors import ParameterError
from dpcate.mechanisms import ROW_LIMIT, MomentRelease, SeededNoise, SystemNoise, TableRows

SQUARED = {"replace": 2 * ROW_LIMIT**4, "add_remove": ROW_LIMIT**4}
HUGE = 1e9
each_relation = pytest.mark.parametrize("neighbours", list(SQUARED))


def make(neighbours="replace", mu=1.0):
    return MomentRelease(mu=mu, neighbours=neighbours)


def make_rows(*, target_only=False):
    """Two columns with a dense coordinate, and one of levels: not all entries are released."""
    generator = np.random.default_rng(0)
    tables = tuple(generator.integers(-300, 300, (size, 5)).astype(np.int64) for size in (2, 1, 3))
    return TableRows(constant=100, tables=tables, dense=(0, 0, None), products=(), target_only=target_only)


def make_batches(rows, n_rows=400):
    generator = np.random.default_rng(1)
    codes = np.asfortranarray(generator.integers(0, 5, (n_rows, 3)), dtype=np.uint16)
    half = ROW_LIMIT / 2
    return [rows.batch(codes).filled(generator.uniform(-500, 500, n_rows), generator.uniform(-half, half, n_rows))]


@each_relation
def test_guarantee_and_noise_scale_follow_the_formula(neighbours):
    release = make(neighbours, mu=0.5)
    distance = math.sqrt(2.0 if neighbours == "replace" else 1.0)
    assert release.guarantee == Guarantee(Gaussian(0.5), neighbours)
    assert release.noise_scale == pytest.approx(distance / math.sqrt(2) / 0.5, rel=1e-6)
    on, off = release.mechanisms()
    assert on.squared_sensitivity == SQUARED[neighbours] == 2 * off.squared_sensitivity


@each_relation
def test_the_noise_is_round_on_an_orthonormal_basis_of_symmetric_matrices(neighbours):
    """Scale s on E_ii and on (E_ij + E_ji) / sqrt(2): off-diagonal entries carry s / sqrt(2)."""
    on, off = make(neighbours, mu=0.3).mechanisms()
    smallest = math.sqrt(SQUARED[neighbours]) / 0.3
    assert on.scale >= smallest
    assert off.scale * math.sqrt(2) >= smallest
    assert on.scale == pytest.approx(off.scale * math.sqrt(2), rel=1e-6)


def variance_fits(draws, scale):
    """Whether the mean square is within 6 standard errors of scale^2: a right one fails once in 1e9."""
    return abs(float(np.mean(draws**2)) / scale**2 - 1) < 6 * math.sqrt(2 / len(draws))


@each_relation
@pytest.mark.parametrize("source", [SystemNoise(), SeededNoise(5)], ids=["system", "seeded"])
def test_the_noise_has_the_stated_law_and_the_test_would_notice_otherwise(neighbours, source):
    release, rows = make(neighbours, mu=2.0), make_rows()
    draws = np.array([release.release(rows, lambda: rows.total([]), source) for _ in range(1500)])
    on = np.diagonal(draws, axis1=1, axis2=2).ravel()
    off = draws[:, np.triu(rows.released, 1)].ravel()
    for values, scale in ((off, release.noise_scale), (on, math.sqrt(2) * release.noise_scale)):
        assert variance_fits(values, scale)
        assert abs(values.mean()) < 6 * scale / math.sqrt(len(values))
        assert not variance_fits(1.1 * values, scale)
        assert not variance_fits(values / 1.1, scale)


@pytest.mark.parametrize("target_only", [False, True])
def test_entries_that_are_not_released_are_zero_and_the_others_have_noise_of_their_own(target_only):
    rows = make_rows(target_only=target_only)
    noisy = make().release(rows, lambda: rows.total(make_batches(rows)), SystemNoise())
    assert not noisy[~rows.released].any()
    assert (~rows.released).any()
    upper = noisy[np.triu(rows.released)]
    assert len(np.unique(upper)) == len(upper)
    assert np.array_equal(noisy, noisy.T)


class CountingNoise(SeededNoise):
    """Remembers how much was drawn at which scale."""

    def __init__(self, seed):
        super().__init__(seed)
        self.drawn = []

    def discrete_gaussian(self, scale, size):
        self.drawn.append((scale, size))
        return super().discrete_gaussian(scale, size)


@pytest.mark.parametrize("target_only", [False, True])
def test_as_many_integers_are_drawn_as_entries_are_released_whatever_the_rows(target_only):
    rows, release = make_rows(target_only=target_only), make()
    on, off = release.mechanisms()
    wanted = [(off.scale, int(np.triu(rows.released, 1).sum())), (on.scale, int(np.diagonal(rows.released).sum()))]
    for batches in ([], make_batches(rows)):
        noise = CountingNoise(0)
        release.release(rows, partial(rows.total, batches), noise)
        assert noise.drawn == wanted


@pytest.mark.parametrize("target_only", [False, True])
def test_a_release_is_the_exact_sum_plus_the_source_s_noise_in_units_of_the_longest_row(target_only):
    rows, release = make_rows(target_only=target_only), make(mu=0.4)
    exact, source = rows.exact(make_batches(rows)), SeededNoise(3)
    on, off = release.mechanisms()
    upper = np.nonzero(np.triu(rows.released, 1))
    diagonal = np.flatnonzero(np.diagonal(rows.released)).tolist()
    off_noise, on_noise = off.draw(len(upper[0]), source), on.draw(len(diagonal), source)
    noisy = release.release(rows, lambda: rows.total(make_batches(rows)), SeededNoise(3))
    for i, j, drawn in zip(*upper, off_noise.tolist(), strict=True):
        assert noisy[i, j] == noisy[j, i] == float(exact[i, j] + drawn) / ROW_LIMIT**2
    for i, drawn in zip(diagonal, on_noise.tolist(), strict=True):
        assert noisy[i, i] == float(exact[i, i] + drawn) / ROW_LIMIT**2


def test_at_a_huge_budget_the_target_alone_gives_the_same_right_hand_side_as_everything():
    full, part = make_rows(), make_rows(target_only=True)
    everything = make(mu=HUGE).release(full, lambda: full.total(make_batches(full)), SeededNoise(0))
    column = make(mu=HUGE).release(part, lambda: part.total(make_batches(part)), SeededNoise(1))
    assert column[:, -1] == pytest.approx(everything[:, -1], rel=1e-9, abs=1e-7)
    assert np.abs(everything[:-1, -1]).min() > 1e-3


def test_the_thread_that_draws_does_not_change_what_a_seed_gives():
    """Slow rows or fast ones, many batches or one: the noise is drawn in the same order."""
    rows, release = make_rows(), make()
    whole = make_batches(rows)

    def slowly():
        started = threading.Event()
        for batch in whole:
            started.wait(0.02)
            yield batch

    first = release.release(rows, lambda: rows.total(whole), SeededNoise(7))
    assert np.array_equal(first, release.release(rows, lambda: rows.total(slowly()), SeededNoise(7)))
    assert not np.array_equal(first, release.release(rows, lambda: rows.total(whole), SeededNoise(8)))
    one, source = SeededNoise(9), SeededNoise(9)
    twice = [release.release(rows, lambda: rows.total(whole), one) for _ in range(2)]
    assert not np.array_equal(*twice), "a second release draws fresh noise"
    assert np.array_equal(twice, [release.release(rows, lambda: rows.total(slowly()), source) for _ in range(2)])


def test_what_fails_while_rows_are_summed_fails_the_release():
    def broken():
        yield from make_batches(rows)
        raise RuntimeError("no more rows")

    rows = make_rows()
    with pytest.raises(RuntimeError, match="no more rows"):
        make().release(rows, lambda: rows.total(broken()), SeededNoise(0))


def test_a_source_that_fails_leaves_nothing_released():
    class Broken(SeededNoise):
        def discrete_gaussian(self, scale, size):
            raise OSError("no entropy")

    rows = make_rows()
    with pytest.raises(OSError, match="no entropy"):
        make().release(rows, lambda: rows.total(make_batches(rows)), Broken(0))


@each_relation
def test_no_rows_and_no_batches_release_noise_of_the_same_form(neighbours):
    rows = make_rows()
    empty = rows.batch(np.zeros((0, 3), dtype=np.uint16))
    assert np.array_equal(
        make(neighbours).release(rows, lambda: rows.total([]), SeededNoise(0)),
        make(neighbours).release(rows, lambda: rows.total([empty]), SeededNoise(0)),
    )


@pytest.mark.parametrize(
    "wrong",
    [*({"mu": mu} for mu in (0.0, -1.0, math.nan, math.inf, 1e-6, 1e-300)), {"neighbours": "add-remove"}],
)
def test_wrong_parameters_are_refused_before_any_row_is_read(wrong):
    with pytest.raises(ParameterError):
        make(**wrong)


def test_noise_that_was_begun_early_is_the_noise_of_the_release():
    rows, release = make_rows(), make()
    begun = release.begin(rows.released, SeededNoise(4))
    early = release.release(rows, lambda: rows.total(make_batches(rows)), begun)
    assert np.array_equal(early, release.release(rows, lambda: rows.total(make_batches(rows)), SeededNoise(4)))


def test_noise_serves_one_release_only():
    rows, release = make_rows(), make()
    begun = release.begin(rows.released, SeededNoise(4))
    release.release(rows, lambda: rows.total([]), begun)
    with pytest.raises(ParameterError, match="one release"):
        release.release(rows, lambda: rows.total([]), begun)


@pytest.mark.parametrize("other", [{"mu": 9.0}, {"neighbours": "add_remove"}])
def test_noise_of_another_mechanism_is_refused_and_lost(other):
    rows = make_rows()
    begun = make(**other).begin(rows.released, SeededNoise(4))
    for release in (make(), make(**other)):
        with pytest.raises(ParameterError, match="begun for"):
            release.release(rows, lambda: rows.total([]), begun)


def test_noise_for_other_entries_is_refused():
    rows, release = make_rows(), make()
    fewer = rows.released.copy()
    fewer[0, 1] = fewer[1, 0] = False
    with pytest.raises(ParameterError, match="begun for"):
        release.release(rows, lambda: rows.total([]), release.begin(fewer, SeededNoise(4)))


# Only the products with a target that is short


def make_short(limit, neighbours="add_remove", mu=1.0):
    return MomentRelease(mu=mu, neighbours=neighbours, target_limit=limit)


def squared_movement(before, after):
    """Squared Frobenius distance of the released entries of v v' and w w', exactly; vectors end with the target."""
    v, w = ([int(value) for value in vector] for vector in (before, after))
    lines = [v[i] * v[-1] - w[i] * w[-1] for i in range(len(v))]
    return 2 * sum(change**2 for change in lines[:-1]) + lines[-1] ** 2


limits = pytest.mark.parametrize("limit", [1, 2**10 + 1, ROW_LIMIT // 3, math.ceil(ROW_LIMIT * 0.8), ROW_LIMIT])


@limits
def test_a_row_with_a_short_target_moves_its_products_no_further_than_is_paid_for(limit):
    paid = make_short(limit).squared_sensitivity
    assert paid % 2 == 0
    assert paid <= ROW_LIMIT**4
    generator, furthest, nothing = np.random.default_rng(2), 0, [0] * 4
    for share in (*generator.uniform(size=300), 1.0, 1.0):
        target = int(share * limit)
        rest = math.isqrt(ROW_LIMIT**2 - target**2)
        first = int(generator.uniform() * rest)
        row = [first, math.isqrt(rest**2 - first**2), 0, target]
        assert sum(value**2 for value in row) <= ROW_LIMIT**2
        furthest = max(furthest, squared_movement(row, nothing))
    assert 0.999 * paid < furthest <= paid


@limits
def test_two_rows_with_short_targets_are_no_further_apart_than_is_paid_for(limit):
    paid = make_short(limit, "replace").squared_sensitivity
    assert paid == SQUARED["replace"]
    generator = np.random.default_rng(3)
    for _ in range(300):
        rows = []
        for sign in (1, -1):
            target = int(sign * generator.choice([1.0, generator.uniform()]) * limit)
            rows.append([math.isqrt(ROW_LIMIT**2 - target**2), target])
        assert squared_movement(*rows) <= paid
    half = math.isqrt(ROW_LIMIT**2 // 2)
    assert squared_movement([half, half], [half, -half]) > 0.999 * paid, "no smaller number would do"


@limits
def test_rows_are_kept_within_the_limit_one_by_one(limit):
    rows = TableRows(constant=1, tables=(), dense=(), products=(), target_only=True, target_limit=limit)
    wild = np.array(
        [0.0, limit, -limit, limit + 0.4, 1.01 * limit + 1, -2.0 * limit - 2, 1e308, np.inf, -np.inf, np.nan]
    )
    for multiplier in (0.0, 1.0):
        batch = rows.batch(np.zeros((len(wild), 0), dtype=np.uint16)).filled(np.full(len(wild), multiplier), wild)
        assert (np.abs(batch.target) <= limit).all()
        assert not batch.target[5:].any()
        if multiplier == 0.0 or limit < ROW_LIMIT:
            assert batch.target[:3].tolist() == [0.0, limit, -limit]


def test_a_batch_made_by_hand_with_a_target_beyond_the_limit_is_not_summed():
    rows = TableRows(constant=1, tables=(), dense=(), products=(), target_only=True, target_limit=1000)
    good = rows.batch(np.zeros((3, 0), dtype=np.uint16)).filled(np.ones(3), np.array([1000.0, 2.0, -7.0]))
    bad = replace(good, target=np.array([1001.0, 2.0, -7.0]))
    assert rows.exact([good])[0, 1] == 995
    assert rows.exact([bad])[0, 1] == -5


def test_noise_for_another_limit_is_refused():
    rows = TableRows(constant=1, tables=(), dense=(), products=(), target_only=True, target_limit=50)
    for begun, used in (
        (make_short(50), make_short(100)),
        (make_short(50), make("add_remove")),
        (make("add_remove"), make_short(50)),
    ):
        with pytest.raises(ParameterError, match="begun for"):
            used.release(rows, lambda: rows.total([]), begun.begin(rows.released, SeededNoise(4)))


def test_a_mechanism_for_short_targets_takes_no_other_rows():
    release = make_short(100)
    fitting = TableRows(constant=1, tables=(), dense=(), products=(), target_only=True, target_limit=100)
    assert release.release(fitting, lambda: fitting.total([]), SeededNoise(0)).shape == (2, 2)
    for changes in ({"target_limit": 101}, {"target_only": False}):
        other = replace(fitting, **changes)
        with pytest.raises(ParameterError, match="within it"):
            release.release(other, lambda other=other: other.total([]), SeededNoise(0))


@pytest.mark.parametrize("limit", [0, -1, ROW_LIMIT + 1, 10.0, np.nan])
def test_a_limit_is_a_whole_number_that_rows_can_have(limit):
    with pytest.raises(ParameterError, match="target_limit"):
        make_short(limit)
    with pytest.raises(ParameterError, match="target_limit"):
        TableRows(constant=1, tables=(), dense=(), products=(), target_limit=limit)


def test_noise_for_short_targets_has_the_scale_of_their_movement():
    limit = ROW_LIMIT // 4
    rows = TableRows(constant=1, tables=(), dense=(), products=(), target_only=True, target_limit=limit)
    release, source = make_short(limit, mu=2.0), SeededNoise(8)
    draws = np.array([release.release(rows, lambda: rows.total([]), source) for _ in range(4000)])
    scale = math.sqrt((2 / 16 - 1 / 256) / 2) / 2.0
    assert variance_fits(draws[:, 0, 1], scale)
    assert variance_fits(draws[:, 1, 1], math.sqrt(2) * scale)
    assert release.noise_scale == pytest.approx(scale, rel=1e-6)
