"""The noisy normal equations of one stage: planned, released, and put back into the basis's own units.

The row's vector is (loading x weighted basis, scaled clipped target), shortened by a factor that depends on the row's
features alone. One release of outer products gives z = sum q r, G = sum q q' and sum r^2 together.
Proof: ``docs/privacy/moments.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from dpcate.mechanisms import MomentRelease, NoiseSource
    from dpcate.models.additive.basis import Basis
    from dpcate.models.protocol import StageData

__all__ = ["Equations", "Layout"]

TARGET_WEIGHT = 0.8
"""Length of the target's coordinate relative to the basis's: one would give z the least noise, less spares G."""

_BATCH = 2**14


@dataclass(frozen=True, slots=True)
class Layout:
    """Where everything goes in a row's vector; public or released before the rows are read.

    Parameters
    ----------
    basis, weights
        The functions and their weights.
    longest
        Rows whose weighted basis times reach is longer are shortened to it.
    centre, clip
        The target enters as clip(target - centre).
    """

    basis: Basis
    weights: NDArray[np.float64]
    longest: float
    centre: float
    clip: float

    @property
    def target_scale(self) -> float:
        """Factor of the target's coordinate."""
        return TARGET_WEIGHT * self.longest / self.clip

    @property
    def unit(self) -> float:
        """Longest possible vector: what the mechanism's unit stands for."""
        return float(np.hypot(self.longest, self.target_scale * self.clip)) * (1.0 + 1e-9)

    def shortening(self, codes: NDArray[np.uint16], reach: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the factor of each row: it looks at features only, so that residuals keep their mean of zero."""
        return np.minimum(
            1.0, self.longest / np.maximum(reach * np.sqrt(self.basis.squared_norms(codes, self.weights)), 1e-300)
        )

    def vectors(self, data: StageData) -> Iterator[NDArray[np.float64]]:
        """Yield batches of row vectors of length at most one."""
        for start in range(0, len(data.target), _BATCH):
            part = slice(start, start + _BATCH)
            codes = data.codes[part]
            reach = data.reach(codes)
            factor = self.shortening(codes, reach) / self.unit
            loading = factor if data.loading is None else factor * np.clip(data.loading[part], -reach, reach)
            rows = np.empty((len(codes), self.basis.n_terms + 1), order="F")
            rows[:, :-1] = self.basis.matrix(codes, self.weights)
            rows[:, :-1] *= loading[:, None]
            residual = np.clip(data.target[part] - self.centre, -self.clip, self.clip)
            rows[:, -1] = residual * (factor * self.target_scale)
            yield rows


@dataclass(frozen=True, slots=True)
class Equations:
    """Noisy normal equations in the basis's units.

    Parameters
    ----------
    z, z_noise
        sum q r, and the standard deviation of its noise.
    gram, gram_noise
        sum q q', and the standard deviation of its noise.
    squares, squares_noise
        sum r^2, likewise.
    """

    z: NDArray[np.float64]
    z_noise: NDArray[np.float64]
    gram: NDArray[np.float64]
    gram_noise: NDArray[np.float64]
    squares: float
    squares_noise: float

    @classmethod
    def release(cls, layout: Layout, data: StageData, mechanism: MomentRelease, noise: NoiseSource) -> Equations:
        """Return the equations of the stage's rows.

        Privacy
        -------
        One release of ``mechanism``. Proof: ``docs/privacy/moments.md``.
        """
        moments = mechanism.release(layout.vectors(data), noise)
        scale = np.append(layout.weights, layout.target_scale) / layout.unit
        back = np.outer(scale, scale)
        values = moments / back
        spread = mechanism.noise_scale * np.where(np.eye(len(scale)) > 0, np.sqrt(2.0), 1.0) / back
        return cls(
            values[:-1, -1],
            spread[:-1, -1],
            values[:-1, :-1],
            spread[:-1, :-1],
            float(values[-1, -1]),
            float(spread[-1, -1]),
        )
