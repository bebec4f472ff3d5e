"""What every trade-off function shares: documents, equality, and the order between kinds."""

import json

import numpy as np
import pytest

import dpcate.accounting as accounting
from dpcate.accounting import (
    EpsilonDelta,
    Gaussian,
    Identity,
    Laplace,
    PiecewiseLinear,
    TradeOffFunction,
    covers,
    group,
    is_at_least_as_private,
    mixture,
    mu_for,
    parallel,
    sequential,
)
from dpcate.errors import DocumentError, ParameterError

SKEWED = PiecewiseLinear([(0.0, 0.9), (0.1, 0.4), (0.5, 0.1), (1.0, 0.0)])
EVERY_KIND = [
    Identity(),
    Gaussian(1 / 3),
    EpsilonDelta(0.1 + 0.2, 1e-30),
    Laplace(2 / 3),
    SKEWED,
    sequential(Gaussian(1.0), Laplace(0.1), Laplace(0.1), EpsilonDelta(1.0, 1e-6)),
    parallel(Gaussian(1.0), EpsilonDelta(1.0, 1e-3), SKEWED),
    mixture([Gaussian(1.0), EpsilonDelta(1.0, 1e-3), Identity()], [0.1, 0.2, 0.7]),
    group(EpsilonDelta(0.3, 1e-6), 3),
    sequential(parallel(sequential(Laplace(1.0), Gaussian(0.1)), EpsilonDelta(0.3, 0.01)), group(SKEWED, 2)),
]


@pytest.mark.parametrize("f", EVERY_KIND, ids=lambda f: f.kind)
def test_every_kind_survives_json_as_an_equal_value(f):
    document = json.loads(json.dumps(f.to_dict()))
    again = TradeOffFunction.from_dict(document)
    assert again == f
    assert hash(again) == hash(f)
    assert repr(again) == repr(f)
    assert type(f).from_dict(document) == f
    assert again.delta(0.7) == f.delta(0.7)


@pytest.mark.parametrize("f", EVERY_KIND, ids=lambda f: f.kind)
def test_every_kind_prints_as_the_expression_that_makes_it(f):
    assert eval(repr(f), vars(accounting)) == f
    assert repr(sequential(*[Laplace(1.0)] * 300)) == "sequential(*[Laplace(epsilon=1.0)] * 300)"


def test_kinds_differ_from_each_other_and_from_other_things():
    assert len(set(EVERY_KIND)) == len(EVERY_KIND)
    assert Gaussian(1.0) != 1.0


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"kind": "magic"},
        {"kind": "gaussian"},
        {"kind": "gaussian", "mu": -1.0},
        {"kind": "gaussian", "mu": "1"},
        {"kind": ["gaussian"], "mu": 1.0},
        {"kind": "sequential", "members": [{"kind": "gaussian"}]},
        {"kind": "mixture", "members": [], "weights": []},
        {"kind": "piecewise_linear", "points": [[0, 1], [0.5, 0.9], [1, 0]]},
        None,
        [],
    ],
    ids=str,
)
def test_a_damaged_document_is_refused(document):
    with pytest.raises(DocumentError):
        TradeOffFunction.from_dict(document)


def test_a_document_of_another_kind_is_refused():
    with pytest.raises(DocumentError, match="Expected a document of Gaussian; got one of Laplace"):
        Gaussian.from_dict(Laplace(1.0).to_dict())


@pytest.mark.parametrize("f", EVERY_KIND, ids=lambda f: f.kind)
def test_every_kind_answers_scalars_with_floats_and_arrays_with_arrays(f):
    grid = np.array([[0.0, 0.1, 0.5], [0.7, 0.9, 1.0]])
    for method in (f, f.delta, f.epsilon):
        assert type(method(0.5)) is float
        assert method(grid).shape == grid.shape
        assert method(grid)[0, 2] == pytest.approx(method(0.5), abs=1e-12)
    assert f(np.array([])).shape == (0,)


@pytest.mark.parametrize("f", EVERY_KIND, ids=lambda f: f.kind)
def test_delta_falls_with_epsilon_and_is_never_below_the_identity(f):
    epsilons = np.linspace(-6.0, 6.0, 241)
    deltas = f.delta(epsilons)
    assert (np.diff(deltas) <= 1e-13).all()
    assert (deltas >= Identity().delta(epsilons) - 1e-15).all()
    assert (deltas <= 1.0).all()


def test_the_more_private_function_is_recognised():
    assert is_at_least_as_private(Gaussian(0.5), Gaussian(1.0))
    assert not is_at_least_as_private(Gaussian(1.0), Gaussian(0.5))
    assert is_at_least_as_private(Gaussian(mu_for(1.0, 1e-5)), EpsilonDelta(1.0, 1e-5))
    assert not is_at_least_as_private(EpsilonDelta(1.0, 1e-5), Gaussian(mu_for(1.0, 1e-5)))
    assert is_at_least_as_private(Laplace(1.0), Gaussian(4.0))
    assert not is_at_least_as_private(Gaussian(0.1), Laplace(1.0))
    assert is_at_least_as_private(Identity(), SKEWED)
    assert is_at_least_as_private(Laplace(1.0), sequential(Laplace(1.0), Gaussian(0.1)))


def test_a_run_inside_its_budget_is_covered_and_one_outside_is_not():
    mu = mu_for(1.0, 1e-6)
    assert covers(Gaussian(mu), 1.0, 1e-6)
    assert not covers(Gaussian(mu * 1.001), 1.0, 1e-6)
    with pytest.raises(ParameterError, match="`target_delta`"):
        covers(Gaussian(mu), 1.0, 2.0)


def test_the_public_names_exist_and_are_sorted():
    assert accounting.__all__ == sorted(accounting.__all__)
    assert all(hasattr(accounting, name) for name in accounting.__all__)
