"""The paper's three findings, as checks on what was measured.

Each check is made once per method, ours and the paper's. A finding may hold for one and not for the other: a model that
shrinks when noise wins need not get jumpier with stronger privacy.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log
from statistics import fmean, median
from typing import TYPE_CHECKING

import numpy as np

from dpcate.experiments.figures.style import Method, epsilon_label

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dpcate.experiments.age_shapes import AgeShape
    from dpcate.experiments.grid import Cell
    from dpcate.experiments.summary import CellSummary

__all__ = [
    "Finding",
    "check_jumpiness",
    "check_stages",
    "check_variance",
    "geometric_mean",
    "rising",
    "total_variation",
]

Level = float | None
GROWS = 1.5
"""How many times the total variation at the strongest budget must be that at the weakest."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding for one method.

    Parameters
    ----------
    number
        Its number in the paper's list.
    claim
        What the paper found.
    method
        Who was checked.
    measured
        What was measured: a label and a number each.
    holds
        Whether the claim holds for the method.
    """

    number: int
    claim: str
    method: Method
    measured: tuple[tuple[str, float], ...]
    holds: bool


def total_variation(values: Sequence[float] | np.ndarray) -> float:
    """Return the sum of all moves of a curve, up and down alike.

    Examples
    --------
    >>> total_variation([0.0, 2.0, 1.0])
    3.0
    """
    return float(np.abs(np.diff(np.asarray(values, dtype=float))).sum())


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean of positive numbers.

    Examples
    --------
    >>> round(geometric_mean([1, 4]), 9)
    2.0
    """
    return exp(fmean(log(value) for value in values))


def check_jumpiness(shapes: Iterable[AgeShape]) -> list[Finding]:
    """Check finding 1: the shape function's total variation grows with privacy, by half at least.

    The strongest budget is compared with the weakest one. Fits without privacy are measured but not judged: without
    noise, boosting may be jumpy for another reason, its many more bins.
    """
    variations: dict[Method, dict[Level, list[float]]] = {}
    for shape in shapes:
        if shape.error is None:
            levels = variations.setdefault(shape.method, {})
            levels.setdefault(shape.epsilon, []).append(total_variation(shape.effect))
    findings = []
    for method, by_level in variations.items():
        means = {level: fmean(by_level[level]) for level in rising(by_level)}
        private = [value for level, value in means.items() if level is not None]
        if len(private) > 1:
            measured = tuple((epsilon_label(level), value) for level, value in means.items())
            findings.append(Finding(1, _JUMPY, method, measured, private[0] > GROWS * private[-1]))
    return findings


def check_variance(summaries: Mapping[Cell, CellSummary]) -> list[Finding]:
    """Check finding 2: most of what privacy costs is variance.

    The cost is what the error has more than at the weakest budget that was run, which is without privacy where that was
    run. Measured is, per budget, the share of variance in it: the median over studies, sizes and the learners with
    several stages. Cells that lost nothing are left out.
    """
    findings = []
    for method in _methods(summaries):
        shares: dict[Level, list[float]] = {}
        for series in _series(summaries, method, ("DR", "R")):
            weakest = series[rising(series)[-1]]
            for level in rising(series)[:-1]:
                variance, bias2 = _more(series[level], weakest)
                if variance + bias2 > 0:
                    shares.setdefault(level, []).append(variance / (variance + bias2))
        if shares:
            measured = [(epsilon_label(level), median(shares[level])) for level in rising(shares)]
            findings.append(Finding(2, _VARIANCE, method, tuple(measured), measured[0][1] > 0.5))
    return findings


def check_stages(summaries: Mapping[Cell, CellSummary]) -> list[Finding]:
    """Check finding 3: privacy costs the learners with several stages more than the one with a single stage.

    Measured is, per learner, the mean squared error at the strongest budget over that at the weakest: the geometric
    mean over studies and sizes.
    """
    findings = []
    for method in _methods(summaries):
        losses = []
        for learner in ("DR", "R", "S"):
            ratios = []
            for series in _series(summaries, method, (learner,)):
                levels = rising(series)
                ratios.append(_error(series[levels[0]]) / _error(series[levels[-1]]))
            if ratios:
                losses.append((learner, geometric_mean(ratios)))
        by_name = dict(losses)
        several = [by_name[name] for name in ("DR", "R") if name in by_name]
        if several and "S" in by_name:
            findings.append(Finding(3, _STAGES, method, tuple(losses), min(several) > by_name["S"]))
    return findings


def rising(levels: Iterable[Level]) -> list[Level]:
    """Return budgets from the strongest to the weakest; without privacy comes last."""
    return sorted(levels, key=lambda level: float("inf") if level is None else level)


def _more(summary: CellSummary, weakest: CellSummary) -> tuple[float, float]:
    """Return how much more variance and squared bias there is than at the weakest budget; zero below two runs."""
    if None in (summary.variance, summary.bias2, weakest.variance, weakest.bias2):
        return 0.0, 0.0
    return summary.variance - weakest.variance, summary.bias2 - weakest.bias2  # type: ignore[operator]


def _error(summary: CellSummary) -> float:
    return float("nan") if summary.mse is None else summary.mse


def _methods(summaries: Mapping[Cell, CellSummary]) -> list[Method]:
    return list(dict.fromkeys(Method(cell.model, cell.plan) for cell in summaries))


def _series(
    summaries: Mapping[Cell, CellSummary], method: Method, learners: Sequence[str]
) -> list[dict[Level, CellSummary]]:
    """Return, per study, size and learner, the summaries by budget where there are at least two."""
    found: dict[tuple[str, int, str], dict[Level, CellSummary]] = {}
    for cell, summary in summaries.items():
        if Method(cell.model, cell.plan) == method and cell.learner in learners and summary.mse is not None:
            found.setdefault((cell.study, cell.n, cell.learner), {})[cell.epsilon] = summary
    return [series for series in found.values() if len(series) > 1]


_JUMPY = "Stronger privacy makes the estimated effect jumpier (total variation of the age shape function)"
_VARIANCE = "Most of what privacy costs is variance (median share of variance in the cost)"
_STAGES = "Learners with several stages lose more than the one with a single stage (MSE, strongest over weakest budget)"
