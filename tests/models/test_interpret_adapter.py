"""The adapter to interpret: same terms, nominal guarantee, and never a crash or a quote from a row."""

import importlib.util
import warnings

import numpy as np
import pytest

from dpcate.errors import NotAvailableError
from dpcate.mechanisms import SeededNoise
from dpcate.models import Budget, Interpret, StageData
from dpcate.models.interpret_adapter import WHY_NOMINAL
from dpcate.schema import Category, Number
from dpcate.tables import cell_midpoints

COLUMNS = (Number("age", 0, 2), Category("sex", ["f", "m"]))
BUDGET = Budget(mu=1.0, epsilon=50.0, delta=1e-5, neighbours="replace")


def make_stage(n_rows=3000, **changes):
    generator = np.random.default_rng(0)
    codes = np.column_stack([generator.integers(1, 1025, n_rows), generator.integers(1, 3, n_rows)]).astype(np.uint16)
    target = np.clip(codes[:, 0] / 1024 + (codes[:, 1] == 2), 0, 2)
    options = {"columns": COLUMNS, "codes": codes, "target": target, "low": 0.0, "high": 2.0, "n_rows": n_rows}
    return StageData.of_arrays(**{**options, **changes})


def fit(data, learner=None):
    return (learner or Interpret()).fit(data, budget=BUDGET, noise=SeededNoise(0), released={})


def test_without_interpret_the_error_names_the_command(monkeypatch):
    monkeypatch.setattr("dpcate.models.interpret_adapter.find_spec", lambda name: None)
    with pytest.raises(NotAvailableError, match=r'pip install "dpcate\[interpret\]"'):
        fit(make_stage())


needs_interpret = pytest.mark.skipif(importlib.util.find_spec("interpret") is None, reason="interpret is not installed")


@needs_interpret
def test_the_tables_are_interpret_s_own_predictions(monkeypatch):
    from interpret.privacy import DPExplainableBoostingRegressor

    fitted = []
    original = DPExplainableBoostingRegressor.fit
    monkeypatch.setattr(
        DPExplainableBoostingRegressor, "fit", lambda self, *a, **k: fitted.append(original(self, *a, **k)) or self
    )
    data = make_stage()
    function = fit(data)
    inputs = np.column_stack([cell_midpoints(COLUMNS[0])[data.held.codes[:, 0] - 1], data.held.codes[:, 1]]).astype(
        float
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = fitted[0].predict(inputs)
    assert function.score(data.held.codes) == pytest.approx(theirs, abs=1e-9)


@needs_interpret
def test_a_strong_signal_is_found():
    data = make_stage()
    assert np.corrcoef(fit(data).predict(data.held.codes), data.held.target)[0, 1] > 0.95


@needs_interpret
def test_the_r_loss_finds_the_effect():
    data = make_stage(6000)
    loading = np.tile([0.5, -0.5], 3000)
    stage = make_stage(6000, target=data.held.target * loading, low=-1.0, high=1.0, loading=loading, loading_bound=0.5)
    assert np.corrcoef(fit(stage).predict(data.held.codes), data.held.target)[0, 1] > 0.9


@needs_interpret
def test_the_guarantee_is_nominal_and_says_why():
    guarantee = fit(make_stage(50)).guarantee_
    assert guarantee.nominal
    assert guarantee.void
    assert guarantee.notes == WHY_NOMINAL
    assert guarantee.epsilon(1e-5) == pytest.approx(50.0)


@needs_interpret
def test_rows_that_interpret_refuses_give_the_middle_of_the_bounds():
    function = fit(make_stage(0))
    assert function.predict(make_stage(5).held.codes).tolist() == [1.0] * 5
    empty = make_stage(0, low=0.0, high=1.0, kind="probability")
    assert fit(empty).predict(make_stage(5).held.codes).tolist() == [0.5] * 5


@needs_interpret
def test_whatever_interpret_says_about_a_row_is_not_passed_on(monkeypatch):
    from interpret.privacy import DPExplainableBoostingRegressor

    def refuse(self, X, y, **options):
        raise ValueError(f"bad row {y[0]}")

    monkeypatch.setattr(DPExplainableBoostingRegressor, "fit", refuse)
    assert fit(make_stage()).extremes() == (1.0, 1.0)
