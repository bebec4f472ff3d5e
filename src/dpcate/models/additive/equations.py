"""The noisy normal equations of one stage: planned, released, and put back into the basis's own units.

The row's vector is (loading x weighted basis, scaled clipped target), shortened by a factor that depends on the row's
features alone. One release of outer products gives z = sum q r, G = sum q q' and sum r^2 together.
Proof: ``docs/privacy/moments.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcate.mechanisms import ENTRY_LIMIT, ROW_LIMIT, TableMix, TableProduct, TableRows, entries_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcate.accounting import Neighbours
    from dpcate.mechanisms import MomentNoise, MomentRelease, NoiseSource, RowBatch
    from dpcate.models.additive.basis import Basis
    from dpcate.models.protocol import StageData
    from dpcate.models.stage_rows import StageRows

__all__ = ["Equations", "Layout", "longest_target", "released_entries", "weigh_target"]

TARGET_WEIGHT, EVEN_WEIGHT, LIGHT_WEIGHT, FAINT_WEIGHT = 0.8, 1.0, 0.5, 0.1
"""Length of the target's coordinate relative to the basis's: one gives z the least noise, less spares G. The second is
for releases whose G is not wanted; the third for those without G under ``add_remove``, where z has the less noise the
smaller the target's coordinate, and only its own square has more; the fourth for those of which only G is wanted."""

MULTIPLIER = 2**9
"""Grid steps of the largest row multiplier; the tables have the rest of ROW_LIMIT."""

_MARGIN = 1.001
"""For rounding: whole multipliers may be larger by half of one of ``MULTIPLIER`` steps."""


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
    target_weight
        Length of the target's coordinate relative to the basis's.
    """

    basis: Basis
    weights: NDArray[np.float64]
    longest: float
    centre: float
    clip: float
    target_weight: float = TARGET_WEIGHT

    @property
    def target_scale(self) -> float:
        """Factor of the target's coordinate."""
        return self.target_weight * self.longest / self.clip

    @property
    def unit(self) -> float:
        """Longest possible vector: what ROW_LIMIT grid steps stand for, with a margin for rounding."""
        return float(np.hypot(self.longest, self.target_scale * self.clip)) * _MARGIN

    def table_rows(self, loading_bound: float, *, target_only: bool = False) -> TableRows:
        """Return the weighted basis as whole-number tables; rounded values are what the basis is on the grid."""
        per_value = ROW_LIMIT / self.unit * loading_bound / MULTIPLIER
        at, tables = 1, []
        for column in self.basis.columns:
            weights = self.weights[at : at + len(column.values)]
            at += len(column.values)
            tables.append(_whole(column.values * (weights * per_value)[:, None]).astype(np.int64))
        mixed = _mixes(self.basis, self.weights[at : at + len(self.basis.mixed)] * per_value)
        at += len(mixed)
        products = tuple(
            TableProduct(
                product.first,
                product.second,
                product.left,
                product.right,
                product.mean,
                float(self.weights[at + k] * per_value),
            )
            for k, product in enumerate(self.basis.products)
        )
        return TableRows(
            constant=int(np.clip(np.rint(self.weights[0] * per_value), 1, ENTRY_LIMIT)),
            tables=tuple(tables),
            dense=_dense(self.basis),
            products=(*mixed, *products),
            n_alone=self.basis.n_bent,
            target_only=target_only,
            target_limit=longest_target(self.target_weight) if target_only else ROW_LIMIT,
        )

    def shortening(self, squared_norms: NDArray[np.float64], reach: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the factor of each row: it looks at features only, so that residuals keep their mean of zero."""
        return np.minimum(1.0, self.longest / np.maximum(reach * np.sqrt(squared_norms), 1e-300))

    def shape(
        self, functions: NDArray[np.float64], reach: NDArray[np.float64], loading_variance: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return the squared factors of made-up rows, their Gram matrix per row, and their weights in it."""
        factor = self.shortening(functions**2 @ self.weights**2, reach) ** 2
        weight = factor * loading_variance
        scaled = functions * np.sqrt(weight / len(functions))[:, None]
        return factor, scaled.T @ scaled, weight

    def batch(self, rows: TableRows, data: StageData, stage: StageRows) -> RowBatch:
        """Return some of the stage's rows as whole-number vectors."""
        per_value = ROW_LIMIT / self.unit * data.loading_bound / MULTIPLIER
        batch = rows.batch(stage.codes)
        reach = data.reach(stage.codes)
        factor = self.shortening(batch.squares / per_value**2, reach)
        loading = factor if stage.loading is None else factor * np.clip(stage.loading, -reach, reach)
        residual = np.clip(stage.target - self.centre, -self.clip, self.clip)
        return batch.filled(
            loading * (MULTIPLIER / data.loading_bound),
            residual * (factor * (self.target_scale * ROW_LIMIT / self.unit)),
        )


@dataclass(frozen=True, slots=True)
class Equations:
    """Noisy normal equations in the basis's units.

    Parameters
    ----------
    z, z_noise
        sum q r, and the standard deviation of its noise.
    gram, gram_noise
        sum q q', and the standard deviation of its noise, infinite where an entry was not released.
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
    def release(
        cls,
        layout: Layout,
        data: StageData,
        mechanism: MomentRelease,
        noise: NoiseSource | MomentNoise,
        *,
        target_only: bool = False,
    ) -> Equations:
        """Return the equations of the stage's rows; ``target_only`` leaves G out.

        Privacy
        -------
        One release of ``mechanism``. Proof: ``docs/privacy/moments.md``.
        """
        rows = layout.table_rows(data.loading_bound, target_only=target_only)
        public = data.without_rows()
        moments = mechanism.release(
            rows, lambda: data.total(lambda stage: rows.sums.of(layout.batch(rows, public, stage))), noise
        )
        scale = np.append(layout.weights, layout.target_scale) / layout.unit
        back = np.outer(scale, scale)
        values = moments / back
        spread = mechanism.noise_scale * np.where(np.eye(len(scale)) > 0, np.sqrt(2.0), 1.0) / back
        spread[~rows.released] = np.inf
        return cls(
            values[:-1, -1],
            spread[:-1, -1],
            values[:-1, :-1],
            spread[:-1, :-1],
            float(values[-1, -1]),
            float(spread[-1, -1]),
        )

    def effective_rows(self, shape: NDArray[np.float64], layout: Layout, n_rows: float) -> float:
        """Return the number of rows behind the moments: the public one unless the noisy trace clearly contradicts it.

        Parameters
        ----------
        shape
            Expected Gram matrix per row.
        layout
            What was released.
        n_rows
            Number of rows, public or noisy.
        """
        squared = layout.weights**2
        per_row = float(squared @ np.diagonal(shape))
        seen = float(squared @ np.diagonal(self.gram)) / per_row
        noise = float(np.sqrt(((squared * np.diagonal(self.gram_noise)) ** 2).sum())) / per_row
        if abs(seen - n_rows) <= 3.0 * noise:
            return n_rows
        return float(np.clip(seen, max(0.02 * n_rows, 1.0), 2.0 * n_rows))


def weigh_target(neighbours: Neighbours, *, later: bool, constant: bool, gram_only: bool = False) -> float:
    """Return the length of the target's coordinate relative to the basis's.

    Parameters
    ----------
    neighbours
        Which tables are neighbours.
    later
        Whether G is known from an earlier round and not released.
    constant
        Whether a mean is all that is wanted.
    gram_only
        Whether G is all that is wanted.
    """
    if gram_only:
        return FAINT_WEIGHT
    if later and neighbours == "add_remove":
        return LIGHT_WEIGHT
    return EVEN_WEIGHT if later or constant else TARGET_WEIGHT


def longest_target(target_weight: float) -> int:
    """Return the largest target of a row in grid steps: its part in a vector of full length, without the margin."""
    return math.ceil(ROW_LIMIT * target_weight / math.hypot(1.0, target_weight))


def released_entries(basis: Basis, *, target_only: bool = False) -> NDArray[np.bool_]:
    """Return which entries the moments of a basis have, whatever its weights."""
    sizes, n_several = [len(column.values) for column in basis.columns], len(basis.mixed) + len(basis.products)
    return entries_of(sizes, _dense(basis), n_several, n_alone=basis.n_bent, target_only=target_only)


def _dense(basis: Basis) -> tuple[int | None, ...]:
    """Return the one leading function of each column, where there is one."""
    leading = [np.flatnonzero(column.orders == 0) for column in basis.columns]
    return tuple(int(own[0]) if len(own) == 1 else None for own in leading)


def _whole(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return whole numbers for tables; with larger ones no row would have room."""
    return np.clip(np.rint(values), -ENTRY_LIMIT, ENTRY_LIMIT)


def _mixes(basis: Basis, scales: NDArray[np.float64]) -> tuple[TableMix, ...]:
    """Return the mixed leading functions, each times its scale, as sums of looked-up whole numbers."""
    if basis.mixing is None:
        return ()
    none = [np.zeros(len(column.shares)) for column in basis.columns]
    mixes = []
    for parts, scale in zip(basis.mixing.matrix, scales, strict=True):
        tables = none.copy()
        for j, part, leading in zip(basis.mixed, parts, basis.mixing.leading, strict=True):
            tables[j] = _whole(leading * (part * scale))
        mixes.append(TableMix(tuple(tables)))
    return tuple(mixes)
