"""Features that hang together are measured by what they do not share: leading functions, mixed until uncorrelated.

Where features are nearly the same, what they differ by has little variance. Sums over the features themselves then have
next to no signal of a difference, the same noise as of anything else, and a Gram matrix that noise can hardly tell from
a singular one. So where released correlations say how features hang together, rows are written in mixed functions, each
the nearest to one feature's own, uncorrelated and of the same variance as far as is known. Which functions are looked
at follows from released numbers; all else here is post-processing. Derivation: ``docs/statistics/mixing.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from dpcate.models.additive.products import single_leading

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from dpcate.models.additive.basis import Basis, ColumnBasis

__all__ = ["Frame", "Mixing", "mix", "unmixed"]

HARDLY = 0.3
"""Features whose correlations have no eigenvalue below this are told apart well enough as they are."""

MOST_MIXED = 16
"""With more features than this their leading functions stay as they are: each mixed one reads all of them."""

_LEAST = 1e-3
"""Eigenvalues of correlations are taken for no smaller than this."""


@dataclass(frozen=True, slots=True)
class Mixing:
    """How leading functions were mixed.

    Parameters
    ----------
    columns
        The columns' functions as they were.
    chosen
        Columns whose leading function was mixed with the others'.
    matrix
        Of each mixed function, what it has of each leading one.
    """

    columns: tuple[ColumnBasis, ...]
    chosen: tuple[int, ...]
    matrix: NDArray[np.float64]

    @property
    def leading(self) -> tuple[NDArray[np.float64], ...]:
        """The leading functions that were mixed, by code."""
        return tuple(self.columns[j].leading for j in self.chosen)

    def places(self) -> Iterator[int | None]:
        """Yield, for each of the columns' functions as they were, its place among the mixed ones; None if not mixed."""
        for j, column in enumerate(self.columns):
            for order in column.orders:
                yield self.chosen.index(j) if order == 0 and j in self.chosen else None


def mix(basis: Basis, correlations: NDArray[np.float64] | None, *, n_features: int) -> Basis:
    """Return the basis with leading functions mixed, or as it is where the features hardly hang together.

    Parameters
    ----------
    basis
        Functions of the columns; features come first.
    correlations
        Released correlations of the columns' leading functions; None if there are none.
    n_features
        How many columns are features.
    """
    chosen = single_leading(basis.columns[:n_features])
    if correlations is None or not 2 <= len(chosen) <= MOST_MIXED:
        return basis
    values, vectors = np.linalg.eigh(correlations[np.ix_(chosen, chosen)])
    if values.min() >= HARDLY:
        return basis
    matrix = (vectors / np.sqrt(np.maximum(values, _LEAST))) @ vectors.T
    columns = list(basis.columns)
    for j in chosen:
        own, rest = columns[j], columns[j].orders != 0
        columns[j] = replace(own, values=own.values[rest], orders=own.orders[rest], sizes=own.sizes[rest])
    return replace(basis, columns=tuple(columns), mixing=Mixing(basis.columns, tuple(chosen), matrix))


def unmixed(basis: Basis) -> Basis:
    """Return the functions as they were before they were mixed."""
    return basis if basis.mixing is None else replace(basis, columns=basis.mixing.columns, mixing=None)


@dataclass(frozen=True, slots=True)
class Frame:
    """Coefficients as they are thought of, as they are measured, and as they are released.

    Rounds measure coefficients of mixed functions. Released are those of plain ones. What is expected of them, and so
    the posterior, is either: None stands for a matrix that changes nothing.

    Parameters
    ----------
    to_measured, to_plain
        Turn the posterior's coefficients into those of the mixed, and of the plain functions.
    """

    to_measured: NDArray[np.float64] | None
    to_plain: NDArray[np.float64] | None

    @classmethod
    def of(cls, basis: Basis, *, mixed: bool) -> Self:
        """Return the frame for a posterior of mixed, or of plain, functions' coefficients."""
        if basis.mixing is None:
            return cls(None, None)
        back = _back(basis, basis.mixing)
        return cls(None, back) if mixed else cls(np.asarray(np.linalg.inv(back), dtype=np.float64), None)

    def measured(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mixed functions' coefficients."""
        return coefficients if self.to_measured is None else self.to_measured @ coefficients

    def measured_variances(self, covariance: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the variances of the mixed functions' coefficients."""
        return np.diagonal(covariance if self.to_measured is None else _moved(self.to_measured, covariance))

    def plain(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the plain functions' coefficients."""
        return coefficients if self.to_plain is None else self.to_plain @ coefficients

    def plain_covariance(self, covariance: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the covariance of the plain functions' coefficients."""
        return covariance if self.to_plain is None else _moved(self.to_plain, covariance)

    def equations(
        self, z: NDArray[np.float64], noise: NDArray[np.float64], gram: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return measured normal equations, and the covariance of their noise, in the posterior's terms."""
        if self.to_measured is None:
            return z, noise, gram
        turned = self.to_measured.T
        return turned @ z, _moved(turned, noise), _moved(turned, gram)


def _back(basis: Basis, mixing: Mixing) -> NDArray[np.float64]:
    """Return the matrix that turns coefficients of mixed functions into those of plain ones."""
    n_columns = basis.n_terms - len(basis.products)
    mixed = slice(n_columns - len(mixing.chosen), n_columns)
    back = np.zeros((basis.n_terms, basis.n_terms))
    own = 1
    for at, place in enumerate(mixing.places(), start=1):
        if place is None:
            back[at, own] = 1.0
            own += 1
        else:
            back[at, mixed] = mixing.matrix[:, place]
    same = np.array([0, *range(n_columns, basis.n_terms)])
    back[same, same] = 1.0
    return back


def _moved(matrix: NDArray[np.float64], square: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what a symmetric matrix is in other terms; symmetric to the last bit."""
    moved = matrix @ square @ matrix.T
    return (moved + moved.T) / 2
