"""interpret's boosting without privacy: the end of the curves, for experiments only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpcate.errors import NotAvailableError
from dpcate.models.interpret_adapter import Interpret
from dpcate.schema import Number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpcate.mechanisms import NoiseSource
    from dpcate.models import AdditiveFunction, Budget, StageData

__all__ = ["InterpretWithoutPrivacy"]


@dataclass(frozen=True, kw_only=True)
class InterpretWithoutPrivacy(Interpret):
    """interpret's own additive boosting machine at its defaults, without products of features and without noise.

    Parameters
    ----------
    bags
        interpret's ``outer_bags``. The parameters of the private machine play no part.

    Privacy
    -------
    None. It works only where the result is void anyway, that is with a seeded ``random_state``.
    """

    bags: int = 14

    def fit(
        self, data: StageData, *, budget: Budget, noise: NoiseSource, released: Mapping[str, AdditiveFunction]
    ) -> AdditiveFunction:
        """Return the model, refusing where somebody might take it for private."""
        if not noise.void:
            raise NotAvailableError("a fit without privacy is for experiments; set `random_state`.")
        return super().fit(data, budget=budget, noise=noise, released=released)

    def _model(self, data: StageData, budget: Budget, noise: NoiseSource) -> Any:  # noqa: ANN401, ARG002 - no stubs
        try:
            from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor
        except ImportError:
            raise NotAvailableError('experiments need an extra: pip install "dpcate[reproduce]".') from None
        options: dict[str, Any] = {
            "feature_names": [f"input{j}" for j in range(len(data.columns))],
            "feature_types": ["continuous" if isinstance(c, Number) else "nominal" for c in data.columns],
            "interactions": 0,
            "outer_bags": self.bags,
            "n_jobs": 1,
            "random_state": int(noise.coins().integers(2**31)),
        }
        if data.kind == "probability":
            return ExplainableBoostingClassifier(**options)
        return ExplainableBoostingRegressor(**options)
