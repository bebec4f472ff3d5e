"""Sentences claim no more than the numbers do."""

import pytest

from dpcate.report.wording import headline, plain_number, signed, value_text
from dpcate.schema import Category, Number, Schema

VOTE = Schema(Number("vote", 0, 1), Category("called", ["no", "yes"]), [Number("age", 18, 105)])
INCOME = Schema(Number("income", 0, 90_000), Category("trained", [0, 1]), [Number("age", 18, 105)])


def test_an_interval_around_zero_claims_no_direction():
    words = " ".join(headline(VOTE, 0.02, (-0.01, 0.05), 2))
    assert "includes zero" in words
    assert "raises the outcome" not in words


@pytest.mark.parametrize(("ate", "limits", "verb"), [(0.2, (0.1, 0.3), "raises"), (-0.2, (-0.3, -0.1), "lowers")])
def test_an_interval_away_from_zero_says_which_way(ate, limits, verb):
    assert f"the treatment {verb} the outcome" in headline(VOTE, ate, limits, 2)[-1]


def test_without_an_error_no_interval_is_claimed():
    words = " ".join(headline(VOTE, 0.2, None, 2))
    assert "interval" not in words
    assert "not known" in words


def test_arms_scale_and_people_are_named():
    words = " ".join(headline(VOTE, -0.123, (-0.2, -0.1), 3))
    assert "called = yes rather than no" in words
    assert "0.123 lower" in words
    assert "12.3 fewer yes in every 100 people" in words
    assert "100 people" not in " ".join(headline(INCOME, 1200.0, (800.0, 1600.0), 0))
    assert "1,200 higher, on a scale from 0 to 90,000" in headline(INCOME, 1200.0, (800.0, 1600.0), 0)[0]


def test_values_read_as_a_person_would_write_them():
    assert value_text(VOTE.features[0], 500, 60.4371) == "60"
    assert value_text(VOTE.treatment, 2, 0.0) == "yes"
    assert value_text(VOTE.treatment, 0, 0.0) == "other or not known"
    assert value_text(Number("x", 0, 5e-324), 3, 0.0) == "0"


@pytest.mark.parametrize("value", [0.0, 1e-320, -1e-5, 0.1, -3.25, 1234567.0, 1e300])
def test_any_number_has_a_short_text(value):
    assert float(plain_number(value).replace(",", "")) == pytest.approx(value, rel=1e-3)
    assert len(plain_number(value)) < 12


def test_a_number_that_rounds_to_zero_has_no_sign():
    assert signed(-0.0004, 3) == "0.000"
    assert signed(0.0, 0) == "0"
