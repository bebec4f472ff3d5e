"""What is left to explain in each slice of people: sums by slice, in one release.

Slices have no row in common, so all of them together cost what one would. Nothing is fitted or shrunk: what comes out
is noisy sums and what is known of their errors. Proof: ``docs/privacy/cell_sums.md``. Derivation:
``docs/statistics/validation.md``.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcate.accounting import Gaussian, Guarantee
from dpcate.errors import ParameterError
from dpcate.mechanisms import CellSums
from dpcate.models.additive.basis import make_column_basis
from dpcate.models.additive.correlations import known_correlations
from dpcate.models.additive.dependence import draw_codes
from dpcate.models.additive.first_stage import product_errors
from dpcate.models.additive.target import clip_at, residual_law
from dpcate.models.function import AdditiveFunction

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from dpcate.mechanisms import CellTotals, NoiseSource
    from dpcate.models.additive.target import TargetLaw
    from dpcate.models.protocol import Budget, StageData
    from dpcate.models.slices import Slices
    from dpcate.models.stage_rows import StageRows

__all__ = ["SLICES", "SliceSums"]

SLICES = "slices"
"""Under this name the details hold the released sums."""

CLIP = 3.0
"""Targets are clipped no nearer than this many standard deviations of the residual that they are made of."""

NEAREST = 1e-6
"""Nor nearer than this part of their bounds: a release needs a positive bound."""

N_MADE_UP = 2**14


@dataclass(frozen=True, kw_only=True)
class SliceSums:
    """A base learner that tells, per slice, the sum of target times loading, its square, and how many rows there are.

    The function that it gives is a constant, about the coefficient of the loading; what matters is in its details.
    """

    def fit(
        self,
        data: StageData,
        *,
        budget: Budget,
        noise: NoiseSource,
        released: Mapping[str, AdditiveFunction],
    ) -> AdditiveFunction:
        """Return the released sums as details of a constant function.

        Privacy
        -------
        One release that costs Gaussian(budget.mu). The caller must ensure that a row's codes, target and loading
        depend on that row alone. Proof: ``docs/privacy/cell_sums.md``.
        """
        if data.slices is None:
            raise ParameterError("sums by slice need a stage with `slices`.")
        slices, law, farthest = data.slices, residual_law(data, released), max(abs(data.low), abs(data.high))
        clip = _clip(law, farthest)
        release = CellSums(
            n_cells=slices.n_slices, bound=clip * data.loading_bound, mu=budget.mu, neighbours=budget.neighbours
        )

        def work(rows: StageRows) -> list[NDArray[np.int64]]:
            score = np.clip(rows.target, -clip, clip)
            score = score if rows.loading is None else score * rows.loading
            return [release.exact(score, slices.of(rows.codes))]

        totals = release.release_total(lambda: data.total(work)[0], noise)
        details = _details(totals, slices, _facts(data, slices, released)) | _clipping(law, clip, farthest)
        return _constant(data, slices, details, Guarantee(Gaussian(budget.mu), budget.neighbours, void=noise.void))

    def promise(self, budget: Budget) -> Guarantee:
        """Return what a fit with this budget costs."""
        return Guarantee(Gaussian(budget.mu), budget.neighbours)


def _constant(data: StageData, slices: Slices, details: Mapping[str, Any], guarantee: Guarantee) -> AdditiveFunction:
    """Return the function that carries the details: the same for everybody."""
    shares = slices.function.shares
    total = sum(one / square for one, square in zip(details["sums"], details["loadings"], strict=True))
    return AdditiveFunction(
        columns=data.columns,
        intercept=total / max(sum(details["counts"]), 1.0),
        tables=tuple(np.zeros(len(share)) for share in shares),
        shares=shares,
        guarantee_=guarantee,
        details={SLICES: details},
    )


def _clip(law: TargetLaw | None, farthest: float) -> float:
    """Return where targets are clipped: a few standard deviations, further out where the law is lopsided."""
    if law is None:
        return farthest
    fair = clip_at(law, mu=1.0, n_rows=1.0, n_terms=1, farthest=farthest)
    return min(max(fair, CLIP * law.scale, NEAREST * farthest), farthest)


def _facts(data: StageData, slices: Slices, released: Mapping[str, AdditiveFunction]) -> dict[str, NDArray[np.float64]]:
    """Return, per slice of made-up people, the expected squared loading, and the covariance of earlier stages' errors.

    The latter is what the product of two nuisances' errors adds to the mean score per person of the whole table.
    """
    columns = [make_column_basis(*pair) for pair in zip(data.columns, slices.function.shares, strict=True)]
    people = draw_codes(columns, known_correlations(data.columns, released), N_MADE_UP)
    member = np.equal.outer(np.arange(slices.n_slices), slices.of(people)).astype(np.float64) / len(people)
    errors = product_errors(data, people, released)
    shifts = np.zeros((slices.n_slices, 1)) if errors is None else member @ errors
    return {
        "shares": member.sum(axis=1),
        "loadings": member @ data.loading_variance(people) / member.sum(axis=1),
        "shift": shifts @ shifts.T / shifts.shape[1],
    }


def _details(totals: CellTotals, slices: Slices, facts: Mapping[str, NDArray[np.float64]]) -> dict[str, Any]:
    """Return everything released, or made of released numbers, as JSON values."""
    told = {**asdict(totals), **facts}
    plain = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in told.items()}
    return {**plain, "cuts": list(slices.cuts)}


def _clipping(law: TargetLaw | None, clip: float, farthest: float) -> dict[str, float]:
    """Return how much of an effect a clipped mean keeps, and the variance of a clipped target."""
    if law is None:
        return {"attenuation": 1.0, "clipped_variance": (clip / CLIP) ** 2}
    return {"attenuation": law.kept(clip, farthest), "clipped_variance": law.clipped_variance(clip)}
