"""`dpcate card` and `dpcate report` show a saved release again."""

import json

import pytest

from dpcate import RLearner, SLearner
from dpcate.report import check_card


def test_the_card_says_the_guarantee_and_what_it_means(call, model):
    result = call("card", model)
    assert result.code == 0, result.err
    assert "epsilon = 4 at delta = 1e-05" in result.out
    assert "differ in the content of one row" in " ".join(result.out.split())
    assert "VOID" not in result.out
    assert all(len(line) <= 80 for line in result.out.splitlines())
    for stage in ("propensity", "outcome", "effect"):
        assert stage in result.out


def test_a_test_with_few_false_alarms_finds_what_the_trade_off_allows(call, model, fitted):
    found = 100 * (1 - fitted.guarantee_.tradeoff(0.01))
    lines = [line.split() for line in call("card", model).out.splitlines()]
    (shown,) = [float(words[2]) for words in lines if words[:2] == ["1", "%"]]
    assert found <= shown <= found * 1.01, "rounded up: what is said to be the most is the most"


@pytest.mark.parametrize(
    ("options", "first"), [({"random_state": 1}, "! VOID"), ({"model": "interpret", "epsilon": 8.0}, "! NOMINAL")]
)
def test_a_void_or_nominal_guarantee_is_said_first(call, tmp_path, schema, frame, options, first):
    if options.get("model") == "interpret":
        pytest.importorskip("interpret", reason="interpret is not installed")
    SLearner(schema, **options).fit_table(frame).save(tmp_path / "m.json")
    assert call("card", tmp_path / "m.json").out.startswith(first)


def test_the_whole_card_can_be_had_as_json(call, model):
    card = json.loads(call("card", model, "--json").out)
    check_card(card)
    assert card["privacy"]["epsilon"] == pytest.approx(4.0, rel=1e-6)


def test_the_report_is_made_again_and_never_overwritten(call, refused, tmp_path, model):
    target = tmp_path / "page.html"
    result = call("report", model, "--out", target, "--title", "Who <votes>?")
    assert result.code == 0, result.err
    page = target.read_text(encoding="utf-8")
    assert "Who &lt;votes&gt;?" in page
    assert "not overwritten" in refused("report", model, "--out", target)
    assert target.read_text(encoding="utf-8") == page


def test_a_learner_of_another_relation_says_which(call, tmp_path, schema, frame):
    RLearner(schema, neighbours="add_remove").fit_table(frame).save(tmp_path / "m.json")
    assert "one row more" in " ".join(call("card", tmp_path / "m.json").out.split())
