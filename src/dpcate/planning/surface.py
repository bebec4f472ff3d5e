"""Made-up functions of features: bent curves and hinges of sums, and what of one another follows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Follower", "Surface"]

_BENT = 0.3
"""Size of a curve's bend beside its slope."""

_Scale = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Surface:
    """A function of the features with mean zero and variance one: bent curves, and hinges of sums of features.

    Parameters
    ----------
    slopes, bends
        Per feature, how steep its curve is and how bent.
    hinges
        Per column, which features are added before the sum is cut off at zero.
    together
        Share of the variance that the hinges have.
    scales
        Mean and standard deviation of curves, of hinges and of the whole.
    """

    slopes: NDArray[np.float64]
    bends: NDArray[np.float64]
    hinges: NDArray[np.float64]
    together: float
    scales: tuple[_Scale, _Scale, _Scale] = ((0.0, 1.0), (0.0, 1.0), (0.0, 1.0))

    @classmethod
    def drawn(
        cls, scores: NDArray[np.float64], generator: np.random.Generator, n_used: int, together: float
    ) -> Surface:
        """Return a random function of ``n_used`` features, standardised on ``scores``."""
        n_features = scores.shape[1]
        used = generator.permutation(n_features)[:n_used]
        signs = generator.choice((-1.0, 1.0), n_features)
        inside = np.isin(np.arange(n_features), used)
        slopes = np.where(inside, signs * generator.uniform(0.5, 1.5, n_features), 0.0)
        bends = np.where(inside, _BENT * generator.standard_normal(n_features), 0.0)
        n_hinges = max(len(used) // 2, 1)
        hinges = np.zeros((n_features, n_hinges))
        hinges[used, np.arange(len(used)) % n_hinges] = signs[used]
        curves, bent = (_scale(part) for part in cls(slopes, bends, hinges, together).parts(scores))
        whole = cls(slopes, bends, hinges, together, (curves, bent, (0.0, 1.0))).of(scores)
        return cls(slopes, bends, hinges, together, (curves, bent, _scale(whole)))

    def parts(self, scores: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return curves and hinges for each row."""
        curves = scores @ self.slopes + np.sqrt(1.0 + scores**2) @ self.bends
        signs = np.where(np.arange(self.hinges.shape[1]) % 2, -1.0, 1.0)
        return curves, np.maximum(scores @ self.hinges, 0.0) @ signs

    def of(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the function's value for each row."""
        curves, hinges = self.parts(scores)
        first, second, last = self.scales
        whole = math.sqrt(1 - self.together) * (curves - first[0]) / first[1]
        whole += math.sqrt(self.together) * (hinges - second[0]) / second[1]
        return (whole - last[0]) / last[1]


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
    return float(values.mean()), float(values.std()) or 1.0
