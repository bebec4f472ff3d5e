"""From bins and curves to the released function over codes; no row is read here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpcate.models.function import AdditiveFunction

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from dpcate.accounting import Guarantee
    from dpcate.models.ebm.binning import ColumnBins
    from dpcate.models.protocol import StageData
    from dpcate.schema import Feature

__all__ = ["released_function"]


def released_function(
    data: StageData,
    bins: Sequence[ColumnBins],
    tables: Sequence[NDArray[np.float64]],
    *,
    centre: float,
    guarantee: Guarantee,
    details: Mapping[str, Any],
    earlier: Mapping[str, AdditiveFunction],
) -> AdditiveFunction:
    """Return the curves over bins as a function over codes.

    Parameters
    ----------
    data
        For the public description of the stage; no row is read.
    bins, tables
        Bins of each input and the curve's value in each.
    centre
        Where the score started.
    guarantee
        What the fit cost.
    details
        Released numbers to report.
    earlier
        Functions that earlier stages released.
    """
    bounded = not data.weighted
    return AdditiveFunction(
        columns=data.columns,
        intercept=centre,
        tables=tuple(table[column.bin_of_code] for table, column in zip(tables, bins, strict=True)),
        shares=tuple(
            column.share if bounded else _unweighted_share(description, earlier, column.share)
            for column, description in zip(bins, data.columns, strict=True)
        ),
        guarantee_=guarantee,
        link="logistic" if data.kind == "probability" else "identity",
        low=data.low if bounded else -np.inf,
        high=data.high if bounded else np.inf,
        details=details,
    ).centred()


def _unweighted_share(
    column: Feature, released: Mapping[str, AdditiveFunction], otherwise: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return a column's shares as an earlier stage released them for whole rows; free, and right for averages.

    The histogram of a stage with a loading counts rows by squared loading; an average over it is not one over people.
    """
    for function in released.values():
        if not function.details.get("weighted", False) and column in function.columns:
            return function.shares[function.columns.index(column)]
    return otherwise
