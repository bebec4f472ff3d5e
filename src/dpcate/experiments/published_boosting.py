"""interpret's boosting at the paper's settings, with bounds read from the rows; void, for experiments only.

The settings are interpret's defaults, then and now: 300 rounds, learning rate 0.01, 32 bins, 3 leaves, a tenth of
epsilon for the bins. They are written out, so that a later interpret cannot move them.
"""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcate.accounting import Gaussian, mu_for
from dpcate.errors import NotAvailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

__all__ = ["DELTA", "SETTINGS", "Boosting", "old_weighting", "quiet"]

DELTA = 1e-5
SETTINGS: dict[str, Any] = {
    "max_rounds": 300,
    "learning_rate": 0.01,
    "max_bins": 32,
    "max_leaves": 3,
    "outer_bags": 1,
    "validation_size": 0,
    "composition": "gdp",
    "bin_budget_frac": 0.1,
    "delta": DELTA,
}

BAGS = 20
"""Outer bags of the regressions without privacy, as the authors set them."""


@contextmanager
def quiet() -> Iterator[None]:
    """Silence interpret's warnings that bounds come from the rows: here they do, and the result says so."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


@dataclass(frozen=True, kw_only=True)
class Boosting:
    """Fits the stages of one learner.

    Parameters
    ----------
    epsilon
        Budget of each stage, which reads its own rows; None for boosting without privacy.
    seed
        Fixed seed of every stage.
    numeric
        Which features are numbers; the others, and columns that are put before them, are categories.
    """

    epsilon: float | None
    seed: int
    numeric: tuple[bool, ...]

    def propensity(
        self, X: NDArray[np.float64], T: NDArray[np.float64]
    ) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
        """Return the probability of treatment as a function of the features."""
        fitted = self._machine("Classifier", X, {}).fit(X, T)
        return lambda rows: np.asarray(fitted.predict_proba(rows)[:, 1], dtype=np.float64)

    def outcome(
        self, X: NDArray[np.float64], Y: NDArray[np.float64]
    ) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
        """Return the expected outcome as a function of the features."""
        fitted = self.effect(X, Y)
        return lambda rows: np.asarray(fitted.predict(rows), dtype=np.float64)

    def effect(
        self, X: NDArray[np.float64], target: NDArray[np.float64], weight: NDArray[np.float64] | None = None
    ) -> Any:  # noqa: ANN401 - interpret has no stubs
        """Return interpret's fitted regression of ``target`` on the features."""
        options: dict[str, Any] = {}
        if self.epsilon is not None:
            options = {"privacy_target_min": float(target.min()), "privacy_target_max": float(target.max())}
            if weight is not None:
                options |= old_weighting(self.epsilon, weight)
        return self._machine("Regressor", X, options).fit(X, target, sample_weight=weight)

    def _machine(self, kind: str, X: NDArray[np.float64], options: dict[str, Any]) -> Any:  # noqa: ANN401 - no stubs
        try:
            from interpret import glassbox, privacy
        except ImportError:
            raise NotAvailableError('the paper\'s learners need an extra: pip install "dpcate[reproduce]".') from None
        numeric = (False,) * (X.shape[1] - len(self.numeric)) + self.numeric
        described = {
            "feature_types": ["continuous" if number else "nominal" for number in numeric],
            "random_state": self.seed,
            "n_jobs": 1,
        }
        if self.epsilon is None:  # additive, as the effect has to be
            bags = {"outer_bags": BAGS} if kind == "Regressor" else {}
            return getattr(glassbox, f"ExplainableBoosting{kind}")(interactions=0, **bags, **described)
        bounds = {j: (float(X[:, j].min()), float(X[:, j].max())) for j in np.flatnonzero(numeric)}
        private = {**SETTINGS, "epsilon": self.epsilon, "privacy_bounds": bounds or None, **options}
        return getattr(privacy, f"DPExplainableBoosting{kind}")(**private, **described)


def old_weighting(epsilon: float, weight: NDArray[np.float64]) -> dict[str, Any]:
    """Return options that make today's interpret treat weights as the version that the authors ran.

    That version divided a leaf's weighted sum by the noisy *count* of its rows, where today's divides it by their noisy
    weight. Its steps were too small by the mean weight, so 300 of them stop short of the effect: this is the floor of
    the published R-learner. A learning rate that is smaller by the mean weight takes the same steps.

    Counts also meant that the noise on the bins did not grow with the largest weight. The bins therefore get the
    epsilon at which their noise, over the mean weight, is what it was over counts; boosting keeps its own.

    Examples
    --------
    >>> old_weighting(1.0, np.array([0.25, 0.25]))["learning_rate"]
    0.0025
    """
    mean = float(weight.mean())
    boosting, bins = 0.9 * epsilon, 0.1 * epsilon
    level = Gaussian(mu_for(bins, DELTA / 2) * float(weight.max()) / mean).epsilon(DELTA / 2)
    return {
        "learning_rate": SETTINGS["learning_rate"] * mean,
        "epsilon": boosting + level,
        "bin_budget_frac": level / (boosting + level),
    }
