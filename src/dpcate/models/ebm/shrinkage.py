"""How much of a fitted curve is noise, and what is left when that is taken out.

Post-processing alone: leaves, gains, bin weights and noise scales are public or released, so the covariance of the
noise that boosting has put into a curve can be computed without a row. A curve no larger than its noise shrinks to
zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["noise_covariance", "shrink"]


def noise_covariance(
    leaf_of_bin: NDArray[np.int64],
    gains: NDArray[np.float64],
    curvatures: NDArray[np.float64],
    variances: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the covariance of the noise in each input's curve after all its steps (inputs x bins x bins).

    A step adds ``gain * (noise - sum of curvature * curve)`` to the bins of each leaf: fresh noise comes in, and part
    of the noise of earlier steps is corrected away.

    Parameters
    ----------
    leaf_of_bin
        Leaf of each bin in each round (rounds x inputs x bins).
    gains
        What a leaf's sum is multiplied by (rounds x inputs x leaves).
    curvatures
        Weight of each bin times the curvature of the loss in each round (rounds x inputs x bins).
    variances
        Variance of each leaf's sum around its mean (rounds x inputs x leaves).
    """
    _, n_inputs, n_bins = leaf_of_bin.shape
    inputs, leaves = np.arange(n_inputs)[:, None], np.arange(gains.shape[2])
    covariance = np.zeros((n_inputs, n_bins, n_bins))
    for leaf, gain, curvature, added in zip(leaf_of_bin, gains, curvatures, gains**2 * variances, strict=True):
        member = leaf[:, None, :] == leaves[:, None]
        pull = gain[:, :, None] * member * curvature[:, None, :]  # inputs x leaves x bins
        moved = pull @ covariance
        corner = moved @ pull.transpose(0, 2, 1)
        corner[:, leaves, leaves] += added
        half = (np.take_along_axis(corner, leaf[:, None, :], axis=2) / 2 - moved)[inputs, leaf]
        covariance += half  # the change is this plus its transpose
        covariance += half.transpose(0, 2, 1)
    return covariance


def shrink(
    curve: NDArray[np.float64], share: NDArray[np.float64], covariance: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the curve with its variation around its mean shrunk by the positive-part James-Stein rule.

    Parameters
    ----------
    curve
        Value of each bin.
    share
        Share of each bin; sums to one.
    covariance
        Covariance of the noise in ``curve``.

    Examples
    --------
    >>> shrink(np.array([-2.0, 2.0]), np.array([0.5, 0.5]), np.eye(2)).tolist()  # variance 4, of which noise 1/2
    [-1.75, 1.75]
    """
    mean = share @ curve
    size = float(share @ np.square(curve - mean))
    noise = float(share @ np.diag(covariance) - share @ covariance @ share)
    factor = max(0.0, 1.0 - noise / size) if size > 0.0 else 0.0
    shrunk: NDArray[np.float64] = mean + factor * (curve - mean)
    return shrunk
