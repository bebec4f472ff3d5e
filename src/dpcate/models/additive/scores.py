"""What is expected of made-up rows' scores if a draw of the first stages' errors were the truth."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dpcate.models.additive.clipping import Residuals

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcate.models.additive.target import TargetLaw
    from dpcate.models.additive.truths import Truths
    from dpcate.models.protocol import StageData

__all__ = ["Scores"]

_PART_OF_ROWS, _PART_OF_DRAWS = 8, 4
"""One in so many is enough to compare bounds."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Expected scores (rows x draws), and what they are to tell.

    Parameters
    ----------
    propensity
        Of the rows.
    if_treated, if_not
        Their score in either arm.
    wanted
        What the score stands for.
    of_treated, of_control
        What the rows' residuals are multiplied by in either arm.
    residuals
        Their law.
    """

    propensity: NDArray[np.float64]
    if_treated: NDArray[np.float64]
    if_not: NDArray[np.float64]
    wanted: NDArray[np.float64]
    of_treated: NDArray[np.float64]
    of_control: NDArray[np.float64]
    residuals: Residuals

    @classmethod
    def of(cls, data: StageData, made_up: NDArray[np.uint16], truths: Truths, residuals: TargetLaw) -> Scores | None:
        """Return the scores of a stage; None if it has no law of them.

        Parameters
        ----------
        data, made_up
            The stage, and codes of made-up rows.
        truths
            What may be true of these.
        residuals
            Law of what the outcome has beyond its mean. A stage that does not say what multiplies it is taken to have
            none.
        """
        if data.score_law is None:
            return None
        if_treated, if_not, wanted = data.score_law(made_up, *truths)
        none = np.zeros(len(made_up))
        _, of_treated, of_control = (none,) * 3 if data.residual_weights is None else data.residual_weights(made_up)
        return cls(truths.propensity, if_treated, if_not, wanted, of_treated, of_control, Residuals(residuals))

    @cached_property
    def middle(self) -> float:
        """The mean score."""
        return float((self.propensity * self.if_treated + (1 - self.propensity) * self.if_not).mean())

    @cached_property
    def some(self) -> Scores:
        """The first of the rows and draws: evenly spread points are so from the first on, not if some are left out."""
        n_rows, n_draws = self.propensity.shape
        rows, draws = slice(-(-n_rows // _PART_OF_ROWS)), slice(-(-n_draws // _PART_OF_DRAWS))
        return replace(
            self,
            propensity=self.propensity[rows, draws],
            if_treated=self.if_treated[rows, draws],
            if_not=self.if_not[rows, draws],
            wanted=self.wanted[rows, draws],
            of_treated=self.of_treated[rows],
            of_control=self.of_control[rows],
        )

    def off(self, clip: float, kept: float) -> NDArray[np.float64]:
        """Return by how much each score is off when it is clipped around the middle.

        Parameters
        ----------
        clip
            Where scores are clipped.
        kept
            What clipped ones are divided by.
        """
        if_treated = self.residuals.clipped(self.if_treated - self.middle, self.of_treated, clip)
        if_not = self.residuals.clipped(self.if_not - self.middle, self.of_control, clip)
        seen = self.propensity * if_treated + (1 - self.propensity) * if_not
        return self.middle + seen / kept - self.wanted
