"""Encoded rows as bytes, and back without copying: for files that outlive no fit, and for clusters."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from dpcate.tables.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["CHANGED", "digest_of", "joined", "pack", "packed_size", "unpack"]


CHANGED = (
    "the cluster computed some rows again and they came back different or in another order; read the table from files, "
    "or sort it by a key, and fit again."
)


def digest_of(packed: bytes | memoryview, key: bytes) -> bytes:
    """Return a short digest of packed rows, by which they are known again; without the key nobody can guess at rows."""
    return hashlib.blake2b(packed, digest_size=16, key=key).digest()


def packed_size(n_rows: int, n_features: int) -> int:
    """Return how many bytes some rows take: two per code, eight for the outcome, one for arm and whether active."""
    return n_rows * (2 * n_features + 9)


def pack(rows: Rows) -> bytes:
    """Return the rows as bytes: outcomes, then codes column by column, then arms (-1 where the row is not active)."""
    arms = np.where(rows.active, rows.T, np.int8(-1)).astype(np.int8)
    return b"".join([rows.Y.astype("<f8").tobytes(), rows.codes.astype("<u2").tobytes(order="F"), arms.tobytes()])


def unpack(buffer: bytes | memoryview, n_rows: int, n_features: int) -> Rows:
    """Return the rows that :meth:`pack` wrote."""
    after_outcomes = 8 * n_rows
    after_codes = after_outcomes + 2 * n_rows * n_features
    Y = np.frombuffer(buffer, "<f8", n_rows)
    codes = np.frombuffer(buffer, "<u2", n_rows * n_features, after_outcomes).reshape((n_rows, n_features), order="F")
    arms = np.frombuffer(buffer, np.int8, n_rows, after_codes)
    return Rows(codes, Y, np.maximum(arms, np.int8(0)), arms >= 0)


def joined(parts: Sequence[Rows], n_features: int) -> Rows:
    """Return all rows of the parts in one."""
    n_rows = sum(len(part) for part in parts)
    codes = np.empty((n_rows, n_features), dtype=np.uint16, order="F")
    at = 0
    for part in parts:
        codes[at : at + len(part)] = part.codes
        at += len(part)
    Y = np.concatenate([np.zeros(0), *(part.Y for part in parts)])
    T = np.concatenate([np.zeros(0, dtype=np.int8), *(part.T for part in parts)])
    active = np.concatenate([np.zeros(0, dtype=bool), *(part.active for part in parts)])
    return Rows(codes, Y, T, active)
