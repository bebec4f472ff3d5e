"""A first look at how features hang together, where a later stage would multiply what is lost by not knowing it.

Moments of the leading functions alone have few coordinates, so a small part of the budget tells their correlations far
better than the moments of all functions do. Proof: ``docs/privacy/moments.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcate.models.additive.basis import make_basis
from dpcate.models.additive.dependence import draw_codes
from dpcate.models.additive.mixing import MOST_MIXED
from dpcate.models.additive.products import single_leading
from dpcate.schema import Number

if TYPE_CHECKING:
    from collections.abc import Sequence
    from functools import partial

    from numpy.typing import NDArray

    from dpcate.mechanisms import NoiseSource
    from dpcate.models.additive.regression import MomentRegression
    from dpcate.models.protocol import StageData

__all__ = ["looks_first", "release_correlations"]


def looks_first(data: StageData) -> bool:
    """Return whether a stage that knows nothing of the features' correlations looks at them first: a public fact.

    Numbers and yes/no categories have leading functions that can be mixed, if there are two or more, and not too many.
    """
    if not data.loose or data.with_treatment or data.weighted or data.constant:
        return False
    single = sum(isinstance(column, Number) or len(column.levels) == 2 for column in data.columns)
    return 2 <= single <= MOST_MIXED


def release_correlations(
    prepared: partial[MomentRegression], shares: Sequence[NDArray[np.float64]], n_made_up: int, noise: NoiseSource
) -> NDArray[np.float64]:
    """Return the correlations of the columns' leading functions; zero for columns that have more than one.

    Parameters
    ----------
    prepared
        The stage, with what it may cost; all but its made-up rows.
    shares
        Released share of rows at each code of each column.
    n_made_up
        How many rows to make up.
    noise
        Where the noise comes from.

    Privacy
    -------
    One release of moments at the cost Gaussian(mu) of ``prepared``. Proof: ``docs/privacy/moments.md``.
    """
    data: StageData = prepared.keywords["data"]
    basis = make_basis(data.columns, shares, None, n_features=data.n_features)
    single = np.array(single_leading(basis.columns)) + 1
    basis = basis.keep((basis.orders < 0) | ((basis.orders == 0) & np.isin(basis.groups, single)))
    stage = prepared(made_up=draw_codes(basis.columns, None, n_made_up), independent=True, gram_only=True)
    seen = stage.observe(basis, stage.prior(basis).sizes, stage.begin(basis, noise))
    return np.eye(len(data.columns)) if seen.correlations is None else seen.correlations
