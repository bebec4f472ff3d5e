"""What is known of the target's distribution before the moments are released, and how far to clip it.

Noise on the moments is proportional to the clipping bound, signal to the share of it that clipping leaves. Nothing here
reads rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcate.models.additive.heaps import one_heap

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from dpcate.models.function import AdditiveFunction
    from dpcate.models.protocol import StageData

__all__ = ["RESIDUAL", "TargetLaw", "clip_at", "clip_of_mean", "law_of_target", "residual_law"]

RESIDUAL = "residual_law"
"""Under this name a model's details hold the law of what it left unexplained."""

LEAST_CLIP, CLIP_SLOPE, CLIP_AT = 1.1, 0.3, 100.0
"""Clip at LEAST_CLIP standard deviations, and CLIP_SLOPE more for every factor e of budget beyond CLIP_AT."""

N_QUANTILES, SMALLEST_CHANCE = 16, 1e-4
"""Weights that stand for all of them, and the smallest probability that one may come from."""

LARGEST_UNFAIRNESS, _STEP = 0.03, 1.1
"""Shifts may be misread by this many standard deviations where a stage does not say that they may be by more. The bound
moves out by the second number at a time."""

EVENLY, LONGER = 0.2, 1.3
"""What clipping takes from both sides of a mean's target cancels as far as it is the same; this part of it is taken to
lie on one side though the law says evenly (chosen on `benchmarks/tuning_data.py`). Where all of it lies on one side,
tails are taken to be longer by the second factor: a noisy histogram shows less of such a tail than there is."""


@dataclass(frozen=True, slots=True)
class TargetLaw:
    """A distribution on points: what the target looks like around its centre.

    Parameters
    ----------
    centre
        Its mean.
    deviations, shares
        Distances from the centre, and how likely each is.
    few_values
        Whether the target has a few values, so that what moves it changes how often, not how far.
    """

    centre: float
    deviations: NDArray[np.float64]
    shares: NDArray[np.float64]
    few_values: bool = False

    @property
    def scale(self) -> float:
        """Standard deviation."""
        return float(np.sqrt(self.shares @ self.deviations**2))

    def attenuation(self, reach: float) -> float:
        """Return the factor by which clipping at ``reach`` shrinks an effect: E[u clip(u)] / E[u^2].

        For normal u this is the share of u that is not clipped (Stein's identity); for two points it is exact too.
        """
        clipped = np.clip(self.deviations, -reach, reach)
        return float(self.shares @ (self.deviations * clipped) / (self.shares @ self.deviations**2))

    def inside(self, reach: float) -> float:
        """Return the share that clipping at ``reach`` leaves alone: by which factor it shrinks a shift of everybody."""
        return float(self.shares @ (np.abs(self.deviations) <= reach))

    def kept(self, reach: float, farthest: float) -> float:
        """Return how much of an effect a mean keeps, where nothing lies beyond ``farthest`` whatever the law says.

        Where the target has a few values an effect is no shift of everybody: it makes some values more frequent, and
        what a clipped one tells of it is the attenuation.
        """
        if reach >= farthest:
            return 1.0
        return self.attenuation(reach) if self.few_values else self.inside(reach)

    def bias(self, reach: float, farthest: float) -> float:
        """Return by how much clipping at ``reach`` may move the mean: what it takes away, as far as on one side.

        Nothing lies beyond ``farthest``, whatever the law says.
        """
        within = np.clip(self.deviations, -farthest, farthest)
        above, below = (float(self.shares @ np.maximum(sign * within - reach, 0.0)) for sign in (1.0, -1.0))
        if above + below <= 0.0:
            return 0.0
        side = abs(above - below) / (above + below)
        longer = np.minimum((1.0 + (LONGER - 1.0) * side) * np.abs(self.deviations), farthest)
        return float(self.shares @ np.maximum(longer - reach, 0.0)) * math.hypot(side, EVENLY)

    def clipped_variance(self, reach: float) -> float:
        """Return E[clip(u)^2]."""
        return float(self.shares @ np.clip(self.deviations, -reach, reach) ** 2)

    def unfairness(self, reach: float, kept: float) -> float:
        """Return by how much clipping misreads a shift of half a standard deviation, in standard deviations.

        Parameters
        ----------
        reach
            Where to clip.
        kept
            The factor that clipped shifts are divided by.
        """
        shift = 0.5 * self.scale
        middle = float(self.shares @ np.clip(self.deviations, -reach, reach))
        moved = [float(self.shares @ np.clip(self.deviations + s, -reach, reach)) for s in (shift, -shift)]
        answers = np.abs(np.array(moved) - middle) / max(kept, SMALLEST_CHANCE)
        return float(np.abs(answers - shift).max() / self.scale)

    def scaled(self, factor: float) -> TargetLaw:
        """Return the law of what is left after a model explained all but ``factor`` of the standard deviation.

        A few values are as far apart as they were.
        """
        return replace(self, centre=0.0, deviations=self.deviations * (1.0 if self.few_values else factor))

    def weighted(self, spreads: NDArray[np.float64]) -> TargetLaw:
        """Return the law of the residual times an inverse-probability weight.

        A weight that is 1 / p with probability p and -1 / (1 - p) otherwise multiplies the variance by 1 / (p (1 - p)).

        Parameters
        ----------
        spreads
            That factor, for some made-up rows.
        """
        chosen = np.quantile(spreads, (np.arange(N_QUANTILES) + 0.5) / N_QUANTILES)
        p = (2.0 / chosen) / (1.0 + np.sqrt(np.maximum(1.0 - 4.0 / chosen, 0.0)))
        p = np.clip(p, SMALLEST_CHANCE, 0.5)
        return self.by_arm(p, 1.0 / p, -1.0 / (1.0 - p))

    def by_arm(
        self, chances: NDArray[np.float64], if_treated: NDArray[np.float64], if_not: NDArray[np.float64]
    ) -> TargetLaw:
        """Return the law of the residual times a weight that depends on the arm.

        Parameters
        ----------
        chances
            Of treatment, for some made-up rows.
        if_treated, if_not
            The same rows' weights in either arm.
        """
        places = ((np.arange(N_QUANTILES) + 0.5) / N_QUANTILES * len(chances)).astype(np.intp)
        some = np.argsort(chances, kind="stable")[places]
        p = chances[some]
        likely = np.concatenate([p, 1.0 - p]) / N_QUANTILES
        times = np.concatenate([if_treated[some], if_not[some]])
        deviations, shares = np.outer(times, self.deviations).ravel(), np.outer(likely, self.shares).ravel()
        return TargetLaw(0.0, deviations, shares, self.few_values)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return {
            "centre": self.centre,
            "deviations": self.deviations.tolist(),
            "shares": self.shares.tolist(),
            "few_values": self.few_values,
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> TargetLaw:
        """Return the law that :meth:`to_dict` described."""
        deviations, shares = np.array(document["deviations"]), np.array(document["shares"])
        return cls(float(document["centre"]), deviations, shares, bool(document.get("few_values", False)))

    @classmethod
    def of_probability(cls) -> TargetLaw:
        """Return the law of a yes/no target of which nothing is known: 0 or 1, evenly."""
        return cls.of_yes(0.5)

    @classmethod
    def of_yes(cls, share: float) -> TargetLaw:
        """Return the law of a target that is 1 with this probability and else 0."""
        return cls(share, np.array([-share, 1.0 - share]), np.array([1.0 - share, share]), few_values=True)


def residual_law(data: StageData, released: Mapping[str, AdditiveFunction]) -> TargetLaw | None:
    """Return the law of the residual that the target is made of, if an earlier stage released it."""
    if data.residual_of is None or data.residual_of not in released:
        return None
    document = released[data.residual_of].details.get(RESIDUAL)
    return None if document is None else TargetLaw.from_dict(document)


def law_of_target(law: TargetLaw, data: StageData, made_up: NDArray[np.uint16]) -> TargetLaw:
    """Return the law of a target that is made of a residual.

    Parameters
    ----------
    law
        The residual's.
    data, made_up
        The stage, which says what multiplies residuals and where targets have their middle, at made-up rows.
    """
    if data.residual_weights is not None:
        law = law.by_arm(*data.residual_weights(made_up))
    elif data.residual_spread is not None:
        law = law.weighted(data.residual_spread(made_up))
    if data.middle is None:
        return law
    return replace(law, centre=float(np.clip(data.middle(made_up).mean(), data.low, data.high)))


def clip_at(
    law: TargetLaw,
    *,
    mu: float,
    n_rows: float,
    n_terms: int,
    farthest: float,
    of_mean: bool = False,
    misread: float | None = None,
) -> float:
    """Return where to clip: near one standard deviation while noise wins, further out the more the budget allows.

    Where the law is lopsided (a yes/no target, a long tail), clipping would answer a shift by another amount than it
    answers the opposite shift; the bound then moves out until it treats shifts of half a standard deviation fairly.

    Parameters
    ----------
    law
        The target's law.
    mu, n_rows, n_terms
        What the release may cost, and the size of the regression.
    farthest
        Largest distance of a target from the centre: nothing is clipped there.
    of_mean
        Whether a mean alone is wanted: shifts are then divided by the share inside.
    misread
        By how many standard deviations shifts may be misread where less noise is worth more than fairness; not more
        than elsewhere where the target is no single heap. What a bound takes from a rare yes, from a rare amount, or
        from one of two heaps depends on how likely it is, so that a later round would take back what an earlier one
        found.
    """
    unfair = LARGEST_UNFAIRNESS if misread is None else misread
    if not one_heap(law):
        unfair = min(unfair, LARGEST_UNFAIRNESS)
    kept = law.inside if of_mean and not law.few_values else law.attenuation
    strength = mu * n_rows / math.sqrt(n_terms)
    clip = law.scale * (LEAST_CLIP + CLIP_SLOPE * math.log(max(strength / CLIP_AT, 1.0)))
    while clip < farthest and law.unfairness(clip, kept(clip)) > unfair:
        clip *= _STEP
    return float(min(clip, farthest))


def clip_of_mean(
    law: TargetLaw, *, noise: float, farthest: float, moved: Callable[[float], float] | None = None
) -> float:
    """Return where to clip a target whose mean alone is wanted: where noise and bias together are smallest.

    Noise grows with the bound. What lies beyond it is lost, and as far as it lies on one side that is a bias, which
    more rows do not remove; and the nearer the bound, the less of what earlier stages got wrong does a score mend.

    Parameters
    ----------
    law
        The target's law.
    noise
        Standard deviation of the privacy noise on the mean, for a bound of one.
    farthest
        Largest distance of a target from the centre: nothing is clipped there.
    moved
        By how much earlier stages' errors move the mean, given the bound; None is not at all.
    """
    nearest = min(law.scale, farthest)
    bounds = np.geomspace(nearest, farthest, max(2, math.ceil(math.log(farthest / nearest) / math.log(_STEP))))
    biases = np.array([law.bias(bound, farthest) for bound in bounds])
    squares = (noise * bounds) ** 2 + biases**2
    best, smallest = nearest, math.inf
    for k in np.argsort(squares, kind="stable"):
        if squares[k] >= smallest:  # and so are those that follow
            break
        square = float(squares[k]) + (0.0 if moved is None else moved(float(bounds[k])) ** 2)
        if square < smallest:
            best, smallest = float(bounds[k]), square
    return best
