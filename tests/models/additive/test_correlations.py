import json

import numpy as np
import pytest
from tests.models.additive.mixed_columns import BASIS, COLUMNS, SHARES, TRUTH, drawn, leading

from dpcate.accounting import Gaussian, Guarantee
from dpcate.models import AdditiveFunction
from dpcate.models.additive.basis import make_basis
from dpcate.models.additive.correlations import (
    CORRELATIONS,
    correlation_document,
    known_correlations,
    leading_correlations,
    matched_correlations,
    seen_correlations,
)
from dpcate.models.additive.dependence import draw_codes
from dpcate.models.additive.gram import Gram


def gram_of(matrix, noise=0.0, entries=None):
    return Gram(matrix, np.full_like(matrix, noise**2), entries=entries)


def test_correlations_are_read_off_a_gram_matrix_and_survive_json():
    codes = drawn(TRUTH)
    functions = BASIS.matrix(codes)
    seen = seen_correlations(BASIS, gram_of(functions.T @ functions))
    document = json.loads(json.dumps(correlation_document(COLUMNS, BASIS, seen)))
    assert document["columns"] == ["age", "sex", "income"], "a category with three levels has no single leading term"
    assert np.array(document["matrix"]) == pytest.approx(np.corrcoef(leading(codes).T), abs=0.02)
    assert known_correlations(COLUMNS, {"propensity": model({CORRELATIONS: document})}) == pytest.approx(seen)


@pytest.mark.parametrize("kept", ["all", "leading"])
def test_seen_correlations_are_at_the_place_of_each_column(kept):
    basis = BASIS if kept == "all" else BASIS.keep(BASIS.orders <= 0)
    codes = drawn(TRUTH)
    functions = basis.matrix(codes)
    found = seen_correlations(basis, gram_of(functions.T @ functions))
    assert found.shape == (4, 4)
    assert found[3] == pytest.approx([0, 0, 0, 1]), "nothing is known of a category of three levels"
    assert found[:3, :3] == pytest.approx(np.corrcoef(leading(codes).T), abs=0.02)


def test_seen_correlations_of_a_category_in_the_middle_leave_its_line_empty():
    order = [0, 3, 2]
    basis = make_basis([COLUMNS[j] for j in order], [SHARES[j] for j in order], None, n_features=3)
    functions = basis.matrix(drawn(TRUTH)[:, order])
    found = seen_correlations(basis, gram_of(functions.T @ functions))
    assert found[1] == pytest.approx([0, 1, 0])
    assert found[0, 2] == pytest.approx(np.corrcoef(leading(drawn(TRUTH)).T)[0, 2], abs=0.02)


def test_columns_without_a_single_leading_function_have_no_correlations():
    basis = make_basis([COLUMNS[3]], [SHARES[3]], None, n_features=1)
    assert np.array_equal(seen_correlations(basis, gram_of(np.eye(basis.n_terms))), np.eye(1))


@pytest.mark.parametrize("n_rows", [1.0, -1.0, 0.0])
@pytest.mark.parametrize("diagonal", [1.0, 1e-9, -5.0])
def test_seen_correlations_are_possible_whatever_noise_made_of_the_matrix(diagonal, n_rows):
    matrix = np.eye(BASIS.n_terms)
    matrix[0, 0] = n_rows
    at = np.flatnonzero(BASIS.orders == 0)[:2]
    matrix[at[0], at[1]] = matrix[at[1], at[0]] = 7.0
    matrix[at, at] = diagonal
    found = seen_correlations(BASIS, gram_of(matrix))
    assert 0.9 < found[0, 1] == found[1, 0] < 1.0
    assert np.diagonal(found) == pytest.approx(np.ones(4))
    assert np.linalg.eigvalsh(found).min() > 0.02


def test_features_that_are_nearly_the_same_are_not_told_apart_by_eigenvalues_that_were_raised():
    close = np.array([[1, 0.93, 0, 0], [0.93, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])
    matrix = np.eye(BASIS.n_terms)
    at = np.flatnonzero(BASIS.orders == 0)[:3]
    matrix[np.ix_(at, at)] = close[:3, :3]
    raised = matrix + 0.15 * np.eye(len(matrix))
    assert seen_correlations(BASIS, gram_of(raised, entries=matrix))[0, 1] == pytest.approx(0.93)
    assert seen_correlations(BASIS, gram_of(raised))[0, 1] < 0.85


def test_the_more_noise_the_less_a_feature_may_be_the_same_as_another():
    matrix = np.eye(BASIS.n_terms)
    at = np.flatnonzero(BASIS.orders == 0)[:2]
    matrix[at[0], at[1]] = matrix[at[1], at[0]] = 0.93
    found = [seen_correlations(BASIS, gram_of(matrix, noise))[0, 1] for noise in (0.0, 0.1, 0.2, 1.0)]
    assert found[0] == pytest.approx(0.93)
    assert found == sorted(found, reverse=True)
    assert found[-1] == pytest.approx((1.93 - 0.5) / (1.93 + 0.5)), "noise raises eigenvalues to one half at most"


def test_matching_makes_up_for_what_shortened_rows_hide():
    def hidden(correlations):  # long rows count less, which hides part of how features hang together
        functions = BASIS.matrix(draw_codes(BASIS.columns, correlations, 4096))
        weight = 1.0 / (1.0 + (functions**2).sum(axis=1) / BASIS.n_terms)
        return leading_correlations(BASIS, (functions * weight[:, None]).T @ functions)

    wanted = hidden(TRUTH)
    matched = matched_correlations(wanted, hidden(wanted))
    before, after = (np.abs(hidden(each) - wanted).max() for each in (wanted, matched))
    assert before > 0.02, "there is something to make up for"
    assert after < 0.5 * before


def model(details):
    return AdditiveFunction(
        columns=COLUMNS,
        intercept=0.0,
        tables=tuple(np.zeros(len(share)) for share in SHARES),
        shares=tuple(SHARES),
        guarantee_=Guarantee(Gaussian(1.0), "replace"),
        details=details,
    )


def test_known_correlations_are_matched_by_name_and_zero_elsewhere():
    document = {"columns": ["income", "age"], "matrix": [[1.0, -0.4], [-0.4, 1.0]]}
    found = known_correlations(COLUMNS, {"outcome": model({}), "propensity": model({CORRELATIONS: document})})
    expected = np.eye(4)
    expected[0, 2] = expected[2, 0] = -0.4
    assert np.array_equal(found, expected)
    assert known_correlations(COLUMNS, {"outcome": model({})}) is None
