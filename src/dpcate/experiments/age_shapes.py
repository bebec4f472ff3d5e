"""Age shape functions of the effect: what figure 1 shows and finding 1 is about.

A curve is kept as soon as it is there, one line of a file each, so that a killed run resumes. Fits are seeded and
therefore void; experiments only.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcate.errors import NotAvailableError
from dpcate.experiments.figures.style import Method
from dpcate.experiments.grid import Cell
from dpcate.experiments.made_up_voting import make_made_up_voting
from dpcate.experiments.run import fit_cell
from dpcate.experiments.studies import StudyPaths, make_study

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from dpcate.experiments.protocol import Study

__all__ = ["AGES", "AgeShape", "age_study", "collect_age_shapes", "fit_age_shape", "true_age_shape"]

AGES = np.arange(20.0, 91.0)
N_OTHERS, N_TEST, TEST_SEED = 100, 50_000, 11


@dataclass(frozen=True, slots=True, kw_only=True)
class AgeShape:
    """How the effect moves with age in one fit.

    Parameters
    ----------
    cell, replicate
        What was fitted.
    effect
        The curve at :data:`AGES`, averaging zero over the ages of the test people; empty if the fit failed.
    error
        Class name of the exception of a failed fit.
    """

    cell: Cell
    replicate: int
    effect: tuple[float, ...]
    error: str | None = None

    @property
    def method(self) -> Method:
        """Model and plan of the fit."""
        return Method(self.cell.model, self.cell.plan)

    @property
    def epsilon(self) -> float | None:
        """Budget of the fit."""
        return self.cell.epsilon


@lru_cache(maxsize=2)
def age_study(paths: StudyPaths) -> Study:
    """Return the study of figure 1: the paper's voting data if there is a file, else GOTV, else made-up voters."""
    if paths.voting is not None:
        return make_study("voting", voting=paths.voting)
    if paths.gotv is not None:
        return make_study("GOTV", gotv=paths.gotv)
    return make_made_up_voting()


def true_age_shape(paths: StudyPaths) -> NDArray[np.float64]:
    """Return the age part of the additive function of age and the vote in 2000 that is nearest to the true effect."""
    ages, effect = _test_people(paths)[1:]
    voted = (effect < 0).astype(np.float64)  # the effect is zero for those who did not vote, and for nobody else
    at = np.searchsorted(AGES, ages)
    counts = np.bincount(at, minlength=len(AGES))
    mean_vote, mean_effect = (np.bincount(at, v, len(AGES)) / np.maximum(counts, 1) for v in (voted, effect))
    rest = voted - mean_vote[at]
    slope = float(rest @ (effect - mean_effect[at]) / (rest @ rest))
    return _centred(mean_effect - slope * mean_vote, ages)


def fit_age_shape(cell: Cell, replicate: int, paths: StudyPaths) -> AgeShape:
    """Fit once and return the curve: effects with age set to each of :data:`AGES`, averaged over test people."""
    study = age_study(paths)
    people, ages, _ = _test_people(paths)
    try:
        table = study.draw(cell.n, cell.data_seed(replicate)).table
        fitted = fit_cell(cell, study, table, cell.seed(replicate))
        others = {name: np.tile(values[:N_OTHERS], len(AGES)) for name, values in people.items()}
        others["age"] = np.repeat(AGES, N_OTHERS)
        curve = np.asarray(fitted.effect(others), dtype=np.float64).reshape(len(AGES), N_OTHERS).mean(axis=1)
    except NotAvailableError:
        raise
    except Exception as error:  # whatever a learner raises is a result
        return AgeShape(cell=cell, replicate=replicate, effect=(), error=type(error).__name__)
    if not np.isfinite(curve).all():
        return AgeShape(cell=cell, replicate=replicate, effect=(), error="FloatingPointError")
    return AgeShape(cell=cell, replicate=replicate, effect=tuple(_centred(curve, ages).tolist()))


def collect_age_shapes(
    cells: Sequence[Cell], replicates: int, file: Path, paths: StudyPaths, *, jobs: int | None, progress: bool
) -> list[AgeShape]:
    """Return the curves of all cells and replicates; those in the file are not fitted again, new ones are added."""
    wanted = {cell.key(replicate): (cell, replicate) for replicate in range(replicates) for cell in cells}
    known = {shape.cell.key(shape.replicate): shape for shape in _read(file)}
    todo = [(*wanted[key], paths) for key in wanted if key not in known]
    age_study(paths)  # a missing file shows now, not in a worker
    if todo:
        file.parent.mkdir(parents=True, exist_ok=True)
        cut_off = file.exists() and not file.read_bytes().endswith(b"\n")
        with file.open("a", encoding="utf-8") as lines:
            lines.write("\n" if cut_off else "")
            for shape in _fit_all(todo, jobs, progress=progress):
                lines.write(json.dumps(asdict(shape)) + "\n")
                lines.flush()
                known[shape.cell.key(shape.replicate)] = shape
    return [known[key] for key in wanted]


def _fit_all(todo: Sequence[tuple[Cell, int, StudyPaths]], jobs: int | None, *, progress: bool) -> Any:  # noqa: ANN401 - generator
    try:
        from joblib import Parallel, cpu_count, delayed, parallel_config
    except ImportError:
        raise NotAvailableError('experiments need an extra: pip install "dpcate[reproduce]".') from None
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    with parallel_config(backend="loky", inner_max_num_threads=1):
        pool = Parallel(n_jobs=min(jobs or cpu_count(), len(todo)), return_as="generator_unordered")
        shapes = pool(delayed(fit_age_shape)(*job) for job in todo)
        yield from track(shapes, "age shapes", total=len(todo), console=console, disable=not progress)


def _read(file: Path) -> list[AgeShape]:
    """Return the curves of a file; a last line that was cut off by a kill is left out."""
    shapes = []
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else []:
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        entry["cell"], entry["effect"] = Cell(**entry["cell"]), tuple(entry["effect"])
        shapes.append(AgeShape(**entry))
    return shapes


@lru_cache(maxsize=2)
def _test_people(paths: StudyPaths) -> tuple[dict[str, NDArray[Any]], NDArray[np.float64], NDArray[np.float64]]:
    """Return features, ages on the grid, and true effects of the test people whose age is on it."""
    people, effect = age_study(paths).test(N_TEST, TEST_SEED)
    ages = np.round(people["age"].astype(np.float64))
    on_grid = (ages >= AGES[0]) & (ages <= AGES[-1])
    return {name: values[on_grid] for name, values in people.items()}, ages[on_grid], effect[on_grid]


def _centred(curve: NDArray[np.float64], ages: NDArray[np.float64]) -> NDArray[np.float64]:
    centred: NDArray[np.float64] = curve - curve[np.searchsorted(AGES, ages)].mean()
    return centred
