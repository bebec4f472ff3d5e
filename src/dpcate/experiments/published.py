"""The paper's DR-, R- and S-learner the way its authors ran them, to check their published figures.

Nothing here is private, whatever epsilon says: bounds of features, outcomes and pseudo-outcomes are read from the rows,
the split is stratified on the treatment, and the noise is seeded. Results are void, and only experiments may use them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcate.accounting import EpsilonDelta, Guarantee
from dpcate.errors import ParameterError
from dpcate.experiments.published_boosting import DELTA, Boosting, quiet
from dpcate.schema import Number
from dpcate.tables import cell_midpoints

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from dpcate.schema import Feature, Schema

__all__ = ["WHY_VOID", "PublishedEffect", "fit_published", "stratified_parts"]

FLOOR = 0.05
"""The authors clip propensities to [0.05, 0.95]."""

SHARES = (0.25, 0.25, 0.5)
"""Shares of the rows for propensity, outcome and effect."""

WHY_VOID = (
    "void: as published, for experiments only",
    "void: bounds of features, outcomes and pseudo-outcomes were read from the rows",
    "void: the rows were split by strata of the treatment",
    "void: the noise was seeded",
)


@dataclass(frozen=True, eq=False, kw_only=True)
class PublishedEffect:
    """What one of the paper's learners found.

    Parameters
    ----------
    schema
        Names and order of the features.
    guarantee_
        Void; its notes say why.
    constant
        The S-learner's effect, the same for every row; None for the others.
    model
        interpret's additive effect model; None for the S-learner.
    """

    schema: Schema
    guarantee_: Guarantee
    constant: float | None = None
    model: Any = None

    def effect(self, X: Mapping[str, NDArray[Any]] | NDArray[Any]) -> NDArray[np.float64]:
        """Return the effect of each row of ``X``: columns by name, or an array in the schema's order."""
        rows = _features(self.schema, X)
        if self.constant is not None:
            return np.full(len(rows), self.constant)
        return np.asarray(self.model.predict(rows), dtype=np.float64)

    def shape(self, feature: str) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return a feature's grid and how the effect moves along it, averaging zero over interpret's noisy bins."""
        names = list(self.schema.feature_names)
        if feature not in names:
            raise ParameterError(f"`feature` must be one of {', '.join(names)}; got {feature!r}.")
        place = names.index(feature)
        column = self.schema.features[place]
        grid: NDArray[Any] = (
            cell_midpoints(column) if isinstance(column, Number) else np.array(column.levels, dtype=object)
        )
        if self.model is None:
            return grid, np.zeros(len(grid))
        rows = np.tile([_somewhere(c) for c in self.schema.features], (len(grid), 1))
        rows[:, place] = _numbers(column, grid)
        term = list(self.model.term_features_).index((place,))
        return grid, np.asarray(self.model.eval_terms(rows)[:, term], dtype=np.float64)


def fit_published(
    schema: Schema, table: Mapping[str, NDArray[Any]], epsilon: float | None, learner: str, seed: int
) -> PublishedEffect:
    """Return the effect as the paper's authors estimated it, at delta 1e-5.

    Parameters
    ----------
    schema
        Says which columns are numbers and which are categories. Its bounds and its propensity are not used.
    table
        One array per column.
    epsilon
        Budget of each stage; None for interpret's boosting without privacy.
    learner
        ``"DR"``, ``"R"`` or ``"S"``.
    seed
        Fixes the split and the noise.

    Privacy
    -------
    None; see the module's text. The guarantee of the result is void.
    """
    if learner not in _LEARNERS:
        raise ParameterError(f"`learner` must be one of {', '.join(_LEARNERS)}; got {learner!r}.")
    X = _features(schema, table)
    T = (np.asarray(table[schema.treatment.name]) == schema.arms[1]).astype(np.float64)
    Y = np.asarray(table[schema.outcome.name], dtype=np.float64)
    generator = np.random.default_rng(seed)
    numeric = tuple(isinstance(column, Number) for column in schema.features)
    boosting = Boosting(epsilon=epsilon, seed=int(generator.integers(2**31)), numeric=numeric)
    with quiet():
        found = _LEARNERS[learner](boosting, X, T, Y, generator)
    claim = EpsilonDelta(0.0, 1.0) if epsilon is None else EpsilonDelta(epsilon, DELTA)
    guarantee = Guarantee(claim, "replace", void=True, nominal=True, notes=WHY_VOID)
    return PublishedEffect(schema=schema, guarantee_=guarantee, **found)


def stratified_parts(T: NDArray[np.float64], generator: np.random.Generator) -> list[NDArray[np.intp]]:
    """Return the rows for propensity, outcome and effect; each part has the same share of treated rows.

    Examples
    --------
    >>> T = np.repeat([0.0, 1.0], [8, 16])
    >>> [(len(part), int(T[part].sum())) for part in stratified_parts(T, np.random.default_rng(0))]
    [(6, 4), (6, 4), (12, 8)]
    """
    arms = [generator.permutation(np.flatnonzero(arm == T)) for arm in (0, 1)]
    cuts = np.cumsum(SHARES)[:-1]
    pieces = [np.split(rows, np.rint(cuts * len(rows)).astype(int)) for rows in arms]
    return [np.concatenate(both) for both in zip(*pieces, strict=True)]


def _fit_dr(
    boosting: Boosting,
    X: NDArray[np.float64],
    T: NDArray[np.float64],
    Y: NDArray[np.float64],
    generator: np.random.Generator,
) -> dict[str, Any]:
    """Fit the effect to the doubly robust score; the outcome model sees the treatment as one more feature."""
    first, second, third = stratified_parts(T, generator)
    propensity = boosting.propensity(X[first], T[first])
    outcome = boosting.outcome(_joint(X[second], T[second]), Y[second])
    x, t, y = X[third], T[third], Y[third]
    e = np.clip(propensity(x), FLOOR, 1 - FLOOR)
    treated, control = (outcome(_joint(x, np.full(len(x), arm))) for arm in (1.0, 0.0))
    score = treated - control + t * (y - treated) / e - (1 - t) * (y - control) / (1 - e)
    return {"model": boosting.effect(x, score)}


def _fit_r(
    boosting: Boosting,
    X: NDArray[np.float64],
    T: NDArray[np.float64],
    Y: NDArray[np.float64],
    generator: np.random.Generator,
) -> dict[str, Any]:
    """Fit the effect to residual over residual, weighted by the treatment's squared residual."""
    first, second, third = stratified_parts(T, generator)
    propensity = boosting.propensity(X[first], T[first])
    outcome = boosting.outcome(X[second], Y[second])
    residual = T[third] - np.clip(propensity(X[third]), FLOOR, 1 - FLOOR)
    pseudo = (Y[third] - outcome(X[third])) / residual
    return {"model": boosting.effect(X[third], pseudo, weight=residual**2)}


def _fit_s(
    boosting: Boosting,
    X: NDArray[np.float64],
    T: NDArray[np.float64],
    Y: NDArray[np.float64],
    _: np.random.Generator,
) -> dict[str, Any]:
    """Fit the outcome to all rows; the effect is the difference between the arms.

    The authors took this learner from EconML, which gives the model two treatment columns: an indicator of control and
    one of treatment. Boosting thus visits the treatment twice a round, which moves the confounded setups A and C.
    """
    outcome = boosting.outcome(_joint(_joint(X, T), 1 - T), Y)
    treated, control = (outcome(_joint(_joint(X[:1], np.array([arm])), np.array([1 - arm]))) for arm in (1.0, 0.0))
    return {"constant": float(treated[0] - control[0])}


_LEARNERS = {"DR": _fit_dr, "R": _fit_r, "S": _fit_s}


def _joint(X: NDArray[np.float64], T: NDArray[np.float64]) -> NDArray[np.float64]:
    """Put a treatment column before the features; :class:`Boosting` takes what stands there for categories."""
    return np.column_stack([T, X])


def _features(schema: Schema, X: Mapping[str, NDArray[Any]] | NDArray[Any]) -> NDArray[np.float64]:
    columns = np.asarray(X).T if isinstance(X, np.ndarray) else [X[name] for name in schema.feature_names]
    return np.column_stack([_numbers(c, values) for c, values in zip(schema.features, columns, strict=True)])


def _numbers(column: Feature, values: NDArray[Any]) -> NDArray[np.float64]:
    """Return numbers as they are and categories as the place of their level, -1 where it is unknown."""
    if isinstance(column, Number):
        return np.asarray(values, dtype=np.float64)
    numbers = np.full(len(values), -1.0)
    for place, level in enumerate(column.levels):
        numbers[np.asarray(values) == level] = place
    return numbers


def _somewhere(column: Feature) -> float:
    return (column.low + column.high) / 2 if isinstance(column, Number) else 0.0
