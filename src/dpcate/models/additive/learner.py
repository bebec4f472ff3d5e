"""The additive model on noisy moments: our default base learner.

What is released: a histogram of columns not seen before, a histogram of the target where its law is not known, in some
stages correlations of the columns, and second moments, in one or more rounds. Everything else is post-processing on
matrices of a few dozen rows, independent of the number of rows. Proofs: ``docs/privacy/histogram.md``,
``docs/privacy/moments.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import block_diag

from dpcate.accounting import Gaussian, Guarantee
from dpcate.errors import ParameterError
from dpcate.mechanisms import HistogramRelease, MomentRelease
from dpcate.models.additive.basis import make_basis
from dpcate.models.additive.columns import known_shares, release_shares
from dpcate.models.additive.correlations import known_correlations
from dpcate.models.additive.dependence import draw_codes, treat
from dpcate.models.additive.first_look import looks_first, release_correlations
from dpcate.models.additive.first_stage import EarlierErrors
from dpcate.models.additive.products import BENT
from dpcate.models.additive.regression import MomentRegression
from dpcate.models.additive.rounds import fit_rounds
from dpcate.models.additive.share_errors import SHARES
from dpcate.models.additive.target import TargetLaw, residual_law
from dpcate.models.additive.target_histogram import release_target_law

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from dpcate.mechanisms import NoiseSource
    from dpcate.models.additive.basis import Basis
    from dpcate.models.function import AdditiveFunction
    from dpcate.models.protocol import Budget, StageData

__all__ = ["Additive"]

ROUNDS, LOOSE_ROUNDS = (1 / 2,) * 2, (1 / 3,) * 3
"""Shares of the moments' budget of a mean's rounds. Each leaves less of what shrinking and a wrong Gram matrix took.
Three are for stages where that does most harm, because a later one multiplies it with another's error."""

BENT_ROUNDS = 0.6, 0.4
"""Shares of the moments' budget of a probability whose interactions may bend: the second round looks where the first
one saw that something is."""

N_MADE_UP = 1024
"""Made-up rows that released laws are averaged over; they are evenly spread, so a thousand are enough."""


@dataclass(frozen=True, kw_only=True)
class Additive:
    """Additive regression from noisy normal equations with an empirical-Bayes posterior.

    Parameters
    ----------
    columns_share, target_share, count_share, look_share
        Shares of the stage's mu^2 for the histogram of columns, for that of the target, for the number of rows, and for
        a first look at how features hang together; each is spent only where the stage needs it.
    rounds
        Shares of the moments' budget of a mean, one per round; they sum to one. None has two, or three where the stage
        is to be shrunk less. A probability has one, or, where it looks for interactions that bend, ``BENT_ROUNDS``.
    pairs
        Whether products of two features' leading terms may be used.
    """

    columns_share: float = 0.2
    target_share: float = 0.13
    count_share: float = 0.02
    look_share: float = 0.08
    rounds: tuple[float, ...] | None = None
    pairs: bool = True

    def __post_init__(self) -> None:
        shares = self.columns_share, self.target_share, self.count_share, self.look_share
        if not all(0.0 < share < 1.0 for share in shares) or not sum(shares) < 1.0:
            raise ParameterError(f"the shares of Additive must be positive and sum to less than 1; got {shares}.")
        rounds = ROUNDS if self.rounds is None else self.rounds
        if not rounds or not all(share > 0.0 for share in rounds) or not math.isclose(sum(rounds), 1.0):
            raise ParameterError(f"`rounds` must be positive shares that sum to 1; got {self.rounds}.")

    def fit(
        self,
        data: StageData,
        *,
        budget: Budget,
        noise: NoiseSource,
        released: Mapping[str, AdditiveFunction],
    ) -> AdditiveFunction:
        """Return the posterior mean as a released function.

        Privacy
        -------
        All releases together are Gaussian(budget.mu)-private. The caller must ensure that a row's codes, target and
        loading depend on that row alone. Proofs: ``docs/privacy/histogram.md``, ``docs/privacy/moments.md``.
        """
        known, correlations = known_shares(data.columns, released), known_correlations(data.columns, released)
        law = TargetLaw.of_probability() if data.kind == "probability" else residual_law(data, released)
        if law is None:  # the target's own will be released, which nothing multiplies
            data = replace(data, residual_of=None, residual_spread=None, residual_weights=None)
        first_look = correlations is None and looks_first(data)
        mus = self._split(
            data, budget.mu, n_new=sum(share is None for share in known), with_target=law is None, first_look=first_look
        )
        rounds = _shares_of_rounds(data, self.rounds)
        smallest = min(mus["moments"] * math.sqrt(min(rounds)), mus["look"] or math.inf)
        MomentRelease(mu=smallest, neighbours=budget.neighbours)  # refuses too small a budget
        n_rows = _count(data, mus["count"], budget, noise)
        shares, (n_counted, counts_noise) = release_shares(data, known, mu=mus["columns"], budget=budget, noise=noise)
        if law is None:
            law = release_target_law(data, mu=mus["target"], budget=budget, noise=noise)
        prepared = partial(MomentRegression, data=data, law=law, n_rows=n_rows, neighbours=budget.neighbours)
        if first_look:
            correlations = release_correlations(partial(prepared, mu=mus["look"]), shares, N_MADE_UP, noise)
        basis = make_basis(
            data.columns,
            shares,
            self._products(data, correlations),
            n_features=data.n_features,
            interactions=data.interactions,
        )
        made_up = _made_up(data, basis, correlations)
        if data.constant:
            basis = basis.keep(basis.orders < 0)
        stage = prepared(
            made_up=made_up,
            mu=mus["moments"],
            earlier=EarlierErrors(data, made_up, released, law),
            independent=correlations is None
            and not (data.with_treatment and data.treatment_law is not None)
            and not (data.weighted or data.constant or data.residual_of is not None),
        )
        if data.kind == "probability" and not _looks_for_bends(stage, basis, rounds):
            rounds = (1.0,)
        guarantee = Guarantee(Gaussian(budget.mu), budget.neighbours, void=noise.void)
        shared = None if data.shared_with is None else released.get(data.shared_with)
        function = fit_rounds(
            stage,
            basis,
            noise,
            guarantee,
            shares=rounds,
            correlations=correlations,
            shared=shared,
        )
        new = [column.name for column, share in zip(data.columns, known, strict=True) if share is None]
        if not new:
            return function
        document = {"columns": new, "rows": n_counted, "noise": counts_noise}
        return replace(function, details={**function.details, SHARES: document})

    def _products(self, data: StageData, correlations: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
        """Return the correlations that products are made with; None if there are to be no products."""
        if not self.pairs or data.interactions == "none":
            return None
        return np.eye(len(data.columns)) if correlations is None and data.interactions != "plain" else correlations

    def promise(self, budget: Budget) -> Guarantee:
        """Return what a fit with this budget costs."""
        return Guarantee(Gaussian(budget.mu), budget.neighbours)

    def _split(
        self, data: StageData, mu: float, *, n_new: int, with_target: bool, first_look: bool
    ) -> dict[str, float]:
        """Return the mu of each release; their squares sum to mu^2."""
        shares = {
            "columns": self.columns_share * n_new / max(len(data.columns), 1),
            "target": self.target_share if with_target else 0.0,
            "count": self.count_share if data.n_rows is None else 0.0,
            "look": self.look_share if first_look else 0.0,
        }
        shares["moments"] = 1.0 - sum(shares.values())
        return {name: mu * math.sqrt(share) for name, share in shares.items()}


def _shares_of_rounds(data: StageData, rounds: tuple[float, ...] | None) -> tuple[float, ...]:
    """Return the shares of the rounds there may be: a probability needs a second one to follow products with bends."""
    if data.kind == "probability":
        return BENT_ROUNDS if data.interactions == "bent" else (1.0,)
    if rounds is None:
        return LOOSE_ROUNDS if data.loose else ROUNDS
    return tuple(share / sum(rounds) for share in rounds)


def _looks_for_bends(stage: MomentRegression, basis: Basis, rounds: tuple[float, ...]) -> bool:
    """Return whether the first round has products with bends, which only a second one can tell from each other."""
    first = replace(stage, mu=stage.mu * math.sqrt(rounds[0]))
    return bool(first.worthwhile(basis)[basis.orders == BENT].any())


def _made_up(data: StageData, basis: Basis, correlations: NDArray[np.float64] | None) -> NDArray[np.uint16]:
    """Return made-up rows that follow what was released; the treatment follows its law, where there is one."""
    if data.treatment_law is None or not data.with_treatment:
        return draw_codes(basis.columns, correlations, N_MADE_UP)
    apart = None if correlations is None else block_diag(correlations[:-1, :-1], np.ones((1, 1)))
    codes = draw_codes(basis.columns, apart, N_MADE_UP)
    return treat(codes, data.treatment_law(codes[:, : data.n_features]))


def _count(data: StageData, mu: float, budget: Budget, noise: NoiseSource) -> float:
    """Return the number of rows: public, or a noisy count."""
    if data.n_rows is not None:
        return float(max(data.n_rows, 1))
    release = HistogramRelease(n_cells=(1,), mu=mu, neighbours=budget.neighbours)

    def total() -> NDArray[Any]:
        return data.total(lambda rows: [release.exact([np.zeros(len(rows.target), dtype=np.int64)], None)])[0]

    noisy = release.release_total(total, noise)[0][0]
    return max(float(noisy), release.noise_scale, 1.0)
