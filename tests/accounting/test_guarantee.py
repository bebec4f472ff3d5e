"""Guarantees: combining them, printing them, and writing them down."""

import json

import numpy as np
import pytest

from dpcate.accounting import (
    EpsilonDelta,
    Gaussian,
    Guarantee,
    Laplace,
    compose_guarantees,
    mixture_guarantees,
    parallel_guarantees,
)
from dpcate.errors import DocumentError, ParameterError

SOUND = Guarantee(Gaussian(0.3), "replace", notes=("histogram",))
VOID = Guarantee(Gaussian(0.4), "replace", void=True, notes=("random_state was given", "histogram"))
NOMINAL = Guarantee(EpsilonDelta(1.0, 1e-6), "replace", nominal=True, notes=("interpret's own claim",))


def test_conversions_are_those_of_the_tradeoff_function():
    assert SOUND.epsilon(1e-5) == Gaussian(0.3).epsilon(1e-5)
    assert SOUND.delta(1.0) == Gaussian(0.3).delta(1.0)
    assert SOUND.tradeoff(0.1) == Gaussian(0.3)(0.1)
    assert SOUND.tradeoff(np.array([0.1, 0.2])).shape == (2,)


def test_shared_rows_compose_and_disjoint_rows_take_the_envelope():
    other = Guarantee(Gaussian(0.4), "replace")
    assert compose_guarantees(SOUND, other).f == Gaussian(0.5)
    assert parallel_guarantees(SOUND, other).f == Gaussian(0.4)
    assert mixture_guarantees([SOUND, other], [1.0, 0.0]).f == Gaussian(0.3)


@pytest.mark.parametrize("combine", [compose_guarantees, parallel_guarantees])
def test_flags_are_contagious_and_notes_are_united_without_duplicates(combine):
    joint = combine(SOUND, VOID, NOMINAL)
    assert joint.void
    assert joint.nominal
    assert joint.notes == ("histogram", "random_state was given", "interpret's own claim")
    assert not combine(SOUND, SOUND).void
    assert not combine(SOUND, SOUND).nominal


@pytest.mark.parametrize("combine", [compose_guarantees, parallel_guarantees])
def test_guarantees_of_different_relations_do_not_combine(combine):
    with pytest.raises(ParameterError, match=r"share one neighbour relation; got \['add_remove', 'replace'\]"):
        combine(SOUND, Guarantee(Gaussian(0.3), "add_remove"))
    with pytest.raises(ParameterError, match="share one neighbour relation"):
        combine()


def test_the_printed_line_says_void_and_nominal_first():
    assert str(SOUND).startswith("epsilon = ")
    assert str(VOID).startswith("VOID")
    assert str(NOMINAL).startswith("NOMINAL")
    both = str(compose_guarantees(VOID, NOMINAL))
    assert both.startswith("VOID")
    assert "NOMINAL" in both
    assert "random_state was given" in both
    assert all("\n" not in str(guarantee) for guarantee in (SOUND, VOID, NOMINAL))


def test_the_printed_line_names_the_relation():
    assert "replacing one row" in str(SOUND)
    assert "adding or removing one row" in str(Guarantee(Gaussian(1.0), "add_remove"))


@pytest.mark.parametrize("guarantee", [SOUND, VOID, NOMINAL, compose_guarantees(VOID, NOMINAL)])
def test_a_guarantee_survives_json(guarantee):
    assert Guarantee.from_dict(json.loads(json.dumps(guarantee.to_dict()))) == guarantee


def test_guarantees_are_hashable_values():
    assert len({SOUND, Guarantee(Gaussian(0.3), "replace", notes=["histogram"]), VOID}) == 2
    with pytest.raises(AttributeError):
        SOUND.void = True


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "ledger"},
        {"neighbours": "friends"},
        {"void": "no"},
        {"f": {"kind": "magic"}},
        {"f": None},
        {"notes": 3},
    ],
)
def test_a_damaged_document_is_refused(change):
    with pytest.raises(DocumentError):
        Guarantee.from_dict({**SOUND.to_dict(), **change})


@pytest.mark.parametrize("missing", ["kind", "f", "neighbours", "void", "nominal", "notes"])
def test_an_incomplete_document_is_refused(missing):
    document = SOUND.to_dict()
    del document[missing]
    with pytest.raises(DocumentError):
        Guarantee.from_dict(document)


def test_arguments_that_make_no_sense_are_refused():
    with pytest.raises(ParameterError, match='`neighbours` must be "replace" or "add_remove"; got \'both\''):
        Guarantee(Gaussian(1.0), "both")
    with pytest.raises(ParameterError, match="`f` must be a trade-off function; got float"):
        Guarantee(1.0, "replace")
    with pytest.raises(ParameterError, match="`notes` must be a sequence of strings"):
        Guarantee(Laplace(1.0), "replace", notes="one")
