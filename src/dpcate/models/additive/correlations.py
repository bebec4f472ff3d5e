"""How features hang together: the correlations of their leading functions, read from a noisy Gram matrix.

They are read entry by entry and made possible on their own. The whole Gram matrix, dozens of functions wide, needs its
eigenvalues raised far higher, which would make features that are nearly the same look more different than they are.
Everything here is post-processing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcate.models.additive.products import single_leading

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from dpcate.models.additive.basis import Basis
    from dpcate.models.additive.gram import Gram
    from dpcate.models.function import AdditiveFunction
    from dpcate.schema import Feature

__all__ = [
    "CORRELATIONS",
    "correlation_document",
    "known_correlations",
    "leading_correlations",
    "matched_correlations",
    "seen_correlations",
]

CORRELATIONS = "correlations"
_LARGEST = 0.95

_LEAST, _MOST_RAISED = 0.05, 0.5
"""Eigenvalues of correlations are raised to what noise may have lowered them by, between these."""

_LEAST_SPREAD = 0.25
"""A leading function's variance is taken for at least this share of the number of rows."""


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


def correlation_document(
    columns: Sequence[Feature], basis: Basis, correlations: NDArray[np.float64]
) -> dict[str, object]:
    """Return what :func:`known_correlations` reads, as JSON values: of columns with one leading function."""
    single = single_leading(basis.columns)
    return {"columns": [columns[j].name for j in single], "matrix": correlations[np.ix_(single, single)].tolist()}


def seen_correlations(basis: Basis, gram: Gram) -> NDArray[np.float64]:
    """Return the correlations of all columns' leading functions, as an estimated Gram matrix has them."""
    at, _ = _leading(basis)
    if not at:
        return np.eye(len(basis.columns))
    matrix = gram.matrix if gram.entries is None else gram.entries
    noise = np.sqrt(len(at) * float(gram.variance[np.ix_(at, at)].mean())) / max(float(matrix[0, 0]), 1e-300)
    return _possible(leading_correlations(basis, matrix), least=float(np.clip(noise, _LEAST, _MOST_RAISED)))


def matched_correlations(wanted: NDArray[np.float64], got: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return correlations one step nearer to those whose rows look as the released ones.

    Parameters
    ----------
    wanted
        What the release shows, and what rows were made up with.
    got
        What it would have shown of these: long rows are shortened, which hides part of how features hang together.
    """
    return _possible(wanted + wanted - got, least=_LEAST)


def leading_correlations(basis: Basis, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the correlations that a Gram matrix has; zero for columns without a single leading function."""
    at, single = _leading(basis)
    n_rows = float(matrix[0, 0]) or 1.0  # noise may have left nothing
    block = matrix[np.ix_(at, at)] - np.outer(matrix[at, 0], matrix[at, 0]) / n_rows
    spread = np.sqrt(np.maximum(np.diagonal(block), _LEAST_SPREAD * abs(n_rows)))
    known = np.clip(block / np.outer(spread, spread), -_LARGEST, _LARGEST)
    np.fill_diagonal(known, 1.0)
    correlations = np.eye(len(basis.columns))
    correlations[np.ix_(single, single)] = known
    return correlations


def _leading(basis: Basis) -> tuple[list[int], list[int]]:
    """Return where the single leading functions are, and the columns that have one."""
    single = single_leading(basis.columns)
    groups, orders = basis.groups, basis.orders
    return [int(np.flatnonzero((groups == j + 1) & (orders == 0))[0]) for j in single], single


def _possible(correlations: NDArray[np.float64], *, least: float) -> NDArray[np.float64]:
    """Return correlations that features can have: no eigenvalue below ``least`` (before the diagonal is one again)."""
    values, vectors = np.linalg.eigh(correlations)
    raised = (vectors * np.maximum(values, least)) @ vectors.T
    size = np.sqrt(np.diagonal(raised))
    possible: NDArray[np.float64] = raised / np.outer(size, size)
    return possible
