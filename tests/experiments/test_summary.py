"""Bias and variance: both estimates hit known values, and the formulas that look like them do not."""

from dataclasses import replace

import numpy as np
import pytest

from dpcate.experiments.record import RunRecord
from dpcate.experiments.summary import from_pairs, from_runs, summarise

N_POINTS, N_RUNS = 100, 25
EFFECT = np.linspace(-1, 1, N_POINTS)
BIAS = 0.4 * np.cos(5 * EFFECT)
SPREAD = 0.5 + 0.4 * EFFECT
TRUE_BIAS2, TRUE_VARIANCE = float(np.mean(BIAS**2)), float(np.mean(SPREAD**2))


def made_up_predictions(n_runs, seed):
    """Predictions with a known bias and variance; errors at different points go together, as those of a fit do."""
    generator = np.random.default_rng(seed)
    common, own = generator.normal(size=(n_runs, 1)), generator.normal(size=(n_runs, N_POINTS))
    return EFFECT + BIAS + SPREAD * (0.6 * common + 0.8 * own)


def repeated(estimate, times=600):
    """Mean of an estimate over many experiments, and its standard error."""
    values = np.array([estimate(made_up_predictions(N_RUNS, seed)) for seed in range(times)])
    return values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(times)


def all_runs(predictions):
    return from_runs(predictions, EFFECT)


def pairs(predictions):
    return from_pairs(predictions[0:24:2], predictions[1:24:2], EFFECT)


def without_correction(predictions):
    bias2, variance = all_runs(predictions)
    return bias2 + variance / N_RUNS, variance * (N_RUNS - 1) / N_RUNS


def as_printed(predictions):
    first, second = predictions[0:24:2], predictions[1:24:2]
    mse = (np.mean((first - EFFECT) ** 2) + np.mean((second - EFFECT) ** 2)) / 2
    mse_avg = np.mean(((first + second) / 2 - EFFECT) ** 2)
    return mse_avg, 2 * mse - (2 * mse_avg - mse)  # the variance as the paper's text has it


def distances(estimate):
    mean, error = repeated(estimate)
    return np.abs(mean - (TRUE_BIAS2, TRUE_VARIANCE)) / error


@pytest.mark.parametrize("estimate", [all_runs, pairs])
def test_an_estimate_is_right_in_expectation(estimate):
    assert (distances(estimate) < 3.5).all()


@pytest.mark.parametrize("estimate", [without_correction, as_printed])
def test_a_formula_that_is_a_little_wrong_would_be_noticed(estimate):
    assert (distances(estimate) > 3.5).all()


def test_bias_and_variance_add_up_to_the_error_at_the_points():
    predictions = made_up_predictions(N_RUNS, 1)
    assert sum(all_runs(predictions)) == pytest.approx(np.mean((predictions - EFFECT) ** 2))
    assert sum(pairs(predictions)) == pytest.approx(np.mean((predictions[:24] - EFFECT) ** 2))


def test_the_paper_s_formula_by_hand():
    bias2, variance = from_pairs(np.array([[3.0]]), np.array([[1.0]]), np.array([0.0]))
    assert (bias2, variance) == (2 * 4 - 5, 2 * (5 - 4))


def record(replicate, predictions=None, **changes):
    good = predictions is not None
    fields = {
        "study": "A",
        "n": 500,
        "epsilon": 1.0,
        "learner": "DR",
        "model": "additive",
        "plan": "shared",
        "replicate": replicate,
        "seed": 1,
        "status": "ok" if good else "failed",
        "error": None if good else "ValueError",
        "seconds": 0.1,
        "mse": float(replicate) if good else None,
        "points": predictions.astype("<f4").tobytes() if good else b"",
        "versions": "{}",
        "finished": "",
    }
    return RunRecord(**{**fields, **changes})


def test_a_summary_counts_failures_and_pairs_only_what_has_a_partner():
    predictions = made_up_predictions(6, 2).astype("<f4").astype(float)
    good = (0, 1, 3, 4, 5)
    records = [record(i, predictions[i] if i in good else None) for i in reversed(range(6))]
    (summary,) = summarise(records, {"A": EFFECT})
    assert (summary.runs, summary.failed) == (5, 1)
    assert summary.mse == pytest.approx(np.mean(good))
    assert summary.mse_se == pytest.approx(np.std(good, ddof=1) / np.sqrt(5))
    assert (summary.bias2, summary.variance) == pytest.approx(from_runs(predictions[list(good)], EFFECT))
    pairs = from_pairs(predictions[[0, 4]], predictions[[1, 5]], EFFECT)
    assert (summary.bias2_pairs, summary.variance_pairs) == pytest.approx(pairs)
    assert summary.published_mse == 615.897


def test_one_run_has_an_error_and_nothing_else():
    (summary,) = summarise([record(2, EFFECT)], {"A": EFFECT})
    assert summary.mse == 2.0
    assert (summary.mse_se, summary.bias2, summary.variance, summary.bias2_pairs) == (None, None, None, None)


def test_cells_stay_apart():
    first = record(0, EFFECT)
    others = [replace(first, epsilon=None), replace(first, plan="split"), replace(first, study="D")]
    summaries = summarise([first, *others], {"A": EFFECT, "D": EFFECT})
    assert [summary.runs for summary in summaries] == [1, 1, 1, 1]
    assert [summary.published_mse for summary in summaries] == [615.897, None, 615.897, None]
