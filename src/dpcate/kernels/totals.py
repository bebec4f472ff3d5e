"""Exact totals of whole-number arrays, whatever the order and the batches.

Sums of integers do not depend on how rows were cut up, so any backend may add them in any order. They are kept in 64
bits as long as that cannot overflow and in Python's integers from then on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpcate.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

__all__ = ["PARTS_PER_FOLD", "PART_LIMIT", "add_up", "combine"]

PART_LIMIT = 2**54
"""Largest size of an entry of one int64 part."""

PARTS_PER_FOLD = 2**8
"""So many parts add up to at most 2^62 in 64 bits."""


def add_up(parts: Iterable[Sequence[NDArray[Any]]]) -> list[NDArray[Any]]:
    """Return the entry-wise totals of parts that all have the same shapes.

    Parameters
    ----------
    parts
        At least one. An int64 part has entries of at most PART_LIMIT; parts of Python's integers (dtype object) may
        have any.

    Examples
    --------
    >>> [total.tolist() for total in add_up([[np.array([1, 2])], [np.array([3, 4])]])]
    [[4, 6]]
    """
    folded: list[NDArray[Any]] | None = None
    running: list[NDArray[np.int64]] | None = None
    n_running = 0
    for part in parts:
        if part and all(array.dtype == object for array in part):
            folded = _plus(folded, part)
            continue
        _check(part)
        if running is None:
            running, n_running = [array.copy() for array in part], 1
        else:
            for total, array in zip(running, part, strict=True):
                np.add(total, array, out=total)
            n_running += 1
        if running is not None and n_running >= PARTS_PER_FOLD:
            folded, running = _plus(folded, running), None
    if running is None:
        return folded or []
    return running if folded is None else _plus(folded, running)


def combine(totals: Sequence[Sequence[NDArray[Any]]], n_parts: int) -> list[NDArray[Any]]:
    """Return the sum of totals that :func:`add_up` gave to several workers, for ``n_parts`` parts in all."""
    exact = n_parts > PARTS_PER_FOLD  # then 64 bits may not hold the sum of what 64 bits hold each
    if exact:
        return add_up([[array.astype(object) for array in total] for total in totals])
    return [np.asarray(np.sum(arrays, axis=0, dtype=np.int64)) for arrays in zip(*totals, strict=True)]


def _check(part: Sequence[NDArray[Any]]) -> None:
    """Refuse parts whose total could be rounded or wrap around."""
    for array in part:
        if array.dtype != np.int64 or array.max(initial=0) > PART_LIMIT or array.min(initial=0) < -PART_LIMIT:
            raise ParameterError("a pass over rows must return 64-bit integers of bounded size; these are not.")


def _plus(folded: list[NDArray[Any]] | None, part: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """Return the totals in Python's integers."""
    exact = [array.astype(object) for array in part]
    return exact if folded is None else [one + other for one, other in zip(folded, exact, strict=True)]
