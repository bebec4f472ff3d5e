"""Several rounds' equations as one: each counts as much as it knows.

Noise is each round's own. Sampling noise is the same in all of them, and so is what bounds cut from a mean on one side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcate.models.additive.gram import Gram
from dpcate.models.additive.posterior import solve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dpcate.models.additive.mixing import Frame
    from dpcate.models.additive.observation import Observation
    from dpcate.models.additive.posterior import Posterior, Prior
    from dpcate.models.additive.regression import MomentRegression
    from dpcate.models.additive.target import TargetLaw

__all__ = ["Round", "combined"]

_DISAGREEMENT = 0.03
"""Part of the sampling noise that rounds do not share, as they shorten rows differently: a floor at huge budgets."""


@dataclass(frozen=True, slots=True)
class Round:
    """What a round saw, the coefficients whose function had been subtracted from the targets, and how it clipped."""

    seen: Observation
    start: NDArray[np.float64]
    clip: float
    farthest: float

    @classmethod
    def of(cls, stage: MomentRegression, seen: Observation, start: NDArray[np.float64]) -> Round:
        """Return what a stage saw as a round of it."""
        return cls(seen, start, stage.clip, stage.farthest)

    def bias(self, law: TargetLaw) -> float:
        """Return by how much clipping may have moved z under a law."""
        return self.seen.n_weighted * law.bias(self.clip, self.farthest) / self.seen.attenuation


def combined(
    rounds: Sequence[Round],
    posterior: Posterior,
    sampling: float,
    prior: Prior,
    frame: Frame,
    *,
    cut: TargetLaw | None = None,
) -> Posterior:
    """Return the posterior from all rounds.

    Each round sees G (theta - start) up to its own privacy noise and the error of its G times what was left to explain;
    sampling noise is the same in all of them and enters once, afterwards.

    Parameters
    ----------
    rounds, posterior
        What was seen, and the posterior before the last round.
    sampling, prior
        See :func:`~dpcate.models.additive.posterior.solve`.
    frame
        How the coefficients of posterior and prior become those that the rounds measure.
    cut
        For a mean: the target's law, as far as it is known now. A round that clipped too near, when less was known,
        counts for less, and what all rounds cut on the same side is no noise that they do not share.
    """
    mean, doubt = frame.measured(posterior.mean), frame.measured_variances(posterior.covariance)
    level = rounds[0].seen.gram.matrix
    precision, weighted = np.zeros_like(level), np.zeros(len(doubt))
    pulls: list[NDArray[np.float64]] = []
    for one in rounds:
        gram = one.seen.gram
        noise = one.seen.z_noise**2 + gram.variance @ ((mean - one.start) ** 2 + doubt)
        noise += _DISAGREEMENT**2 * sampling * np.diagonal(gram.matrix)
        bias = 0.0 if cut is None else one.bias(cut)
        noise += bias**2
        scaled = gram.matrix / noise
        pulls.append(scaled @ np.full(len(noise), bias))
        precision += scaled @ gram.matrix
        weighted += scaled @ (one.seen.z + gram.matrix @ one.start)
    inverse = np.linalg.inv(precision)
    z, noise = level @ (inverse @ weighted), level @ inverse @ level + rounds[0].seen.shift
    if cut is not None:
        pulled = np.array([level @ inverse @ pull for pull in pulls])
        noise += np.outer(pulled.sum(axis=0), pulled.sum(axis=0)) - pulled.T @ pulled
    z, noise, level = frame.equations(z, noise, level)
    known = Gram(level, np.zeros_like(level))
    return solve(z, noise, known, sampling=sampling, prior=prior, start=posterior.log_scales)
