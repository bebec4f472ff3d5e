"""The figures that the paper's authors published, cell by cell.

They are means over up to 25 replicates at delta = 1e-5. Bounds were read from the data and the split was stratified, so
those runs were not private as run; setups D and E were D-published and E-published here.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

__all__ = ["PublishedValues", "published"]

_STUDIES = {"A": "A", "B": "B", "C": "C", "D": "D-published", "E": "E-published", "Voting": "voting"}


@dataclass(frozen=True, slots=True)
class PublishedValues:
    """A published cell.

    Parameters
    ----------
    model
        ``"dp-ebm"``; ``"lasso"`` for the cells without privacy.
    mse, bias2, variance
        Mean squared error, integrated squared bias and integrated variance.
    replicates
        Runs that had not failed, of 25; failed ones were dropped.
    """

    model: str
    mse: float
    bias2: float
    variance: float
    replicates: int


def published(study: str, n: int, learner: str, epsilon: float | None) -> PublishedValues | None:
    """Return the published figures of a cell, or None where there are none.

    Parameters
    ----------
    study, n, learner
        The cell; learner is ``"DR"``, ``"R"`` or ``"S"``.
    epsilon
        The budget. None is without privacy: there the authors published a lasso, not their boosting.

    Examples
    --------
    >>> published("A", 500, "DR", 1.0).mse
    615.897
    >>> published("D", 500, "DR", 1.0) is None  # the published D is another
    True
    """
    return _table().get((study, n, learner, epsilon))


@lru_cache(maxsize=1)
def _table() -> dict[tuple[str, int, str, float | None], PublishedValues]:
    text = files("dpcate.experiments").joinpath("data", "published_mse.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return {
        (
            _STUDIES[row["setup"]],
            int(row["n"]),
            row["learner"],
            float(row["epsilon"]) if row["epsilon"] else None,
        ): PublishedValues(
            row["model"], float(row["mse"]), float(row["bias2"]), float(row["variance"]), int(row["replicates"])
        )
        for row in rows
    }
