"""Long tables with few distinct values, written as runs: how released tables travel through JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["pack_runs", "unpack_runs"]


def pack_runs(values: NDArray[np.float64]) -> list[list[float]]:
    """Return ``[[length, value], ...]``.

    Examples
    --------
    >>> pack_runs(np.array([0.0, 0.0, 1.5]))
    [[2, 0.0], [1, 1.5]]
    """
    starts = np.flatnonzero(np.r_[True, values[1:] != values[:-1]])
    lengths = np.diff(np.r_[starts, len(values)])
    return [[int(length), float(values[start])] for start, length in zip(starts, lengths, strict=True)]


def unpack_runs(runs: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    """Return the table that :func:`pack_runs` wrote."""
    lengths = [int(length) for length, _ in runs]
    return np.repeat(np.array([float(value) for _, value in runs]), lengths)
