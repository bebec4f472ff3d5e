"""Coins fall as the shares say, tested with power; keys are fixed, so a pass stays a pass."""

import numpy as np
import pytest
from scipy.stats import chi2, ncx2

from dpcate.splitting import row_parts

N_ROWS = 200_000
LEVEL = 1e-7
SHARES = (0.25, 0.25, 0.5)
WRONG = (0.26, 0.24, 0.5)


def fits(counts, probabilities):
    expected = counts.sum() * np.asarray(probabilities)
    return float(((counts - expected) ** 2 / expected).sum()) < chi2.isf(LEVEL, len(expected) - 1)


def test_the_design_notices_shares_that_are_off_by_one_percent():
    distance = N_ROWS * sum((w - s) ** 2 / s for w, s in zip(WRONG, SHARES, strict=True))
    assert ncx2.sf(chi2.isf(LEVEL, 2), 2, distance) > 0.999


@pytest.mark.parametrize("key", [0, 1, 2**64, 2**128 - 1])
def test_parts_have_the_stated_shares_and_no_others(key):
    counts = np.bincount(row_parts(0, N_ROWS, shares=SHARES, key=key), minlength=3)
    assert fits(counts, SHARES)
    assert not fits(counts, WRONG)


def test_the_coins_of_neighbouring_rows_are_independent():
    parts = row_parts(0, N_ROWS, shares=SHARES, key=77)
    pairs = np.bincount(3 * parts[1::2] + parts[::2], minlength=9)
    assert fits(pairs, np.outer(SHARES, SHARES).ravel())


def test_the_coins_under_different_keys_are_independent():
    one, other = (row_parts(0, N_ROWS, shares=SHARES, key=key) for key in (5, 6))
    assert fits(np.bincount(3 * one + other, minlength=9), np.outer(SHARES, SHARES).ravel())


def test_a_row_s_coin_is_fair_over_keys():
    """What the average over coins needs: for one row, over keys."""
    generator = np.random.default_rng(0)
    parts = [row_parts(12345, 1, shares=SHARES, key=int.from_bytes(generator.bytes(16)))[0] for _ in range(4_000)]
    assert fits(np.bincount(parts, minlength=3), SHARES)
