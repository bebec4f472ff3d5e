"""Cyclic boosting on random leaves: the loop that turns noisy leaf sums into one table per input.

Rows are read in one place, the session's ``release``. Leaves and gains follow from public coins and released bins
before the first row is read; what a step computes from its noisy sums, and the scores that rows carry into the next
step, is post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcate.models.ebm.curves import Curves
from dpcate.models.ebm.partition import random_leaves

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dpcate.mechanisms import NoiseSource, RepeatedSum
    from dpcate.models.ebm.binning import ColumnBins
    from dpcate.models.ebm.losses import Loss

__all__ = ["Booster"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Booster:
    """Rounds of one step per input.

    Parameters
    ----------
    rounds, learning_rate, leaves
        See :class:`~dpcate.models.Ebm`.
    bins
        Released bins of each input.
    loss
        What rows contribute; holds private rows.
    sums
        Releases the leaf sums: ``rounds`` times the number of inputs.
    """

    rounds: int
    learning_rate: float
    leaves: int
    bins: Sequence[ColumnBins]
    loss: Loss
    sums: RepeatedSum

    def run(self, codes: NDArray[np.uint16], noise: NoiseSource) -> list[NDArray[np.float64]]:
        """Return the value of each bin, per input.

        Privacy
        -------
        Reads rows through one session of ``sums``, once per step, and costs what that session costs.
        """
        session = self.sums.start(noise)
        coins = noise.coins()
        leaf_of_bin = [
            random_leaves(column, leaves=self.leaves, rounds=self.rounds, coins=coins) for column in self.bins
        ]
        curves = Curves(self.bins, leaf_of_bin, self.leaves)
        rows = [column.bin_of_code.astype(np.intp)[codes[:, j]] for j, column in enumerate(self.bins)]
        noise_scale = self.sums.noise_scale
        score = np.zeros(len(codes))
        for k in range(self.rounds):
            curves.plan_round(k, self.loss, learning_rate=self.learning_rate, noise_scale=noise_scale)
            for j, row_bins in enumerate(rows):
                leaf = leaf_of_bin[j][k]
                noisy = session.release(self.loss.contributions(score), row_bins, leaf)
                step = (curves.gains[k, j] * noisy)[leaf]
                curves.values[j] += step
                score += step.take(row_bins)
        return curves.shrunk()
