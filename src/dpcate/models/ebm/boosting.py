"""Cyclic boosting on random leaves: the loop that turns noisy leaf sums into one table per input.

Rows are read in one place, the session's ``release``. Leaves and gains follow from public coins and released bins
before the first row is read; what a step computes from its noisy sums, and the scores that rows carry into the next
step, is post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcate.models.ebm.partition import random_leaves
from dpcate.models.ebm.shrinkage import noise_covariance, shrink

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
        partitions = [
            random_leaves(column, leaves=self.leaves, rounds=self.rounds, coins=coins) for column in self.bins
        ]
        gains = [self.gains(column, leaf) for column, leaf in zip(self.bins, partitions, strict=True)]
        rows = [column.bin_of_code.astype(np.intp)[codes[:, j]] for j, column in enumerate(self.bins)]
        tables = [np.zeros(column.n_bins) for column in self.bins]
        score = np.zeros(len(codes))
        for k in range(self.rounds):
            for j in range(len(rows)):
                leaf_of_bin = partitions[j][k]
                noisy = session.release(self.loss.contributions(score), rows[j], leaf_of_bin)
                step = (gains[j][k] * noisy)[leaf_of_bin]
                tables[j] += step
                score += step.take(rows[j])
        return [
            self.shrunk(column, table, leaf, gain)
            for column, table, leaf, gain in zip(self.bins, tables, partitions, gains, strict=True)
        ]

    def shrunk(
        self,
        column: ColumnBins,
        table: NDArray[np.float64],
        leaf_of_bin: NDArray[np.int64],
        gains: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Return a curve without the noise's share of its variation: post-processing."""
        member = leaf_of_bin[:, None, :] == np.arange(self.leaves)[:, None]
        variances = self.sums.noise_scale**2 + self.loss.variance * (member @ column.weight)
        covariance = noise_covariance(leaf_of_bin, gains, self.loss.curvature * column.weight, variances)
        return shrink(table, column.weight / column.weight.sum(), covariance)

    def gains(self, column: ColumnBins, leaf_of_bin: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return by what each leaf's noisy sum is multiplied to give its step (rounds x leaves).

        Without noise this is learning rate over curvature. Noise of scale s on the sums shrinks it: all steps of a leaf
        together estimate its value with noise variance ``learning_rate * s^2 / curvature^2``, and a prior of scale
        ``loss.prior_scale`` turns that into a ridge. The noise of the weights joins the ridge. A leaf of no weight
        gets no step, and no gain exceeds ``learning_rate / (2 sqrt(ridge))``.
        """
        member = leaf_of_bin[:, None, :] == np.arange(self.leaves)[:, None]
        weight = self.loss.curvature * (member @ column.weight)
        weight_noise = self.loss.curvature**2 * (member @ np.square(column.weight_scale))
        ridge = weight_noise + self.learning_rate * (self.sums.noise_scale / self.loss.prior_scale) ** 2
        gains: NDArray[np.float64] = self.learning_rate * weight / (np.square(weight) + ridge)
        return gains
