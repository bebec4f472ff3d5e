"""The schema: the outcome, the treatment and the features of a study, all public.

A schema is complete and consistent when it exists, and it never changes. Whatever the later stages need to know about
the table before they may touch it is here.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpcate.errors import SchemaError
from dpcate.schema import document
from dpcate.schema.columns import Category, Feature, Number

if TYPE_CHECKING:
    from os import PathLike

    from dpcate.schema.values import Level

__all__ = ["Schema"]

MAXIMUM_ARMS = 127
"""Arms are stored in eight bits."""


@dataclass(frozen=True, slots=True)
class Schema:
    """The public description of a study.

    Parameters
    ----------
    outcome : Number
        What is measured after treatment; write ``Number(name, 0, 1)`` for yes or no.
    treatment : Category
        Two levels or more; the first is the control arm.
    features : sequence of Number or Category
        What is known of a row before treatment, at least one.
    propensity : float, optional
        Probability of the second arm, when the study's design fixed it; None when it has to be estimated.

    Raises
    ------
    SchemaError
        When a part has the wrong kind, a name occurs twice or the propensity is not in (0, 1).

    Examples
    --------
    >>> schema = Schema(
    ...     outcome=Number("vote", 0, 1),
    ...     treatment=Category("called", [0, 1]),
    ...     features=[Number("age", 18, 105), Category("sex", ["female", "male"])],
    ... )
    >>> schema.arms, schema.feature_names
    ((0, 1), ('age', 'sex'))
    """

    outcome: Number
    treatment: Category
    features: tuple[Feature, ...]
    propensity: float | None = None

    def __init__(
        self, outcome: Number, treatment: Category, features: Iterable[Feature], propensity: float | None = None
    ) -> None:
        _check_outcome(outcome)
        _check_treatment(treatment)
        checked = _checked_features(features)
        _check_names((outcome, treatment, *checked))
        object.__setattr__(self, "outcome", outcome)
        object.__setattr__(self, "treatment", treatment)
        object.__setattr__(self, "features", checked)
        object.__setattr__(self, "propensity", _checked_propensity(propensity, treatment))

    @property
    def arms(self) -> tuple[Level, ...]:
        """Levels of the treatment, control first."""
        return self.treatment.levels

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features, in schema order."""
        return tuple(feature.name for feature in self.features)

    @property
    def columns(self) -> tuple[Feature, ...]:
        """All columns: outcome, treatment, then the features."""
        return (self.outcome, self.treatment, *self.features)

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of all columns, in the order of `columns`."""
        return tuple(column.name for column in self.columns)

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as plain values that JSON can hold."""
        return {
            "outcome": document.column_to_dict(self.outcome),
            "treatment": document.column_to_dict(self.treatment),
            "features": [document.column_to_dict(feature) for feature in self.features],
            "propensity": self.propensity,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Schema:
        """Return the schema that `to_dict` wrote."""
        outcome, treatment, features, propensity = document.read_schema_parts(values)
        return cls(outcome, treatment, features, propensity)  # type: ignore[arg-type]  # checked by the constructor

    def dump(self, path: str | PathLike[str]) -> None:
        """Write the schema to a TOML file that a person can read and edit."""
        document.write_toml(self.to_dict(), path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Schema:
        """Return the schema in a TOML file."""
        return cls.from_dict(document.read_toml(path))


def _check_outcome(outcome: object) -> None:
    if isinstance(outcome, Category):
        raise SchemaError(
            f"The outcome must be a Number; got a Category. Write Number({outcome.name!r}, 0, 1) for yes or no."
        )
    if not isinstance(outcome, Number):
        raise SchemaError(f"The outcome must be a Number; got {type(outcome).__name__}.")


def _check_treatment(treatment: object) -> None:
    if not isinstance(treatment, Category):
        raise SchemaError(f"The treatment must be a Category, control first; got {type(treatment).__name__}.")
    if not 2 <= len(treatment.levels) <= MAXIMUM_ARMS:
        raise SchemaError(
            f"The treatment {treatment.name!r} must have 2 to {MAXIMUM_ARMS} levels, control first; "
            f"got {len(treatment.levels)}. List every arm, e.g. Category({treatment.name!r}, [0, 1])."
        )


def _checked_features(features: object) -> tuple[Feature, ...]:
    if isinstance(features, (str, bytes, Mapping)) or not isinstance(features, Iterable):
        raise SchemaError(f"The features must be a list of Number and Category; got {type(features).__name__}.")
    checked = tuple(features)
    if not checked:
        raise SchemaError("The features must be at least one Number or Category; got none.")
    for feature in checked:
        if not isinstance(feature, (Number, Category)):
            raise SchemaError(f"Every feature must be a Number or a Category; got {type(feature).__name__}.")
    return checked


def _check_names(columns: tuple[Feature, ...]) -> None:
    repeated = [name for name, count in Counter(column.name for column in columns).items() if count > 1]
    if repeated:
        raise SchemaError(f"All columns of a schema must have distinct names; got more than one {repeated[0]!r}.")


def _checked_propensity(propensity: object, treatment: Category) -> float | None:
    if propensity is None:
        return None
    if isinstance(propensity, (bool, str)) or not hasattr(propensity, "__float__"):
        raise SchemaError(f"`propensity` must be None or a number in (0, 1); got {type(propensity).__name__}.")
    share = float(propensity)
    if not (math.isfinite(share) and 0 < share < 1):
        raise SchemaError(f"`propensity` must lie in (0, 1); got {share!r}.")
    if len(treatment.levels) != 2:
        raise SchemaError(f"`propensity` must be None unless there are two arms; got {len(treatment.levels)} arms.")
    return share
