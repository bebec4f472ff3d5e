"""What a ledger allows and refuses, on SQLite and on PostgreSQL."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcate import Category, Number, RLearner, Schema
from dpcate.accounting import EpsilonDelta, Gaussian, Guarantee, Laplace, compose_guarantees, covers, mu_for
from dpcate.errors import BudgetError, LedgerError, NotAvailableError, ParameterError
from dpcate.ledger import Ledger

DELTA = 1e-5


def cost(epsilon, neighbours="replace", **flags):
    return Guarantee(Gaussian(mu_for(epsilon, DELTA)), neighbours, **flags)


def test_a_new_data_set_has_its_whole_budget(ledger):
    status = ledger.status("trial")
    assert status.spent is None
    assert status.entries == status.problems == ()
    assert (status.budget_epsilon, status.delta, status.budget.neighbours) == (2.0, DELTA, "replace")
    assert (status.spent_epsilon, status.naive_epsilon, status.left_epsilon) == (0.0, 0.0, 2.0)
    assert ledger.datasets() == ["trial"]


def test_spends_are_composed_not_added(ledger):
    for number in range(3):
        ledger.reserve("trial", cost(1.0), what=f"fit {number}")
    status = ledger.status("trial")
    together = compose_guarantees(*[cost(1.0)] * 3)
    assert status.spent == together
    assert status.spent_epsilon == together.epsilon(DELTA) == pytest.approx(1.835, abs=1e-3)
    assert status.naive_epsilon == pytest.approx(3.0)
    assert [entry.what for entry in status.entries] == ["fit 0", "fit 1", "fit 2"]


def test_a_spend_over_the_budget_is_refused_with_spent_requested_and_left(ledger):
    ledger.reserve("trial", cost(1.5), what="first")
    with pytest.raises(BudgetError) as refusal:
        ledger.reserve("trial", cost(1.8), what="second")
    left = ledger.status("trial").left_epsilon
    for part in ("'trial'", "spent epsilon = 1.5,", "requested 1.8,", f"left {left:.4g} of 2,", "delta = 1e-05"):
        assert part in str(refusal.value)
    assert [entry.what for entry in ledger.status("trial").entries] == ["first"]
    assert ledger.verify() == []


@pytest.mark.parametrize("first", [Gaussian(0.3), Laplace(0.5), EpsilonDelta(0.7, 2e-6)], ids=repr)
def test_what_is_left_fits_and_a_little_more_does_not(ledger, first):
    ledger.reserve("trial", Guarantee(first, "replace"), what="first")
    left = ledger.status("trial").left_epsilon
    assert 0.5 < left < 2.0
    with pytest.raises(BudgetError):
        ledger.reserve("trial", cost(left * 1.001), what="a little more")
    ledger.reserve("trial", cost(left * 0.999), what="a little less")
    assert covers(ledger.status("trial").spent.f, 2.0, DELTA)


def test_the_planned_cost_of_a_learner_fits_a_budget_of_the_same_size_once(ledger):
    schema = Schema(Number("vote", 0, 1), Category("called", [0, 1]), [Number("age", 18, 105)])
    planned = RLearner(schema, epsilon=2.0, delta=DELTA).planned_cost()
    entry = ledger.reserve("trial", planned, what="r-learner", options={"epsilon": 2.0, "plan": "shared"})
    assert entry.guarantee == planned
    assert ledger.status("trial").entries == (entry,)
    assert entry.options == {"epsilon": 2.0, "plan": "shared"}
    assert ledger.status("trial").left_epsilon < 1e-3
    with pytest.raises(BudgetError):
        ledger.reserve("trial", cost(0.01), what="more")


def test_void_and_nominal_spends_are_marked_and_count_in_full(ledger):
    ledger.reserve("trial", cost(1.9, void=True, nominal=True), what="seeded")
    status = ledger.status("trial")
    assert status.entries[0].guarantee.void
    assert status.spent.void
    assert status.spent.nominal
    with pytest.raises(BudgetError):
        ledger.reserve("trial", cost(1.9), what="real")


def test_another_neighbour_relation_is_refused(ledger):
    with pytest.raises(LedgerError, match=r"for neighbours = 'replace'; the request is for 'add_remove'"):
        ledger.reserve("trial", cost(0.1, "add_remove"), what="fit")
    assert ledger.status("trial").entries == ()


def test_an_unknown_data_set_is_refused(ledger):
    for ask in (lambda: ledger.reserve("trail", cost(0.1), what="fit"), lambda: ledger.status("trail")):
        with pytest.raises(LedgerError, match="no data set 'trail'"):
            ask()


def test_data_sets_have_budgets_of_their_own(ledger):
    ledger.create("survey", epsilon=1.0, delta=1e-6, neighbours="add_remove")
    ledger.reserve("trial", cost(1.9), what="fit")
    ledger.reserve("survey", cost(0.5, "add_remove"), what="fit")
    assert ledger.datasets() == ["survey", "trial"] or ledger.datasets() == ["trial", "survey"]
    assert len(ledger.status("survey").entries) == 1
    assert ledger.verify() == []


def test_a_budget_is_never_overwritten(ledger):
    with pytest.raises(LedgerError, match="has a data set 'trial' already"):
        ledger.create("trial", epsilon=50.0, delta=DELTA, neighbours="replace")
    assert ledger.status("trial").budget_epsilon == 2.0


def test_a_ledger_that_was_never_made_is_not_made_by_looking_or_spending(where):
    ledger = Ledger.open(where)
    for ask in (ledger.datasets, ledger.verify, lambda: ledger.reserve("trial", cost(0.1), what="fit")):
        with pytest.raises(LedgerError, match="There is no ledger at"):
            ask()


def test_only_printable_texts_and_json_are_recorded(ledger):
    for what in ("", "two\nlines", "\x1b[31m", "x" * 501):
        with pytest.raises(ParameterError, match="`what` must be a printable text"):
            ledger.reserve("trial", cost(0.1), what=what)
    with pytest.raises(ParameterError, match="JSON"):
        ledger.reserve("trial", cost(0.1), what="fit", options={"bad": {1, 2}})
    assert ledger.status("trial").entries == ()


@pytest.mark.parametrize(
    "budget", [{"epsilon": 0.0}, {"epsilon": -1.0}, {"epsilon": float("inf")}, {"delta": 0.0}, {"delta": 1.0}]
)
def test_a_budget_that_makes_no_sense_is_refused(tmp_path, budget):
    ledger = Ledger.open(tmp_path / "ledger.sqlite")
    with pytest.raises(ParameterError):
        ledger.create("trial", **{"epsilon": 1.0, "delta": DELTA, "neighbours": "replace", **budget})
    assert list(tmp_path.iterdir()) == []


def test_other_databases_and_broken_urls_are_refused_without_a_word_of_the_password():
    for url in ("mysql://me:secret@host/db", "postgresql://me:secret@host:port/db", "sqlite://"):
        with pytest.raises(ParameterError) as refusal:
            Ledger.open(url)
        assert "secret" not in str(refusal.value)


def test_a_server_that_does_not_answer_is_one_line_without_the_password(tmp_path):
    pytest.importorskip("psycopg", reason="the PostgreSQL driver psycopg is not installed")
    ledger = Ledger.open(f"postgresql://me:secret@/db?host={tmp_path}")
    with pytest.raises(LedgerError, match="cannot be used") as refusal:
        ledger.datasets()
    assert "secret" not in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_missing_driver_names_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    with pytest.raises(NotAvailableError, match=r"dpcate\[postgres\]"):
        Ledger.open("postgresql://me@host/db")


@settings(max_examples=15, deadline=None)
@given(st.lists(st.floats(0.05, 1.5), min_size=1, max_size=6))
def test_whatever_is_asked_for_the_budget_holds(tmp_path_factory, epsilons):
    ledger = Ledger.open(tmp_path_factory.mktemp("ledger") / "ledger.sqlite")
    ledger.create("trial", epsilon=2.0, delta=DELTA, neighbours="replace")
    accepted = []
    for epsilon in epsilons:
        fits = covers(compose_guarantees(*accepted, cost(epsilon)).f, 2.0, DELTA)
        try:
            ledger.reserve("trial", cost(epsilon), what="fit")
        except BudgetError:
            assert not fits
        else:
            assert fits
            accepted.append(cost(epsilon))
    assert len(ledger.status("trial").entries) == len(accepted)
