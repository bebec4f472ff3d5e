"""One module of Algorithm 1: what it explains, from which inputs, within which bounds.

A stage's functions see rows and released models and return one number per row. They must work row by row: the paper's
proof needs a transformation that keeps neighbours neighbours, and a batch mean would not.
``dpcate.learners.rehearsal`` checks it before any noise is drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcate.errors import ParameterError, TransformationError
from dpcate.models import StageData

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcate.learners.released import Released
    from dpcate.models import TargetKind
    from dpcate.schema import Feature, Schema
    from dpcate.tables import Rows

__all__ = ["Stage"]

RowFunction = Callable[["Rows", "Released"], "NDArray[np.float64]"]


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A module: minimise sum (target - loading f(inputs))^2 privately and release f.

    Parameters
    ----------
    name
        Under this name the released function is found in ``models_``.
    target
        ``target(rows, released)`` gives the number to explain for each row. ``rows`` has ``Y``, ``T`` and the encoded
        features; ``released`` gives predictions of earlier stages: ``released.predict("outcome", rows)``.
    bounds
        ``bounds(schema, released)`` gives (low, high) for the target, from public and released facts only. Targets
        outside are clipped.
    loading, loading_bound
        What multiplies f in the loss and its largest absolute value; None is one everywhere.
    with_treatment
        Whether the treatment is an input beside the features.
    kind
        ``"probability"`` asks for values in (0, 1).
    weight
        The stage's share of mu^2 when stages share rows, relative to the others.
    share
        The stage's share of rows when each stage has rows of its own, relative to the others.
    """

    name: str
    target: RowFunction
    bounds: Callable[[Schema, Released], tuple[float, float]]
    loading: RowFunction | None = None
    loading_bound: Callable[[Schema, Released], float] | None = None
    with_treatment: bool = False
    kind: TargetKind = "mean"
    weight: float = 1.0
    share: float = 1.0

    def __post_init__(self) -> None:
        if (self.loading is None) != (self.loading_bound is None):
            raise ParameterError(f"stage {self.name!r} needs both `loading` and `loading_bound`, or neither.")

    def columns(self, schema: Schema) -> tuple[Feature, ...]:
        """Return the inputs of this stage."""
        return (*schema.features, *((schema.treatment,) if self.with_treatment else ()))

    def data(self, rows: Rows, schema: Schema, released: Released, *, n_rows: int | None) -> StageData:
        """Return what the base learner sees: Algorithm 1's transformed rows."""
        low, high = (float(bound) for bound in self.bounds(schema, released))
        if not (np.isfinite(low) and np.isfinite(high) and low < high):
            raise TransformationError(f"the bounds of stage {self.name!r} must be finite with low < high.")
        target = self._values(self.target, rows, released)
        loading, loading_bound = None, 1.0
        if self.loading is not None and self.loading_bound is not None:
            loading_bound = float(self.loading_bound(schema, released))
            if not (np.isfinite(loading_bound) and loading_bound > 0):
                raise TransformationError(f"the loading bound of stage {self.name!r} must be positive and finite.")
            loading = self._values(self.loading, rows, released)
            loading = np.clip(np.where(np.isnan(loading), 0.0, loading), -loading_bound, loading_bound)
        return StageData(
            columns=self.columns(schema),
            codes=rows.inputs(with_treatment=self.with_treatment),
            target=np.clip(np.where(np.isnan(target), (low + high) / 2, target), low, high),
            low=low,
            high=high,
            loading=loading,
            loading_bound=loading_bound,
            kind=self.kind,
            n_rows=n_rows,
        )

    def _values(self, function: RowFunction, rows: Rows, released: Released) -> NDArray[np.float64]:
        """Call a row function; whatever goes wrong inside is reported by the stage's name alone."""
        try:
            with np.errstate(all="ignore"):
                values = np.asarray(function(rows, released), dtype=np.float64)
        except Exception:  # its text could quote a row
            values = None
        if values is None or values.shape != (len(rows),):
            raise TransformationError(
                f"the transformation of stage {self.name!r} must return one number per row; it failed or returned "
                "another shape. Its own message is withheld because it could quote a row."
            ) from None
        return values
