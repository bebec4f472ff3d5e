"""Results as files: a Markdown page for people and the same numbers as JSON, both with where they were measured."""

from __future__ import annotations

import datetime
import json
import os
import platform
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

__all__ = ["RESULTS", "Report", "markdown_table"]

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("dpcate", "numpy", "scipy", "opendp", "interpret-core", "econml", "doubleml")


@dataclass
class Report:
    """The answer to one question.

    Parameters
    ----------
    name
        Name of the result files.
    text
        Markdown: what was measured and what came out.
    numbers
        The same as JSON values.
    """

    name: str
    text: str
    numbers: dict[str, Any] = field(default_factory=dict)

    def write(self, folder: Path = RESULTS) -> Path:
        """Write both files and return the Markdown's path."""
        folder.mkdir(parents=True, exist_ok=True)
        where = environment()
        footer = ", ".join(f"{key} {value}" for key, value in where.items())
        path = folder / f"{self.name}.md"
        path.write_text(f"{self.text.rstrip()}\n\nMeasured with: {footer}.\n", encoding="utf-8")
        document = {"environment": where, **self.numbers}
        (folder / f"{self.name}.json").write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
        return path


def environment() -> dict[str, str]:
    """Return versions, cores and date."""
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "cores": str(os.cpu_count()),
        "python": platform.python_version(),
        **{package: _version(package) for package in PACKAGES},
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def markdown_table(header: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
