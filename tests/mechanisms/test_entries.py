"""Which entries of the moments are released: as stated, symmetric, and nothing else."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcate.mechanisms import TableProduct, TableRows
from dpcate.mechanisms.entries import N_NEAR, dense_places, entries_of, starts_of

SIZES, DENSE = (3, 1, 5), (1, 0, None)  # places: 0 | 1 2 3 | 4 | 5 .. 9 | products | target


def test_places_are_those_of_the_vector():
    assert starts_of(SIZES) == [1, 4, 5, 10]
    assert dense_places(SIZES, DENSE, 2) == [0, 2, 4, 10, 11, 12]
    assert dense_places(SIZES, DENSE, 2, target_only=True) == [0, 10, 11, 12]


def test_what_is_released_is_what_the_docstring_says():
    constant, dense, levels, products, target = 0, [0, 2, 4], [5, 6, 7, 8, 9], [10, 11], 12
    wanted = np.zeros((13, 13), dtype=bool)
    for group in ([1, 2, 3], levels[:3], [*dense, *products, target]):
        wanted[np.ix_(group, group)] = True
    np.fill_diagonal(wanted, True)
    wanted[[constant, target], :] = wanted[:, [constant, target]] = True
    assert np.array_equal(entries_of(SIZES, DENSE, 2), wanted)


@pytest.mark.parametrize("n_alone", range(4))
def test_of_the_target_only_its_own_line_is_released(n_alone):
    only = np.zeros((14, 14), dtype=bool)
    only[13, :] = only[:, 13] = True
    assert np.array_equal(entries_of(SIZES, DENSE, 3, n_alone=n_alone, target_only=True), only)


@pytest.mark.parametrize("n_alone", range(4))
def test_products_that_stand_alone_are_the_last_ones_and_lose_their_entries_with_all_but_constant_and_target(n_alone):
    wanted = entries_of(SIZES, DENSE, 3)
    for alone in range(13 - n_alone, 13):
        for other in set(range(1, 13)) - {alone}:
            wanted[alone, other] = wanted[other, alone] = False
    mask = entries_of(SIZES, DENSE, 3, n_alone=n_alone)
    assert np.array_equal(mask, wanted)
    assert (mask.sum() < entries_of(SIZES, DENSE, 3).sum()) == (n_alone > 0)


@given(data=st.data())
def test_every_mask_is_symmetric_holds_what_is_always_needed_and_shrinks_as_more_products_stand_alone(data):
    sizes = data.draw(st.lists(st.integers(0, 6), max_size=4))
    dense = [data.draw(st.one_of(st.none(), st.integers(0, size - 1))) if size else None for size in sizes]
    n_products = data.draw(st.integers(0, 4))
    masks = [entries_of(sizes, dense, n_products, n_alone=n) for n in range(n_products + 1)]
    for n_alone, mask in enumerate(masks):
        assert mask.shape == (2 + sum(sizes) + n_products,) * 2
        assert np.array_equal(mask, mask.T)
        assert mask[0].all()
        assert mask[-1].all()
        assert np.diagonal(mask).all()
        assert (mask <= masks[0]).all()
        for start, size in zip(starts_of(sizes), sizes, strict=False):
            near = min(size, N_NEAR)
            assert mask[start : start + near, start : start + near].all()
        alone = range(len(mask) - 1 - n_alone, len(mask) - 1)
        assert all(mask[k].sum() == 3 for k in alone), "constant, itself, target"


def test_rows_release_the_entries_that_are_stated_for_their_tables():
    tables = tuple(np.ones((size, 2), dtype=np.int64) for size in SIZES)
    product = TableProduct(0, 1, np.ones(2), np.ones(2), 0.0, 1.0)
    for n_alone in range(4):
        for target_only in (False, True):
            rows = TableRows(
                constant=1,
                tables=tables,
                dense=DENSE,
                products=(product,) * 3,
                n_alone=n_alone,
                target_only=target_only,
            )
            mask = entries_of(SIZES, DENSE, 3, n_alone=n_alone, target_only=target_only)
            assert np.array_equal(rows.released, mask)
