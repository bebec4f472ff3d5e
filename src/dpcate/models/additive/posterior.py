"""From noisy equations to coefficients with their error: empirical Bayes with the whole noise law.

z = G theta + sampling noise + privacy noise on z + (error of G) theta. All four parts have known laws given one scale
per group of coefficients; the scales maximise the marginal likelihood of z under a weak prior.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dpcate.models.additive.evidence import LARGEST_SCALE, SCALE_MEAN, SMALLEST_SCALE, Evidence, Prior
from dpcate.models.additive.newton import minimise
from dpcate.models.additive.scales import ScaleDoubt, scale_doubt

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcate.models.additive.gram import Gram

__all__ = ["NEAR", "Posterior", "Prior", "solve"]

NEAR = 1e-5
"""Log scales matter to a hundredth: where no entry of the evidence's gradient is larger, they are found."""


@dataclass(frozen=True, slots=True)
class Posterior:
    """Coefficients with their covariance, and the log scales that were found.

    ``doubt`` says what not knowing the scales adds; it is worked out when asked for.
    """

    mean: NDArray[np.float64]
    covariance: NDArray[np.float64]
    log_scales: NDArray[np.float64]
    evidence: Evidence

    def doubt(self, *, alike: bool = False) -> ScaleDoubt:
        """Return what not knowing the scales adds to the error; ``alike``: where they are large or small together.

        Scales are judged as they were learned, without a leaning. What another scale would change is the estimate that
        there is, with it.
        """
        judged = scale_doubt(self.evidence.without_leaning(), self.log_scales, alike=alike)
        if self.evidence.prior.leaning is None:
            return judged
        moved = scale_doubt(self.evidence, self.log_scales, alike=alike)
        return replace(judged, covariance=moved.covariance)


def solve(
    z: NDArray[np.float64],
    noise: NDArray[np.float64],
    gram: Gram,
    *,
    sampling: float,
    prior: Prior,
    start: NDArray[np.float64] | None = None,
    near: float = NEAR,
) -> Posterior:
    """Return the posterior of the coefficients.

    Parameters
    ----------
    z, noise
        Noisy right-hand side and the covariance of its privacy noise.
    gram
        Estimated Gram matrix.
    sampling
        Residual variance: sampling noise has covariance ``sampling * G``.
    prior
        Prior variances. Scales are learned without the prior's leaning.
    start
        Log scales to start the search from; None is the mean of their prior.
    near
        Where no entry of the evidence's gradient is larger, the scales are found.
    """
    evidence = Evidence(z, noise, gram, sampling, prior)
    unknown = np.full(int(prior.groups.max()), SCALE_MEAN)  # group 0 has no scale of its own
    log_scales = unknown if start is None else start
    if len(log_scales) > 0:
        log_scales = minimise(evidence.without_leaning(), log_scales, low=SMALLEST_SCALE, high=LARGEST_SCALE, near=near)
    variances, inverse, _ = evidence.law(log_scales)
    crossing = prior.times(variances, gram.matrix)
    gain = crossing @ inverse
    covariance = prior.times(variances, np.eye(len(z))) - gain @ crossing.T
    np.fill_diagonal(covariance, np.maximum(np.diagonal(covariance), 0.0))  # round-off, with very many rows
    return Posterior(gain @ z, covariance, log_scales, evidence)
