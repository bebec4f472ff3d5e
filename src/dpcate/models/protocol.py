"""What a stage asks of a base learner, and what it gets back.

Base learners are interchangeable: anything with this ``fit`` whose result can ``predict`` and reports a ``guarantee_``
may serve in any stage. What a base learner does with its rows must cost no more than its :class:`Budget`; the plan
composes what the models *report*, and refuses a run that reports more than was asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import numpy as np

from dpcate.models.stage_rows import NO_ROWS, ChangedStage, HeldStage, StageRows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from dpcate.accounting import Neighbours
    from dpcate.mechanisms import NoiseSource
    from dpcate.models.function import AdditiveFunction
    from dpcate.models.slices import Slices
    from dpcate.models.stage_rows import StageSource, StageWork
    from dpcate.schema import Feature

__all__ = [
    "BaseLearner",
    "Budget",
    "Interactions",
    "LoadingLaw",
    "RowLaw",
    "ScoreLaw",
    "StageData",
    "TargetKind",
    "WeightLaw",
]

TargetKind = Literal["mean", "probability"]
Interactions = Literal["none", "plain", "sought", "bent", "treated"]
RowLaw = Callable[["NDArray[np.uint16]"], "NDArray[np.float64]"]
WeightLaw = Callable[["NDArray[np.uint16]"], "tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]"]
LoadingLaw = Callable[["NDArray[np.uint16]"], "tuple[NDArray[np.float64], NDArray[np.float64]]"]
ScoreLaw = Callable[
    ["NDArray[np.uint16]", "NDArray[np.float64]", "NDArray[np.float64]", "NDArray[np.float64]"],
    "tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What one stage may spend, in both currencies.

    Parameters
    ----------
    mu
        For learners whose releases are Gaussian: the stage may be ``Gaussian(mu)``.
    epsilon, delta
        For learners that only know (epsilon, delta): the stage may be ``EpsilonDelta(epsilon, delta)``.
    neighbours
        The relation under which the stage must be private.
    """

    mu: float
    epsilon: float
    delta: float
    neighbours: Neighbours


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class StageData:
    """One stage's task: minimise sum (target - loading f(inputs))^2 over functions f.

    Parameters
    ----------
    columns
        Public description of the inputs, one per column of ``codes``.
    source
        The rows; private.
    low, high
        Bounds of the target: public, or post-processing of earlier releases.
    weighted
        Whether rows have a loading.
    loading_bound
        Largest absolute loading; public or released.
    kind
        ``"probability"`` asks for a function with values in (0, 1).
    n_rows
        Number of rows where it is public (replace-one), else None.
    n_features
        How many of the columns are features; the treatment may follow them.
    loading_law
        Reach and expected square of the loading for given inputs, from released models only.
    residual_of
        Name of the released stage whose residual the target is.
    residual_spread
        For given inputs, how many times larger the target's variance is than that of the residual, because of
        inverse-probability weights: released facts only.
    residual_weights
        For given features, the chance of treatment, and what the residual is multiplied by in the target of a treated
        and of a control row: released facts only.
    middle
        For given inputs, what the target is expected to be: released facts only. A target made of a residual is clipped
        around its mean; None is zero.
    signal, intercept_signal
        Public guess of the share of the target's variance that one feature, and the intercept, may explain.
    first_stage
        Names of the two released models whose errors enter the target as their product; of a third, see ``score_law``.
    score_law
        For given features and true propensities, control and treated means (features x draws): the target expected of
        a treated row and of a control row, and what it stands for, from released models otherwise. Those of
        ``first_stage`` are then propensity and outcome, or propensity, outcome whatever the arm, and difference between
        the arms.
    treatment_law
        For given features, the chance of treatment as far as it is released.
    constant
        Whether f is one number; models that cannot do that may return a function of the inputs.
    interactions
        ``"none"``: a sum of the features' terms is enough. ``"sought"``: the model should ask which interactions of
        features are likely. ``"bent"``: they may bend, too, and should be followed as far as the model can.
        ``"treated"``: the treatment interacts with features.
    shared_with
        Name of a released function of the same features whose interactions the target may share: one that both have
        and neither model knows would be taken for an effect.
    before_mean
        Whether a later stage takes the mean of a target made of what this one leaves, whose law should then rather be
        too wide than too narrow.
    misread
        By how many standard deviations bounds may make the model misread a shift of half of one: more than it would is
        less noise, for stages whose errors are multiplied with a propensity's, or where misreading is a small part of
        what noise does. None is what the model does by itself. It is for quantities whose law is a single heap, and for
        models that choose bounds; others take no heed of it.
    loose
        Whether f should be shrunk less than is best for itself, because its error will be multiplied with another's.
    slices
        Groups of rows by a released function of their inputs, where the stage asks for something per group.
    """

    columns: tuple[Feature, ...]
    source: StageSource
    low: float
    high: float
    weighted: bool = False
    loading_bound: float = 1.0
    kind: TargetKind = "mean"
    n_rows: int | None = None
    n_features: int = 0
    loading_law: LoadingLaw | None = None
    residual_of: str | None = None
    residual_spread: RowLaw | None = None
    residual_weights: WeightLaw | None = None
    middle: RowLaw | None = None
    signal: float = 0.4
    intercept_signal: float = 0.2
    first_stage: tuple[str, ...] | None = None
    score_law: ScoreLaw | None = None
    treatment_law: RowLaw | None = None
    constant: bool = False
    interactions: Interactions = "plain"
    shared_with: str | None = None
    before_mean: bool = False
    misread: float | None = None
    loose: bool = False
    slices: Slices | None = None

    @property
    def with_treatment(self) -> bool:
        """Whether the treatment is among the inputs."""
        return len(self.columns) > self.n_features

    @classmethod
    def of_source(
        cls,
        source: StageSource,
        *,
        low: float,
        high: float,
        loading_bound: float = 1.0,
        **public: Any,  # noqa: ANN401 - the other parameters
    ) -> StageData:
        """Return the task for rows whose values are brought inside the bounds on their way."""

        def clean(rows: StageRows) -> StageRows:
            return cleaned(rows, low=low, high=high, loading_bound=loading_bound)

        return cls(source=ChangedStage(source, clean), low=low, high=high, loading_bound=loading_bound, **public)

    @classmethod
    def of_arrays(
        cls,
        *,
        codes: NDArray[np.uint16],
        target: NDArray[np.float64],
        loading: NDArray[np.float64] | None = None,
        **public: Any,  # noqa: ANN401 - the other parameters
    ) -> StageData:
        """Return the task for rows in memory."""
        return cls.of_source(HeldStage(StageRows(codes, target, loading)), weighted=loading is not None, **public)

    def total(self, work: StageWork) -> list[NDArray[Any]]:
        """Return the exact totals of ``work`` over all rows."""
        return self.source.total(work)

    @cached_property
    def held(self) -> StageRows:
        """All rows at once, for models that need them in memory."""
        return self.source.held()

    def without_rows(self) -> StageData:
        """Return the task's description alone, which may travel to where the rows are."""
        return replace(self, source=NO_ROWS)

    def changed(self, change: Callable[[StageRows], StageRows]) -> StageData:
        """Return the same task on rows changed one by one."""
        return replace(self, source=ChangedStage(self.source, change))

    def reach(self, codes: NDArray[np.uint16]) -> NDArray[np.float64]:
        """Return the largest absolute loading that a row with these inputs can have."""
        if self.loading_law is None:
            return np.broadcast_to(self.loading_bound, len(codes))
        reach = self.loading_law(codes)[0]
        return np.where((reach > 0) & (reach < self.loading_bound), reach, self.loading_bound)

    def loading_variance(self, codes: NDArray[np.uint16]) -> NDArray[np.float64]:
        """Return the expected squared loading of a row with these inputs."""
        guess = self.loading_bound**2 / 3 if self.weighted else 1.0
        if self.loading_law is None:
            return np.broadcast_to(guess, len(codes))
        expected = self.loading_law(codes)[1]
        return np.where((expected > 0) & (expected <= self.loading_bound**2), expected, guess)


def cleaned(rows: StageRows, *, low: float, high: float, loading_bound: float) -> StageRows:
    """Return rows with targets and loadings inside their bounds; what is missing counts as the middle, or zero."""
    target = np.clip(np.where(np.isnan(rows.target), (low + high) / 2, rows.target), low, high)
    loading = rows.loading
    if loading is not None:
        loading = np.clip(np.where(np.isnan(loading), 0.0, loading), -loading_bound, loading_bound)
    return StageRows(rows.codes, target, loading)


@runtime_checkable
class BaseLearner(Protocol):
    """A private regression: rows in, released function out."""

    def fit(
        self,
        data: StageData,
        *,
        budget: Budget,
        noise: NoiseSource,
        released: Mapping[str, AdditiveFunction],
    ) -> AdditiveFunction:
        """Return a released function of the stage's inputs whose ``guarantee_`` is within ``budget``.

        Parameters
        ----------
        data
            The stage's rows; private.
        budget
            What may be spent.
        noise
            The only source of randomness.
        released
            Models that earlier stages have released; reading them is free.
        """
        ...
