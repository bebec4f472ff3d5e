"""The curves of all inputs on their way through the boosting, and what is known of the noise in them.

All of it is public or released; no row comes here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcate.models.ebm.shrinkage import noise_covariance, shrink

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dpcate.models.ebm.binning import ColumnBins
    from dpcate.models.ebm.losses import Loss

__all__ = ["Curves"]

FEW_BINS = 64
"""Inputs with at most this many bins are padded to the same size, so that arrays hold them all."""


class Curves:
    """Values of all bins of all inputs, and the record of the steps that made them.

    Parameters
    ----------
    bins
        Released bins of each input.
    leaf_of_bin
        Per input, the leaf of each bin in each round (rounds x bins).
    leaves
        Number of leaves.
    """

    def __init__(self, bins: Sequence[ColumnBins], leaf_of_bin: Sequence[NDArray[np.int64]], leaves: int) -> None:
        self.bins = bins
        self.leaf_of_bin = leaf_of_bin
        sizes = [column.n_bins for column in bins]
        self._starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp)
        self._values = np.zeros(sum(sizes))
        self._shares = np.concatenate([column.weight / column.weight.sum() for column in bins])
        self.values = np.split(self._values, self._starts[1:])
        """Per input, the value of each bin: views that boosting steps add to."""
        member = [leaf[:, None, :] == np.arange(leaves)[:, None] for leaf in leaf_of_bin]
        self._weight = np.stack([m @ c.weight for m, c in zip(member, bins, strict=True)], axis=1)
        self._weight_variance = np.stack(
            [m @ np.square(c.weight_scale) for m, c in zip(member, bins, strict=True)], axis=1
        )
        self.gains = np.zeros(self._weight.shape)
        """By what the noisy sum of each leaf is multiplied (rounds x inputs x leaves)."""
        self._variances = np.zeros(self._weight.shape)
        self._curvatures = np.zeros(len(self._weight))

    def plan_round(self, k: int, loss: Loss, *, learning_rate: float, noise_scale: float) -> None:
        """Set the gains of round k, and note what noise they let in.

        Without noise the gain is learning rate over curvature. Noise of scale s on the sums shrinks it: all steps of a
        leaf together estimate its value with noise variance ``learning_rate * s^2 / curvature^2``, and a prior of scale
        ``loss.prior_scale`` turns that into a ridge. The noise of the weights joins the ridge. A leaf of no weight gets
        no step, and no gain exceeds ``learning_rate / (2 sqrt(ridge))``.
        """
        typical = self._typical_score()
        curvature = loss.curvature(typical)
        weight = curvature * self._weight[k]
        ridge = learning_rate * (noise_scale / loss.prior_scale) ** 2 + curvature**2 * self._weight_variance[k]
        self.gains[k] = learning_rate * weight / (np.square(weight) + ridge)
        self._curvatures[k] = curvature
        self._variances[k] = noise_scale**2 + loss.variance(typical) * self._weight[k]

    def _typical_score(self) -> float:
        """Return the root mean square of the score, inputs taken as independent with their noisy distributions."""
        weighted = self._shares * self._values
        means = np.add.reduceat(weighted, self._starts)
        squares = np.add.reduceat(weighted * self._values, self._starts)
        variance = np.maximum(squares - np.square(means), 0.0).sum()
        return float(np.sqrt(means.sum() ** 2 + variance))

    def shrunk(self) -> list[NDArray[np.float64]]:
        """Return the curves without the noise's share of their variation."""
        shares = np.split(self._shares, self._starts[1:])
        curves = list(self.values)
        for group in self._groups():
            for j, covariance in zip(group, self._noise_covariance(group), strict=True):
                n_bins = self.bins[j].n_bins
                curves[j] = shrink(self.values[j], shares[j], covariance[:n_bins, :n_bins])
        return curves

    def _groups(self) -> list[list[int]]:
        """Return the inputs to treat together: those with few bins at once, any other alone."""
        few = [j for j, column in enumerate(self.bins) if column.n_bins <= FEW_BINS]
        many = [[j] for j, column in enumerate(self.bins) if column.n_bins > FEW_BINS]
        return [few, *many] if few else many

    def _noise_covariance(self, group: list[int]) -> NDArray[np.float64]:
        """Return the covariance of the noise in the curves of some inputs, padded with bins of no weight."""
        n_bins = max(self.bins[j].n_bins for j in group)
        leaf_of_bin = np.zeros((len(self.gains), len(group), n_bins), dtype=np.int64)
        weight = np.zeros((len(group), n_bins))
        for i, j in enumerate(group):
            leaf_of_bin[:, i, : self.bins[j].n_bins] = self.leaf_of_bin[j]
            weight[i, : self.bins[j].n_bins] = self.bins[j].weight
        curvatures = self._curvatures[:, None, None] * weight
        return noise_covariance(leaf_of_bin, self.gains[:, group], curvatures, self._variances[:, group])
