"""Which products are expected to matter: those of columns that matter by themselves, if the release agrees.

Interactions are more often found between columns with effects of their own, and there are so many pairs of columns
that a prior which spreads its variance evenly expects next to nothing of each. A second prior gives most of it to
products of columns that were seen to matter. The released equations decide between the two. Everything here is
post-processing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dpcate.models.additive.products import BENT, PAIR

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from dpcate.models.additive.basis import Basis
    from dpcate.models.additive.posterior import Posterior, Prior

__all__ = ["hereditary", "likelier_prior"]

_EVEN = 0.05
"""Share of a column's expected part in products that does not depend on what was seen of it."""

_EXPECTED = 0.7
"""Log odds that products follow their columns, before anything is seen."""


def likelier_prior(
    posterior: Posterior, prior: Prior, basis: Basis, *, n_features: int, solved: Callable[[Prior], Posterior]
) -> tuple[Posterior, Prior]:
    """Return the posterior and the prior that explain the equations better.

    Parameters
    ----------
    posterior, prior
        With products that are all alike.
    basis
        The functions.
    n_features
        How many columns are features; the treatment may follow them.
    solved
        Gives the posterior for another prior.
    """
    other = hereditary(prior, basis, posterior.mean, n_features=n_features)
    found = solved(other)
    return (found, other) if _surprise(found) < _surprise(posterior) + _EXPECTED else (posterior, prior)


def hereditary(prior: Prior, basis: Basis, coefficients: NDArray[np.float64], *, n_features: int) -> Prior:
    """Return the prior whose products have variances by their columns' parts in the function, the same in total.

    Parameters
    ----------
    prior, basis
        With products that are all alike, and the functions.
    coefficients
        What the columns were seen to do.
    n_features
        How many columns are features; the treatment counts like the strongest of them.
    """
    parts = basis.parts(coefficients)
    parts[n_features:] = parts[:n_features].max(initial=0.0)
    parts = parts / max(float(parts[:n_features].sum()), 1e-300) + _EVEN / max(n_features, 1)
    sizes, first = prior.sizes.copy(), len(prior.sizes) - len(basis.products)
    both = np.array([parts[product.first] * parts[product.second] for product in basis.products])
    for order in (PAIR, BENT):
        mine = np.flatnonzero([product.order == order for product in basis.products])
        if len(mine) > 0:
            sizes[first + mine] *= both[mine] / both[mine].mean()
    return replace(prior, sizes=sizes)


def _surprise(posterior: Posterior) -> float:
    """Return the negative log likelihood of the equations at the scales that were found."""
    return posterior.evidence.without_leaning()(posterior.log_scales)[0]
