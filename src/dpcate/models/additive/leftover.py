"""What a round of moments leaves unexplained: from the mean square that it saw, as far as its noise allows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcate.models.additive.observation import Observation
    from dpcate.models.additive.regression import MomentRegression
    from dpcate.models.additive.target import TargetLaw

__all__ = ["residual_after", "sampling_after"]

MOST_LEFT = 10.0
"""A mean's target may have at most this many times the variance that was expected."""


def sampling_after(stage: MomentRegression, seen: Observation) -> float:
    """Return the variance of what is left.

    Before the release it was a guess from an earlier stage's residual, which may be too small: an effect that
    differs from person to person, or an outcome whose spread differs, add to it.
    """
    total = stage.target.clipped_variance(stage.clip)
    seen_share = float(np.clip(seen.mean_square / total, 0.3, 3.0))
    trust = seen.trust(total)
    return stage.sampling * (trust * seen_share + 1.0 - trust)


def residual_after(stage: MomentRegression, seen: Observation, mean: NDArray[np.float64]) -> TargetLaw:
    """Return the law of what is left: total minus what the coefficients ``mean`` explain.

    A regression leaves less than there was. A mean explains nothing; its target's law was a guess and may widen.
    """
    most, unseen = (MOST_LEFT, 1.0) if stage.data.constant else (1.0, 0.6)
    total = stage.target.clipped_variance(stage.clip)
    explained = (2 * seen.attenuation * mean @ seen.z - mean @ seen.gram.matrix @ mean) / seen.n_weighted
    left = float(np.clip((seen.mean_square - explained) / total, 0.1, most))
    trust = seen.trust(total)
    return stage.target.scaled(math.sqrt(trust * left + (1 - trust) * unseen))
