"""One release of noisy moments: plan the weights, release, and say what was seen.

Only :meth:`Equations.release` reads rows, once. What comes before it uses public facts and earlier releases; what comes
after is post-processing. Proof: ``docs/privacy/moments.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from dpcate.mechanisms import ROW_LIMIT, MomentRelease
from dpcate.models.additive.correlations import leading_correlations, matched_correlations, seen_correlations
from dpcate.models.additive.dependence import draw_codes
from dpcate.models.additive.design import plan_weights
from dpcate.models.additive.equations import Equations, Layout, longest_target, released_entries, weigh_target
from dpcate.models.additive.gram import Gram, estimate_gram, positive
from dpcate.models.additive.observation import Observation
from dpcate.models.additive.posterior import Prior
from dpcate.models.additive.products import BENT
from dpcate.models.additive.target import clip_at, clip_of_mean, law_of_target

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcate.accounting import Neighbours
    from dpcate.mechanisms import MomentNoise, NoiseSource
    from dpcate.models.additive.basis import Basis
    from dpcate.models.additive.first_stage import EarlierErrors
    from dpcate.models.additive.target import TargetLaw
    from dpcate.models.protocol import StageData

__all__ = ["MomentRegression"]

SMALLEST_WEIGHT = 0.06
"""Functions that the plan gives less than this multiple of the largest weight are left out."""

DEPENDENT = 0.1
"""Columns whose correlations are all smaller than this may as well be independent."""

FINE = 3
"""The order of the first curve that is more than a bend."""

TREATMENT_SIGNAL = 2.0
"""Prior variance of a treatment's term, in variances of the target: hardly any shrinkage."""


@dataclass(frozen=True, kw_only=True, repr=False)
class MomentRegression:
    """A stage whose columns' and target's laws are known and whose moments are not yet released.

    Parameters
    ----------
    data
        The rows; private.
    made_up
        Codes of made-up rows that follow the released laws of the columns.
    law
        Released law of the target, or of the residual that it is made of.
    n_rows
        Number of rows, public or noisy.
    mu, neighbours
        What the release may cost.
    independent
        Whether made-up rows have independent columns because nothing else is known yet; what the first release says of
        their dependence is then used to read it. Only for stages whose rows all count alike.
    before
        What an earlier round saw, if there was one: its G serves again, only products with the target are released.
    earlier
        What earlier stages' errors may add to the targets; None is nothing.
    gram_only
        Whether nothing but G is wanted.
    """

    data: StageData
    made_up: NDArray[np.uint16]
    law: TargetLaw
    n_rows: float
    mu: float
    neighbours: Neighbours
    independent: bool = False
    before: Observation | None = None
    earlier: EarlierErrors | None = None
    gram_only: bool = False

    @cached_property
    def target(self) -> TargetLaw:
        """The target's own law: wider than the residual's where the stage says so."""
        return self.law if self.data.residual_of is None else law_of_target(self.law, self.data, self.made_up)

    @cached_property
    def clip(self) -> float:
        """Where the target is clipped around its centre."""
        farthest, data = self.farthest, self.data
        if data.kind == "probability":
            return farthest
        clipped = partial(clip_at, self.target, mu=self.mu, n_rows=self.n_rows, farthest=farthest)
        if not data.constant:
            return clipped(n_terms=1 + 6 * len(data.columns), misread=data.misread)
        fair = clipped(n_terms=1, of_mean=True)
        noise, earlier = self._per_row / (self.mu * self.n_rows), self.earlier

        def moved(clip: float) -> float:
            return 0.0 if earlier is None else earlier.moved(clip, self.target.kept(clip, farthest))

        return max(fair, clip_of_mean(self.target, noise=noise, farthest=farthest, moved=moved))

    def shifts(self) -> NDArray[np.float64] | None:
        """Return draws of what earlier stages' errors add to made-up rows' targets; None if they add nothing."""
        return None if self.earlier is None else self.earlier.draws(self.clip, self.attenuation)

    @property
    def farthest(self) -> float:
        """Largest distance of a target from its centre."""
        return max(self.data.high - self.target.centre, self.target.centre - self.data.low)

    @property
    def _later(self) -> bool:
        return self.before is not None

    @property
    def target_weight(self) -> float:
        """Length of the target's coordinate in a row's vector, relative to the basis's."""
        return weigh_target(self.neighbours, later=self._later, constant=self.data.constant, gram_only=self.gram_only)

    @property
    def mechanism(self) -> MomentRelease:
        """What releases the moments."""
        limit = longest_target(self.target_weight) if self._later else None
        return MomentRelease(mu=self.mu, neighbours=self.neighbours, target_limit=limit)

    @property
    def _per_row(self) -> float:
        """Noise on one coefficient's sum at mu = 1, for a target and a loading within one."""
        distance = math.sqrt(self.mechanism.squared_sensitivity / 2) / ROW_LIMIT**2
        return distance * (1 + self.target_weight**2) / self.target_weight

    @cached_property
    def attenuation(self) -> float:
        """How much of an effect the clipping leaves: of a mean, what moves with all those who are not clipped."""
        if not self.data.constant:
            return self.target.attenuation(self.clip)
        return self.target.kept(self.clip, self.farthest)

    @cached_property
    def sampling(self) -> float:
        """Variance of the clipped target, corrected for the attenuation."""
        return self.target.clipped_variance(self.clip) / self.attenuation**2

    @cached_property
    def reach(self) -> NDArray[np.float64]:
        """The largest loading of each made-up row."""
        return self.data.reach(self.made_up)

    @cached_property
    def loading_variance(self) -> NDArray[np.float64]:
        """The expected squared loading of each made-up row."""
        return self.data.loading_variance(self.made_up)

    def prior(self, basis: Basis) -> Prior:
        """Return prior variances in the target's units: a leading term may explain ``data.signal`` of the variance."""
        variance = self.target.scale**2
        sizes, groups = self.data.signal * variance * basis.sizes, basis.groups.copy()
        sizes[0] = self.data.intercept_signal * variance
        treatment = (groups > self.data.n_features) & (basis.orders == 0)
        sizes[treatment], groups[treatment] = TREATMENT_SIGNAL * variance, 0
        return Prior(sizes, groups)

    def plan(self, prior: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weights of functions with these prior variances."""
        level = self.n_rows * float(self.loading_variance.mean())
        reach = math.sqrt(float((self.reach**2).mean()))
        per_row = self._per_row * reach * self.clip
        noise = (per_row / (self.attenuation * self.mu * level)) ** 2
        return plan_weights(prior, self.sampling / level, noise)

    def worthwhile(self, basis: Basis) -> NDArray[np.bool_]:
        """Return which functions are worth their noise.

        Of many products with bends a few may matter far more than the prior expects: where there is budget for finer
        curves all are looked at, with little weight, until a round has shown which.
        """
        weights = self.plan(self.prior(basis).sizes)
        worth: NDArray[np.bool_] = (weights >= SMALLEST_WEIGHT) | (basis.orders <= 0)
        if self.data.interactions == "bent" and worth[basis.orders == FINE].any():
            worth |= basis.orders == BENT
        return worth

    def begin(self, basis: Basis, noise: NoiseSource) -> MomentNoise:
        """Begin to draw the noise of one :meth:`observe`."""
        return self.mechanism.begin(released_entries(basis, target_only=self._later), noise)

    def layout(self, basis: Basis, sizes: NDArray[np.float64], functions: NDArray[np.float64]) -> Layout:
        """Return how rows are weighted and shortened for coefficients of these prior variances.

        Parameters
        ----------
        basis, sizes, functions
            The functions, the prior variances of their coefficients, and their values at made-up rows.
        """
        weights = np.maximum(self.plan(sizes), SMALLEST_WEIGHT)
        longest = math.sqrt(float((self.reach**2 * (functions**2 @ weights**2)).mean()))
        return Layout(basis, weights, longest, self.target.centre, self.clip, self.target_weight)

    def observe(
        self,
        basis: Basis,
        sizes: NDArray[np.float64],
        noise: MomentNoise,
        *,
        errors: NDArray[np.float64] | None = None,
    ) -> Observation:
        """Release the moments with weights planned for coefficients of these prior variances.

        Parameters
        ----------
        basis, sizes
            The functions, and the prior variances of their coefficients.
        noise
            What :meth:`begin` gave.
        errors
            Draws of what earlier stages' errors add to a made-up row's target times loading.

        Privacy
        -------
        One release of moments at the cost Gaussian(mu). Proof: ``docs/privacy/moments.md``.
        """
        functions = basis.matrix(self.made_up) if self.before is None else self.before.functions
        layout = self.layout(basis, sizes, functions)
        equations = Equations.release(layout, self.data, self.mechanism, noise, target_only=self._later)
        seen = self._read(equations, layout, functions, errors=errors)
        if not self.independent or self._later:
            return seen
        correlations = seen_correlations(basis, seen.gram)
        if np.abs(correlations - np.eye(len(correlations))).max() >= DEPENDENT:
            seen, correlations = self._read_again(equations, layout, seen, correlations, errors)
        return replace(seen, correlations=correlations)

    def _read_again(
        self,
        equations: Equations,
        layout: Layout,
        seen: Observation,
        wanted: NDArray[np.float64],
        errors: NDArray[np.float64] | None,
    ) -> tuple[Observation, NDArray[np.float64]]:
        """Return what the equations say of rows that hang together, and the correlations of such rows.

        The correlations come from the same noisy entries, which are therefore as unsure as before.
        """
        basis, n_rows = layout.basis, len(self.made_up)
        functions = basis.matrix(draw_codes(basis.columns, wanted, n_rows))
        got = leading_correlations(basis, layout.shape(functions, self.reach, self.loading_variance)[1])
        correlations = matched_correlations(wanted, got)
        functions = basis.matrix(draw_codes(basis.columns, correlations, n_rows))
        again = self._read(equations, layout, functions, errors=errors)
        leading = (basis.orders[:, None] == 0) & (basis.orders == 0)
        unsure = np.where(leading, np.maximum(seen.gram.variance, again.gram.variance), again.gram.variance)
        return replace(again, gram=replace(again.gram, variance=unsure)), correlations

    def _read(
        self,
        equations: Equations,
        layout: Layout,
        functions: NDArray[np.float64],
        *,
        errors: NDArray[np.float64] | None,
    ) -> Observation:
        """Return what the equations say, their Gram matrix predicted from the functions at made-up rows."""
        before = self.before
        factor, shape, weight = layout.shape(functions, self.reach, self.loading_variance)
        n_rows = equations.effective_rows(shape, layout, self.n_rows) if before is None else before.n_rows
        level = n_rows * float(weight.mean())
        if before is None:
            gram = estimate_gram(equations, n_rows * shape, level, layout.basis.orders)
        else:
            least = before.gram.least
            gram = Gram(positive(n_rows * shape + before.correction, least * level), before.gram.variance, least)
        shifts = np.zeros((len(functions.T), 1))
        if errors is not None:
            shifts = n_rows / len(functions) * functions.T @ (errors * factor[:, None])
        return Observation(
            functions=functions,
            shift=shifts @ shifts.T / shifts.shape[1],
            z=equations.z / self.attenuation,
            z_noise=equations.z_noise / self.attenuation,
            gram=gram,
            correction=gram.matrix - n_rows * shape,
            mean_square=equations.squares / (n_rows * float(factor.mean())),
            mean_square_noise=equations.squares_noise / (n_rows * float(factor.mean())),
            attenuation=self.attenuation,
            n_rows=n_rows,
            n_weighted=n_rows * float(factor.mean()),
        )
