"""Who has the largest and the smallest effect among people with typical features, from released numbers alone.

"Typical" is the middle nine tenths of each number and the levels that at least a fiftieth of the rows have, both under
the released shares. The search moves one feature at a time, which is exact without products between features. With
products it sets out from several places, among them the best corners of the features that have them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from dpcate.learners.intervals import effect_limits, limits_around, quantile
from dpcate.models import uncertainty_of
from dpcate.report.whatif import ALPHA, typical_code
from dpcate.report.wording import value_text
from dpcate.schema import Number
from dpcate.tables import cell_midpoints

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcate.learners import CateLearner
    from dpcate.models import AdditiveFunction
    from dpcate.schema import Feature

__all__ = ["Contrast", "Group", "find_groups", "typical_codes", "varies"]

EDGE = 0.05
COMMON = 0.02
_ROUNDS = 20
_STARTS, _MOST_CROSSED = 6, 8
"""Places to set out from, and how many features with products have their corners looked at."""


@dataclass(frozen=True, slots=True)
class Group:
    """People with certain features, and their effect.

    Parameters
    ----------
    features
        Name and value, of the features that move the effect.
    effect
        The released effect.
    limits
        Its interval, or None.
    """

    features: list[tuple[str, str]]
    effect: float
    limits: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Contrast:
    """The group with the largest effect, the one with the smallest, and their difference with its interval."""

    most: Group
    least: Group
    difference: float
    limits: tuple[float, float] | None


def varies(model: AdditiveFunction) -> bool:
    """Return whether the effect differs between people at all."""
    return any(np.ptp(table[1:]) > 0 for table in model.tables) or bool(model.products)


def find_groups(learner: CateLearner) -> Contrast | None:
    """Return the two extreme groups, or None where the effect is the same for everybody."""
    model = learner.models_["effect"]
    if not varies(model):
        return None
    pools = [typical_codes(column, share) for column, share in zip(model.columns, model.shares, strict=True)]
    start = np.array([_middle(pool, share) for pool, share in zip(pools, model.shares, strict=True)], dtype=np.uint16)
    ends = np.stack([_climb(model, pools, start, sign) for sign in (1.0, -1.0)])
    most, least = (_group(learner, codes) for codes in ends)
    difference = most.effect - least.effect
    return Contrast(most, least, difference, _difference_limits(model, ends, difference))


def typical_codes(column: Feature, share: NDArray[np.float64]) -> NDArray[np.uint16]:
    """Return the codes that ordinary people have, "other" left out."""
    known = np.maximum(share[1:], 0.0)
    total = float(known.sum())
    if total <= 0:
        return np.arange(1, len(share), dtype=np.uint16)
    if isinstance(column, Number):
        below = np.cumsum(known) / total
        chosen = (below >= EDGE) & (below - known / total <= 1 - EDGE)
    else:
        chosen = known >= min(COMMON * total, float(known.max()))
    return (np.flatnonzero(chosen) + 1).astype(np.uint16)


def _middle(pool: NDArray[np.uint16], share: NDArray[np.float64]) -> int:
    """Return the typical code that lies nearest to the median."""
    return int(pool[np.argmin(np.abs(pool.astype(np.int64) - typical_code(share)))])


def _climb(
    model: AdditiveFunction, pools: list[NDArray[np.uint16]], start: NDArray[np.uint16], sign: float
) -> NDArray[np.uint16]:
    """Return the codes with the largest effect (times ``sign``) that a search from several places finds."""
    ends = np.stack([_ascend(model, pools, each, sign) for each in _starts(model, pools, start, sign)])
    best: NDArray[np.uint16] = ends[int(np.argmax(sign * model.score(ends)))]
    return best


def _starts(
    model: AdditiveFunction, pools: list[NDArray[np.uint16]], start: NDArray[np.uint16], sign: float
) -> NDArray[np.uint16]:
    """Return the start, and the best of those that have an end or the middle of each feature with products."""
    crossed = sorted(_crossed(model))[:_MOST_CROSSED]
    if not crossed:
        return start[None, :]
    ends = [sorted({int(pools[j][0]), int(start[j]), int(pools[j][-1])}) for j in crossed]
    corners = np.array(list(product(*ends)), dtype=np.uint16)
    tried = np.repeat(start[None, :], len(corners), axis=0)
    tried[:, crossed] = corners
    best = np.argsort(-sign * model.score(tried), kind="stable")[: _STARTS - 1]
    return np.vstack([start[None, :], tried[best]])


def _crossed(model: AdditiveFunction) -> set[int]:
    """Return the features that have products."""
    return {index for term in model.products for index in (term.first, term.second)}


def _ascend(
    model: AdditiveFunction, pools: list[NDArray[np.uint16]], start: NDArray[np.uint16], sign: float
) -> NDArray[np.uint16]:
    """Return the codes that are reached one feature at a time, until nothing improves."""
    codes = start.copy()
    for _ in range(_ROUNDS):
        before = codes.copy()
        for column, pool in enumerate(pools):
            tried = np.repeat(codes[None, :], len(pool), axis=0)
            tried[:, column] = pool
            scores = sign * model.score(tried)
            if scores.max() > sign * float(model.score(codes[None, :])[0]):
                codes[column] = pool[int(np.argmax(scores))]
        if (codes == before).all():
            break
    return codes


def _group(learner: CateLearner, codes: NDArray[np.uint16]) -> Group:
    model = learner.models_["effect"]
    known = uncertainty_of(model)
    limits = None
    if known is not None:
        low, high = effect_limits(model, known, codes[None, :], learner.schema_, ALPHA)
        limits = (float(low[0]), float(high[0]))
    moved = _crossed(model)
    features = [
        (column.name, value_text(column, int(code), _midpoint(column, int(code))))
        for j, (column, code, table) in enumerate(zip(model.columns, codes, model.tables, strict=True))
        if j in moved or np.ptp(table[1:]) > 0
    ]
    return Group(features, float(model.predict(codes[None, :])[0]), limits)


def _midpoint(column: Feature, code: int) -> float:
    return float(cell_midpoints(column)[code - 1]) if isinstance(column, Number) and code else 0.0


def _difference_limits(
    model: AdditiveFunction, ends: NDArray[np.uint16], difference: float
) -> tuple[float, float] | None:
    known = uncertainty_of(model)
    if known is None:
        return None
    functions = known.basis.matrix(ends)
    contrast = functions[0] - functions[1]
    reach = quantile(ALPHA) * float(np.sqrt(max(float(contrast @ known.covariance @ contrast), 0.0)))
    low, high = limits_around(difference, float(contrast @ known.shift), reach)
    return float(low), float(high)
