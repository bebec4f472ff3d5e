"""What a stage's own rows say of the population's average."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcate import Category, DRLearner, Number, RLearner, Schema
from dpcate.errors import DocumentError
from dpcate.models import uncertainty_of
from dpcate.models.additive.averaging import NOTHING_SEEN, SeenAverage

SCHEMA = Schema(Number("y", -9, 9), Category("t", [0, 1]), [Number("age", -4, 4), Category("town", ["a", "b"])])
AVERAGE = 1.0
size = st.floats(0, 1e3)


def rows_of(n_rows, seed, *, trial=False):
    """Rows whose effect is their age, one on average; the older are treated more often, but for a trial."""
    generator = np.random.default_rng(seed)
    age = generator.normal(AVERAGE, 1.0, n_rows)
    treated = generator.uniform(size=n_rows) < (0.5 if trial else 1.0 / (1.0 + np.exp(1.0 - age)))
    outcome = np.clip(treated * age + 0.5 * generator.normal(size=n_rows), -9, 9)
    return {"y": outcome, "t": treated.astype(int), "age": age, "town": generator.choice(["a", "b"], n_rows)}


@given(size, size, size, st.floats(0, 1), st.floats(-10, 10))
def test_what_was_seen_makes_less_unknown_but_never_less_than_people_differ(
    by_shares, people, loadings, trust, difference
):
    away, unknown = SeenAverage(difference, people, loadings, trust).of_population(by_shares)
    assert abs(away) <= abs(difference)
    assert away * difference >= 0.0
    assert min(people, by_shares) <= unknown * (1 + 1e-9) + 1e-12
    assert unknown <= by_shares * (1 + 1e-9)


def test_where_rows_count_alike_and_equations_are_exact_only_people_are_left():
    assert SeenAverage(0.5, 0.1, 0.0, 1.0).of_population(0.4) == (0.5, pytest.approx(0.1))
    assert SeenAverage(0.5, 0.1, 0.0, 0.5).of_population(0.4) == (0.5, pytest.approx(0.25)), "half of it is left"
    away, unknown = SeenAverage(0.5, 0.1, 0.3, 1.0).of_population(0.4)
    assert (away, unknown) == (pytest.approx(0.25), pytest.approx(0.25)), "noise and chance are as large: half of it"


def test_where_nothing_was_seen_nothing_is_known():
    assert NOTHING_SEEN.of_population(0.4) == (0.0, 0.4)
    assert SeenAverage.of_document({}) == NOTHING_SEEN


@pytest.mark.parametrize(
    "document", [None, 7, {"people": -1.0}, {"loadings": float("nan")}, {"trust": 2.0}, {"rows": 1.0}, {"people": []}]
)
def test_a_damaged_document_is_refused(document):
    with pytest.raises(DocumentError, match="damaged"):
        SeenAverage.of_document(document)


def test_a_release_tells_it_with_the_effect_and_with_nothing_else():
    for learner in (RLearner, DRLearner):
        fitted = learner(SCHEMA, epsilon=4.0, random_state=0).fit_table(rows_of(2_000, 0))
        seen = uncertainty_of(fitted.models_["effect"]).average
        assert seen == SeenAverage.of_document(seen.to_dict()) != NOTHING_SEEN
        assert seen.people == pytest.approx(1.0 / 2_000, rel=0.5), "the variance of ages over the number of rows"
        assert (seen.loadings > 0.0) == (learner is RLearner), "squared residuals of the treatment differ"
        assert all(uncertainty_of(fitted.models_[name]).average == NOTHING_SEEN for name in ("propensity", "outcome"))


STUDIES = {
    "a trial": (RLearner, "shared", True),
    "a trial, a part of the rows": (RLearner, "split", True),
    "the older are treated more often": (RLearner, "shared", False),
    "the same, a part of the rows": (RLearner, "split", False),
    "by scores": (DRLearner, "shared", False),
}


@pytest.mark.slow
@pytest.mark.parametrize("study", STUDIES)
def test_the_population_s_average_is_nearer_than_the_released_one_and_as_far_as_stated(study):
    (learner, plan, trial), released, centre, stated = STUDIES[study], [], [], []
    for seed in range(60):
        rows = rows_of(2_000, seed, trial=trial)
        fitted = learner(SCHEMA, epsilon=4.0, plan=plan, random_state=seed).fit_table(rows)
        found = fitted.ate_inference()
        released.append(found.mean_point + fitted._uncertainty().average_shift - AVERAGE)
        centre.append(found.mean_point + found.shift_mean - AVERAGE)
        stated.append(found.stderr_mean)
    assert np.mean(np.square(centre)) < (0.8 if trial else 1.0) * np.mean(np.square(released))
    assert 0.5 < np.mean(np.square(centre)) / np.mean(np.square(stated)) < 1.6
