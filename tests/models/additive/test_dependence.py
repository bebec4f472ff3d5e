import numpy as np
import pytest
from tests.models.additive.mixed_columns import BASIS, SHARES, TRUTH, drawn, leading

from dpcate.models.additive.dependence import _n_below, draw_codes, treat


@pytest.mark.parametrize("correlations", [None, TRUTH])
def test_made_up_rows_follow_the_released_shares(correlations):
    codes = drawn(correlations)
    for j, share in enumerate(SHARES):
        seen = np.bincount(codes[:, j], minlength=len(share)) / len(codes)
        assert np.abs(np.cumsum(seen) - np.cumsum(share)).max() < 0.015


def test_made_up_rows_are_independent_unless_correlations_are_known():
    assert np.corrcoef(leading(drawn(None)).T) == pytest.approx(np.eye(3), abs=0.03)
    seen = np.corrcoef(leading(drawn(TRUTH)).T)
    assert 0.3 < seen[0, 1] < 0.65
    assert -0.5 < seen[0, 2] < -0.25
    assert abs(seen[1, 2]) < 0.05


def test_correlations_that_no_distribution_has_still_give_rows():
    impossible = np.array([[1, 0.95, -0.95, 0], [0.95, 1, 0.95, 0], [-0.95, 0.95, 1, 0], [0, 0, 0, 1.0]])
    codes = drawn(impossible, 100)
    assert codes.shape == (100, 4)
    assert all(codes[:, j].max() < len(share) for j, share in enumerate(SHARES))


@pytest.mark.parametrize("correlations", [None, TRUTH])
def test_public_rows_are_kept_follow_the_law_of_random_ones_and_cannot_be_written_to(correlations):
    codes = draw_codes(BASIS.columns, correlations, 500)
    many = draw_codes(BASIS.columns, correlations, 50_000, np.random.default_rng(0))
    both = [BASIS.matrix(each) for each in (codes, many)]
    assert both[0].T @ both[0] / 500 == pytest.approx(both[1].T @ both[1] / 50_000, abs=0.15)
    assert draw_codes(BASIS.columns, correlations, 500) is codes
    assert len(draw_codes(BASIS.columns, correlations, 300)) == 300
    with pytest.raises(ValueError, match="read-only"):
        codes[0, 0] = 1


@pytest.mark.parametrize("n_edges", [1, 5, 127, 128, 1024])
def test_levels_find_their_place_among_few_and_many_edges(n_edges):
    generator = np.random.default_rng(n_edges)
    edges = np.sort(np.append(generator.uniform(size=n_edges - 1), 0.5))
    levels = np.concatenate([generator.uniform(size=999), edges, [0.0, 1.0, 0.5]])
    assert np.array_equal(_n_below(edges, levels), (edges[None, :] <= levels[:, None]).sum(axis=1))


def test_the_treatment_of_made_up_rows_follows_the_released_propensity():
    columns = [BASIS.columns[0], BASIS.columns[1]]
    codes = draw_codes(columns, None, 1024)
    line = columns[0].leading[codes[:, 0]]
    chances = np.clip(0.5 + 0.2 * line, 0.02, 0.98)
    treated = treat(codes, chances)
    assert np.array_equal(treated[:, 0], codes[:, 0])
    assert set(np.unique(treated[:, 1])) == {1, 2}
    arm = treated[:, 1] - 1.0
    assert arm.mean() == pytest.approx(chances.mean(), abs=0.01)
    assert np.mean(arm * line) == pytest.approx(np.mean(chances * line), abs=0.01)
    assert abs(np.mean((codes[:, 1] - 1.0) * line)) < 0.05, "before, they had nothing to do with each other"


def test_made_up_rows_that_are_kept_for_others_are_not_changed():
    codes = draw_codes([BASIS.columns[0], BASIS.columns[1]], None, 64)
    before = codes.copy()
    treat(codes, np.full(64, 0.9))
    assert np.array_equal(codes, before)
