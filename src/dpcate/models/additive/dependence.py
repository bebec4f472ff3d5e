"""How features hang together: released correlations of leading terms, and made-up rows that follow them.

An earlier stage's Gram matrix tells the correlations; made-up rows from a normal copula with the released marginals
then predict the later stages' Gram matrices. Everything here is post-processing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from dpcate.models.additive.basis import single_leading

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from dpcate.models.additive.basis import Basis, ColumnBasis
    from dpcate.models.function import AdditiveFunction
    from dpcate.schema import Feature

__all__ = ["CORRELATIONS", "correlations_of", "draw_codes", "known_correlations"]

CORRELATIONS = "correlations"
_LARGEST = 0.95


def known_correlations(
    columns: Sequence[Feature], released: Mapping[str, AdditiveFunction]
) -> NDArray[np.float64] | None:
    """Return the correlation matrix of the columns' leading terms, if an earlier stage released one."""
    for model in released.values():
        document = model.details.get(CORRELATIONS)
        if document is not None:
            place = {name: k for k, name in enumerate(document["columns"])}
            matrix = np.eye(len(columns))
            inside = [j for j, column in enumerate(columns) if column.name in place]
            at = [place[columns[j].name] for j in inside]
            known = np.array(document["matrix"]).reshape(len(place), len(place))
            matrix[np.ix_(inside, inside)] = known[np.ix_(at, at)]
            return matrix
    return None


def correlations_of(columns: Sequence[Feature], basis: Basis, gram: NDArray[np.float64]) -> dict[str, object]:
    """Return the document of the leading terms' correlations, from an estimated Gram matrix."""
    single = single_leading(basis.columns)
    groups, orders = basis.groups, basis.orders
    at = [int(np.flatnonzero((groups == j + 1) & (orders == 0))[0]) for j in single]
    block = gram[np.ix_(at, at)] - np.outer(gram[at, 0], gram[at, 0]) / gram[0, 0]
    spread = np.sqrt(np.diagonal(block))
    matrix = np.clip(block / np.outer(spread, spread), -_LARGEST, _LARGEST)
    np.fill_diagonal(matrix, 1.0)
    return {"columns": [columns[j].name for j in single], "matrix": matrix.tolist()}


def draw_codes(
    columns: Sequence[ColumnBasis],
    correlations: NDArray[np.float64] | None,
    n_rows: int,
    generator: np.random.Generator,
) -> NDArray[np.uint16]:
    """Return made-up codes with the released shares and, where known, the released correlations."""
    normals = generator.standard_normal((n_rows, len(columns)))
    if correlations is not None:
        signs = np.array([_direction(column) for column in columns])
        values, vectors = np.linalg.eigh(correlations * np.outer(signs, signs))
        root = (vectors * np.sqrt(np.maximum(values, 1e-6))) @ vectors.T
        normals = normals @ (root / np.sqrt((root**2).sum(axis=0)))
    codes = np.empty((n_rows, len(columns)), dtype=np.uint16, order="F")
    for j, column in enumerate(columns):
        cumulated = np.cumsum(column.shares)
        codes[:, j] = np.searchsorted(cumulated[:-1] / cumulated[-1], ndtr(normals[:, j]), side="right")
    return codes


def _direction(column: ColumnBasis) -> float:
    """Return the sign that makes the leading function rise with the code; 0 where there is no single one."""
    if (column.orders == 0).sum() != 1:
        return 0.0
    return 1.0 if column.leading[-1] >= column.leading[1] else -1.0
