"""The released error of a released function: what is saved comes back; shifts and variances are what it says."""

import json

import numpy as np
import pytest

from dpcate import Category, Number
from dpcate.accounting import Gaussian, Guarantee
from dpcate.errors import DocumentError
from dpcate.models import POSTERIOR, AdditiveFunction, constant_document, uncertainty_of
from dpcate.models.additive.basis import make_basis, make_column_basis
from dpcate.models.additive.confidence import Confidence
from dpcate.models.additive.curves import RANK
from dpcate.models.additive.uncertainty import posterior_document
from dpcate.tables import n_codes

COLUMNS = (Number("age", 18, 105), Category("sex", ["female", "male"]), Category("town", ["a", "b", "c"]))
CORRELATION = 0.3


def make_shares():
    generator = np.random.default_rng(1)
    shares = [generator.uniform(0.5, 1.5, n_codes(column)) for column in COLUMNS]
    shares[0][0] = shares[1][0] = 0.0  # nobody is missing, so both have one leading function and form a product
    return [share / share.sum() for share in shares]


def make_everything():
    correlations = np.eye(3)
    correlations[0, 1] = correlations[1, 0] = CORRELATION
    return make_basis(COLUMNS, make_shares(), correlations, n_features=3)


def make_known(*, left_out=0.2):
    """A function with an error: two of its functions were left out. Returns it with what is known of the others."""
    everything = make_everything()
    kept = np.ones(everything.n_terms, dtype=bool)
    kept[[3, 5]] = False
    root = np.random.default_rng(2).normal(size=(kept.sum(), kept.sum()))
    found = Confidence(root[0] / 10, root @ root.T / 10, np.zeros(4))
    document = posterior_document(everything, kept, found, np.full(everything.n_terms, left_out), n_features=3)
    function = AdditiveFunction(
        columns=COLUMNS,
        intercept=0.5,
        tables=tuple(np.zeros(n_codes(column)) for column in COLUMNS),
        shares=tuple(make_shares()),
        guarantee_=Guarantee(Gaussian(1.0), "replace"),
        details={POSTERIOR: document},
    )
    return function, kept, found


def make_codes(n=40):
    generator = np.random.default_rng(3)
    return np.column_stack([generator.integers(0, n_codes(column), n) for column in COLUMNS]).astype(np.uint16)


def by_hand(codes):
    """The functions' values of one row, looked up one by one."""
    everything = make_everything()
    values = [1.0]
    for column, code in zip(everything.columns, codes, strict=True):
        values += [function[code] for function in column.values]
    for product in everything.products:
        values.append(product.left[codes[product.first]] * product.right[codes[product.second]] - product.mean)
    return np.array(values)


def test_the_example_has_a_product_and_functions_of_every_column():
    everything = make_everything()
    assert [(product.first, product.second) for product in everything.products] == [(0, 1)]
    assert [product.mean for product in everything.products] == pytest.approx([CORRELATION])
    assert all(len(column.values) > 0 for column in everything.columns)


def test_a_saved_error_comes_back_as_it_was():
    function, kept, found = make_known()
    known = uncertainty_of(AdditiveFunction.from_dict(json.loads(json.dumps(function.to_dict()))))
    np.testing.assert_array_equal(known.covariance[np.ix_(kept, kept)], found.covariance)
    assert known.covariance[~kept][:, ~kept] == pytest.approx(0.2 * np.eye(2), abs=0)
    assert not known.covariance[np.ix_(kept, ~kept)].any()
    np.testing.assert_array_equal(known.shift[kept], found.shift)
    assert not known.shift[~kept].any()
    assert [product.mean for product in known.basis.products] == [CORRELATION]
    np.testing.assert_array_equal(known.variance(make_codes()), uncertainty_of(function).variance(make_codes()))
    np.testing.assert_array_equal(known.shifts(make_codes()), uncertainty_of(function).shifts(make_codes()))


def test_a_release_from_before_there_were_shifts_is_centred_on_its_estimate():
    function, _, _ = make_known()
    document = json.loads(json.dumps(function.to_dict()))
    del document["details"][POSTERIOR]["shift"]
    old, new = uncertainty_of(AdditiveFunction.from_dict(document)), uncertainty_of(function)
    np.testing.assert_array_equal(old.covariance, new.covariance)
    assert new.shifts(make_codes()).any()
    assert old.shifts(make_codes()).tolist() == [0.0] * 40
    assert old.average_shift == 0.0
    assert [shift.any() for shift, _ in old.tables()] == [False] * 3


def test_a_release_from_before_curves_had_room_in_the_tails_keeps_its_own_curves():
    function, _, _ = make_known()
    document = json.loads(json.dumps(function.to_dict()))
    del document["details"][POSTERIOR]["power"]
    old = uncertainty_of(AdditiveFunction.from_dict(document)).basis
    for column, feature, shares in zip(old.columns, function.columns, function.shares, strict=True):
        np.testing.assert_array_equal(column.values, make_column_basis(feature, shares, RANK).values)
    assert (old.columns[0].values != uncertainty_of(function).basis.columns[0].values).any()


@pytest.mark.parametrize("power", [0.5, "a third", None])
def test_unknown_curves_are_refused(power):
    document = json.loads(json.dumps(make_known()[0].to_dict()))
    document["details"][POSTERIOR]["power"] = power
    with pytest.raises(DocumentError, match="curves"):
        uncertainty_of(AdditiveFunction.from_dict(document))


def test_the_variance_at_a_row_is_the_quadratic_form_of_its_functions():
    known, codes = uncertainty_of(make_known()[0]), make_codes()
    expected = [by_hand(row) @ known.covariance @ by_hand(row) for row in codes]
    assert known.variance(codes) == pytest.approx(expected, rel=1e-10)


def test_the_shift_at_a_row_is_that_of_its_functions():
    known, codes = uncertainty_of(make_known()[0]), make_codes()
    assert known.shifts(codes) == pytest.approx([by_hand(row) @ known.shift for row in codes], rel=1e-10)
    assert known.shifts(codes[:0]).shape == (0,)
    assert known.average_shift == known.shift[0] != 0.0


def test_the_variance_of_a_mean_counts_what_rows_share():
    known, codes = uncertainty_of(make_known()[0]), make_codes()
    mean = np.mean([by_hand(row) for row in codes], axis=0)
    assert known.variance_of_mean(codes) == pytest.approx(mean @ known.covariance @ mean, rel=1e-10)
    assert known.variance_of_mean(codes) < known.variance(codes).mean()


def test_many_rows_are_taken_in_batches_with_the_same_answer(monkeypatch):
    known, codes = uncertainty_of(make_known()[0]), make_codes()
    at_once = known.variance(codes), known.variance_of_mean(codes), known.shifts(codes)
    monkeypatch.setattr("dpcate.models.additive.uncertainty._BATCH", 7)
    assert known.variance(codes) == pytest.approx(at_once[0], rel=1e-12)
    assert known.variance_of_mean(codes) == pytest.approx(at_once[1], rel=1e-12)
    assert known.shifts(codes) == pytest.approx(at_once[2], rel=1e-12)


def test_functions_that_were_left_out_add_variance_where_they_are_not_zero():
    codes = make_codes()
    without, with_them = (uncertainty_of(make_known(left_out=size)[0]) for size in (0.0, 0.2))
    _, kept, _ = make_known()
    squares = np.array([(by_hand(row)[~kept] ** 2).sum() for row in codes])
    assert squares.max() > 0.1
    assert with_them.variance(codes) - without.variance(codes) == pytest.approx(0.2 * squares, rel=1e-9, abs=1e-12)


def test_a_term_s_shift_and_variance_and_a_contrast_s_variance_are_those_of_its_own_coefficients():
    known = uncertainty_of(make_known()[0])
    base, other = np.array([[5, 1, 1]], dtype=np.uint16), np.array([[5, 1, 3]], dtype=np.uint16)
    difference = by_hand(base[0]) - by_hand(other[0])
    assert known.contrast_variance(2, 1, 3) == pytest.approx(difference @ known.covariance @ difference, rel=1e-10)
    first = len(known.basis.columns[0].values)
    own = slice(1, 1 + first)
    at = known.basis.columns[0].values[:, 700]
    shift, variance = known.tables()[0]
    assert shift[700] == pytest.approx(at @ known.shift[own], rel=1e-10)
    assert variance[700] == pytest.approx(at @ known.covariance[own, own] @ at, rel=1e-10)


def test_a_constant_has_one_variance_everywhere_and_no_shift():
    function, _, _ = make_known()
    constant = AdditiveFunction(
        columns=function.columns,
        intercept=1.0,
        tables=function.tables,
        shares=function.shares,
        guarantee_=function.guarantee_,
        details={POSTERIOR: constant_document(0.04)},
    )
    known = uncertainty_of(constant)
    assert known.variance(make_codes()) == pytest.approx(0.04)
    assert known.variance_of_mean(make_codes()) == pytest.approx(0.04)
    assert known.average_variance == pytest.approx(0.04)
    assert [(shift.any(), variance.any()) for shift, variance in known.tables()] == [(False, False)] * 3
    assert known.shifts(make_codes()).tolist() == [0.0] * 40
    assert known.average_shift == 0.0


def test_a_model_without_a_document_does_not_know_its_error():
    function, _, _ = make_known()
    plain = AdditiveFunction.from_dict({**function.to_dict(), "details": {}})
    assert uncertainty_of(plain) is None
