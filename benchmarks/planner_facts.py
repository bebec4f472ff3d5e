"""What the planner may be told of a setup: numbers about its true functions, worked out from them and from nothing else."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np
from scipy.special import expit, logit

from dpcate.experiments import make_setup
from dpcate.planning.surface import Surface

__all__ = ["forms", "spreads"]

N_PEOPLE, N_KNOTS, SEED = 20_000, 15, 20_260
UNIFORM = ("A",)
"""Setups whose features fill their bounds; the others' are bell-shaped."""


@cache
def truths(setup: str):
    """Return features of many people, and their effect, mean regression of both arms and logit of the propensity."""
    source, generator = make_setup(setup), np.random.default_rng(SEED)
    X = source.covariates(N_PEOPLE, generator)
    truth = source.truth(X, generator)
    return X, truth.effect, truth.baseline + truth.effect / 2, logit(truth.propensity)


def spreads(setup: str) -> dict:
    """Return the standard deviations of noise, effect and mean regression, and the shape of the features."""
    _, effect, regression, _ = truths(setup)
    told = {"noise_sd": 1.0, "effect_sd": float(effect.std()), "baseline_sd": float(regression.std())}
    return told | {"features": "uniform" if setup in UNIFORM else "bell"}


def forms(setup: str) -> dict:
    """Return mean and form of the effect, and how features, propensity and mean regression hang together."""
    X, effect, regression, propensity = truths(setup)
    correlations = np.abs(np.corrcoef(X.T)[np.triu_indices(X.shape[1], 1)])
    follows = np.corrcoef(propensity, regression)[0, 1] if varies(propensity) else 0.0
    return {
        "average_effect": float(effect.mean()),
        "effect_features": n_features(setup),
        "together": rough(X, effect),
        "curved": curved(X, effect),
        "treated": float(expit(propensity).mean()),
        "propensity_sd": float(propensity.std()),
        "confounding": float(follows),
        "roughness": rough(X, regression),
        "propensity_roughness": rough(X, propensity),
        "correlation": float(correlations.mean()) if correlations.mean() > 3 / np.sqrt(N_PEOPLE) else 0.0,
    }


def n_features(setup: str) -> int:
    """Return how many features move the effect, at least one: those that change it if they are set to zero."""
    source, (X, effect, *_) = make_setup(setup), truths(setup)
    without = (np.where(np.arange(X.shape[1]) == j, 0.0, X) for j in range(X.shape[1]))
    generator = np.random.default_rng(SEED)
    return max(sum(varies(source.truth(other, generator).effect - effect) for other in without), 1)


def curved(X: np.ndarray, values: np.ndarray) -> float:
    """Return which share of a function's sum of curves is not straight."""
    if not varies(values):
        return 0.0
    by_curves, by_lines = values - left(curves(X), values), values - left(np.column_stack([np.ones(len(X)), X]), values)
    return float(np.clip(1.0 - by_lines.var() / by_curves.var(), 0.0, 1.0))


def rough(X: np.ndarray, values: np.ndarray) -> float:
    """Return what neither curves nor products of two features have of a function, over what they leave of hinges."""
    if not varies(values):
        return 0.0
    share = left(with_products(X), values).var() / values.var()
    return float(np.clip(share / of_hinges(), 0.0, 1.0))


@cache
def of_hinges() -> float:
    """Return the share of the planner's hinges of sums that neither curves nor products have."""
    generator = np.random.default_rng(SEED)
    scores = generator.standard_normal((N_PEOPLE, 6))
    values = Surface.drawn(scores, generator, 5, together=1.0).of(scores)
    return float(left(with_products(scores), values).var() / values.var())


def varies(values: np.ndarray) -> bool:
    return bool(values.std() > 1e-9)


def left(functions: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return what least squares leaves."""
    return values - functions @ np.linalg.lstsq(functions, values, rcond=None)[0]


def curves(X: np.ndarray) -> np.ndarray:
    """Return broken lines of every feature."""
    knots = np.quantile(X, np.arange(1, N_KNOTS) / N_KNOTS, axis=0)
    return np.column_stack([np.ones(len(X)), X, *(np.maximum(X - knot, 0.0) for knot in knots)])


def with_products(X: np.ndarray) -> np.ndarray:
    """Return those and the products of two features."""
    centred = X - X.mean(axis=0)
    pairs = combinations(range(X.shape[1]), 2)
    return np.column_stack([curves(X), *(centred[:, i] * centred[:, j] for i, j in pairs)])
