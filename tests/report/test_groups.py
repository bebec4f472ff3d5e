"""The groups with the largest and the smallest effect, against a search over everything."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from tests.learners.confounded import shifted
from tests.report.conftest import rows, study

from dpcate import RLearner, SLearner
from dpcate.learners.intervals import effect_limits
from dpcate.models import uncertainty_of
from dpcate.models.function import Product
from dpcate.report import groups
from dpcate.report.groups import find_groups, typical_codes
from dpcate.schema import Category, Number


def test_the_groups_are_the_extremes_over_typical_people(fitted):
    model = fitted.models_["effect"]
    pools = [
        typical_codes(column, share)[:: 1 if len(share) < 20 else 24]
        for column, share in zip(model.columns, model.shares, strict=True)
    ]
    effects = model.predict(np.array(list(product(*pools)), dtype=np.uint16))
    found = find_groups(fitted)
    assert found.most.effect >= effects.max() - 1e-12
    assert found.least.effect <= effects.min() + 1e-12
    assert found.most.effect <= effects.max() + 0.2 * (effects.max() - effects.min())


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_search_that_one_feature_alone_cannot_begin_finds_the_corners_of_a_product(fitted, sign):
    """At the middle of both features neither moves the effect by itself."""
    model = fitted.models_["effect"]
    steps = np.append(0.0, np.round(np.linspace(-1.4, 1.4, 1024)))  # low, middle, high
    numbers = [j for j, column in enumerate(model.columns) if isinstance(column, Number)][:2]
    flat = tuple(np.zeros_like(table) for table in model.tables)
    model = replace(model, tables=flat, products=(Product(*numbers, steps, steps, 0.0),), low=-np.inf, high=np.inf)
    pools = [np.arange(1, len(share), dtype=np.uint16) for share in model.shares]
    start = np.array([(len(share) + 1) // 2 for share in model.shares], dtype=np.uint16)
    found = groups._climb(model, pools, start, sign)
    assert sign * model.score(found[None, :])[0] - sign * model.intercept == pytest.approx(1.0)
    alone = groups._ascend(model, pools, start, sign)
    assert model.score(alone[None, :])[0] == model.intercept, (
        "there is something to get over, or this test shows nothing"
    )


def test_groups_have_the_librarys_effect_and_interval(fitted):
    found = find_groups(fitted)
    for group in (found.most, found.least):
        low, high = group.limits
        assert low < group.effect < high
    assert found.difference == pytest.approx(found.most.effect - found.least.effect)


@pytest.mark.parametrize(("size", "outside"), [(0.0, False), (0.002, False), (1.0, True)])
def test_the_interval_of_the_difference_is_centred_where_effects_are_shrunk_less_and_holds_it(
    fitted, monkeypatch, size, outside
):
    fitted, ends, climb = shifted(fitted, size), [], groups._climb
    monkeypatch.setattr(groups, "_climb", lambda *asked: ends.append(climb(*asked)) or ends[-1])
    found, known = find_groups(fitted), uncertainty_of(fitted.models_["effect"])
    functions = known.basis.matrix(np.array(ends))
    contrast = functions[0] - functions[1]
    middle, reach = (
        found.difference + contrast @ known.shift,
        1.959964 * np.sqrt(contrast @ known.covariance @ contrast),
    )
    limits = min(middle - reach, found.difference), max(middle + reach, found.difference)
    assert found.limits == pytest.approx(limits, rel=1e-6)
    assert (found.difference in found.limits) == outside
    for group, codes in ((found.most, ends[0]), (found.least, ends[1])):
        low, high = effect_limits(fitted.models_["effect"], known, codes[None, :], fitted.schema_, 0.05)
        assert group.limits == (low[0], high[0])


def test_the_interval_of_the_difference_knows_that_both_groups_share_an_error(fitted):
    """The intercept's error is in both effects and cancels; adding the two variances would count it twice."""
    found = find_groups(fitted)
    reach = (found.limits[1] - found.limits[0]) / 2
    apart = sum(((group.limits[1] - group.limits[0]) / 2) ** 2 for group in (found.most, found.least)) ** 0.5
    assert 0 < reach != pytest.approx(apart, rel=1e-3)
    assert uncertainty_of(fitted.models_["effect"]).average_variance > 0


def test_nobody_is_singled_out_where_the_effect_is_constant():
    assert find_groups(SLearner(study(), epsilon=4.0).fit_table(rows(500))) is None


def test_without_a_known_error_there_are_no_intervals(seeded):
    found = find_groups(seeded)
    assert found.limits is found.most.limits is found.least.limits is None


def test_typical_is_the_middle_of_a_number_and_the_common_levels():
    share = np.full(1025, 1 / 1024)
    share[0] = 0.0
    codes = typical_codes(Number("x", 0, 1), share)
    assert 1024 * 0.05 - 1 <= codes[0] <= 1024 * 0.05 + 1
    assert 1024 * 0.95 - 1 <= codes[-1] <= 1024 * 0.95 + 2
    assert typical_codes(Category("c", ["a", "b", "c"]), np.array([0.3, 0.3, 0.005, 0.395])).tolist() == [1, 3]


def test_shares_that_are_all_noise_do_not_stop_the_report():
    assert len(typical_codes(Category("c", ["a", "b"]), np.array([1.0, 0.0, 0.0]))) == 2
    assert len(typical_codes(Number("x", 0, 1), np.zeros(1025))) == 1024
    tiny = RLearner(study(), epsilon=0.2).fit_table({name: values[:3] for name, values in rows(10).items()})
    assert find_groups(tiny) is None or find_groups(tiny).difference >= 0
