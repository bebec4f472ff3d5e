"""Everything a fitted learner says of whole groups, in one object: everybody, then each group of each feature.

Everything here is post-processing of released numbers. Derivation: ``docs/statistics/intervals.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcate.learners.inference import AverageInference, EffectInference

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from dpcate.learners.groups import GroupEffects

__all__ = ["FittedInference", "summarise"]

EVERYBODY = "everybody"


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedInference:
    """Average effects of everybody and of the groups of each feature, with their errors.

    Parameters
    ----------
    labels, shares
        Who they are, and their noisy shares of the rows.
    average
        The effect on everybody.
    _effects
        The effect on everybody, then on each group, each with an interval of its own; those of
        :meth:`~dpcate.learners.cate.CateLearner.group_effects` hold together. Not for everyone: its rows overlap, so
        that their mean is nobody's.
    """

    labels: tuple[str, ...]
    shares: NDArray[np.float64]
    average: AverageInference
    _effects: EffectInference

    def zstat(self, value: float = 0.0) -> NDArray[np.float64]:
        """Return by how many standard errors the centre of each interval differs from ``value``."""
        return self._effects.zstat(value)

    def pvalue(self, value: float = 0.0) -> NDArray[np.float64]:
        """Return the two-sided p-value of each effect being ``value``; not adjusted for asking about many groups."""
        return self._effects.pvalue(value)

    def conf_int(self, alpha: float = 0.05) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return lower and upper limits of each effect, each by itself."""
        return self._effects.conf_int(alpha)

    def population_summary(self) -> AverageInference:
        """Return the effect on everybody."""
        return self.average

    def summary_frame(self, alpha: float = 0.05, value: float = 0.0) -> pd.DataFrame:
        """Return one row for everybody and one per group as a pandas frame, under EconML's names."""
        frame = self._effects.summary_frame(alpha, value)
        frame.insert(0, "share", self.shares)
        return frame.set_axis(list(self.labels), axis="index").rename_axis("people")


def summarise(average: AverageInference, features: Sequence[GroupEffects]) -> FittedInference:
    """Return the average and all groups as one object.

    Parameters
    ----------
    average
        The effect on everybody.
    features
        The groups of each feature.
    """
    named = [(f"{groups.by}: {group.label}", group) for groups in features for group in groups]
    found = [group for _, group in named]
    return FittedInference(
        labels=(EVERYBODY, *(label for label, _ in named)),
        shares=np.array([1.0, *(group.share for group in found)]),
        average=average,
        _effects=EffectInference(
            point_estimate=np.array([average.mean_point, *(group.effect for group in found)]),
            shift=np.array([average.shift_mean, *(group.shift for group in found)]),
            stderr=np.array([average.stderr_mean, *(group.stderr for group in found)]),
            stderr_mean=average.stderr_mean,
            widest=average.widest,
        ),
    )
