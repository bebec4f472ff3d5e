"""The paper's DR-learner as its authors ran it: interpret's private boosting with default settings, on disjoint rows."""

from __future__ import annotations

import warnings

import numpy as np

__all__ = ["fit_paper_dr"]


def fit_paper_dr(X, T, Y, *, epsilon: float, delta: float, bound: float, outcome: tuple[float, float], seed: int = 0):
    """Return interpret's effect model; features within +-``bound``, outcome within ``outcome``, floor 0.05."""
    from interpret.privacy import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor

    order = np.random.default_rng(seed).permutation(len(Y))
    first, second, third = np.split(order, [len(Y) // 4, len(Y) // 2])
    bounds = dict.fromkeys(range(X.shape[1]), (-bound, bound))
    budget = {"epsilon": epsilon, "delta": delta, "random_state": seed}
    low, high = outcome
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        propensity = DPExplainableBoostingClassifier(privacy_bounds=bounds, **budget).fit(X[first], T[first])
        joint = np.column_stack([X, T])
        regression = DPExplainableBoostingRegressor(
            privacy_bounds={**bounds, X.shape[1]: (0, 1)}, privacy_target_min=low, privacy_target_max=high, **budget
        ).fit(joint[second], Y[second])
        e = np.clip(propensity.predict_proba(X[third])[:, 1], 0.05, 0.95)
        treated, control = (regression.predict(np.column_stack([X[third], np.full(len(third), arm)])) for arm in (1, 0))
        t, y = T[third], Y[third]
        score = treated - control + t * (y - treated) / e - (1 - t) * (y - control) / (1 - e)
        reach = (high - low) * (1 + 1 / 0.05)
        return DPExplainableBoostingRegressor(
            privacy_bounds=bounds, privacy_target_min=-reach, privacy_target_max=reach, **budget
        ).fit(X[third], score)
