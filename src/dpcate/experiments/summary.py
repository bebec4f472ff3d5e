"""Error, bias and variance of each cell, in two ways that have the same expectation.

From all runs: the variance between predictions at the same point, and the squared distance of their mean from the
truth, less what of it is noise of the mean. From pairs, as in the paper: two fits on separate rows have errors MSE_1
and MSE_2 with mean MSE, and their average prediction has MSE_avg. In expectation MSE = B2 + V and MSE_avg = B2 + V / 2,
hence B2 = 2 MSE_avg - MSE and V = 2 (MSE - MSE_avg) = MSE - B2. (The paper's text prints 2 MSE - B2 for the variance;
its published figures satisfy V = MSE - B2, as here.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcate.experiments.published_values import published

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from dpcate.experiments.grid import Cell
    from dpcate.experiments.record import RunRecord

__all__ = ["CellSummary", "from_pairs", "from_runs", "summarise"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CellSummary:
    """What the runs of a cell say.

    Parameters
    ----------
    cell
        The cell.
    runs, failed
        Runs that ended well, and runs that did not; all figures are over the former.
    mse, mse_se
        Mean of the runs' errors over the whole test sample, and its standard error (None below two runs).
    bias2, variance
        Integrated squared bias and variance at the study's test points, from all runs; unbiased, so bias2 may be
        negative. None below two runs. Their sum is the mean error at those points, not exactly ``mse``.
    bias2_pairs, variance_pairs
        The same by the paper's pairs: runs 2 k and 2 k + 1. None without a pair.
    published_mse
        The published mean of the same learner and budget, where there is one.
    """

    cell: Cell
    runs: int
    failed: int
    mse: float | None
    mse_se: float | None
    bias2: float | None
    variance: float | None
    bias2_pairs: float | None
    variance_pairs: float | None
    published_mse: float | None


def summarise(records: Iterable[RunRecord], truth: Mapping[str, NDArray[np.float64]]) -> list[CellSummary]:
    """Return one summary per cell, in the order in which cells first appear.

    Parameters
    ----------
    records
        Runs, in any order.
    truth
        True effects at the test points by study, see :func:`~dpcate.experiments.run.true_effects`.
    """
    cells: dict[Cell, list[RunRecord]] = {}
    for record in records:
        cells.setdefault(record.cell, []).append(record)
    return [_summary(cell, runs, truth[cell.study]) for cell, runs in cells.items()]


def from_runs(predictions: NDArray[np.float64], effect: NDArray[np.float64]) -> tuple[float, float] | tuple[None, None]:
    """Return squared bias and variance from runs by points; None below two runs."""
    n_runs = len(predictions)
    if n_runs < 2:
        return None, None
    variance = float(predictions.var(axis=0, ddof=1).mean())
    return float(np.mean((predictions.mean(axis=0) - effect) ** 2)) - variance / n_runs, variance


def from_pairs(
    first: NDArray[np.float64], second: NDArray[np.float64], effect: NDArray[np.float64]
) -> tuple[float, float] | tuple[None, None]:
    """Return squared bias and variance from pairs by points; None without a pair."""
    if len(first) == 0:
        return None, None
    mse = float(np.mean((first - effect) ** 2) + np.mean((second - effect) ** 2)) / 2
    mse_avg = float(np.mean(((first + second) / 2 - effect) ** 2))
    return 2 * mse_avg - mse, 2 * (mse - mse_avg)


def _summary(cell: Cell, records: Sequence[RunRecord], effect: NDArray[np.float64]) -> CellSummary:
    good = {record.replicate: record for record in records if record.status == "ok"}
    errors = np.array([record.mse for record in good.values()], dtype=np.float64)
    predicted = {replicate: record.predictions for replicate, record in good.items()}
    bias2, variance = from_runs(_stacked(predicted.values(), effect), effect)
    pairs = [replicate for replicate in sorted(predicted) if replicate % 2 == 0 and replicate + 1 in predicted]
    first = _stacked((predicted[replicate] for replicate in pairs), effect)
    second = _stacked((predicted[replicate + 1] for replicate in pairs), effect)
    bias2_pairs, variance_pairs = from_pairs(first, second, effect)
    known = None if cell.epsilon is None else published(cell.study, cell.n, cell.learner, cell.epsilon)
    return CellSummary(
        cell=cell,
        runs=len(good),
        failed=len(records) - len(good),
        mse=float(errors.mean()) if len(errors) > 0 else None,
        mse_se=float(errors.std(ddof=1) / np.sqrt(len(errors))) if len(errors) > 1 else None,
        bias2=bias2,
        variance=variance,
        bias2_pairs=bias2_pairs,
        variance_pairs=variance_pairs,
        published_mse=None if known is None else known.mse,
    )


def _stacked(predictions: Iterable[NDArray[np.float64]], effect: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array(list(predictions), dtype=np.float64).reshape(-1, len(effect))
