"""One run: draw, fit, compare with the truth.

Noise is seeded, so every fit here is void; experiments only. A fit that raises is a failed run; a study that cannot be
made, or an extra that is not installed, is the caller's mistake and raises.
"""

from __future__ import annotations

import json
import platform
import time
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dpcate.errors import NotAvailableError
from dpcate.experiments.not_private import InterpretWithoutPrivacy
from dpcate.experiments.record import RunRecord
from dpcate.experiments.studies import StudyPaths, make_study
from dpcate.learners import DRLearner, RLearner, SLearner

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from dpcate.experiments.grid import Cell
    from dpcate.experiments.studies import Study
    from dpcate.learners import CateLearner

__all__ = [
    "DELTA",
    "NO_PRIVACY",
    "N_POINTS",
    "RunRecord",
    "failed_run",
    "fit_cell",
    "prepare_study",
    "run_once",
    "true_effects",
]

DELTA = 1e-5
NO_PRIVACY = 1e6
"""Epsilon of our own models in cells without privacy."""

TEST_ROWS, TEST_SEED = 50_000, 987_654
N_POINTS = 500
"""The first rows of the test sample, at which predictions are kept."""

_LEARNERS: dict[str, type[CateLearner]] = {"DR": DRLearner, "R": RLearner, "S": SLearner}
_LIBRARIES = ("dpcate", "numpy", "scipy", "opendp", "interpret-core")


class Fitted(Protocol):
    """Anything that knows effects."""

    def effect(self, X: Any) -> NDArray[np.float64]:  # noqa: ANN401 - any array or frame
        """Return the effect for each row."""
        ...


def run_once(cell: Cell, replicate: int, paths: StudyPaths | None = None) -> RunRecord:
    """Return the record of one run; the same arguments give the same numbers on every machine.

    Parameters
    ----------
    cell, replicate
        What to run.
    paths
        Files of real studies.
    """
    study, X, effect = prepare_study(cell.study, paths or StudyPaths())
    table = study.draw(cell.n, cell.data_seed(replicate)).table
    started = time.perf_counter()
    try:
        fitted = fit_cell(cell, study, table, cell.seed(replicate))
        seconds = time.perf_counter() - started
        predicted = np.asarray(fitted.effect(X), dtype=np.float64)
        _check_finite(predicted)
    except NotAvailableError:
        raise
    except Exception as error:  # whatever a learner raises is a result
        return failed_run(cell, replicate, type(error).__name__, time.perf_counter() - started)
    mse = float(np.mean((predicted - effect) ** 2))
    points = predicted[:N_POINTS].astype("<f4").tobytes()
    return _record(cell, replicate, status="ok", error=None, seconds=seconds, mse=mse, points=points)


def failed_run(cell: Cell, replicate: int, error: str, seconds: float = 0.0) -> RunRecord:
    """Return the record of a run that raised; of the exception only its class is kept."""
    return _record(cell, replicate, status="failed", error=error, seconds=seconds, mse=None, points=b"")


@lru_cache(maxsize=16)
def prepare_study(name: str, paths: StudyPaths) -> tuple[Study, dict[str, NDArray[Any]], NDArray[np.float64]]:
    """Return a study with the features and true effects of its test sample; made once per process."""
    study = make_study(name, gotv=paths.gotv, voting=paths.voting)
    return study, *study.test(TEST_ROWS, TEST_SEED)


def true_effects(studies: Iterable[str], paths: StudyPaths | None = None) -> dict[str, NDArray[np.float64]]:
    """Return the true effects at the points where predictions are kept, by study.

    Examples
    --------
    >>> set(true_effects(["C"])["C"].tolist())
    {1.0}
    """
    return {name: prepare_study(name, paths or StudyPaths())[2][:N_POINTS] for name in dict.fromkeys(studies)}


def fit_cell(cell: Cell, study: Study, table: dict[str, NDArray[Any]], seed: int) -> Fitted:
    """Return a cell's learner, fitted on a table with seeded noise."""
    if cell.model == "published":
        from dpcate.experiments.published import fit_published

        published: Fitted = fit_published(study.schema, table, cell.epsilon, cell.learner, seed)
        return published
    without = cell.epsilon is None and cell.model == "interpret"
    learner = _LEARNERS[cell.learner](
        study.schema,
        epsilon=NO_PRIVACY if cell.epsilon is None else cell.epsilon,
        delta=DELTA,
        plan=cell.plan,
        model=InterpretWithoutPrivacy() if without else cell.model,
        random_state=seed,
    )
    return learner.fit_table(table)


def _check_finite(predicted: NDArray[np.float64]) -> None:
    if not np.isfinite(predicted).all():
        raise FloatingPointError("effects must be finite")


def _record(cell: Cell, replicate: int, **result: Any) -> RunRecord:  # noqa: ANN401 - fields of a record
    return RunRecord(
        study=cell.study,
        n=cell.n,
        epsilon=cell.epsilon,
        learner=cell.learner,
        model=cell.model,
        plan=cell.plan,
        replicate=replicate,
        seed=cell.seed(replicate),
        versions=_versions(),
        finished=datetime.now(UTC).isoformat(),
        **result,
    )


@lru_cache(maxsize=1)
def _versions() -> str:
    found = {"python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return json.dumps(found)
