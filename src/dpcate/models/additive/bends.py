"""Interactions that bend: a few are looked for in the second round, where the first one and the propensity point.

There are three products with bends for every pair of features, too many to look at all of them. Two kinds of pairs are
worth it: those whose straight product the first round shows clearly, and those of features that both the outcome and
the propensity follow, since an interaction that both have and neither model knows is taken for an effect of the
treatment. Everything here is post-processing: which functions a later round looks at is chosen from released numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dpcate.models.additive.basis import Basis
from dpcate.models.additive.gram import Gram, positive
from dpcate.models.additive.mixing import unmixed
from dpcate.models.additive.posterior import Posterior
from dpcate.models.additive.products import PAIR, bent_products, single_leading
from dpcate.models.additive.regression import FINE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcate.models.additive.observation import Observation
    from dpcate.models.additive.posterior import Prior
    from dpcate.models.additive.products import ProductBasis
    from dpcate.models.additive.regression import MomentRegression
    from dpcate.models.function import AdditiveFunction

__all__ = ["Standing", "with_bends"]

MOST_CLEAR, MOST_SHARED = 2, 2
"""Pairs of either kind that are looked at."""

CLEAR = 3.0
"""A product is seen clearly where its coefficient is this many standard deviations from zero."""

_PART = 0.5
"""Coefficients of a clear product's bends, relative to its own."""

_SHARED_SIGNAL = 0.01
"""Prior variance of a shared pair's bends, in variances of the target."""

_UNSURE = 0.05
"""Entries of G that are predicted and were never released may be off by this share of the diagonal."""

Pairs = dict[tuple[int, int], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where the rounds stand: the functions in use, all that were considered, and what is known of their coefficients.

    ``kept`` tells which functions of ``everything`` are in ``basis``, where leading ones may be mixed.
    """

    basis: Basis
    everything: Basis
    kept: NDArray[np.bool_]
    seen: Observation
    posterior: Posterior
    prior: Prior


def with_bends(stage: MomentRegression, at: Standing, other: AdditiveFunction | None) -> Standing:
    """Return where the rounds stand with the bends that the next one is to follow; the same if there are none.

    Parameters
    ----------
    stage, at
        The round that has just been released, and what is known after it.
    other
        The released function, of the same features, whose interactions the target may share.
    """
    pairs = _pairs_to_bend(stage, unmixed(at.basis), at.posterior, other)
    columns = at.everything.columns
    found = [_centred(product, stage) for product in bent_products(columns, list(pairs), np.eye(len(columns)))]
    if not found:
        return at
    new = tuple(found)
    expected = np.array([pairs[product.first, product.second] for product in new])
    basis = replace(at.basis, products=(*at.basis.products, *new))
    covariance = _padded(at.posterior.covariance, len(new))
    covariance[np.diag_indices(basis.n_terms)] += np.append(np.zeros(at.basis.n_terms), expected)
    prior = _prior(stage, at.prior, unmixed(basis), expected)
    n_new_groups = int(prior.groups.max()) - len(at.posterior.log_scales)
    scales = np.append(at.posterior.log_scales, np.zeros(n_new_groups))
    mean = np.append(at.posterior.mean, np.zeros(len(new)))
    return Standing(
        basis=basis,
        everything=Basis(columns, (*at.everything.products, *new)),
        kept=np.append(at.kept, np.ones(len(new), dtype=bool)),
        seen=_seen(stage, at, basis),
        posterior=Posterior(mean, covariance, scales, at.posterior.evidence),  # the first round's own equations
        prior=prior,
    )


def _pairs_to_bend(
    stage: MomentRegression, basis: Basis, posterior: Posterior, other: AdditiveFunction | None
) -> Pairs:
    """Return the pairs of features whose bends are worth a look, with the prior variance of their coefficients.

    There are none unless curves finer than a bend were worth their noise, nor where all bends are looked at anyway.
    """
    if other is None or stage.independent or stage.data.loose or stage.data.interactions == "bent":
        return {}
    if not basis.products or not (basis.orders == FINE).any():
        return {}
    pairs = _clear(basis, posterior, stage.data.n_features)
    signal = _SHARED_SIGNAL * stage.target.scale**2
    for pair in _shared(basis, posterior, other, stage.data.n_features):
        pairs.setdefault(pair, signal)
    return pairs


def _clear(basis: Basis, posterior: Posterior, n_features: int) -> Pairs:
    """Return the pairs of features whose products the first round has shown, the largest first."""
    first = basis.n_terms - len(basis.products)
    variances = np.maximum(np.diagonal(posterior.covariance), 0.0)
    found: list[tuple[float, int, int]] = []
    for k, product in enumerate(basis.products, start=first):
        size = abs(float(posterior.mean[k]))
        if product.order == PAIR and product.second < n_features and size > CLEAR * np.sqrt(variances[k]):
            found.append((size, product.first, product.second))
    largest = sorted(found, key=lambda each: -each[0])[:MOST_CLEAR]
    return {(i, j): (_PART * size) ** 2 for size, i, j in largest}


def _shared(basis: Basis, posterior: Posterior, other: AdditiveFunction, n_features: int) -> list[tuple[int, int]]:
    """Return the pairs of features that matter most to both functions."""
    both = basis.parts(posterior.mean)[:n_features] * _parts(other)[:n_features]
    single = single_leading(basis.columns[:n_features])
    ranked = [(both[i] * both[j], i, j) for k, i in enumerate(single) for j in single[k + 1 :]]
    return [(i, j) for size, i, j in sorted(ranked, key=lambda each: -each[0])[:MOST_SHARED] if size > 0.0]


def _parts(function: AdditiveFunction) -> NDArray[np.float64]:
    """Return each column's part in the variance of a released function, half of a product's to either column."""
    parts = np.array(
        [share @ table**2 - (share @ table) ** 2 for share, table in zip(function.shares, function.tables, strict=True)]
    )
    for product in function.products:
        first, second = function.shares[product.first], function.shares[product.second]
        both = 0.5 * float((first @ product.left**2) * (second @ product.right**2))
        parts[[product.first, product.second]] += both
    positive_parts: NDArray[np.float64] = np.maximum(parts, 0.0)
    return positive_parts


def _centred(product: ProductBasis, stage: MomentRegression) -> ProductBasis:
    """Return the product with a mean of zero over made-up rows."""
    values = np.empty(len(stage.made_up))
    product.values(stage.made_up, values)
    return replace(product, mean=product.mean + float(values.mean()))


def _prior(stage: MomentRegression, before: Prior, basis: Basis, expected: NDArray[np.float64]) -> Prior:
    """Return the prior with variances for the new coefficients, which share a scale of their own."""
    wide = stage.prior(basis)
    leaning = None if before.leaning is None else np.append(before.leaning, np.zeros(len(expected)))
    return replace(wide, sizes=np.append(before.sizes, expected), leaning=leaning)


def _seen(stage: MomentRegression, at: Standing, basis: Basis) -> Observation:
    """Return what the round saw, written for all of ``basis``: of new functions' sums with the target it saw nothing.

    Rows were weighted and shortened by the old functions alone; the new ones had no weight.
    """
    seen, n_old, n_new = at.seen, at.basis.n_terms, basis.n_terms - at.basis.n_terms
    functions = basis.matrix(stage.made_up)
    layout = stage.layout(at.basis, stage.prior(at.basis).sizes, seen.functions)  # as it was released
    layout = replace(layout, basis=basis, weights=np.append(layout.weights, np.zeros(n_new)))
    _, shape, weight = layout.shape(functions, stage.reach, stage.loading_variance)
    level = seen.n_rows * float(weight.mean())
    correction, entries = _padded(seen.correction, n_new), seen.n_rows * shape
    variance = np.full_like(entries, (_UNSURE * level) ** 2)
    variance[:n_old, :n_old] = seen.gram.variance
    matrix = positive(entries + correction, seen.gram.least * level)
    if seen.gram.entries is not None:
        entries[:n_old, :n_old] = seen.gram.entries
    return replace(
        seen,
        functions=functions,
        z=np.append(seen.z, np.zeros(n_new)),
        z_noise=np.append(seen.z_noise, np.full(n_new, np.inf)),
        shift=_padded(seen.shift, n_new),
        gram=Gram(matrix, variance, seen.gram.least, entries),
        correction=correction,
    )


def _padded(matrix: NDArray[np.float64], n_new: int) -> NDArray[np.float64]:
    """Return a square matrix with as many rows and columns of zeros more."""
    return np.pad(matrix, (0, n_new))
