"""How far the released function may be from the truth: the posterior of all coefficients, kept and left out.

A coefficient that was not worth its noise keeps its prior variance, at the scale that was learned for its feature, so
what the model did not look at widens the bands instead of being taken for zero. Everything here is post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcate.errors import DocumentError
from dpcate.models.additive.averaging import NOTHING_SEEN, SeenAverage
from dpcate.models.additive.basis import Basis, ColumnBasis, make_basis
from dpcate.models.additive.curves import CUBE_ROOT, RANK
from dpcate.models.additive.products import BENT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcate.models.additive.confidence import Confidence
    from dpcate.models.function import AdditiveFunction
    from dpcate.models.protocol import Interactions

__all__ = ["POSTERIOR", "Uncertainty", "constant_document", "posterior_document", "uncertainty_of"]

POSTERIOR = "posterior"
_BATCH = 2**13


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """The error of an additive function.

    Parameters
    ----------
    basis
        All functions that were considered.
    covariance
        Mean square error of their coefficients.
    shift
        Intervals are centred at the released coefficients plus these: effects are shrunk less there.
    average
        What the rows of the function's own stage say of the population's average.
    """

    basis: Basis
    covariance: NDArray[np.float64]
    shift: NDArray[np.float64]
    average: SeenAverage = NOTHING_SEEN

    def shifts(self, codes: NDArray[np.uint16]) -> NDArray[np.float64]:
        """Return how far the centre of the interval lies from the function, for each row of ``codes``."""
        if not self.shift.any():
            return np.zeros(len(codes))
        starts = range(0, max(len(codes), 1), _BATCH)
        return np.concatenate([self.basis.matrix(codes[start : start + _BATCH]) @ self.shift for start in starts])

    def variance(self, codes: NDArray[np.uint16]) -> NDArray[np.float64]:
        """Return the variance of the function's error for each row of ``codes``."""
        parts = [self._variance(codes[start : start + _BATCH]) for start in range(0, max(len(codes), 1), _BATCH)]
        return np.concatenate(parts)

    def _variance(self, codes: NDArray[np.uint16]) -> NDArray[np.float64]:
        functions = self.basis.matrix(codes)
        variance: NDArray[np.float64] = np.maximum(((functions @ self.covariance) * functions).sum(axis=1), 0.0)
        return variance

    def variance_of_mean(self, codes: NDArray[np.uint16]) -> float:
        """Return the variance of the error of the function's mean over the rows of ``codes``."""
        starts = range(0, max(len(codes), 1), _BATCH)
        total = sum(self.basis.matrix(codes[start : start + _BATCH]).sum(axis=0) for start in starts)
        mean = np.asarray(total) / max(len(codes), 1)
        return max(float(mean @ self.covariance @ mean), 0.0)

    @property
    def average_variance(self) -> float:
        """Variance of the error of the function's average over the released distribution of the inputs."""
        return float(self.covariance[0, 0])

    @property
    def average_shift(self) -> float:
        """How far the centre of that average's interval lies from the function's average."""
        return float(self.shift[0])

    def contrast_variance(self, column: int, one: int, other: int) -> float:
        """Return the variance of the error of the difference of a column's term between two codes."""
        starts = 1 + np.cumsum([0, *(len(each.values) for each in self.basis.columns)])
        own = slice(starts[:-1][column], starts[1:][column])
        values = self.basis.columns[column].values
        difference = values[:, one] - values[:, other]
        return max(float(difference @ self.covariance[own, own] @ difference), 0.0)

    def tables(self) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Return, per column, shift of the centre and variance of the error of its term at each code."""
        found, at = [], 1
        for column in self.basis.columns:
            own = slice(at, at + len(column.values))
            at += len(column.values)
            spread = (column.values * (self.covariance[own, own] @ column.values)).sum(axis=0)
            found.append((self.shift[own] @ column.values, np.maximum(spread, 0.0)))
        return found


def posterior_document(
    everything: Basis,
    kept: NDArray[np.bool_],
    found: Confidence,
    left_out: NDArray[np.float64],
    *,
    n_features: int,
    interactions: Interactions = "plain",
    average: SeenAverage = NOTHING_SEEN,
) -> dict[str, Any]:
    """Return what :func:`uncertainty_of` needs, as JSON values.

    Parameters
    ----------
    everything, kept
        All functions that were considered, and which of them have a coefficient.
    found
        Shift and mean square error of the kept coefficients.
    left_out
        Prior variance of each function at its expected scale; counts where a function was left out.
    n_features
        How many of the columns are features, of which products may be made.
    interactions
        Which products were considered beside pairs of features.
    average
        What was seen of the average over the stage's own rows.
    """
    lower = np.tril_indices(int(kept.sum()))
    return {
        "n_features": n_features,
        "kept": [int(k) for k in np.flatnonzero(kept)],
        "covariance": found.covariance[lower].tolist(),
        "shift": found.shift.tolist(),
        "left_out": left_out[~kept].tolist(),
        "means": [product.mean for product in everything.products],
        "interactions": interactions,
        "power": CUBE_ROOT,
        "bends": [] if interactions == "bent" else _bends(everything),
    } | ({} if average == NOTHING_SEEN else {"average": average.to_dict()})


def uncertainty_of(function: AdditiveFunction) -> Uncertainty | None:
    """Return the error of a released function, or None where its model does not know it."""
    document = function.details.get(POSTERIOR)
    if document is None:
        return None
    if "constant" in document:
        return Uncertainty(_no_functions(function), np.array([[float(document["constant"])]]), np.zeros(1))
    n_columns = len(function.columns)
    means = np.array(document["means"], dtype=np.float64)
    correlations = np.eye(n_columns) if len(means) else None
    basis = make_basis(
        function.columns,
        function.shares,
        correlations,
        n_features=int(document["n_features"]),
        interactions=document.get("interactions", "plain"),
        bends=_checked(document.get("bends", []), int(document["n_features"])),
        power=_known_power(document.get("power", RANK)),
    )
    products = (replace(product, mean=float(mean)) for product, mean in zip(basis.products, means, strict=True))
    basis = Basis(basis.columns, tuple(products))
    kept = np.array(document["kept"], dtype=np.int64)
    others = np.setdiff1d(np.arange(basis.n_terms), kept)
    half = np.zeros((len(kept), len(kept)))
    half[np.tril_indices(len(kept))] = document["covariance"]
    covariance = np.zeros((basis.n_terms, basis.n_terms))
    covariance[np.ix_(kept, kept)] = half + half.T - np.diag(np.diagonal(half))
    covariance[others, others] = document["left_out"]
    shift = np.zeros(basis.n_terms)
    shift[kept] = document.get("shift", 0.0)  # releases from before intervals had a centre of their own
    return Uncertainty(basis, covariance, shift, SeenAverage.of_document(document.get("average", {})))


def _bends(basis: Basis) -> list[list[int]]:
    """Return the pairs of features whose bends are among the functions, in the order of these."""
    pairs = dict.fromkeys((product.first, product.second) for product in basis.products if product.order == BENT)
    return [list(pair) for pair in pairs]


def _checked(pairs: Any, n_features: int) -> list[tuple[int, int]]:  # noqa: ANN401 - a document may hold anything
    """Return the pairs of a document; each once, of two features, or none is believed."""
    allowed = {(first, second) for second in range(n_features) for first in range(second)}
    found: list[tuple[int, int]] = []
    for pair in pairs if isinstance(pairs, list) else [pairs]:
        whole = isinstance(pair, list | tuple) and len(pair) == 2 and all(type(at) is int for at in pair)
        if not whole or tuple(pair) not in allowed:
            raise DocumentError("the document of a function names bends of features that it does not have.")
        allowed.remove((pair[0], pair[1]))  # once is enough
        found.append((pair[0], pair[1]))
    return found


def _known_power(power: Any) -> float:  # noqa: ANN401 - a document may hold anything
    """Return a power of the density that curves were made with."""
    if power not in (CUBE_ROOT, RANK):
        raise DocumentError("the document of a function names curves that this version does not know.")
    return float(power)


def constant_document(variance: float) -> dict[str, Any]:
    """Return the document of a constant that is known up to ``variance``."""
    return {"constant": variance}


def _no_functions(function: AdditiveFunction) -> Basis:
    """Return the basis that has the intercept only."""
    none = np.zeros(0, dtype=np.int64)
    columns = (ColumnBasis(np.zeros((0, len(share))), none, np.zeros(0), share) for share in function.shares)
    return Basis(tuple(columns), ())
