"""What earlier stages' errors do to this one: they shift the right-hand side, by an amount with a known law.

In the R-learner and in the DR-learner the errors of propensity and outcome enter only as their product (Neyman
orthogonality). Both errors have released posteriors; drawing from these tells how far z may be shifted, coordinate by
coordinate. Where the mean of a score is all that is wanted, the draws are of the truth itself: a probability lies
between zero and one, an outcome within its bounds, and the score is clipped. Everything here is post-processing.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcate.models.additive.uncertainty import uncertainty_of
from dpcate.splitting import public_generator

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from dpcate.models.additive.uncertainty import Uncertainty
    from dpcate.models.function import AdditiveFunction
    from dpcate.models.protocol import StageData

__all__ = ["earlier_errors", "product_errors"]

N_DRAWS, N_TRUTHS = 32, 128
"""Draws of the two errors; and of the truth, where one number's error is to be known."""

_WITH_DIFFERENCE = 3
"""So many models are propensity, outcome of the features, and difference between the arms; two have both arms in the
outcome."""

_WIDER = 1.5
"""Both errors come from shrinking the same functions, so they agree in sign more often than independent draws do: the
mean of their product over people is larger than theirs by about this."""


def earlier_errors(
    data: StageData, made_up: NDArray[np.uint16], released: Mapping[str, AdditiveFunction], clip: float
) -> NDArray[np.float64] | None:
    """Return draws of what the first stages' errors add to made-up rows' targets; None if they add nothing.

    Parameters
    ----------
    data, made_up, released
        See :func:`product_errors`.
    clip
        How far from their middle the stage's targets may be.

    Notes
    -----
    With a law of the score, what is clipped is the mean score of each arm at a made-up row, not the score itself: the
    outcome's own spread is left out. What all draws have in common, mostly what the square of the propensity's error
    takes from the effect, belongs to them: without it intervals of large effects do not hold.
    """
    known = _known(data, released)
    if known is None:
        return None
    if data.score_law is None or not _has_arms(known, n_features=made_up.shape[1]):
        return _products(data, made_up, known)
    models = [released[name] for name in data.first_stage or ()]
    propensity, control, treated = _truths(made_up, models, known)
    if_treated, if_not, wanted = data.score_law(made_up, propensity, control, treated)
    middle = float((propensity * if_treated + (1 - propensity) * if_not).mean())
    if_treated, if_not = (np.clip(each - middle, -clip, clip) for each in (if_treated, if_not))
    expected: NDArray[np.float64] = middle + propensity * if_treated + (1 - propensity) * if_not - wanted
    return expected


def product_errors(
    data: StageData, made_up: NDArray[np.uint16], released: Mapping[str, AdditiveFunction]
) -> NDArray[np.float64] | None:
    """Return draws of the product of the first stages' errors at made-up rows, one column per draw; None if it is zero.

    Parameters
    ----------
    data
        The stage; ``first_stage`` names the two released models.
    made_up
        Codes of made-up rows.
    released
        Earlier models.
    """
    known = _known(data, released)
    return None if known is None else _products(data, made_up, known)


def _known(data: StageData, released: Mapping[str, AdditiveFunction]) -> list[Uncertainty] | None:
    """Return the errors of the first stage's models; None if one was not estimated or does not know its own."""
    if data.first_stage is None or any(name not in released for name in data.first_stage):
        return None
    known = [uncertainty_of(released[name]) for name in data.first_stage]
    sure = [each for each in known if each is not None]
    return sure if len(sure) == len(known) else None


def _has_arms(known: Sequence[Uncertainty], *, n_features: int) -> bool:
    """Return whether the models tell the arms apart: by a third one, or in the outcome."""
    return len(known) >= _WITH_DIFFERENCE or len(known[1].basis.columns) == n_features + 1


def _products(data: StageData, made_up: NDArray[np.uint16], known: Sequence[Uncertainty]) -> NDArray[np.float64]:
    """Return draws of the product of two errors, the outcome's in the control arm."""
    first, second = known[:2]
    functions = first.basis.matrix(_inputs(first, made_up))
    of_first, of_second = _draws((first, second), N_DRAWS)
    errors = functions @ of_first
    if not _alike(first, second):
        functions = second.basis.matrix(_inputs(second, made_up))
    product = errors * (functions @ of_second)
    if data.residual_spread is not None:
        product *= data.residual_spread(made_up)[:, None]
    product += (_WIDER - 1.0) * product.mean(axis=0)
    return product


def _truths(
    made_up: NDArray[np.uint16], models: Sequence[AdditiveFunction], known: Sequence[Uncertainty]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return draws of what propensity, control mean and treated mean may truly be at made-up rows; nobody may write."""
    draws = _draws(known, N_TRUTHS)

    def truth(model: int, arm: int = 0) -> NDArray[np.float64]:
        codes = _inputs(known[model], made_up, arm)
        errors: NDArray[np.float64] = known[model].basis.matrix(codes) @ draws[model]
        return models[model].score(codes)[:, None] + errors

    propensity = np.clip(truth(0), 0.0, 1.0)
    if len(known) >= _WITH_DIFFERENCE:
        outcome, difference = truth(1), truth(2)
        control = outcome - propensity * difference
        treated = control + difference
    else:
        control, treated = truth(1, 0), truth(1, 1)
    low, high = models[1].low, models[1].high
    drawn = propensity, np.clip(control, low, high), np.clip(treated, low, high)
    for each in drawn:
        each.flags.writeable = False
    return drawn


def _inputs(known: Uncertainty, made_up: NDArray[np.uint16], arm: int = 0) -> NDArray[np.uint16]:
    """Return a model's inputs at made-up rows: what it has beyond the features is the arm, the same for all."""
    missing = len(known.basis.columns) - made_up.shape[1]
    if missing == 0:
        return made_up
    return np.column_stack([made_up, np.full((len(made_up), missing), arm + 1, dtype=np.uint16)])


def _alike(one: Uncertainty, other: Uncertainty) -> bool:
    """Return whether two models use the same functions: stages share the bases of their columns."""
    first, second = one.basis, other.basis
    same = len(first.columns) == len(second.columns) and not first.products and not second.products
    return same and all(a is b for a, b in zip(first.columns, second.columns, strict=True))


def _draws(known: Sequence[Uncertainty], n_draws: int) -> list[NDArray[np.float64]]:
    """Return draws of the errors of several models' coefficients, which have nothing to do with each other."""
    longest = max(len(each.covariance) for each in known)
    return [
        _root(each.covariance) @ _normals(stream * longest, len(each.covariance), n_draws)
        for stream, each in enumerate(known)
    ]


def _root(covariance: NDArray[np.float64]) -> NDArray[Any]:
    """Return a root of a covariance; with very many rows round-off may have left it with negative eigenvalues."""
    jitter = 1e-12 * float(np.trace(covariance)) / len(covariance) + 1e-300
    root: NDArray[Any]
    try:
        root = np.linalg.cholesky(covariance + jitter * np.eye(len(covariance)))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
    return root


@lru_cache(maxsize=64)
def _normals(start: int, size: int, n_draws: int) -> NDArray[np.float64]:
    """Return rows of fixed, public normal numbers, from one on."""
    normals: NDArray[np.float64] = public_generator().standard_normal((start + size, n_draws))[start:]
    return normals
