"""``summary.md``: what was measured beside what was published, as tables.

Ratios are published (or rerun) error over ours: above 1 we are better. Failed runs are counted and shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcate.experiments.figures.panels import PUBLISHED, study_title
from dpcate.experiments.findings import geometric_mean
from dpcate.experiments.grid import LEARNERS, Cell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcate.experiments.figures.panels import Measured
    from dpcate.experiments.figures.style import Method
    from dpcate.experiments.findings import Finding

__all__ = ["markdown_table", "render_summary"]


def render_summary(
    measured: Measured, findings: Sequence[Finding], notes: Sequence[str], figures: Sequence[str]
) -> str:
    """Return the page.

    Parameters
    ----------
    measured
        What was measured and published.
    findings
        The paper's findings as checked.
    notes
        What a reader must know, one sentence each: what was left out, what is made up.
    figures
        File names of the figures to show.
    """
    parts = ["# Reproduction of the paper's section 5", "\n".join(f"- {note}" for note in [*_KEY, *notes])]
    parts += [f"![{name.partition('.')[0]}]({name})" for name in figures]
    if findings:
        parts += ["## The paper's three findings", _findings(findings)]
    cells = list(measured.summaries)
    if cells:
        parts += ["## Geometric means", _geometric_means(measured, cells), "## Runs", _runs(measured, cells)]
        for study in dict.fromkeys(cell.study for cell in cells):
            parts.append(f"## {study_title(study)[0].upper()}{study_title(study)[1:]}")
            parts += _study(measured, [cell for cell in cells if cell.study == study])
    return "\n\n".join(parts) + "\n"


_KEY = (
    "Numbers are mean squared errors of the effect, mean over runs ± standard error; delta = 1e-5, replace-one.",
    "Published: the authors' own means. Rerun: the paper's learners as the authors ran them, which is not private "
    "(bounds read from the data, split stratified on the treatment).",
    "Ratios are published or rerun over ours: above 1, ours is better.",
    "Runs were seeded so that they can be repeated. A seeded run is void as a private release.",
)


def markdown_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table.

    Examples
    --------
    >>> print(markdown_table(["n"], [["500"]]))
    | n |
    | --- |
    | 500 |
    """
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _findings(findings: Sequence[Finding]) -> str:
    rows = [
        [
            f"{finding.number}. {finding.claim}",
            finding.method.label,
            ", ".join(f"{label}: {_number(value)}" for label, value in finding.measured),
            "holds" if finding.holds else "**does not hold**",
        ]
        for finding in sorted(findings, key=lambda finding: finding.number)
    ]
    return markdown_table(["finding", "for", "measured", "verdict"], rows)


def _geometric_means(measured: Measured, cells: Sequence[Cell]) -> str:
    """Return one row per learner of ours and study, and one over all studies."""
    rows = []
    studies = list(dict.fromkeys(cell.study for cell in cells))
    for method in measured.ours:
        for learner in LEARNERS:
            mine = [c for c in cells if (c.model, c.plan, c.learner) == (method.model, method.plan, learner)]
            groups = [(study, [c for c in mine if c.study == study]) for study in studies]
            for name, group in [*groups, *([("all", mine)] if len(studies) > 1 else [])]:
                if group:
                    ratios = [_mean_ratio(measured, group, rivals) for rivals in _RIVALS.values()]
                    rows.append([method.label, learner, name, *ratios, _rerun_ratio(measured, group)])
    headings = ["method", "learner", "study", *(f"published {name} / ours" for name in _RIVALS), "rerun same / ours"]
    return "Private cells only; in brackets, how many.\n\n" + markdown_table(headings, rows)


_RIVALS: dict[str, tuple[str, ...]] = {"same": (), "best of DR, R": ("DR", "R"), "best of DR, R, S": LEARNERS}


def _mean_ratio(measured: Measured, cells: Sequence[Cell], rivals: Sequence[str]) -> str:
    ratios = []
    for cell in cells:
        names = rivals or (cell.learner,)
        theirs = [measured.published_value(_as(cell, PUBLISHED, name)) for name in names]
        known = [value for value in theirs if value is not None]
        ours = measured.value(cell)
        if known and ours and cell.epsilon is not None:
            ratios.append(min(known) / ours)
    return f"{geometric_mean(ratios):.3g} ({len(ratios)})" if ratios else "-"


def _rerun_ratio(measured: Measured, cells: Sequence[Cell]) -> str:
    ratios = []
    for cell in cells:
        theirs, ours = measured.value(_as(cell, PUBLISHED, cell.learner)), measured.value(cell)
        if theirs and ours and cell.epsilon is not None:
            ratios.append(theirs / ours)
    return f"{geometric_mean(ratios):.3g} ({len(ratios)})" if ratios else "-"


def _as(cell: Cell, method: Method, learner: str) -> Cell:
    return Cell(cell.study, cell.n, cell.epsilon, learner, method.model, method.plan)


def _runs(measured: Measured, cells: Sequence[Cell]) -> str:
    rows = []
    for method in [*measured.ours, PUBLISHED]:
        for learner in LEARNERS:
            mine = [c for c in cells if (c.model, c.plan, c.learner) == (method.model, method.plan, learner)]
            if mine:
                ok = sum(measured.summaries[cell].runs for cell in mine)
                failed = sum(measured.summaries[cell].failed for cell in mine)
                rows.append([method.label, learner, str(len(mine)), str(ok), str(failed)])
    return markdown_table(["method", "learner", "cells", "runs that ended well", "runs that failed"], rows)


def _study(measured: Measured, cells: Sequence[Cell]) -> list[str]:
    """Return one table per learner: a row for every size and budget."""
    parts = []
    for learner in LEARNERS:
        specified = dict.fromkeys((c.n, c.epsilon) for c in cells if c.learner == learner)
        rows = [_row(measured, cells[0].study, n, epsilon, learner) for n, epsilon in sorted(specified, key=_order)]
        headings = ["n", "ε", *(method.label for method in measured.ours), "the paper's, rerun", "published"]
        headings += [f"published / {method.label}" for method in measured.ours] + ["rerun / published", "failed runs"]
        if rows:
            parts += [f"### {learner}-learner", markdown_table(headings, rows)]
    return parts


def _order(specified: tuple[int, float | None]) -> tuple[int, float]:
    n, epsilon = specified
    return n, float("inf") if epsilon is None else epsilon


def _row(measured: Measured, study: str, n: int, epsilon: float | None, learner: str) -> list[str]:
    ours = [Cell(study, n, epsilon, learner, method.model, method.plan) for method in measured.ours]
    rerun = Cell(study, n, epsilon, learner, PUBLISHED.model, PUBLISHED.plan)
    published = measured.published_value(rerun)
    failed = sum(measured.summaries[cell].failed for cell in [*ours, rerun] if cell in measured.summaries)
    return [
        f"{n:,}",
        "none" if epsilon is None else f"{epsilon:g}",
        *(_with_error(measured, cell) for cell in [*ours, rerun]),
        _number(published),
        *(_ratio(published, measured.value(cell)) for cell in ours),
        _ratio(measured.value(rerun), published),
        str(failed),
    ]


def _with_error(measured: Measured, cell: Cell) -> str:
    value, error = measured.value(cell), measured.value(cell, "mse_se")
    return _number(value) if value is None or error is None else f"{_number(value)} ± {error:.1g}"


def _ratio(above: float | None, below: float | None) -> str:
    return "-" if above is None or not below else f"{above / below:.3g}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"
