"""A schema as plain values and as a TOML file.

The file says what the schema says and nothing else; an unknown key is refused rather than dropped, so that a misspelt
bound cannot pass for a missing one. Level types survive: 1, 1.0, true and "1" stay what they were.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w

from dpcate.errors import SchemaError
from dpcate.schema.columns import Category, Feature, Number

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["column_from_dict", "column_to_dict", "read_schema_parts", "read_toml", "write_toml"]

_HEADER = "# Public facts only: write these down from what is known of the quantities, not from the table.\n"
_NUMBER_KEYS = {"name", "low", "high"}
_CATEGORY_KEYS = {"name", "levels"}
_SCHEMA_KEYS = {"outcome", "treatment", "features", "propensity"}


def column_to_dict(column: Feature) -> dict[str, Any]:
    """Return a column as plain values."""
    if isinstance(column, Number):
        return {"name": column.name, "low": column.low, "high": column.high}
    return {"name": column.name, "levels": list(column.levels)}


def column_from_dict(values: object, *, where: str = "column") -> Feature:
    """Return the column that plain values describe: a Category when they have levels, else a Number."""
    if not isinstance(values, Mapping):
        raise SchemaError(f"`{where}` must be a table with a name; got {type(values).__name__}.")
    keys = _CATEGORY_KEYS if "levels" in values else _NUMBER_KEYS
    _check_keys(values, allowed=keys, required={"name"}, where=where)
    return Category(**values) if "levels" in values else Number(**values)


def read_schema_parts(values: object) -> tuple[Feature, Feature, tuple[Feature, ...], Any]:
    """Return outcome, treatment, features and propensity from plain values."""
    if not isinstance(values, Mapping):
        raise SchemaError(f"A schema must be a table of its parts; got {type(values).__name__}.")
    _check_keys(values, allowed=_SCHEMA_KEYS, required=_SCHEMA_KEYS - {"propensity"}, where="schema")
    listed = values["features"]
    if not isinstance(listed, (list, tuple)):
        raise SchemaError(f"`features` must be a list of tables, one [[features]] each; got {type(listed).__name__}.")
    features = tuple(column_from_dict(item, where=f"features[{index}]") for index, item in enumerate(listed))
    outcome = column_from_dict(values["outcome"], where="outcome")
    treatment = column_from_dict(values["treatment"], where="treatment")
    return outcome, treatment, features, values.get("propensity")


def write_toml(values: Mapping[str, Any], path: str | PathLike[str]) -> None:
    """Write the plain values of a schema as TOML, one table per column."""
    top = {} if values["propensity"] is None else {"propensity": values["propensity"]}
    sections = [("[outcome]", values["outcome"]), ("[treatment]", values["treatment"])]
    sections += [("[[features]]", feature) for feature in values["features"]]
    body = "".join(f"\n{title}\n{tomli_w.dumps(section)}" for title, section in sections)
    try:
        Path(path).write_bytes((_HEADER + tomli_w.dumps(top) + body).encode())
    except OSError as error:
        raise SchemaError(
            f"The schema must go to a file that can be written; {str(path)!r}: {error.strerror}."
        ) from None


def read_toml(path: str | PathLike[str]) -> dict[str, Any]:
    """Return what a TOML file says."""
    try:
        return tomllib.loads(Path(path).read_bytes().decode())
    except OSError as error:
        raise SchemaError(f"The schema must be a file that can be read; {str(path)!r}: {error.strerror}.") from None
    except ValueError:  # the parser quotes the file, which may be the table given by mistake
        raise SchemaError(f"The schema must be a TOML file in UTF-8; {str(path)!r} is not.") from None


def _check_keys(values: Mapping[Any, Any], *, allowed: set[str], required: set[str], where: str) -> None:
    missing = sorted(required - set(values))
    if missing:
        raise SchemaError(f"`{where}` must have the key {missing[0]!r}; it is missing.")
    unknown = [key for key in values if key not in allowed]
    if unknown:
        raise SchemaError(f"`{where}` must have no keys but {sorted(allowed)}; got {unknown[0]!r}.")
