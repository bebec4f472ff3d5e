"""Average effects of groups: right on a known study, adding up to the average, cut by public or released facts."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from tests.learners.confounded import SCHEMA, draw, effect, shifted

from dpcate import RLearner
from dpcate.accounting import Gaussian, Guarantee
from dpcate.errors import NotAvailableError, ParameterError
from dpcate.learners.cutting import make_groups
from dpcate.learners.groups import _mean_effect, _mean_functions, find_group_effects
from dpcate.models import StageData, Uncertainty, uncertainty_of, variance_by_shares
from dpcate.models.additive.assembly import assemble
from dpcate.models.additive.basis import make_basis
from dpcate.schema import Category, Number
from dpcate.tables import n_codes


@pytest.fixture(scope="module")
def fitted():
    return RLearner(SCHEMA, epsilon=50.0, random_state=0).fit_table(draw(8000, 0))


def even(column):
    """Shares that are even over all codes but the missing one."""
    shares = np.full(n_codes(column), 1.0)
    shares[0] = 0.0
    return shares / shares.sum()


def test_default_groups_of_a_number_are_quarters_with_the_right_effects(fitted):
    groups = list(fitted.group_effects("x"))
    assert [group.interval for group in groups] == [(0.0, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 1.0)]
    assert [group.share for group in groups] == pytest.approx([0.25] * 4, abs=0.03)
    for group in groups:
        truth = effect(np.mean(group.interval))
        assert group.effect == pytest.approx(truth, abs=0.05)
        assert group.lower < truth < group.upper


def test_levels_of_a_category_are_groups(fitted):
    groups = fitted.group_effects("town")
    assert [group.label for group in groups] == ["a", "b", "c"]
    assert len(groups) == 3
    assert all(group.interval is None and group.lower < 0.4 < group.upper for group in groups)


@pytest.mark.parametrize("by", ["x", "town"])
def test_groups_average_to_the_average_effect(fitted, by):
    groups = fitted.group_effects(by)
    shares = np.array([group.share for group in groups])
    total = shares @ [group.effect for group in groups] + (1 - shares.sum()) * fitted.ate()
    assert total == pytest.approx(fitted.ate(), abs=2e-3)


def test_simultaneous_intervals_are_wider_by_one_factor(fitted):
    together, single = (fitted.group_effects("x", simultaneous=simultaneous) for simultaneous in (True, False))
    assert single.reach == pytest.approx(1.959964)
    assert 2.2 < together.reach < 2.5
    for one, other in zip(together, single, strict=True):
        assert one.effect == other.effect
        assert one.stderr == other.stderr
        assert one.upper - one.lower == pytest.approx(2 * together.reach * one.stderr)
        assert other.upper - other.lower == pytest.approx(2 * single.reach * other.stderr)
        assert one.upper + one.lower == pytest.approx(other.upper + other.lower)


@pytest.mark.parametrize("simultaneous", [False, True])
@pytest.mark.parametrize("by", ["x", "town"])
@pytest.mark.parametrize(("size", "outside"), [(0.004, False), (0.3, True)])
def test_intervals_are_centred_where_effects_are_shrunk_less_and_hold_the_estimate(
    fitted, by, simultaneous, size, outside
):
    release = shifted(fitted, size)
    model, found = release.models_["effect"], release.group_effects(by, simultaneous=simultaneous)
    known, at, moved = uncertainty_of(model), [column.name for column in model.columns].index(by), []
    for group, cut in zip(found, make_groups(model.columns[at], model.shares[at], None), strict=True):
        middle = group.effect + _mean_functions(known, at, cut.weights) @ known.shift
        reach = found.reach * group.stderr
        assert group.lower == pytest.approx(min(middle - reach, group.effect))
        assert group.upper == pytest.approx(max(middle + reach, group.effect))
        moved.append(abs(middle - group.effect) / reach)
    assert max(moved) > 0.1
    assert any(group.effect in (group.lower, group.upper) for group in found) == outside
    plain = fitted.group_effects(by, simultaneous=simultaneous)
    assert [group.effect for group in found] == [group.effect for group in plain]


def test_errors_of_groups_jointly_hold_as_often_as_said(fitted):
    groups = fitted.group_effects("x", alpha=0.1)
    errors = np.random.default_rng(3).multivariate_normal(np.zeros(4), groups.covariance, 20_000, method="svd")
    stderr = np.array([group.stderr for group in groups])
    assert (np.abs(errors) <= groups.reach * stderr).all(axis=1).mean() == pytest.approx(0.9, abs=0.01)


def test_edges_may_be_chosen_and_name_the_bounds_or_not(fitted):
    inner = fitted.group_effects("x", edges=[0.1, 0.6])
    outer = fitted.group_effects("x", edges=[0, 0.1, 0.6, 1])
    assert inner.groups == outer.groups
    assert [group.interval for group in inner] == [(0.0, 0.1), (0.1, 0.6), (0.6, 1.0)]
    assert [group.label for group in fitted.group_effects("x", edges=[])] == ["0 to 1"]
    (everybody,) = fitted.group_effects("x", edges=[])
    assert everybody.effect == pytest.approx(fitted.ate(), abs=1e-9)
    by_shares = variance_by_shares(fitted.models_["effect"], fitted.models_)
    _, unknown = fitted._uncertainty().average.of_population(by_shares)
    of_population = fitted.ate_inference().stderr_mean ** 2
    assert everybody.stderr == pytest.approx(np.sqrt(of_population - unknown), rel=1e-6), "as the shares say"


@pytest.mark.parametrize("edges", [[0.5, 0.4], [0.5, 0.5], [-0.1, 0.5], [0.5, 1.1], [float("nan")], ["a"], 0.5])
def test_edges_out_of_order_or_bounds_are_refused(fitted, edges):
    with pytest.raises(ParameterError, match="edges"):
        fitted.group_effects("x", edges=edges)


def test_edges_inside_one_cell_and_edges_of_a_category_are_refused(fitted):
    with pytest.raises(ParameterError, match="apart"):
        fitted.group_effects("x", edges=[0.50000, 0.50001])
    with pytest.raises(ParameterError, match="category"):
        fitted.group_effects("town", edges=[1])
    with pytest.raises(ParameterError, match="one of the features x, town"):
        fitted.group_effects("y")


def test_quartiles_follow_released_shares_and_keep_off_the_inside_of_cells():
    column = Number("count", 0, 32)
    lump = np.zeros(1025)
    lump[1:33] = 0.7 / 32  # one histogram cell holds most people
    lump[33:] = 0.3 / 992
    assert [group.interval for group in make_groups(column, lump, None)] == [(0.0, 1.0), (1.0, 6.0), (6.0, 32.0)]
    assert [group.interval[1] for group in make_groups(column, even(column), None)] == [8.0, 16.0, 24.0, 32.0]


@pytest.mark.parametrize(("column", "label"), [(Number("x", 0, 1), "(missing)"), (Category("c", ["a"]), "(other)")])
def test_missing_values_are_a_group_where_their_released_share_is_not_small(column, label):
    shares = even(column) * 0.9
    shares[0] = 0.1
    labels = [group.label for group in make_groups(column, shares, None)]
    assert labels[-1] == label
    assert label not in [group.label for group in make_groups(column, even(column), None)]


def test_a_group_without_released_share_counts_its_codes_alike():
    column, shares = Category("c", ["a", "b"]), np.array([0.0, 1.0, 0.0])
    _, nobody = make_groups(column, shares, None)
    assert nobody.share == 0.0
    assert nobody.weights.tolist() == [0.0, 0.0, 1.0]


def made_with_products(correlation):
    """A function with known coefficients and the uncertainty about them; two numbers and their product."""
    columns = (Number("a", 0, 1), Number("b", 0, 1))
    matrix = np.array([[1.0, correlation], [correlation, 1.0]])
    basis = make_basis(columns, [even(column) for column in columns], matrix, n_features=2)
    generator = np.random.default_rng(8)
    theta, root = generator.normal(size=basis.n_terms), generator.normal(size=(basis.n_terms, basis.n_terms))
    data = StageData.of_arrays(
        codes=np.zeros((0, 2), dtype=np.uint16), target=np.zeros(0), columns=columns, low=-50.0, high=50.0, n_features=2
    )
    guarantee = Guarantee(Gaussian(1.0), "replace")
    model = assemble(data, basis, theta, centre=0.0, guarantee=guarantee, details={})
    return model, Uncertainty(basis, root @ root.T, np.zeros(basis.n_terms)), theta


@pytest.mark.parametrize("correlation", [0.0, 0.6])
@pytest.mark.parametrize("at", [0, 1])
def test_a_group_s_effect_and_its_error_come_from_the_same_combination_of_coefficients(at, correlation):
    model, known, theta = made_with_products(correlation)
    assert len(model.products) == 1
    for group in make_groups(model.columns[at], model.shares[at], None):
        combined = _mean_functions(known, at, group.weights) @ theta
        assert _mean_effect(model, at, group.weights) == pytest.approx(combined, rel=1e-9)


@pytest.mark.parametrize("correlation", [0.0, 0.6])
def test_with_products_the_groups_still_average_to_the_average(correlation):
    model, known, _ = made_with_products(correlation)
    schema = replace(SCHEMA, outcome=Number("y", -100, 100), features=model.columns)
    groups = find_group_effects(model, known, schema, by="a", edges=None, alpha=0.05, simultaneous=True)
    average = sum(group.share * group.effect for group in groups)
    assert average == pytest.approx(model.intercept, rel=1e-9)


def test_independent_factors_leave_a_product_out_of_the_groups():
    model, known, _ = made_with_products(0.0)
    for group in make_groups(model.columns[0], model.shares[0], None):
        assert _mean_functions(known, 0, group.weights)[-1] == 0.0


def test_correlated_normals_bear_out_what_a_product_is_read_as():
    generator, rho = np.random.default_rng(4), 0.6
    a = generator.normal(size=400_000)
    b = rho * a + np.sqrt(1 - rho**2) * generator.normal(size=len(a))
    far = a > 1
    direct = (a * b - rho)[far].mean()
    assert direct == pytest.approx(rho * ((a[far] ** 2).mean() / (a**2).mean() - 1), abs=0.02)


def test_frames_hold_the_groups_under_two_sets_of_names(fitted):
    groups = fitted.group_effects("x")
    frame, summary = groups.to_pandas(), groups.summary_frame()
    assert list(frame.columns) == ["label", "interval", "share", "effect", "shift", "stderr", "lower", "upper"]
    assert list(summary.columns) == ["share", "point_estimate", "stderr", "ci_lower", "ci_upper"]
    assert summary.index.name == "x"
    assert list(summary["ci_upper"]) == list(frame["upper"]) == [group.upper for group in groups]


def test_without_pandas_the_list_works_and_frames_name_the_extra(fitted, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    groups = fitted.group_effects("town")
    assert [group.label for group in groups] == ["a", "b", "c"]
    for ask in (groups.to_pandas, groups.summary_frame):
        with pytest.raises(NotAvailableError, match=r"dpcate\[pandas\]"):
            ask()
