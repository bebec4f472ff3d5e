"""Made-up functions of features: lines, bends and hinges of sums, and what of one another follows or does not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CURVED", "Follower", "Remainder", "Surface"]

CURVED = 0.013
"""Share of a sum of curves that is bends and not straight lines, where nothing is said of it."""

_ROUND_OFF = 1e-9

_Scale = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Surface:
    """A function of the features with mean zero and variance one: straight lines, bends, hinges of sums of features.

    Parameters
    ----------
    slopes, bends
        Per feature, how steep its curve is and how bent.
    hinges
        Per column, which features are added before the sum is cut off at zero.
    shares
        Of the variance: what lines, bends and hinges have.
    scales
        Mean and standard deviation of lines, of bends, of hinges and of the whole.
    """

    slopes: NDArray[np.float64]
    bends: NDArray[np.float64]
    hinges: NDArray[np.float64]
    shares: tuple[float, float, float]
    scales: tuple[_Scale, ...] = ((0.0, 1.0),) * 4

    @classmethod
    def drawn(
        cls,
        scores: NDArray[np.float64],
        generator: np.random.Generator,
        n_used: int,
        together: float,
        curved: float = CURVED,
    ) -> Surface:
        """Return a random function of ``n_used`` features, standardised on ``scores``.

        Parameters
        ----------
        scores, generator
            Features of many people, and public numbers.
        n_used
            How many features the function is of.
        together, curved
            Share of the variance that hinges have, and that bends have of the rest.
        """
        n_features = scores.shape[1]
        used = generator.permutation(n_features)[:n_used]
        signs = generator.choice((-1.0, 1.0), n_features)
        inside = np.isin(np.arange(n_features), used)
        slopes = np.where(inside, signs * generator.uniform(0.5, 1.5, n_features), 0.0)
        bends = np.where(inside, generator.standard_normal(n_features), 0.0)
        n_hinges = max(len(used) // 2, 1)
        hinges = np.zeros((n_features, n_hinges))
        hinges[used, np.arange(len(used)) % n_hinges] = signs[used]
        shares = (1 - together) * (1 - curved), (1 - together) * curved, together
        scales = tuple(_scale(part) for part in cls(slopes, bends, hinges, shares).parts(scores))
        whole = cls(slopes, bends, hinges, shares, (*scales, (0.0, 1.0))).of(scores)
        return cls(slopes, bends, hinges, shares, (*scales, _scale(whole)))

    def parts(self, scores: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
        """Return lines, bends and hinges for each row."""
        signs = np.where(np.arange(self.hinges.shape[1]) % 2, -1.0, 1.0)
        bends = np.sqrt(1.0 + scores**2) @ self.bends
        return scores @ self.slopes, bends, np.maximum(scores @ self.hinges, 0.0) @ signs

    def of(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the function's value for each row."""
        whole = np.zeros(len(scores))
        for part, share, (mean, sd) in zip(self.parts(scores), self.shares, self.scales[:-1], strict=True):
            whole += math.sqrt(share) * (part - mean) / sd
        mean, sd = self.scales[-1]
        return (whole - mean) / sd


@dataclass(frozen=True, slots=True)
class Remainder:
    """What a function has that does not go with another one: mean zero, variance one.

    Parameters
    ----------
    surface, followed
        The function, and the one that it is not to go with.
    slope
        How much of the second is in the first.
    scale
        Mean and standard deviation of the rest.
    """

    surface: Surface
    followed: Follower
    slope: float
    scale: _Scale = (0.0, 1.0)

    @classmethod
    def of_surface(cls, surface: Surface, followed: Follower, scores: NDArray[np.float64]) -> Remainder:
        """Return what of a surface does not go with ``followed`` over ``scores``."""
        together = np.cov(surface.of(scores), followed.of(scores))
        slope = float(together[0, 1] / together[1, 1]) if together[1, 1] > 0.0 else 0.0
        return cls(surface, followed, slope, _scale(cls(surface, followed, slope).of(scores)))

    def of(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the function's value for each row."""
        rest = self.surface.of(scores) - self.slope * self.followed.of(scores)
        return (rest - self.scale[0]) / self.scale[1]


@dataclass(frozen=True, slots=True)
class Follower:
    """A function that follows another one's sum of curves, and a share of what that has beyond it.

    Who is treated may follow what is good or bad for people and know nothing of corners where two features meet.

    Parameters
    ----------
    surface
        What is followed.
    curves
        Coefficients of the powers of each feature in its sum of curves.
    beyond
        Share of the rest that is followed.
    likeness
        Correlation with what is followed.
    scale
        Mean and standard deviation.
    """

    surface: Surface
    curves: NDArray[Any]
    beyond: float
    likeness: float = 1.0
    scale: _Scale = (0.0, 1.0)

    @classmethod
    def of_surface(cls, surface: Surface, scores: NDArray[np.float64], beyond: float) -> Follower:
        """Return the follower of a surface, standardised on ``scores``."""
        values = surface.of(scores)
        curves: NDArray[Any] = np.linalg.lstsq(_powers(scores), values, rcond=None)[0]
        followed = cls(surface, curves, beyond).of(scores)
        likeness = float(np.corrcoef(values, followed)[0, 1]) if values.std() * followed.std() > 0.0 else 1.0
        return cls(surface, curves, beyond, likeness, _scale(followed))

    def of(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the function's value for each row."""
        whole = self.surface.of(scores)
        if self.beyond < 1.0:
            alone: NDArray[np.float64] = _powers(scores) @ self.curves
            whole = alone + self.beyond * (whole - alone)
        return (whole - self.scale[0]) / self.scale[1]


def _powers(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the powers of each feature up to the fourth, and one: enough for smooth curves."""
    return np.column_stack([np.ones(len(scores)), *(scores**power for power in range(1, 5))])


def _scale(values: NDArray[np.float64]) -> _Scale:
    """Return mean and standard deviation; what is constant but for round-off stays as small as it is."""
    sd = float(values.std())
    return float(values.mean()), sd if sd > _ROUND_OFF else 1.0
