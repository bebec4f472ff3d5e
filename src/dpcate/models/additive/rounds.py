"""Rounds of moments: each looks at what the earlier ones left unexplained.

The error of a noisy Gram matrix is multiplied by the coefficients that it is applied to, and noise grows with the
clipped size of the target. On residuals both are smaller, and weight can go where the earlier rounds left doubt. The
rounds share the stage's budget; sampling noise is common to both, so they are combined before it is accounted for.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcate.models.additive.assembly import assemble
from dpcate.models.additive.averaging import NOTHING_SEEN, SeenAverage
from dpcate.models.additive.bends import Standing, with_bends
from dpcate.models.additive.combining import Round, combined
from dpcate.models.additive.confidence import CENTRE, LOOSE, Confidence, find_confidence
from dpcate.models.additive.correlations import CORRELATIONS, correlation_document, seen_correlations
from dpcate.models.additive.heredity import hereditary, likelier_prior
from dpcate.models.additive.leaning import propensity_leaning
from dpcate.models.additive.leftover import law_to_release, residual_after, sampling_after
from dpcate.models.additive.mixing import Frame, mix, unmixed
from dpcate.models.additive.posterior import NEAR, solve
from dpcate.models.additive.target import RESIDUAL
from dpcate.models.additive.uncertainty import POSTERIOR, constant_document, posterior_document
from dpcate.models.stage_rows import StageRows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dpcate.accounting import Guarantee
    from dpcate.mechanisms import NoiseSource
    from dpcate.models.additive.basis import Basis
    from dpcate.models.additive.gram import Gram
    from dpcate.models.additive.observation import Observation
    from dpcate.models.additive.posterior import Posterior, Prior
    from dpcate.models.additive.regression import MomentRegression
    from dpcate.models.additive.target import TargetLaw
    from dpcate.models.function import AdditiveFunction

__all__ = ["fit_rounds"]

_NEAR_ENOUGH = 1e-2
"""How exactly scales are found that later rounds find again."""


def fit_rounds(
    stage: MomentRegression,
    basis: Basis,
    noise: NoiseSource,
    guarantee: Guarantee,
    *,
    shares: Sequence[float],
    correlations: NDArray[np.float64] | None = None,
    shared: AdditiveFunction | None = None,
) -> AdditiveFunction:
    """Return the released function after as many rounds as there are ``shares``, which sum to one.

    Parameters
    ----------
    stage, basis
        What is to be explained, by which functions.
    noise, guarantee
        Where the noise comes from, and what all rounds cost.
    shares
        Of the moments' budget, one per round.
    correlations
        Of the columns' leading functions, as far as an earlier stage released them.
    shared
        The released function whose interactions the target may share.

    Privacy
    -------
    One release of moments per round; their squared mu sum to that of ``stage``. Proof: ``docs/privacy/moments.md``.
    """
    now = replace(stage, mu=stage.mu * math.sqrt(shares[0]))
    centre = now.target.centre if not stage.data.weighted else 0.0
    near = _NEAR_ENOUGH if len(shares) > 1 else NEAR
    at, law, errors = _first_round(now, basis, noise, correlations, near=near)
    if len(shares) > 1:
        at = with_bends(now, at, shared)
    basis, posterior, frame = at.basis, at.posterior, Frame.of(at.basis, mixed=stage.data.loose)
    rounds = [Round.of(now, at.seen, np.zeros(basis.n_terms))]
    for share in shares[1:]:
        following = replace(stage, mu=stage.mu * math.sqrt(share), before=rounds[0].seen)
        begun = following.begin(basis, noise)
        found = frame.plain(posterior.mean)
        start = assemble(stage.data, unmixed(basis), found, centre=centre, guarantee=guarantee, details={})
        now = _on_residuals(following, start, law)
        seen = now.observe(basis, _unsure(stage, posterior, frame), begun, errors=errors)
        law = residual_after(now, seen, np.zeros(basis.n_terms))
        rounds.append(Round.of(now, seen, frame.measured(posterior.mean)))
        cut = law if stage.data.constant else None
        posterior = combined(rounds, posterior, sampling_after(now, seen), at.prior, frame, cut=cut)
    coefficients, document = _to_release(now, at, posterior, frame)
    left = law_to_release(stage, now, [one.seen for one in rounds], law, frame.measured(posterior.mean))
    details: dict[str, Any] = {RESIDUAL: left.to_dict(), "n_terms": basis.n_terms, POSTERIOR: document}
    if not stage.data.weighted and not stage.data.constant:
        known = rounds[0].seen.correlations if basis.mixing is None else correlations
        details[CORRELATIONS] = _correlations(stage, unmixed(basis), rounds[0].seen.gram, known)
    function = assemble(stage.data, unmixed(basis), coefficients, centre=centre, guarantee=guarantee, details=details)
    plain = stage.data.interactions == "plain" or not basis.products
    return function if plain else _centred(function, coefficients, rounds[0].seen)


def _first_round(
    now: MomentRegression,
    everything: Basis,
    noise: NoiseSource,
    correlations: NDArray[np.float64] | None,
    *,
    near: float,
) -> tuple[Standing, TargetLaw, NDArray[np.float64] | None]:
    """Return where things stand after one round, the law of what it left, and draws of earlier stages' errors."""
    kept = now.worthwhile(everything)
    basis = mix(everything.keep(kept), correlations, n_features=now.data.n_features)
    begun = now.begin(basis, noise)
    prior, errors = replace(now.prior(basis), leaning=propensity_leaning(now, basis)), now.shifts()
    seen = now.observe(basis, prior.sizes, begun, errors=errors)
    posterior, prior = _after_one(now, basis, seen, prior, near=near)
    law = residual_after(now, seen, posterior.mean)
    if basis.mixing is not None and not now.data.loose:
        posterior, prior = _by_column(now, basis, seen, posterior, prior)
    at = Standing(basis=basis, everything=everything, kept=kept, seen=seen, posterior=posterior, prior=prior)
    return at, law, errors


def _after_one(
    now: MomentRegression, basis: Basis, seen: Observation, prior: Prior, *, near: float
) -> tuple[Posterior, Prior]:
    """Return the posterior of the first round, and the prior to go on with: of two, where products are looked for."""
    noises = np.diag(seen.z_noise**2) + seen.shift

    def solved(prior: Prior, start: NDArray[np.float64] | None = None) -> Posterior:
        return solve(seen.z, noises, seen.gram, sampling=now.sampling, prior=prior, start=start, near=near)

    posterior = solved(prior)
    if now.data.interactions == "plain" or not basis.products:
        return posterior, prior
    again = partial(solved, start=posterior.log_scales)
    return likelier_prior(posterior, prior, basis, n_features=now.data.n_features, solved=again)


def _unsure(stage: MomentRegression, posterior: Posterior, frame: Frame) -> NDArray[np.float64]:
    """Return how unsure each coefficient is; where few of many products matter, their scale is unsure too."""
    unsure = frame.measured_variances(posterior.covariance)
    return (
        unsure + frame.measured_variances(posterior.doubt().covariance) if stage.data.interactions == "bent" else unsure
    )


def _by_column(
    now: MomentRegression, basis: Basis, seen: Observation, posterior: Posterior, prior: Prior
) -> tuple[Posterior, Prior]:
    """Return posterior and prior of plain functions' coefficients, from those of mixed ones.

    A column that does not matter has no plain coefficients, but has mixed ones wherever others do that go with it.
    """
    frame, plain = Frame.of(basis, mixed=True), now.prior(unmixed(basis))
    mean, covariance = frame.plain(posterior.mean), frame.plain_covariance(posterior.covariance)
    if basis.products and prior.sizes[-1] != plain.sizes[-1]:  # products are expected to follow their columns
        plain = hereditary(plain, unmixed(basis), mean, n_features=now.data.n_features)
    plain = replace(plain, leaning=None if prior.leaning is None else frame.plain(prior.leaning))
    moved = replace(posterior, mean=mean, covariance=covariance)
    alone = Round.of(now, seen, np.zeros(len(mean)))
    return combined([alone], moved, now.sampling, plain, Frame.of(basis, mixed=False)), plain


def _correlations(
    stage: MomentRegression, basis: Basis, gram: Gram, known: NDArray[np.float64] | None
) -> dict[str, object]:
    """Return the document of the columns' correlations: those that are known, or as the first release shows them."""
    return correlation_document(stage.data.columns, basis, seen_correlations(basis, gram) if known is None else known)


def _centred(function: AdditiveFunction, coefficients: NDArray[np.float64], seen: Observation) -> AdditiveFunction:
    """Return the same function with products that average zero as far as the first release tells.

    They were made before it was known how their columns hang together; the intercept is to be the function's average.
    """
    first = len(coefficients) - len(function.products)
    means = seen.functions[:, first:].mean(axis=0) + seen.correction[0, first:] / seen.n_weighted
    off = coefficients[first:] * means
    moved = (replace(term, mean=term.mean + float(by)) for term, by in zip(function.products, off, strict=True))
    return replace(function, intercept=function.intercept + float(off.sum()), products=tuple(moved))


def _to_release(
    stage: MomentRegression, at: Standing, posterior: Posterior, frame: Frame
) -> tuple[NDArray[np.float64], dict[str, Any]]:
    """Return the coefficients to be released, and what is known of their error."""
    coefficients, everything, kept, average = posterior.mean, at.everything, at.kept, NOTHING_SEEN
    if stage.data.constant:
        return coefficients, constant_document(float(posterior.covariance[0, 0]))
    if stage.data.loose:
        parts = LOOSE[stage.data.kind]
        found = find_confidence(posterior, len(everything.columns), parts, alike=True)
        coefficients = posterior.mean + found.shift
        found = replace(found, shift=np.zeros_like(found.shift))
    elif stage.data.first_stage is None:
        doubt = posterior.doubt()
        found = Confidence(np.zeros(int(kept.sum())), posterior.covariance + doubt.covariance, np.log(doubt.expected))
    else:
        found = find_confidence(posterior, len(everything.columns), CENTRE)
        average = SeenAverage.of(stage, at.seen, frame.measured(coefficients + found.shift))
    coefficients, covariance = frame.plain(coefficients), frame.plain_covariance(found.covariance)
    found = replace(found, shift=frame.plain(found.shift), covariance=covariance)
    left_out = stage.prior(everything).variances(_all_scales(everything, found.log_scales))
    n_features, interactions = stage.data.n_features, stage.data.interactions
    return coefficients, posterior_document(
        everything, kept, found, left_out, n_features=n_features, interactions=interactions, average=average
    )


def _all_scales(everything: Basis, log_scales: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the learned log scale of each group, the smallest where no function of the group was kept."""
    n_groups = int(everything.groups.max())
    missing = np.full(max(n_groups - len(log_scales), 0), log_scales.min(initial=0.0))
    return np.concatenate([log_scales, missing])


def _on_residuals(stage: MomentRegression, start: AdditiveFunction, law: TargetLaw) -> MomentRegression:
    """Return the stage with the function so far subtracted from every row's target, row by row."""

    def subtract(rows: StageRows) -> StageRows:
        explained = start.score(rows.codes)
        left = rows.target - (explained if rows.loading is None else rows.loading * explained)
        return StageRows(rows.codes, left, rows.loading)

    data = replace(stage.data, residual_of=None).changed(subtract)
    return replace(stage, data=data, law=law)
