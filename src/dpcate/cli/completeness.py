"""What a schema file still lacks, in words, with the line where it is to be filled in.

`Schema.load` stops at the first problem; a person who fills in a form wants all of them. What this file does not
notice is noticed by making the schema itself.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpcate.errors import SchemaError
from dpcate.learners.options import check_schema
from dpcate.schema import Schema, column_from_dict

__all__ = ["schema_problems"]

_SECTION = re.compile(r"^\s*(\[\[\s*features\s*\]\]|\[\s*(outcome|treatment)\s*\])")


def schema_problems(path: str | Path) -> list[str]:
    """Return what keeps a schema file from being complete: one line each, none if it is complete."""
    try:
        text = Path(path).read_bytes().decode()
    except OSError as error:
        raise SchemaError(f"The schema must be a file that can be read; {str(path)!r}: {error.strerror}.") from None
    except UnicodeError:
        raise SchemaError(f"The schema must be a TOML file in UTF-8; {str(path)!r} is not.") from None
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:  # its text quotes the file, which may be the table given by mistake
        place = re.search(r"at line (\d+)", str(error))
        return [f"line {place[1] if place else text.count(chr(10)) + 1}: not TOML; is a value missing, or a quote?"]
    problems = _part_problems(values, _Places(text)) or _whole_problems(values)
    return list(dict.fromkeys(problems))


class _Places:
    """Where the sections of a schema file start."""

    def __init__(self, text: str) -> None:
        self._lines: dict[str, int] = {}
        n_features = 0
        for number, line in enumerate(text.splitlines(), start=1):
            section = _SECTION.match(line)
            if section is None:
                continue
            if section[2]:
                self._lines[section[2]] = number
            else:
                self._lines[f"features[{n_features}]"] = number
                n_features += 1

    def of(self, where: str, values: object) -> str:
        """Return how a problem's line starts: place, part and column."""
        named = isinstance(values, Mapping) and isinstance(values.get("name"), str) and values["name"]
        part = where if where in ("outcome", "treatment") else "feature"
        place = f"line {self._lines[where]}: " if where in self._lines else ""
        return f"{place}{part} {named!r}" if named else f"{place}{part}"


def _part_problems(values: Mapping[str, Any], places: _Places) -> list[str]:
    problems = []
    for where in ("outcome", "treatment"):
        if where not in values:
            problems.append(f"[{where}] is missing.")
            continue
        found = _column_problems(values[where], kind="number" if where == "outcome" else "category")
        problems += [f"{places.of(where, values[where])}: {problem}" for problem in found]
    features = values.get("features")
    if not features or not isinstance(features, list):
        return [*problems, "[[features]] is missing: at least one column that was known before the treatment."]
    for index, feature in enumerate(features):
        prefix = places.of(f"features[{index}]", feature)
        problems += [f"{prefix}: {problem}" for problem in _column_problems(feature, kind=None)]
    return problems


def _column_problems(values: object, *, kind: str | None) -> list[str]:
    """Return what one column lacks; ``kind`` is None where it may be a number or a category."""
    if not isinstance(values, Mapping):
        return ["must be a table with a name."]
    problems = []
    if not values.get("name"):
        problems.append("name is empty: write which column it is.")
    bounds = [key for key in ("low", "high") if key not in values]
    if kind == "number" and "levels" in values:
        problems.append("has levels, but it must be a number: for yes or no write low = 0 and high = 1.")
    elif kind == "category" and "levels" not in values:
        problems.append("levels are missing: list the two arms, control first, e.g. levels = [0, 1].")
    elif "levels" not in values and len(bounds) == 2 and kind is None:
        problems.append("fill in low and high if it is a number, levels if it is a category; or delete it.")
    elif "levels" not in values and bounds:
        problems.append(f"{' and '.join(bounds)} {'is' if len(bounds) == 1 else 'are'} missing.")
    return problems or _made_problems(values)


def _made_problems(values: Mapping[str, Any]) -> list[str]:
    try:
        column_from_dict(values)
    except SchemaError as error:
        return [str(error)]
    return []


def _whole_problems(values: Mapping[str, Any]) -> list[str]:
    names = [part["name"] for part in (values["outcome"], values["treatment"], *values["features"])]
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        return [f"column {name!r} is described more than once: every column has one role." for name in repeated]
    try:
        check_schema(Schema.from_dict(values))
    except SchemaError as error:
        return [str(error)]
    return []
