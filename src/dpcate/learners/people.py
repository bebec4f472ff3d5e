"""Made-up people who follow the released distribution of the features: what averages of any function are taken over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcate.models.additive.basis import make_column_basis
from dpcate.models.additive.correlations import known_correlations
from dpcate.models.additive.dependence import draw_codes
from dpcate.models.additive.share_errors import variance_by_shares

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from dpcate.models import AdditiveFunction

__all__ = ["draw_people", "variance_of_people"]

_N_PEOPLE = 4_096
"""Made-up people that tell how far effects differ."""


def draw_people(models: Mapping[str, AdditiveFunction], n_people: int, *, name: str = "effect") -> NDArray[np.uint16]:
    """Return codes with the released shares and, where known, correlations; the same question has the same answer.

    Parameters
    ----------
    models
        Released functions.
    n_people
        How many.
    name
        The model whose columns and shares they have.
    """
    model = models[name]
    columns = [make_column_basis(column, share) for column, share in zip(model.columns, model.shares, strict=True)]
    return draw_codes(columns, known_correlations(model.columns, models), n_people)


def variance_of_people(models: Mapping[str, AdditiveFunction]) -> float:
    """Return the variance of the difference between the average effect of the population and that as released.

    Parameters
    ----------
    models
        Released functions, the effect among them.
    """
    effect = models["effect"]
    if not effect.products and not any(table.any() for table in effect.tables):
        return 0.0  # everybody has the same effect, whoever they are
    spread = float(effect.score(draw_people(models, _N_PEOPLE)).var())
    return variance_by_shares(effect, models, spread)
