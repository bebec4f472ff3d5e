"""The first-stage modules that learners share: the propensity and the outcome regressions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dpcate.learners.stage import Stage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcate.learners.released import Released
    from dpcate.learners.row_functions import RowFunction
    from dpcate.schema import Schema
    from dpcate.tables import Rows

__all__ = ["Propensity", "outcome_bounds", "outcome_stage"]


NEVER = 1e-3
"""Who is treated less often than this need not be told from nobody, where no inverse is taken."""


@dataclass(frozen=True)
class Propensity:
    """e(x) = P(T = 1 | X = x): known by design, or estimated in a stage of its own and kept off 0 and 1.

    Parameters
    ----------
    known
        The schema's propensity; None asks for a stage.
    floor
        Estimated propensities are clipped to ``[floor, 1 - floor]``.
    """

    known: float | None
    floor: float

    def stages(self) -> tuple[Stage, ...]:
        """Return the stage that estimates it: none where it is known."""
        if self.known is not None:
            return ()
        return (
            Stage(
                name="propensity",
                target=_arm,
                bounds=_unit,
                kind="probability",
                signal=0.16,
                concurrent=True,
                weight=0.18,
                share=0.25,
            ),
        )

    def of(self, rows: Rows, released: Released) -> NDArray[np.float64]:
        """Return the propensity of each row."""
        if self.known is not None:
            return np.full(len(rows), self.known)
        return np.clip(released.predict("propensity", rows), self.floor, 1 - self.floor)

    @property
    def as_it_is(self) -> Propensity:
        """The same without the floor, for where no inverse is taken."""
        return replace(self, floor=min(self.floor, NEVER))

    @property
    def law(self) -> RowFunction | None:
        """The propensity where it is estimated, as it is: one known by design does not go with the features."""
        return None if self.known is not None else self.as_it_is.of

    def extremes(self, released: Released) -> tuple[float, float]:
        """Return the smallest and largest propensity that any row can get: from released numbers only."""
        if self.known is not None:
            return self.known, self.known
        low, high = np.clip(released["propensity"].extremes(), self.floor, 1 - self.floor)
        return float(low), float(high)


def _arm(rows: Rows, released: Released) -> NDArray[np.float64]:  # noqa: ARG001 - a stage's signature
    return rows.T.astype(np.float64)


def _unit(schema: Schema, released: Released) -> tuple[float, float]:  # noqa: ARG001 - a stage's signature
    return 0.0, 1.0


def _outcome(rows: Rows, released: Released) -> NDArray[np.float64]:  # noqa: ARG001 - a stage's signature
    return rows.Y


def outcome_bounds(schema: Schema, released: Released) -> tuple[float, float]:  # noqa: ARG001 - a stage's signature
    """Return the schema's bounds of the outcome."""
    return schema.outcome.low, schema.outcome.high


def outcome_stage(
    *,
    with_treatment: bool,
    treatment_law: RowFunction | None = None,
    shared_with: str | None = None,
    weight: float = 0.22,
    share: float = 0.25,
) -> Stage:
    """Return the outcome regression: on the features (eta), or on treatment and features (mu of the paper)."""
    return Stage(
        name="outcome",
        target=_outcome,
        bounds=outcome_bounds,
        concurrent=True,
        with_treatment=with_treatment,
        treatment_law=treatment_law,
        shared_with=shared_with,
        weight=weight,
        share=share,
    )
