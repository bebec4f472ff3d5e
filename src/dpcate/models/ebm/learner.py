"""``Ebm``: the base learner that ties binning, range, boosting and accounting together.

Three releases share the stage's mu^2: the histograms of the inputs, the histogram of the target, and the leaf sums of
all boosting steps. Proof: ``docs/privacy/ebm.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from dpcate.accounting import Gaussian, Guarantee
from dpcate.errors import ParameterError
from dpcate.mechanisms import RepeatedSum
from dpcate.models.ebm.assembly import released_function
from dpcate.models.ebm.binning import release_bins
from dpcate.models.ebm.boosting import Booster
from dpcate.models.ebm.losses import LogisticLoss, SquaredLoss
from dpcate.models.ebm.target_range import TargetRange, release_range

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpcate.mechanisms import NoiseSource
    from dpcate.models.ebm.binning import ColumnBins
    from dpcate.models.ebm.losses import Loss
    from dpcate.models.function import AdditiveFunction
    from dpcate.models.protocol import Budget, StageData

__all__ = ["Ebm"]


@dataclass(frozen=True, kw_only=True)
class Ebm:
    """A private explainable boosting machine.

    Parameters
    ----------
    rounds, learning_rate
        Boosting rounds (one step per input each) and the size of a step. The noise on the finished function depends on
        their product alone: k times as many rounds have k times the noise variance per sum and steps of 1/k the size.
        The default, 30 x 0.1, fits the same function as the paper's 300 x 0.01 in a tenth of the time.
    max_bins
        Most bins for a number; a category has a bin per level.
    leaves
        Leaves per step.
    binning_share
        Share of the stage's mu^2 for the histograms of the inputs.
    range_share
        Share for the histogram of the target, from which the range is chosen that targets are held to; 0 keeps the
        public range. Probabilities have no use for it and give it to the boosting.

    Examples
    --------
    >>> Ebm.paper()
    Ebm(rounds=300, learning_rate=0.01, max_bins=32, leaves=3, binning_share=0.1, range_share=0.05)
    """

    rounds: int = 30
    learning_rate: float = 0.1
    max_bins: int = 32
    leaves: int = 3
    binning_share: float = 0.1
    range_share: float = 0.05

    def __post_init__(self) -> None:
        for name, least in (("rounds", 1), ("max_bins", 1), ("leaves", 2)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise ParameterError(f"`{name}` must be an integer of at least {least}; got {value!r}.")
        if not 0.0 < self.learning_rate <= 1.0:
            raise ParameterError(f"`learning_rate` must lie in (0, 1]; got {self.learning_rate!r}.")
        if not (self.binning_share > 0.0 and self.range_share >= 0.0 and self.binning_share + self.range_share < 1.0):
            raise ParameterError("`binning_share` must be positive, `range_share` at least 0, and their sum below 1.")

    @classmethod
    def paper(cls) -> Self:
        """Return the paper's setting: 300 rounds at learning rate 0.01."""
        return cls(rounds=300, learning_rate=0.01)

    def fit(
        self,
        data: StageData,
        *,
        budget: Budget,
        noise: NoiseSource,
        released: Mapping[str, AdditiveFunction],
    ) -> AdditiveFunction:
        """Return the boosted additive function.

        Privacy
        -------
        Releases noisy histograms and noisy leaf sums; all of it together is Gaussian(budget.mu)-private. The caller
        must ensure that a row's codes, target and loading depend on that row alone. Proof: ``docs/privacy/ebm.md``.
        """
        mu_bins, mu_range, mu_sums = self._split(data, budget.mu)
        self._sums(data, 1.0, mu_sums, budget)  # refuses what cannot be paid for before any noise is drawn
        bins = release_bins(data, max_bins=self.max_bins, mu=mu_bins, budget=budget, noise=noise)
        held = TargetRange.public(data)
        if mu_range > 0.0:
            held = release_range(
                data,
                total=_n_rows(data, bins),
                mu=mu_range,
                budget=budget,
                noise=noise,
                noise_per_reach=self._noise_per_reach(len(data.columns), mu_sums, budget),
            )
        centre, loss = _loss(data, held)
        booster = Booster(
            rounds=self.rounds,
            learning_rate=self.learning_rate,
            leaves=self.leaves,
            bins=bins,
            loss=loss,
            sums=self._sums(data, loss.bound, mu_sums, budget),
        )
        tables = booster.run(data.held.codes, noise)
        guarantee = Guarantee(Gaussian(budget.mu), budget.neighbours, void=noise.void)
        details = {
            "weighted": data.weighted,
            "target_range": [held.low, held.high],
            "noise_scale": booster.sums.noise_scale,
        }
        return released_function(
            data, bins, tables, centre=centre, guarantee=guarantee, details=details, earlier=released
        )

    def promise(self, budget: Budget) -> Guarantee:
        """Return what a fit with this budget costs."""
        return Guarantee(Gaussian(budget.mu), budget.neighbours)

    def _split(self, data: StageData, mu: float) -> tuple[float, float, float]:
        """Return the mu of the three releases; their squares sum to mu^2."""
        range_share = self.range_share if data.kind == "mean" else 0.0
        boosting_share = 1.0 - self.binning_share - range_share
        return mu * math.sqrt(self.binning_share), mu * math.sqrt(range_share), mu * math.sqrt(boosting_share)

    def _sums(self, data: StageData, bound: float, mu: float, budget: Budget) -> RepeatedSum:
        """Return the mechanism of all boosting steps."""
        return RepeatedSum(
            bound=bound,
            mu=mu,
            n_releases=self.rounds * len(data.columns),
            n_groups=self.leaves,
            neighbours=budget.neighbours,
        )

    def _noise_per_reach(self, n_inputs: int, mu: float, budget: Budget) -> float:
        """Return the noise on the finished function per unit of reach, times the number of rows.

        A leaf holds one in ``leaves`` rows; over all steps of an input the noise variance comes to
        ``rounds * learning_rate / 2`` times that of a single release with the input's share of the budget.
        """
        sensitivity = 2.0 if budget.neighbours == "replace" else 1.0
        return self.leaves * sensitivity * n_inputs / mu * math.sqrt(self.rounds * self.learning_rate / 2)


def _n_rows(data: StageData, bins: Sequence[ColumnBins]) -> float | None:
    """Return the number of rows, if it is public or can be told from the released bins."""
    if data.n_rows is not None:
        return float(data.n_rows)
    return float(bins[0].weight.sum()) if not data.weighted else None


def _loss(data: StageData, held: TargetRange) -> tuple[float, Loss]:
    """Return where the score starts, and the loss of the rows around it."""
    if data.kind == "probability":
        return 0.0, LogisticLoss(target=np.clip(data.held.target, 0.0, 1.0))
    centre = (held.low + held.high) / 2 if not data.weighted else 0.0
    return centre, SquaredLoss(
        target=np.clip(data.held.target, held.low, held.high) - centre,
        reach=max(held.high - centre, centre - held.low),
        target_variance=held.variance,
        loading=data.held.loading,
        loading_bound=data.loading_bound,
    )
