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
    """Return the covariance (bins x bins) of the noise in one input's curve after all its steps.

    A step adds ``gain * (noise - sum of curvature * curve)`` to the bins of each leaf: fresh noise comes in, and part
    of the noise of earlier steps is corrected away.

    Parameters
    ----------
    leaf_of_bin
        Leaf of each bin in each round (rounds x bins).
    gains
        What a leaf's sum is multiplied by (rounds x leaves).
    curvatures
        Weight of each bin times the curvature of the loss in each round (rounds x bins).
    variances
        Variance of each leaf's sum around its mean (rounds x leaves).
    """
    n_bins, leaves = leaf_of_bin.shape[1], np.arange(gains.shape[1])
    member = leaf_of_bin[:, None, :] == leaves[:, None]
    pulls = gains[:, :, None] * member * curvatures[:, None, :]  # rounds x leaves x bins
    fresh = np.square(gains) * variances
    covariance = np.zeros((n_bins, n_bins))
    for leaf, pull, added in zip(leaf_of_bin, pulls, fresh, strict=True):
        moved = pull @ covariance
        corner = moved @ pull.T
        corner[leaves, leaves] += added
        half = (corner[:, leaf] / 2 - moved)[leaf]  # the change is this plus its transpose
        covariance += half
        covariance += half.T
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
