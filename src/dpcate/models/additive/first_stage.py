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
    outcome's own spread is left out.
    """
    known = _known(data, released)
    if known is None:
        return None
    if data.score_law is None or len(known[1].basis.columns) != made_up.shape[1] + 1:
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


def _known(data: StageData, released: Mapping[str, AdditiveFunction]) -> tuple[Uncertainty, Uncertainty] | None:
    """Return the errors of the first stage's two models; None if one was not estimated or does not know its own."""
    if data.first_stage is None or any(name not in released for name in data.first_stage):
        return None
    first, second = (uncertainty_of(released[name]) for name in data.first_stage)
    return None if first is None or second is None else (first, second)


def _products(
    data: StageData, made_up: NDArray[np.uint16], known: tuple[Uncertainty, Uncertainty]
) -> NDArray[np.float64]:
    """Return draws of the product of two errors, the outcome's in the control arm."""
    first, second = known
    functions = first.basis.matrix(_inputs(first, made_up))
    errors = functions @ _draws(first, 0, N_DRAWS)
    if not _alike(first, second):
        functions = second.basis.matrix(_inputs(second, made_up))
    product = errors * (functions @ _draws(second, 1, N_DRAWS))
    if data.residual_spread is not None:
        product *= data.residual_spread(made_up)[:, None]
    product += (_WIDER - 1.0) * product.mean(axis=0)
    return product


def _truths(
    made_up: NDArray[np.uint16], models: Sequence[AdditiveFunction], known: tuple[Uncertainty, Uncertainty]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return draws of what propensity, control mean and treated mean may truly be at made-up rows; nobody may write."""
    draws = [_draws(each, stream, N_TRUTHS) for stream, each in enumerate(known)]

    def truth(model: int, arm: int, low: float, high: float) -> NDArray[np.float64]:
        codes = _inputs(known[model], made_up, arm)
        values = models[model].score(codes)[:, None] + known[model].basis.matrix(codes) @ draws[model]
        clipped: NDArray[np.float64] = np.clip(values, low, high)
        clipped.flags.writeable = False
        return clipped

    low, high = models[1].low, models[1].high
    return truth(0, 0, 0.0, 1.0), truth(1, 0, low, high), truth(1, 1, low, high)


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


def _draws(known: Uncertainty, stream: int, n_draws: int) -> NDArray[np.float64]:
    """Return draws of the error of a model's coefficients."""
    draws: NDArray[np.float64] = _root(known.covariance) @ _normals(len(known.covariance), stream, n_draws)
    return draws


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
def _normals(size: int, stream: int, n_draws: int) -> NDArray[np.float64]:
    """Return fixed, public normal numbers."""
    normals: NDArray[np.float64] = public_generator().standard_normal((2, size, n_draws))[stream]
    return normals
