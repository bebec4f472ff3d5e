"""The functions that the model may use: per column an orthonormal few, and products of the first ones.

A basis is built from public grids and released shares, and stored as one table of values per column: evaluating it for
a row is looking up its codes. Orthonormal under the released shares, it makes every coefficient a standard deviation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotrf

from dpcate.models.additive.curves import CUBE_ROOT, CURVE_SIZES, line_and_curves
from dpcate.models.additive.products import BENT, BENT_SIZE, PAIR, PAIR_SIZE, ProductBasis, make_products
from dpcate.schema import Number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dpcate.models.additive.mixing import Mixing
    from dpcate.models.protocol import Interactions
    from dpcate.schema import Feature

__all__ = ["Basis", "ColumnBasis", "make_basis", "make_column_basis"]

Entry = TypeVar("Entry", np.int64, np.float64)

MOST_LEVELS = 40
"""Levels of a category that get a term of their own; rarer ones (by noisy count) share one."""

RARE_SHARE, OTHER_SHARE = 0.004, 0.01
"""Levels below the first, and "other" below the second, have no term of their own."""

_INDEPENDENT, _SMALLEST = 0.12, 1e-9
"""A function that keeps less than the first's share of itself after the earlier ones are removed is left out, and one
whose standard deviation is below the second."""

_N_KEPT = 64
"""Bases of columns that are kept for the next stage: a few megabytes at most."""


@dataclass(frozen=True, slots=True)
class ColumnBasis:
    """The functions of one column.

    Parameters
    ----------
    values
        One row per function, one entry per code.
    orders
        0 for the leading function (linear, or a level), k for the k-th curve.
    sizes
        Prior variance of each coefficient relative to the column's scale.
    shares
        Released share of rows at each code.
    """

    values: NDArray[np.float64]
    orders: NDArray[np.int64]
    sizes: NDArray[np.float64]
    shares: NDArray[np.float64]

    @property
    def leading(self) -> NDArray[np.float64]:
        """The first function of order zero."""
        first: NDArray[np.float64] = self.values[int(np.flatnonzero(self.orders == 0)[0])]
        return first


def make_column_basis(column: Feature, shares: NDArray[np.float64], power: float = CUBE_ROOT) -> ColumnBasis:
    """Return the orthonormal functions of a column under its released shares (one per code, "other" first).

    The stages of a fit share their columns, so the last bases are kept. Shares are released numbers: what is kept, and
    whether it is found again, says nothing about the table beyond them.
    """
    return _basis_of(isinstance(column, Number), np.asarray(shares, dtype=np.float64).tobytes(), power)


@lru_cache(maxsize=_N_KEPT)
def _basis_of(is_number: bool, released: bytes, power: float) -> ColumnBasis:
    shares = np.frombuffer(released)
    basis = _number_basis(shares, power) if is_number else _category_basis(shares)
    for values in (basis.values, basis.orders, basis.sizes):
        values.flags.writeable = False
    return basis


def _number_basis(shares: NDArray[np.float64], power: float) -> ColumnBasis:
    """Linear in the value, then curves; "other" is zero in all, with an indicator of its own if common."""
    known = shares[1:] / shares[1:].sum()
    kept, orders = _orthonormalised(line_and_curves(known, power), known)
    values = np.concatenate([np.zeros((len(kept), 1)), kept], axis=1)
    sizes = np.array([1.0 if order == 0 else CURVE_SIZES[order - 1] for order in orders])
    if shares[0] > OTHER_SHARE:
        values, orders, sizes = _with_other(values, orders, sizes, shares)
    return ColumnBasis(values, np.array(orders, dtype=np.int64), sizes, shares)


def _orthonormalised(
    candidates: NDArray[np.float64], shares: NDArray[np.float64]
) -> tuple[NDArray[np.float64], list[int]]:
    """Make functions, one per row, orthonormal in turn; also say which are left: some add (almost) nothing."""
    centred = candidates - (candidates @ shares)[:, None]
    products = (centred * shares) @ centred.T
    before = np.sqrt(np.diagonal(products))
    factor, failed = dpotrf(products, lower=1, clean=1)
    if not failed and (np.diagonal(factor) >= np.maximum(_INDEPENDENT * before, _SMALLEST)).all():
        return solve_triangular(factor, centred, lower=True, check_finite=False), list(range(len(centred)))
    kept, orders = np.empty_like(centred), list[int]()
    for order in range(len(centred)):
        function, earlier = centred[order], kept[: len(orders)]
        for _ in range(2):  # twice is enough for round-off
            function = function - (earlier @ (shares * function)) @ earlier
        after = math.sqrt(shares @ function**2)
        if before[order] >= _SMALLEST and after >= _INDEPENDENT * before[order]:
            kept[len(orders)] = function / after
            orders.append(order)
    return kept[: len(orders)], orders


def _with_other(
    values: NDArray[np.float64], orders: list[int], sizes: NDArray[np.float64], shares: NDArray[np.float64]
) -> tuple[NDArray[np.float64], list[int], NDArray[np.float64]]:
    indicator = np.zeros(len(shares))
    indicator[0] = 1.0
    centred = (indicator - shares[0]) / np.sqrt(shares[0] * (1 - shares[0]))
    return np.vstack([values, centred]), [*orders, len(CURVE_SIZES) + 1], np.append(sizes, 0.3)


def _category_basis(shares: NDArray[np.float64]) -> ColumnBasis:
    """One centred indicator per common level but the most common, and one for all rare levels together."""
    by_share = np.argsort(-shares, kind="stable")
    own = [code for code in by_share[1 : MOST_LEVELS + 1] if shares[code] > RARE_SHARE]
    groups = [np.isin(np.arange(len(shares)), [code]) for code in own]
    rare = np.isin(np.arange(len(shares)), [code for code in by_share[1:] if code not in set(own)])
    if shares[rare].sum() > OTHER_SHARE:
        groups.append(rare)
    weights = np.array([shares[group].sum() for group in groups])
    spread = weights * (1 - weights)
    values = np.array([(group - w) / np.sqrt(w * (1 - w)) for group, w in zip(groups, weights, strict=True)])
    sizes = spread / max(float(spread.sum()), 1e-12)
    orders = np.zeros(len(groups), dtype=np.int64)
    return ColumnBasis(values.reshape(len(groups), len(shares)), orders, sizes, shares)


@dataclass(frozen=True)
class Basis:
    """All functions: the intercept, each column's own, leading ones that were mixed, and products of two columns.

    Parameters
    ----------
    columns
        Functions per column.
    products
        Functions of two columns, those with bends last.
    mixing
        How leading functions were mixed, which the columns then lack; None if they were not.
    """

    columns: tuple[ColumnBasis, ...]
    products: tuple[ProductBasis, ...]
    mixing: Mixing | None = None

    @property
    def mixed(self) -> tuple[int, ...]:
        """The columns whose leading function was mixed with the others'."""
        return () if self.mixing is None else self.mixing.chosen

    @property
    def n_terms(self) -> int:
        """Number of coefficients."""
        return 1 + sum(len(column.values) for column in self.columns) + len(self.mixed) + len(self.products)

    @property
    def n_bent(self) -> int:
        """Number of products with bends."""
        return sum(product.order == BENT for product in self.products)

    @cached_property
    def groups(self) -> NDArray[np.int64]:
        """Return which scale each coefficient shares: 0 the intercept, j + 1 column j, then products, then bent."""
        own = [np.full(len(column.values), j + 1) for j, column in enumerate(self.columns)]
        mixed = np.array(self.mixed) + 1  # each belongs to the column that it is nearest to
        products = [len(self.columns) + 1 + (product.order == BENT) for product in self.products]
        return _fixed(np.concatenate([[0], *own, mixed, products]).astype(np.int64))

    @cached_property
    def orders(self) -> NDArray[np.int64]:
        """Return the order of each function: -1 the intercept, 0 leading, k a curve, PAIR or BENT a product."""
        own = [*(column.orders for column in self.columns), np.zeros(len(self.mixed))]
        return _fixed(np.concatenate([[-1], *own, [product.order for product in self.products]]).astype(np.int64))

    @cached_property
    def sizes(self) -> NDArray[np.float64]:
        """Return the prior variance of each coefficient relative to its group's scale."""
        n_plain = len(self.products) - self.n_bent
        each = {PAIR: PAIR_SIZE / max(n_plain, 1), BENT: BENT_SIZE / max(self.n_bent, 1)}
        products = [each[product.order] for product in self.products]
        own = [*(column.sizes for column in self.columns), np.ones(len(self.mixed))]
        return _fixed(np.concatenate([[1.0], *own, products]))

    def parts(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum of squared coefficients of each column's own functions."""
        return np.array([(coefficients[self.groups == j + 1] ** 2).sum() for j in range(len(self.columns))])

    def matrix(self, codes: NDArray[np.uint16]) -> NDArray[np.float64]:
        """Return the functions' values for each row of released or made-up codes: private rows go through tables."""
        out = np.empty((len(codes), self.n_terms), order="F")
        out[:, 0] = 1.0
        at = 1
        for j, column in enumerate(self.columns):
            for values in column.values:
                np.take(values, codes[:, j], out=out[:, at])
                at += 1
        if self.mixing is not None:
            leading = [np.take(values, codes[:, j]) for j, values in zip(self.mixed, self.mixing.leading, strict=True)]
            out[:, at : at + len(leading)] = np.column_stack(leading) @ self.mixing.matrix.T
            at += len(leading)
        for k, product in enumerate(self.products):
            product.values(codes, out[:, at + k])
        return out

    def keep(self, chosen: NDArray[np.bool_]) -> Basis:
        """Return the basis with only the chosen coefficients, before leading functions are mixed."""
        at, columns = 1, []
        for column in self.columns:
            mine = chosen[at : at + len(column.values)]
            at += len(column.values)
            columns.append(ColumnBasis(column.values[mine], column.orders[mine], column.sizes[mine], column.shares))
        products = tuple(product for product, kept in zip(self.products, chosen[at:], strict=True) if kept)
        return Basis(tuple(columns), products)


def _fixed(values: NDArray[Entry]) -> NDArray[Entry]:
    """Return the array, which nobody can write to from now on."""
    values.flags.writeable = False
    return values


def make_basis(
    columns: Sequence[Feature],
    shares: Sequence[NDArray[np.float64]],
    correlations: NDArray[np.float64] | None,
    *,
    n_features: int,
    interactions: Interactions = "plain",
    bends: Sequence[tuple[int, int]] = (),
    power: float = CUBE_ROOT,
) -> Basis:
    """Return the functions to consider.

    Parameters
    ----------
    columns, shares
        The columns, and the released share of rows at each of their codes.
    correlations
        Of the columns' leading functions; None leaves products out.
    n_features
        How many of the columns are features.
    interactions
        Which products to consider beside pairs of features.
    bends
        Pairs of features whose bends to consider where not all are.
    power
        See :func:`~dpcate.models.additive.curves.line_and_curves`.
    """
    each = tuple(make_column_basis(column, share, power) for column, share in zip(columns, shares, strict=True))
    if correlations is None:
        return Basis(each, ())
    products = make_products(each, correlations, n_features=n_features, interactions=interactions, bends=bends)
    return Basis(each, products)
