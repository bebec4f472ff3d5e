"""What earlier stages' errors do to this one: they shift the right-hand side, by an amount with a known law.

In the R-learner and in the DR-learner the errors of propensity and outcome enter only as their product (Neyman
orthogonality). Both errors have released posteriors; drawing from these tells how far z may be shifted, coordinate by
coordinate. Where the mean of a score is all that is wanted, the draws are of the truth itself, and the score is clipped
as its stage clips it. Everything here is post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dpcate.models.additive.error_draws import draw_errors, inputs_of, known_errors
from dpcate.models.additive.scores import Scores
from dpcate.models.additive.truths import draw_truths

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from dpcate.models.additive.target import TargetLaw
    from dpcate.models.additive.uncertainty import Uncertainty
    from dpcate.models.function import AdditiveFunction
    from dpcate.models.protocol import StageData

__all__ = ["EarlierErrors", "product_errors"]

N_DRAWS = 32
"""Draws of the two errors."""

_WIDER = 1.5
"""Both errors come from shrinking the same functions, so they agree in sign more often than independent draws do: the
mean of their product over people is larger than theirs by about this."""


@dataclass(frozen=True, eq=False)
class EarlierErrors:
    """What the first stages' errors may add to a stage's targets, at made-up rows.

    Parameters
    ----------
    data, made_up, released
        See :func:`product_errors`.
    residuals
        Law of the residual that the target is made of.

    Notes
    -----
    With a law of the score, what all draws have in common, mostly what the square of the propensity's error takes from
    the effect, belongs to them: without it intervals of large effects do not hold. With a propensity known by design
    there is what clipping does to a score whose outcomes are off.
    """

    data: StageData
    made_up: NDArray[np.uint16]
    released: Mapping[str, AdditiveFunction]
    residuals: TargetLaw

    def draws(self, clip: float, kept: float) -> NDArray[np.float64] | None:
        """Return draws of what is added, one column per draw; None if nothing is.

        Parameters
        ----------
        clip, kept
            See :meth:`~dpcate.models.additive.scores.Scores.off`.
        """
        if self._scores is None:
            return product_errors(self.data, self.made_up, self.released)
        return self._scores.off(clip, kept)

    def moved(self, clip: float, kept: float) -> float:
        """Return by how much they move the mean of a score, in root mean square over a sample; zero without a score.

        Parameters
        ----------
        clip, kept
            See :meth:`~dpcate.models.additive.scores.Scores.off`.
        """
        if self._scores is None:
            return 0.0
        means = self._scores.some.off(clip, kept).mean(axis=0)
        return float(np.sqrt((means**2).mean()))

    @cached_property
    def _scores(self) -> Scores | None:
        """What draws of the truth say of the scores; None without a law of them."""
        truths = None if self.data.score_law is None else draw_truths(self.data, self.made_up, self.released)
        return None if truths is None else Scores.of(self.data, self.made_up, truths, self.residuals)


def product_errors(
    data: StageData, made_up: NDArray[np.uint16], released: Mapping[str, AdditiveFunction]
) -> NDArray[np.float64] | None:
    """Return draws of the product of the first stages' errors at made-up rows, one column per draw; None if it is zero.

    Parameters
    ----------
    data
        The stage; ``first_stage`` names the two released models.
    made_up
        Codes of made-up rows.
    released
        Earlier models.
    """
    known = None if data.first_stage is None else known_errors(data.first_stage, released)
    if known is None:
        return None
    first, second = known[:2]  # the outcome's error is that in the control arm
    functions = first.basis.matrix(inputs_of(first, made_up))
    of_first, of_second = draw_errors((first, second), N_DRAWS)
    errors = functions @ of_first
    if not _alike(first, second):
        functions = second.basis.matrix(inputs_of(second, made_up))
    product: NDArray[np.float64] = errors * (functions @ of_second)
    if data.residual_spread is not None:
        product *= data.residual_spread(made_up)[:, None]
    product += (_WIDER - 1.0) * product.mean(axis=0)
    return product


def _alike(one: Uncertainty, other: Uncertainty) -> bool:
    """Return whether two models use the same functions: stages share the bases of their columns."""
    first, second = one.basis, other.basis
    same = len(first.columns) == len(second.columns) and not first.products and not second.products
    return same and all(a is b for a, b in zip(first.columns, second.columns, strict=True))
