"""Draws of what may truly be the case at made-up rows: who is treated how often, and how either arm fares.

A probability lies between zero and one, an outcome within its bounds. Everything here is post-processing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpcate.models.additive.error_draws import draw_errors, inputs_of, known_errors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from dpcate.models.function import AdditiveFunction
    from dpcate.models.protocol import StageData

__all__ = ["Truths", "draw_truths"]

N_TRUTHS = 128
"""Draws of the truth."""


class Truths(NamedTuple):
    """Propensity, control mean and treated mean (rows x draws); nobody may write to them."""

    propensity: NDArray[np.float64]
    control: NDArray[np.float64]
    treated: NDArray[np.float64]


def draw_truths(
    data: StageData, made_up: NDArray[np.uint16], released: Mapping[str, AdditiveFunction]
) -> Truths | None:
    """Return draws of the truth; None where a model does not know its own error, or none tells the arms apart.

    Parameters
    ----------
    data
        The stage; ``first_stage`` names a propensity and an outcome of the features and the arm, or a propensity, an
        outcome of the features, and the difference between the arms. A propensity that was not estimated is exactly
        what ``residual_weights`` say.
    made_up
        Codes of made-up rows.
    released
        Earlier models.
    """
    first, *others = data.first_stage or ("",)
    by_design = None if first in released or data.residual_weights is None else data.residual_weights(made_up)[0]
    names = [first, *others] if by_design is None else others
    known = known_errors(names, released) if others else None
    if known is None:
        return None
    draws = dict(zip(names, zip(known, draw_errors(known, N_TRUTHS), strict=True), strict=True))

    def truth(name: str, arm: int = 0) -> NDArray[np.float64]:
        model, drawn = draws[name]
        codes = inputs_of(model, made_up, arm)
        errors: NDArray[np.float64] = model.basis.matrix(codes) @ drawn
        return released[name].score(codes)[:, None] + errors

    if by_design is None:
        propensity = np.clip(truth(first), 0.0, 1.0)
    else:
        propensity = np.repeat(by_design[:, None], N_TRUTHS, axis=1)
    if len(others) > 1:
        outcome, difference = truth(others[0]), truth(others[1])
        control = outcome - propensity * difference
        treated = control + difference
    elif len(draws[others[0]][0].basis.columns) == made_up.shape[1] + 1:
        control, treated = truth(others[0], 0), truth(others[0], 1)
    else:
        return None
    low, high = released[others[0]].low, released[others[0]].high
    drawn = Truths(propensity, np.clip(control, low, high), np.clip(treated, low, high))
    for each in drawn:
        each.flags.writeable = False
    return drawn
