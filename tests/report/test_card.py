"""The card says what the accounting says, void and nominal first, and follows its schema."""

import json
import re
from pathlib import Path

import jsonschema
import pytest
from tests.report.conftest import rows, study

from dpcate import DRLearner, Plan, RLearner, SLearner, load
from dpcate.accounting import Gaussian, Guarantee
from dpcate.errors import DocumentError, NotFittedError
from dpcate.report import check_card, make_card
from dpcate.report.card import card_schema

DOCS = Path(__file__).parents[2] / "docs" / "card.md"


@pytest.fixture(scope="module")
def card(fitted):
    return make_card(fitted)


def every_card():
    table = rows(500)
    yield make_card(RLearner(study(), epsilon=3.0, neighbours="add_remove", plan="split").fit_table(table))
    yield make_card(DRLearner(study(), epsilon=3.0, random_state=1).fit_table(table))
    yield make_card(SLearner(study(), epsilon=3.0).fit_table(table))
    yield make_card(RLearner(study(), epsilon=3.0, model="interpret").fit_table(table))
    plan = Plan(shares=(0.5, 0.5), reads=(("outcome", (0, 1)),), weights=(1.0,))
    yield make_card(SLearner(study(), epsilon=3.0, plan=plan).fit_table(table))


def test_every_card_follows_its_schema_and_is_plain_json(card):
    jsonschema.Draft202012Validator.check_schema(card_schema())
    for each in (card, *every_card()):
        jsonschema.validate(each, card_schema())
        assert json.loads(json.dumps(each, allow_nan=False)) == each


@pytest.mark.parametrize(
    "spoil",
    [
        lambda card: card.pop("void"),
        lambda card: card.update(void="no"),
        lambda card: card["privacy"].pop("membership"),
        lambda card: card["privacy"].update(delta=2),
        lambda card: card["privacy"].update(epsilon=-1),
        lambda card: card["privacy"]["trade_off"]["points"][3].update(beta=1.5),
        lambda card: card.update(rows=600),
        lambda card: card["public_facts"]["features"].clear(),
    ],
)
def test_a_spoilt_card_is_refused(card, spoil):
    copy = json.loads(json.dumps(card))
    check_card(copy)
    spoil(copy)
    with pytest.raises(DocumentError, match="not a privacy card"):
        check_card(copy)


def test_the_numbers_are_those_of_the_guarantee(card, fitted):
    privacy = card["privacy"]
    assert privacy["epsilon"] == fitted.guarantee_.epsilon(1e-5) == pytest.approx(4.0)
    assert privacy["mu"] == fitted.guarantee_.f.mu
    for point in privacy["trade_off"]["points"]:
        assert point["beta"] == fitted.guarantee_.tradeoff(point["alpha"])
    rates = {each["false_positive_rate"]: each["true_positive_rate"] for each in privacy["membership"]}
    assert {0.01, 0.05, 0.1} <= set(rates)
    for rate, right in rates.items():
        assert right == 1 - fitted.guarantee_.tradeoff(rate)
        assert rate < right < 1


def test_the_function_in_the_card_is_the_guarantees(card, fitted):
    document = {**fitted.guarantee_.to_dict(), "f": card["privacy"]["trade_off"]["function"]}
    assert Guarantee.from_dict(document) == fitted.guarantee_


def test_the_stages_spend_adds_up_to_the_whole(card):
    spend = card["privacy"]["spend"]
    assert [entry["stage"] for entry in spend] == ["propensity", "outcome", "effect"]
    assert sum(entry["mu"] ** 2 for entry in spend) == pytest.approx(card["privacy"]["mu"] ** 2)
    for entry in spend:
        assert entry["epsilon"] == Gaussian(entry["mu"]).epsilon(entry["delta"])


def test_what_is_computed_from_another_model_is_not_counted_as_spent():
    learner = SLearner(study(), epsilon=3.0).fit_table(rows(500))
    assert [entry["stage"] for entry in make_card(learner)["privacy"]["spend"]] == ["outcome"]


def test_void_and_nominal_come_first(seeded):
    card = make_card(seeded)
    assert list(card)[2:5] == ["void", "nominal", "warnings"]
    assert card["void"]
    assert card["warnings"][0].startswith("VOID")
    nominal = make_card(RLearner(study(), epsilon=3.0, model="interpret").fit_table(rows(300)))
    assert nominal["nominal"]
    assert nominal["warnings"][0].startswith("NOMINAL")
    assert "not proved" in nominal["evaluation"]["mechanism_correctness"]


def test_a_sound_card_has_no_warning(card):
    assert (card["void"], card["nominal"], card["warnings"]) == (False, False, [])


def test_the_assumption_about_assignment_follows_the_schema(fitted, schema, columns):
    assert any("Unconfoundedness" in text for text in make_card(fitted)["assumptions"])
    trial = type(schema)(schema.outcome, schema.treatment, schema.features, propensity=0.5)
    known = make_card(RLearner(trial, epsilon=3.0).fit_table(columns))["assumptions"]
    assert any("at random, with the probability" in text for text in known)
    assert not any("Unconfoundedness" in text for text in known)


def test_the_relation_is_named_as_nist_does(card):
    assert card["evaluation"]["neighbouring"].startswith("bounded")
    learner = RLearner(study(), epsilon=3.0, neighbours="add_remove").fit_table(rows(300))
    assert make_card(learner)["evaluation"]["neighbouring"].startswith("unbounded")


def test_a_loaded_learner_has_the_same_card(card, fitted, tmp_path):
    fitted.save(tmp_path / "model.json")
    assert make_card(load(tmp_path / "model.json")) == card


def test_a_learner_without_a_fit_has_no_card():
    with pytest.raises(NotFittedError):
        make_card(RLearner(study()))


def test_the_documentation_names_every_field(card):
    text = DOCS.read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z_0-9.]+)`", text))
    fields = set(card) | {f"privacy.{key}" for key in card["privacy"]} | {f"release.{key}" for key in card["release"]}
    fields |= {f"evaluation.{key}" for key in card["evaluation"]}
    assert fields <= named
