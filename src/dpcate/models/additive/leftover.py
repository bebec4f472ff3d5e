"""What a round of moments leaves unexplained: from the mean square that it saw, as far as its noise allows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dpcate.models.additive.observation import Observation
    from dpcate.models.additive.regression import MomentRegression
    from dpcate.models.additive.target import TargetLaw

__all__ = ["law_to_release", "residual_after", "sampling_after"]

LEAST_LEFT, MOST_LEFT = 0.1, 10.0
"""At least this share of the variance is left; a mean's target may have at most this many times what was expected."""

UNSEEN = 0.6
"""What each round of a regression is taken to leave of the variance where its mean square drowns in noise: near bounds
serve the next round best."""


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
    most, unseen = (MOST_LEFT, 1.0) if stage.data.constant else (1.0, UNSEEN)
    total = stage.target.clipped_variance(stage.clip)
    explained = (2 * seen.attenuation * mean @ seen.z - mean @ seen.gram.matrix @ mean) / seen.n_weighted
    left = float(np.clip((seen.mean_square - explained) / total, LEAST_LEFT, most))
    trust = seen.trust(total)
    return stage.target.scaled(math.sqrt(trust * left + (1 - trust) * unseen))


def law_to_release(
    stage: MomentRegression,
    last: MomentRegression,
    seen: Sequence[Observation],
    law: TargetLaw,
    mean: NDArray[np.float64],
) -> TargetLaw:
    """Return the law of what all rounds left, for later stages.

    Before a mean: what the last round's mean square shows, and as far as it was not seen, the variance that there was,
    less what the coefficients explain. A bound nearer than that would serve a regression, but take from a mean what
    nobody gives back.

    Parameters
    ----------
    stage, last
        The stage before the rounds, and in the last of them.
    seen
        What each round saw.
    law
        What they left as :func:`residual_after` sees it.
    mean
        The coefficients.
    """
    if not stage.data.before_mean:
        return law
    total = last.target.clipped_variance(last.clip)
    trust = seen[-1].trust(total)
    shown = last.target.scale**2 * float(np.clip(seen[-1].mean_square / total, LEAST_LEFT, MOST_LEFT))
    explained = float(mean @ seen[0].gram.matrix @ mean) / seen[0].n_weighted
    unseen = max(stage.target.scale**2 - explained, LEAST_LEFT * stage.target.scale**2)
    return law.scaled(math.sqrt(trust * shown + (1 - trust) * unseen) / law.scale)
