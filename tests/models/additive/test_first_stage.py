"""The product of two earlier errors: its law against a simulation written down plainly."""

import numpy as np
import pytest

from dpcate.accounting import Gaussian, Guarantee
from dpcate.models import POSTERIOR, AdditiveFunction, StageData
from dpcate.models.additive import first_stage
from dpcate.models.additive.basis import make_basis
from dpcate.models.additive.confidence import Confidence
from dpcate.models.additive.first_stage import product_errors
from dpcate.models.additive.uncertainty import posterior_document
from dpcate.schema import Category
from dpcate.tables import n_codes

FEATURES = (Category("sex", ["female", "male"]), Category("town", ["a", "b", "c"]))
ARM = Category("called", [0, 1])
ROWS = np.array([[1, 1], [2, 1], [1, 3], [2, 2]], dtype=np.uint16)


def make_model(columns, seed, size):
    """A function of the columns with a random error; returns the covariance of the error at codes, too."""
    shares = [np.full(n_codes(column), 1 / n_codes(column)) for column in columns]
    basis = make_basis(columns, shares, None, n_features=len(columns))
    root = np.random.default_rng(seed).normal(size=(basis.n_terms, basis.n_terms)) * size
    everything = np.ones(basis.n_terms, dtype=bool)
    nothing = np.zeros(basis.n_terms)
    found = Confidence(nothing, root @ root.T, np.zeros(len(columns)))
    document = posterior_document(basis, everything, found, nothing, n_features=len(columns))
    model = AdditiveFunction(
        columns=columns,
        intercept=0.0,
        tables=tuple(np.zeros(n_codes(column)) for column in columns),
        shares=tuple(shares),
        guarantee_=Guarantee(Gaussian(1.0), "replace"),
        details={POSTERIOR: document},
    )
    return model, lambda codes: basis.matrix(codes) @ root @ root.T @ basis.matrix(codes).T


def make_released(*, with_arm):
    propensity, of_propensity = make_model(FEATURES, 1, 0.05)
    outcome, of_outcome = make_model((*FEATURES, ARM) if with_arm else FEATURES, 2, 0.4)
    return {"propensity": propensity, "outcome": outcome}, of_propensity, of_outcome


def make_stage(*, names=("propensity", "outcome"), spread=None):
    nobody = np.zeros((0, 2), dtype=np.uint16)
    return StageData.of_arrays(
        codes=nobody,
        target=np.zeros(0),
        columns=FEATURES,
        low=-1.0,
        high=1.0,
        n_features=2,
        first_stage=names,
        residual_spread=spread,
    )


@pytest.fixture
def many_draws(monkeypatch):
    monkeypatch.setattr(first_stage, "N_DRAWS", 40_000)
    first_stage._normals.cache_clear()
    yield
    first_stage._normals.cache_clear()


@pytest.mark.parametrize("with_arm", [False, True])
def test_the_products_covariance_is_that_of_a_direct_simulation(many_draws, with_arm):
    released, of_propensity, of_outcome = make_released(with_arm=with_arm)
    at = np.column_stack([ROWS, np.ones(len(ROWS), dtype=np.uint16)]) if with_arm else ROWS  # code 1 is control
    generator = np.random.default_rng(7)
    direct = generator.multivariate_normal(np.zeros(4), of_propensity(ROWS), 40_000, method="svd")
    direct *= generator.multivariate_normal(np.zeros(4), of_outcome(at), 40_000, method="svd")
    direct += (first_stage._WIDER - 1) * direct.mean(axis=1, keepdims=True)  # only what rows have in common is wider
    expected = direct.T @ direct / len(direct)
    found = product_errors(make_stage(), ROWS, released)
    scale = np.diagonal(expected).max()
    assert found @ found.T / found.shape[1] == pytest.approx(expected, rel=0.05, abs=0.03 * scale)
    assert found.mean(axis=1) == pytest.approx(0.0, abs=0.03 * np.sqrt(scale))


def test_the_draws_that_are_used_have_the_right_size_within_a_factor(monkeypatch):
    first_stage._normals.cache_clear()
    released, of_propensity, of_outcome = make_released(with_arm=False)
    found = product_errors(make_stage(), ROWS, released)
    assert found.shape == (4, first_stage.N_DRAWS)
    wider = np.eye(4) + (first_stage._WIDER - 1) / 4
    expected = np.trace(wider @ (of_propensity(ROWS) * of_outcome(ROWS)) @ wider)  # independent: E[a b]^2
    assert 0.5 < (found**2).mean(axis=1).sum() / expected < 2.0


def test_only_the_mean_over_people_is_made_wider(monkeypatch):
    released, _, _ = make_released(with_arm=False)
    found = product_errors(make_stage(), ROWS, released)
    monkeypatch.setattr(first_stage, "_WIDER", 1.0)
    plain = product_errors(make_stage(), ROWS, released)
    assert found.mean(axis=0) == pytest.approx(1.5 * plain.mean(axis=0), rel=1e-12)
    assert found - found.mean(axis=0) == pytest.approx(plain - plain.mean(axis=0), rel=1e-12, abs=1e-15)


def test_inverse_propensity_weights_multiply_the_product_row_by_row_before_its_mean_is_made_wider(monkeypatch):
    released, _, _ = make_released(with_arm=False)
    weights = np.array([4.0, 5.0, 6.0, 7.0])
    weighted = product_errors(make_stage(spread=lambda codes: weights), ROWS, released)
    monkeypatch.setattr(first_stage, "_WIDER", 1.0)
    plain = product_errors(make_stage(), ROWS, released)
    expected = plain * weights[:, None]
    assert weighted == pytest.approx(expected + 0.5 * expected.mean(axis=0))


def test_there_is_no_product_with_a_known_propensity():
    released, _, _ = make_released(with_arm=False)
    assert product_errors(make_stage(), ROWS, {"outcome": released["outcome"]}) is None
    assert product_errors(make_stage(names=None), ROWS, released) is None


def test_a_model_that_does_not_know_its_error_gives_none():
    released, _, _ = make_released(with_arm=False)
    document = {**released["outcome"].to_dict(), "details": {}}
    released["outcome"] = AdditiveFunction.from_dict(document)
    assert product_errors(make_stage(), ROWS, released) is None
