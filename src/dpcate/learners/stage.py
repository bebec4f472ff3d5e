"""One module of Algorithm 1: what it explains, from which inputs, within which bounds.

A stage's functions see rows and released models and return one number per row. They must work row by row: the paper's
proof needs a transformation that keeps neighbours neighbours, and a batch mean would not.
``dpcate.learners.rehearsal`` checks it before any noise is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dpcate.errors import ParameterError, TransformationError
from dpcate.learners.options import check_misread
from dpcate.learners.row_functions import (
    RowFunction,
    RowPair,
    RowTriple,
    ScoreOfRows,
    attempt,
    gives_scores,
    of_codes,
    pair_of_codes,
    row_values,
    score_of_codes,
    triple_of_codes,
)
from dpcate.models import HeldStage, SliceSums, StageData, StageRows
from dpcate.tables import Rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from dpcate.learners.released import Released
    from dpcate.models import BaseLearner, Interactions, Slices, StageSource, TargetKind
    from dpcate.schema import Feature, Schema

__all__ = ["Stage"]

SMALLEST, LARGEST = 1e-30, 1e30
"""Bounds of a stage lie between these: beyond them, squares of squares would leave the range of floats."""


class RowsOfStage(Protocol):
    """Turns a stage's transformation into a source of transformed rows."""

    def __call__(self, transform: Callable[[Rows], StageRows], *, one_thread: bool) -> StageSource:
        """Return the source; ``one_thread`` keeps the transformation in the calling thread."""
        ...


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
    loading_law
        ``loading_law(rows, released)``: largest absolute value and expected square of the loading, from a row's
        features and released models alone. Lets a model weight rows without looking at who was treated.
    residual_of
        Earlier stage whose residual the target is: its released residual scale is then known.
    residual_spread
        ``residual_spread(rows, released)``: how many times larger the target's variance is than that residual's, from
        a row's features and released models alone; None is one.
    residual_weights
        ``residual_weights(rows, released)``: the chance of treatment, and what that residual is multiplied by in the
        target of a treated and of a control row, from a row's features and released models alone.
    middle
        ``middle(rows, released)``: what the target is expected to be, from a row's features and released models alone.
        A target made of a residual is clipped around the mean of this; None is zero.
    signal, intercept_signal
        Public guess of the share of the target's variance that one feature, and the intercept, may explain.
    first_stage
        Two earlier stages whose errors enter the target as their product (an orthogonal score): a model can then tell
        what they do to its own error. With a ``score_law`` there may be a third, the difference between the arms; the
        second is then the outcome's mean over the arms.
    score_law
        ``score_law(rows, released, propensity, control, treated)``: what the target is expected to be for a treated row
        and for a control row, and what it stands for, if the last three (rows x guesses) were true: from a row's
        features and released models alone. Tells more exactly what the errors of ``first_stage``, then propensity and
        outcome, do to the mean of a target that is clipped.
    treatment_law
        ``treatment_law(rows, released)``: the chance of treatment, from a row's features and released models alone. A
        model then lets its function follow it, and where the treatment is among the inputs knows how it goes with the
        features.
    concurrent
        Whether the functions may be called from several threads at once, on different batches: pure functions that keep
        nothing between calls. Without this promise all rows are passed over in the calling thread.
    with_treatment
        Whether the treatment is an input beside the features.
    constant
        Whether one number is wanted, the same for all inputs.
    interactions
        ``"plain"``: as the model sees fit. ``"none"``: a sum of the features' terms is enough. ``"sought"``:
        interactions of features matter so much that the model should ask where they are likely.
        ``"bent"``: those that bend should be followed too, as far as the model can. ``"treated"``: the treatment
        interacts with features.
    shared_with
        Earlier stage whose function of the same features may have interactions that this one's target has too. What
        both have and neither model knows would be taken for an effect of the treatment, so the model may look for it.
    before_mean
        Whether a later stage takes the mean of a target made of what this one leaves, whose law should then rather be
        too wide than too narrow.
    misread
        By how many standard deviations bounds may make the model misread a shift of half of one: more than it would is
        less noise, for stages whose errors are multiplied with a propensity's, or where misreading is a small part of
        what noise does. None is what the model does by itself. It is for quantities whose law is a single heap, and for
        models that choose bounds; others take no heed of it.
    loose
        Whether the function should be shrunk less than is best for itself, because a later stage multiplies its error
        with another's: what shrinking takes from both is a bias there.
    kind
        ``"probability"`` asks for values in (0, 1).
    weight
        The stage's share of mu^2 when stages share rows, relative to the others.
    share
        The stage's share of rows when each stage has rows of its own, relative to the others.
    slices
        ``slices(released)``: groups of rows by a released function, for base learners that tell something per group.
    learner
        The stage's own base learner; None is that of the run.
    """

    name: str
    target: RowFunction
    bounds: Callable[[Schema, Released], tuple[float, float]]
    loading: RowFunction | None = None
    loading_bound: Callable[[Schema, Released], float] | None = None
    loading_law: RowPair | None = None
    residual_of: str | None = None
    residual_spread: RowFunction | None = None
    residual_weights: RowTriple | None = None
    middle: RowFunction | None = None
    signal: float = 0.4
    intercept_signal: float = 0.2
    first_stage: tuple[str, ...] | None = None
    score_law: ScoreOfRows | None = None
    treatment_law: RowFunction | None = None
    concurrent: bool = False
    with_treatment: bool = False
    constant: bool = False
    interactions: Interactions = "plain"
    shared_with: str | None = None
    before_mean: bool = False
    misread: float | None = None
    loose: bool = False
    kind: TargetKind = "mean"
    weight: float = 1.0
    share: float = 1.0
    slices: Callable[[Released], Slices] | None = None
    learner: BaseLearner | None = None

    def __post_init__(self) -> None:
        if (self.loading is None) != (self.loading_bound is None):
            raise ParameterError(f"stage {self.name!r} needs both `loading` and `loading_bound`, or neither.")
        if isinstance(self.learner, SliceSums) and self.slices is None:
            raise ParameterError(f"stage {self.name!r} needs `slices` for its sums by slice.")
        if self.misread is not None:
            check_misread(self.misread)

    def columns(self, schema: Schema) -> tuple[Feature, ...]:
        """Return the inputs of this stage."""
        return (*schema.features, *((schema.treatment,) if self.with_treatment else ()))

    def data(self, rows: Rows | RowsOfStage, schema: Schema, released: Released, *, n_rows: int | None) -> StageData:
        """Return what the base learner sees: Algorithm 1's transformed rows.

        Parameters
        ----------
        rows
            Rows in memory, or a function that turns this stage's transformation into a source of transformed rows.
        schema, released
            Public facts and earlier releases.
        n_rows
            Number of rows where it is public.
        """
        low, high = (float(bound) for bound in self.bounds(schema, released))
        if not (SMALLEST < high - low < LARGEST and max(abs(low), abs(high)) < LARGEST):
            raise TransformationError(
                f"the bounds of stage {self.name!r} must be finite with low < high, of ordinary size."
            )
        loading_bound = 1.0 if self.loading_bound is None else float(self.loading_bound(schema, released))
        if not SMALLEST < loading_bound < LARGEST:
            raise TransformationError(
                f"the loading bound of stage {self.name!r} must be positive and of ordinary size."
            )

        def transform(some: Rows) -> StageRows:
            loading = None if self.loading is None else row_values(self.loading, some, released)
            codes = some.inputs(with_treatment=self.with_treatment)
            return StageRows(codes, row_values(self.target, some, released), loading)

        return StageData.of_source(
            HeldStage(transform(rows)) if isinstance(rows, Rows) else rows(transform, one_thread=not self.concurrent),
            columns=self.columns(schema),
            low=low,
            high=high,
            weighted=self.loading is not None,
            loading_bound=loading_bound,
            kind=self.kind,
            n_rows=n_rows,
            n_features=len(schema.features),
            loading_law=None if self.loading_law is None else pair_of_codes(self.loading_law, released),
            residual_of=self.residual_of,
            residual_spread=None if self.residual_spread is None else of_codes(self.residual_spread, released),
            residual_weights=None
            if self.residual_weights is None
            else triple_of_codes(self.residual_weights, released),
            middle=None if self.middle is None else of_codes(self.middle, released),
            signal=self.signal,
            intercept_signal=self.intercept_signal,
            first_stage=self.first_stage,
            score_law=None if self.score_law is None else score_of_codes(self.score_law, released),
            treatment_law=None if self.treatment_law is None else of_codes(self.treatment_law, released),
            constant=self.constant,
            interactions=self.interactions,
            shared_with=self.shared_with,
            before_mean=self.before_mean,
            misread=self.misread,
            loose=self.loose,
            slices=None if self.slices is None else self.slices(released),
        )

    def check(self, rows: Rows, schema: Schema, released: Released) -> None:
        """Raise :class:`TransformationError` if a row function fails on these (made-up) rows."""
        for function in (self.target, self.loading):
            if function is not None and attempt(function, rows, released) is None:
                raise TransformationError(
                    f"the transformation of stage {self.name!r} must return one number per row, for any rows that the "
                    "schema allows; it failed or returned another shape on made-up rows."
                )
        data = self.data(rows, schema, released, n_rows=None)
        laws = [] if data.loading_law is None else [*data.loading_law(rows.codes)]
        laws += [law(rows.codes) for law in (data.residual_spread, data.treatment_law) if law is not None]
        if not all((np.isfinite(law) & (law > 0)).all() for law in laws):
            raise TransformationError(
                f"`loading_law`, `residual_spread` and `treatment_law` of stage {self.name!r} must give positive "
                "numbers, one per row."
            )
        if data.treatment_law is not None and (data.treatment_law(rows.codes) > 1).any():
            raise TransformationError(f"`treatment_law` of stage {self.name!r} must give chances, none above one.")
        if data.residual_weights is not None and not _gives_weights(data.residual_weights(rows.codes)):
            raise TransformationError(
                f"`residual_weights` of stage {self.name!r} must give a chance above zero and at most one, and two "
                "numbers other than zero, per row."
            )
        if data.middle is not None and not np.isfinite(data.middle(rows.codes)).all():
            raise TransformationError(f"`middle` of stage {self.name!r} must give one number per row.")
        if data.score_law is not None and not gives_scores(data.score_law, rows.codes):
            raise TransformationError(
                f"`score_law` of stage {self.name!r} must give three numbers per row and guess: the target of a "
                "treated row, of a control row, and what it stands for."
            )


def _gives_weights(weights: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]) -> bool:
    """Return whether these are chances, and weights that a law can have."""
    chances, *others = weights
    may_be = all((np.isfinite(each) & (each != 0.0)).all() for each in others)
    return may_be and bool(((chances > 0.0) & (chances <= 1.0)).all())
