"""Adapter to interpret's private boosting machine: for reproducing the paper, not for publishing.

Its guarantee is *nominal*: it is what interpret claims for the budget it was given, and :data:`WHY_NOMINAL` says why
we do not vouch for it. Whatever interpret does with unusual rows, the adapter returns a function and never an error
that could quote a row.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcate.accounting import EpsilonDelta, Guarantee
from dpcate.errors import NotAvailableError
from dpcate.models.function import AdditiveFunction
from dpcate.schema import Number
from dpcate.tables import cell_midpoints, n_codes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from dpcate.mechanisms import NoiseSource
    from dpcate.models.protocol import Budget, StageData
    from dpcate.schema import Feature

__all__ = ["WHY_NOMINAL", "Interpret"]

WHY_NOMINAL = (
    "nominal: interpret takes max - min as the sensitivity of a leaf sum, but its residuals are not clipped to it",
    "nominal: interpret reads the categories, and the largest weight, from the rows",
    "nominal: interpret's noise on counts is for adding or removing a row; replacing one moves two cells",
    "nominal: interpret adds floating-point noise from a generator that was seeded with 32 bits",
    "nominal: a fit that interpret refuses is replaced by a constant, which tells that it was refused",
)
"""Why the guarantee of an interpret model is its own claim and not ours."""

SMALLEST_LOADING = 0.05
"""The paper's propensity floor: smaller loadings are raised to it before the pseudo-outcome divides by them."""


@dataclass(frozen=True, kw_only=True)
class Interpret:
    """interpret's ``DPExplainableBoostingRegressor`` or ``Classifier`` with public bounds; guarantee nominal.

    Parameters
    ----------
    rounds, learning_rate, max_bins, leaves, binning_share
        interpret's ``max_rounds``, ``learning_rate``, ``max_bins``, ``max_leaves`` and ``bin_budget_frac``, at its
        defaults.
    """

    rounds: int = 300
    learning_rate: float = 0.01
    max_bins: int = 32
    leaves: int = 3
    binning_share: float = 0.1

    def fit(
        self,
        data: StageData,
        *,
        budget: Budget,
        noise: NoiseSource,
        released: Mapping[str, AdditiveFunction],  # noqa: ARG002 - the protocol's; interpret has no use for it
    ) -> AdditiveFunction:
        """Return interpret's model as an additive function.

        With a loading, interpret fits target / loading with weights loading^2, as the paper does.

        Privacy
        -------
        The guarantee is interpret's own claim of (budget.epsilon, budget.delta), marked nominal.
        """
        model = self._model(data, budget, noise)
        target, weight, low, high = _pseudo_outcome(data)
        guarantee = replace(self.promise(budget), void=noise.void)
        fitted = _fit_quietly(model, _inputs(data), target, weight)
        return _function(data, fitted, guarantee, middle=(low + high) / 2)

    def promise(self, budget: Budget) -> Guarantee:
        """Return what interpret says that a fit with this budget costs."""
        claimed = EpsilonDelta(budget.epsilon, budget.delta)
        return Guarantee(claimed, budget.neighbours, nominal=True, notes=WHY_NOMINAL)

    def _model(self, data: StageData, budget: Budget, noise: NoiseSource) -> Any:  # noqa: ANN401 - interpret has no stubs
        if find_spec("interpret") is None:
            raise NotAvailableError('`model="interpret"` needs interpret; run: pip install "dpcate[interpret]"')
        from interpret.privacy import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor

        bounds = {j: (c.low, c.high) for j, c in enumerate(data.columns) if isinstance(c, Number)}
        options: dict[str, Any] = {
            "feature_names": [f"input{j}" for j in range(len(data.columns))],
            "feature_types": ["continuous" if isinstance(c, Number) else "nominal" for c in data.columns],
            "max_rounds": self.rounds,
            "learning_rate": self.learning_rate,
            "max_bins": self.max_bins,
            "max_leaves": self.leaves,
            "bin_budget_frac": self.binning_share,
            "privacy_bounds": bounds or None,
            "epsilon": budget.epsilon,
            "delta": budget.delta,
            "n_jobs": 1,
            "random_state": int(noise.coins().integers(2**31)),
        }
        if data.kind == "probability":
            return DPExplainableBoostingClassifier(**options)
        _, _, low, high = _pseudo_outcome(data)
        return DPExplainableBoostingRegressor(**options, privacy_target_min=low, privacy_target_max=high)


def _pseudo_outcome(
    data: StageData,
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None, float, float]:
    """Return target, weights and the target's bounds as interpret wants them."""
    if data.kind == "probability":
        return (data.held.target > 0.5).astype(np.float64), None, 0.0, 1.0
    loading = data.held.loading
    if loading is None:
        return data.held.target, None, data.low, data.high
    divisor = np.copysign(np.maximum(np.abs(loading), SMALLEST_LOADING), loading)
    reach = max(abs(data.low), abs(data.high)) / SMALLEST_LOADING
    return data.held.target / divisor, np.square(divisor), -reach, reach


def _values_of_codes(column: Feature) -> NDArray[np.float64]:
    """Return what interpret is told for each code: mid-points (missing: the middle of the range), or the code."""
    if isinstance(column, Number):
        return np.concatenate([[(column.low + column.high) / 2], cell_midpoints(column)])
    return np.arange(n_codes(column), dtype=np.float64)


def _inputs(data: StageData) -> NDArray[np.float64]:
    columns = [_values_of_codes(column)[data.held.codes[:, j]] for j, column in enumerate(data.columns)]
    return np.column_stack(columns)


def _fit_quietly(
    model: Any,  # noqa: ANN401 - interpret has no stubs
    inputs: NDArray[np.float64],
    target: NDArray[np.float64],
    weight: NDArray[np.float64] | None,
) -> Any:  # noqa: ANN401 - interpret has no stubs
    """Return the fitted model, or None where interpret refuses the rows (one class, no rows, ...)."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return model.fit(inputs, target, sample_weight=weight)
    except Exception:
        return None


def _function(
    data: StageData,
    fitted: Any,  # noqa: ANN401 - interpret has no stubs
    guarantee: Guarantee,
    *,
    middle: float,
) -> AdditiveFunction:
    """Return interpret's terms as tables over codes; a constant in the middle of the bounds where there is no model."""
    sizes = [n_codes(column) for column in data.columns]
    tables = [np.zeros(size) for size in sizes]
    shares = [np.full(size, 1.0 / size) for size in sizes]
    intercept = 0.0 if data.kind == "probability" else middle
    if fitted is not None and _is_finite(fitted):
        intercept = float(np.ravel(fitted.intercept_)[0])
        for (j,), scores in zip(fitted.term_features_, fitted.term_scores_, strict=True):
            bins = _bins_of_codes(data.columns[j], fitted.bins_[j][0])
            tables[j] = np.asarray(scores, dtype=np.float64)[bins]
            shares[j] = _shares_of_codes(bins, np.asarray(fitted.bin_weights_[j], dtype=np.float64))
    bounded = not data.weighted
    return AdditiveFunction(
        columns=data.columns,
        intercept=intercept,
        tables=tuple(tables),
        shares=tuple(shares),
        guarantee_=guarantee,
        link="logistic" if data.kind == "probability" else "identity",
        low=data.low if bounded else -np.inf,
        high=data.high if bounded else np.inf,
    ).centred()


def _is_finite(fitted: Any) -> bool:  # noqa: ANN401 - interpret has no stubs
    arrays = [np.ravel(fitted.intercept_), *(np.ravel(scores) for scores in fitted.term_scores_)]
    return all(array.size > 0 and bool(np.isfinite(array).all()) for array in arrays)


def _bins_of_codes(column: Feature, bins: Any) -> NDArray[np.int64]:  # noqa: ANN401 - cuts or a dictionary
    """Return interpret's bin of each code: cut points for numbers, a dictionary for categories; -1 is unseen."""
    values = _values_of_codes(column)
    if isinstance(column, Number):
        return np.searchsorted(bins, values, side="right").astype(np.int64) + 1
    names = [str(int(value)) for value in values]
    return np.array([bins.get(name, -1) for name in names], dtype=np.int64)


def _shares_of_codes(bins: NDArray[np.int64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Spread each bin's noisy weight evenly over its codes."""
    bins = bins % len(weight)
    per_code = np.maximum(weight, 0.0)[bins] / np.bincount(bins, minlength=len(weight))[bins]
    total = per_code.sum()
    return per_code / total if total > 0 else np.full(len(bins), 1.0 / len(bins))
