"""Where intervals are centred: an estimate that is shrunk less, so that its error is noise more than bias.

The released coefficients have the least error on average, and for that they are pulled towards zero: where noise hides
an effect they say that nothing is there. An interval around them would have to know how much was pulled away, which is
what noise hides. A second estimate from the same moments keeps most of every effect, small or large; its error is
mostly noise, whose law is known. Everything here is post-processing. Derivation: ``docs/statistics/intervals.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcate.models.additive.evidence import LARGEST_SCALE, SCALE_MEAN

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcate.models.additive.posterior import Posterior
    from dpcate.models.protocol import TargetKind

__all__ = ["CENTRE", "LOOSE", "Confidence", "find_confidence"]

CENTRE = 6.0, 3.0
"""Where an interval is centred, the best known direction of a column, and of the products, keeps this many of this many
plus one parts of itself. Chosen on the data of `benchmarks/tuning_data.py`: with less, intervals miss small effects;
with more, they widen."""

LOOSE: dict[TargetKind, tuple[float, float]] = {"probability": (1.0, 1.0), "mean": (3.0, 2.0)}
"""The same for a propensity and an outcome whose errors are multiplied. What shrinking takes from both is a bias, what
noise adds is none; so they are shrunk less than would be best for themselves. Chosen on the same data."""


@dataclass(frozen=True, slots=True)
class Confidence:
    """Where intervals are centred, and how far the truth may be from there.

    Parameters
    ----------
    shift
        The centre's coefficients less the released ones.
    covariance
        Mean square error of the centre's coefficients.
    log_scales
        Logarithm of the scale that each group is expected to have.
    """

    shift: NDArray[np.float64]
    covariance: NDArray[np.float64]
    log_scales: NDArray[np.float64]


def find_confidence(
    posterior: Posterior, n_columns: int, kept: tuple[float, float], *, alike: bool = False
) -> Confidence:
    """Return the less shrunken estimate from what the posterior saw, with its error.

    Parameters
    ----------
    posterior
        The released estimate, and what it was made from.
    n_columns
        How many groups of coefficients belong to one column each; the products come after them.
    kept
        How many parts, of that many and one more, the best known direction of a column keeps, and that of the products.
    alike
        Whether a column's scale is judged by the others' too.

    Notes
    -----
    With prior covariance L for the shrinking, the estimate is M z, M = L G (G L G + V)^-1. Its error is
    (M G - I) theta + M noise; theta enters with the covariance D that it is believed to have, which may be far smaller:
    as expected where nothing is known of a column, as is most likely where much is.
    """
    evidence, doubt = posterior.evidence, posterior.doubt(alike=alike)
    expected = np.maximum(np.log(doubt.expected), posterior.log_scales)
    looseness = np.full(len(expected), kept[0])
    looseness[n_columns:] = kept[1]
    least = np.log(looseness) - np.log(np.maximum(doubt.known, 1e-300))
    loose, inverse, _ = evidence.law(np.maximum(posterior.log_scales, np.minimum(least, LARGEST_SCALE)))
    believed = _towards(posterior.log_scales, expected, doubt.known)
    G, variances = evidence.gram.matrix, evidence.prior.variances(believed)
    gain = evidence.prior.times(loose, G) @ inverse
    pulled = gain @ G - np.eye(len(G))
    covariance = gain @ evidence.noise(variances) @ gain.T + pulled @ evidence.prior.times(variances, pulled.T)
    return Confidence(gain @ evidence.z - posterior.mean, covariance, expected)


def _towards(
    likely: NDArray[np.float64], expected: NDArray[np.float64], known: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return log scales between what is expected, where nothing is known, and what is most likely, where much is."""
    part = known * np.exp(SCALE_MEAN)  # of the best known direction, at a scale as it is before anything is seen
    scales: NDArray[np.float64] = np.log((np.exp(expected) + part * np.exp(likely)) / (1.0 + part))
    return scales
