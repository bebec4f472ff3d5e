"""The paper's section 5 from one call: run what is missing, draw the figures, write the tables.

The folder holds all state: ``runs.sqlite`` (runs of figures 2 and 3), ``shapes.jsonl`` (curves of figure 1). A second
call with the same folder runs only what is not there yet.
"""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING

from dpcate.errors import NotAvailableError
from dpcate.experiments.age_shapes import AGES, age_study, collect_age_shapes, true_age_shape
from dpcate.experiments.figures.figure1 import draw_figure1
from dpcate.experiments.figures.figure2 import draw_figure2
from dpcate.experiments.figures.figure3 import draw_figure3
from dpcate.experiments.figures.panels import Measured
from dpcate.experiments.figures.style import check_matplotlib
from dpcate.experiments.findings import check_jumpiness, check_stages, check_variance
from dpcate.experiments.made_up_voting import MADE_UP
from dpcate.experiments.published_values import published
from dpcate.experiments.run import true_effects
from dpcate.experiments.runner import run_grid
from dpcate.experiments.store import RunStore
from dpcate.experiments.summary import summarise
from dpcate.experiments.summary_page import render_summary

if TYPE_CHECKING:
    from pathlib import Path

    from dpcate.experiments.age_shapes import AgeShape
    from dpcate.experiments.request import Request

__all__ = ["reproduce"]

FEW = 10
NEEDS_INTERPRET = ("interpret", "published")


def reproduce(
    request: Request,
    directory: Path,
    *,
    backend: str = "local",
    scheduler: str | None = None,
    jobs: int | None = None,
    progress: bool = True,
) -> list[Path]:
    """Run what the folder lacks, write figures and ``summary.md``, and return the paths that were written.

    Parameters
    ----------
    request
        What to reproduce.
    directory
        Where results, figures and tables go.
    backend, scheduler, jobs, progress
        As for :func:`~dpcate.experiments.runner.run_grid`. The few fits of figure 1 are always made on this machine.
    """
    check_matplotlib()
    request, notes = _without_missing_models(request)
    cells = request.cells()
    with RunStore(directory / "runs.sqlite") as store:
        run_grid(
            cells,
            request.runs,
            store,
            backend=backend,
            scheduler=scheduler,
            jobs=jobs,
            progress=progress,
            paths=request.paths,
        )
        measured = _measured(request, store)
    shapes = _shapes(request, directory, jobs, progress=progress)
    findings = [*check_jumpiness(shapes), *check_variance(measured.summaries), *check_stages(measured.summaries)]
    written = _draw(request, measured, shapes, directory)
    page = directory / "summary.md"
    figures = [path.name for path in written if path.suffix == ".png"]
    page.write_text(render_summary(measured, findings, [*notes, *_notes(request, shapes)], figures), encoding="utf-8")
    return [*written, page]


def _without_missing_models(request: Request) -> tuple[Request, list[str]]:
    """Leave out the paper's learners where interpret is not installed, and say so."""
    if find_spec("interpret") is not None or not set(request.models) & set(NEEDS_INTERPRET):
        return request, []
    models = tuple(model for model in request.models if model not in NEEDS_INTERPRET)
    if not models:
        raise NotAvailableError('the paper\'s learners need an extra: pip install "dpcate[reproduce]".')
    note = 'interpret is not installed, so the paper\'s learners were not rerun: pip install "dpcate[reproduce]".'
    return replace(request, models=models), [note]


def _measured(request: Request, store: RunStore) -> Measured:
    """Return what the store has of the request, no more."""
    cells = request.cells()
    wanted = set(cells)
    records = [r for r in store.records() if r.cell in wanted and r.replicate < request.runs]
    truth = true_effects([cell.study for cell in cells], request.paths)
    found = {summary.cell: summary for summary in summarise(records, truth)}
    return Measured({cell: found[cell] for cell in cells if cell in found}, published, request.ours)


def _shapes(request: Request, directory: Path, jobs: int | None, *, progress: bool) -> list[AgeShape]:
    if 1 not in request.figures:
        return []
    cells = request.shape_cells(age_study(request.paths).name)
    n_fits = min(request.shape_runs, request.runs)
    return collect_age_shapes(cells, n_fits, directory / "shapes.jsonl", request.paths, jobs=jobs, progress=progress)


def _draw(request: Request, measured: Measured, shapes: list[AgeShape], directory: Path) -> list[Path]:
    written = []
    good = [shape for shape in shapes if shape.error is None]
    if good:
        study = _figure1_people(request)
        written += draw_figure1(good, AGES, true_age_shape(request.paths), directory, study=study)
    if 2 in request.figures:
        for place, study in enumerate(request.figure2_studies):
            name = "figure2" if place == 0 else f"figure2-{study}"
            written += draw_figure2(study, measured, directory, name=name)
    if 3 in request.figures:
        written += draw_figure3(request.figure3_sizes, measured, directory, learner=request.main_learner)
    return written


def _figure1_people(request: Request) -> str:
    name = age_study(request.paths).name
    return f"{name} (not real people)" if name == MADE_UP else name


def _notes(request: Request, shapes: list[AgeShape]) -> list[str]:
    notes = []
    if shapes:
        notes.append(f"Figure 1 is on the study: {_figure1_people(request)}, n = {shapes[0].cell.n:,}.")
        if age_study(request.paths).name == MADE_UP:
            notes.append("Made-up voters stand in for voting data, which do not come with dpcate (--gotv, --voting).")
        failed = sum(shape.error is not None for shape in shapes)
        notes.append(f"Of {len(shapes)} fits for figure 1, {failed} failed.")
    if "GOTV" in request.real_studies:
        notes.append("GOTV is another trial than the paper's voting data, with the same synthetic effect.")
    if None in request.epsilons:
        notes.append("Without privacy, ours is a fit at epsilon = 1e6, and no published value is shown: it is a lasso.")
    if request.quick and "published" in request.models and None in request.epsilons:
        notes.append("Quick: the paper's learners without privacy, which are slow, are in figure 1 only.")
    if request.runs < FEW:
        notes.append(f"{request.runs} runs per cell are few: bias, variance and the findings are rough.")
    return notes
