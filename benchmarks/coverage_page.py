"""The coverage tables of the documentation, from the last results: ``python -m benchmarks.coverage_page``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from benchmarks.coverage import EPSILONS, PLANS, SETUPS, SIZES, make
from benchmarks.report import RESULTS, markdown_table

__all__ = ["PAGE", "page"]

PAGE = Path(__file__).parent.parent / "docs" / "statistics" / "coverage.md"
BARS = {"people": (0.93, 0.99), "aipw": (0.93, 0.98)}


def page(cells: list[dict]) -> str:
    """Return the page: one table for people and one for the average, per plan."""
    found = {(cell["plan"], cell["setup"], cell["n"], cell["epsilon"]): cell for cell in cells}
    parts = [_introduction(cells)]
    for plan in PLANS:
        runs, average_runs = next((cell["runs"], cell["average_runs"]) for cell in cells if cell["plan"] == plan)
        for key, title, n_runs in (
            ("people", "people, R-learner", runs),
            ("aipw", "average effect, `AverageEffect`", average_runs),
        ):
            parts.append(f"## Plan {plan}: {title} ({n_runs} runs per cell)\n\n{_table(found, plan, key)}")
    return "\n\n".join(parts) + "\n"


def _introduction(cells: list[dict]) -> str:
    people, average = (_within(cells, key) for key in BARS)
    n_runs = dict.fromkeys(cell["average_runs"] for cell in cells)
    unsure = " and ".join(f"{100 * (0.95 * 0.05 / runs) ** 0.5:.1f} with {runs}" for runs in n_runs)
    return f"""# Coverage, cell by cell

How often 95 % intervals hold, in percent, and in brackets how wide they are on average. Wanted are 93 to 99 % of people and 93 to 98 % of averages; what is beyond that is **bold**:
of {len(cells)} cells, {people} are within for people and {average} for the average, whose share has itself a standard error of about {unsure} runs per cell, in percent points. The trivial interval is
what the outcome's bounds allow before anything is looked at. On D people's target is the best additive approximation of the effect. Why cells are beyond: [intervals](intervals.md), section 11.

Measured with `python -m benchmarks.run coverage` ([more columns](../../benchmarks/results/coverage.md)); this page is written by `python -m benchmarks.coverage_page`."""


def _within(cells: list[dict], key: str) -> int:
    low, high = BARS[key]
    return sum(low <= cell[key] <= high for cell in cells)


def _table(found: dict[tuple, dict], plan: str, key: str) -> str:
    rows = []
    for setup in SETUPS:
        bounds = make(setup).schema.outcome
        for n in SIZES:
            cells = [found[plan, setup, n, epsilon] for epsilon in EPSILONS]
            rows.append([setup, f"{n:,}", *map(_entry(key), cells), f"{2 * (bounds.high - bounds.low):g}"])
    return markdown_table(["setup", "rows", *(f"epsilon {epsilon:g}" for epsilon in EPSILONS), "trivial width"], rows)


def _entry(key: str) -> Callable[[dict], str]:
    low, high = BARS[key]

    def entry(cell: dict) -> str:
        share = f"{100 * cell[key]:.1f}"
        return f"{share if low <= cell[key] <= high else f'**{share}**'} ({cell[f'{key}_width']:#.3g})"

    return entry


def main() -> None:
    cells = json.loads((RESULTS / "coverage.json").read_text(encoding="utf-8"))["cells"]
    PAGE.write_text(page(cells), encoding="utf-8")
    print(PAGE.relative_to(Path.cwd()) if PAGE.is_relative_to(Path.cwd()) else PAGE)


if __name__ == "__main__":
    main()
