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

from dpcate.models.additive.evidence import LARGEST_SCALE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcate.models.additive.posterior import Posterior

__all__ = ["Confidence", "find_confidence"]

LOOSENESS, PRODUCT_LOOSENESS = 6.0, 3.0
"""The best known direction of a column, and of the products, keeps this many of this many plus one parts of itself.
Chosen on the data of `benchmarks/tuning_data.py`: with less, intervals miss small effects; with more, they widen."""


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


def find_confidence(posterior: Posterior, n_columns: int) -> Confidence:
    """Return the less shrunken estimate from what the posterior saw, with its error.

    Parameters
    ----------
    posterior
        The released estimate, and what it was made from.
    n_columns
        How many groups of coefficients belong to one column each; the products come after them.

    Notes
    -----
    With prior variances L for the shrinking, the estimate is M z, M = L G (G L G + V)^-1. Its error is
    (M G - I) theta + M noise; theta enters with the variances D that it is expected to have, which may be far smaller.
    """
    evidence, doubt = posterior.evidence, posterior.doubt()
    expected = np.maximum(np.log(doubt.expected), posterior.log_scales)
    looseness = np.full(len(expected), LOOSENESS)
    looseness[n_columns:] = PRODUCT_LOOSENESS
    least = np.log(looseness) - np.log(np.maximum(doubt.known, 1e-300))
    loose, inverse, _ = evidence.law(np.maximum(posterior.log_scales, np.minimum(least, LARGEST_SCALE)))
    G, variances = evidence.gram.matrix, evidence.prior.variances(expected)
    gain = (loose[:, None] * G) @ inverse
    pulled = gain @ G - np.eye(len(G))
    covariance = gain @ evidence.noise(variances) @ gain.T + (pulled * variances) @ pulled.T
    return Confidence(gain @ evidence.z - posterior.mean, covariance, expected)
