"""Made-up people who follow the released distribution of the features: what averages of any function are taken over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcate.models.additive.basis import make_column_basis
from dpcate.models.additive.correlations import known_correlations
from dpcate.models.additive.dependence import draw_codes

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from dpcate.models import AdditiveFunction

__all__ = ["draw_people"]


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
