import numpy as np
import pytest

from dpcate.models.additive.basis import make_column_basis
from dpcate.models.additive.curves import CUBE_ROOT, RANK, line_and_curves
from dpcate.models.additive.density import FLOOR, smooth_shares
from dpcate.schema import Number
from dpcate.tables import GRID

AGE = Number("age", 0, 1)


def bell(width, spread=FLOOR):
    """Shares as they are released: a bell within the bounds, this many standard deviations to either side."""
    cells = np.linspace(-width, width, 33)
    counts = np.exp(-(((cells[1:] + cells[:-1]) / 2) ** 2) / 2) * 1e6
    return np.repeat(smooth_shares(counts, 1e-6, spread=spread), GRID // 32) / (GRID // 32)


def left_over(functions, shares, target):
    """Return which part of the standard deviation of a function no combination of others and a constant explains."""
    root = np.sqrt(shares)
    columns = np.vstack([np.ones(len(shares)), functions]).T * root[:, None]
    rest = target * root - columns @ np.linalg.lstsq(columns, target * root, rcond=None)[0]
    return np.sqrt((rest**2).sum() / (shares @ (target - shares @ target) ** 2))


@pytest.mark.parametrize("width", [3.0, 4.0, 12.0])
@pytest.mark.parametrize(("n_curves", "at_most"), [(2, 0.7), (5, 0.6)])
def test_curves_follow_a_parabola_into_the_tails_of_a_bell(width, n_curves, at_most):
    """Two curves are what small budgets have. In the rank most of a parabola is left over."""
    shares = bell(width)
    parabola = np.clip(np.linspace(-width, width, GRID), -3.5, 3.5) ** 2
    by_rank, now = (
        left_over(line_and_curves(shares, power)[: 1 + n_curves], shares, parabola) for power in (RANK, CUBE_ROOT)
    )
    assert by_rank > 0.45
    assert now < at_most * by_rank


def test_an_even_feature_has_cosines_of_its_value_either_way():
    even = np.full(GRID, 1 / GRID)
    assert line_and_curves(even) == pytest.approx(line_and_curves(even, RANK), abs=1e-12)


def test_cells_that_hold_nothing_but_what_all_are_given_take_no_room():
    shares = bell(12.0)
    empty = shares < 1.0001 * FLOOR / GRID
    assert empty.mean() > 0.4
    steps = np.diff(line_and_curves(shares)[1:], axis=1)[:, empty[1:] & empty[:-1]]
    assert np.abs(steps).max() < 1e-6, "round-off has a cube root too"


def test_a_count_keeps_the_rank_whatever_noise_left_between_its_values():
    values = np.full(GRID, 1e-9)
    values[[40, 300, 560, 820]] = [0.4, 0.3, 0.2, 0.1]
    noisy = values.copy()
    noisy[100:140] += 0.0005  # a fiftieth of the rows, seen where nobody is
    for shares in (values / values.sum(), noisy / noisy.sum()):
        np.testing.assert_array_equal(line_and_curves(shares), line_and_curves(shares, RANK))
    mostly_even = np.full(GRID, 1.0)
    mostly_even[40] += 0.4 * GRID
    mostly_even /= mostly_even.sum()
    mostly_even[64:] *= np.linspace(0.5, 1.5, GRID - 64)
    mostly_even /= mostly_even.sum()
    assert (line_and_curves(mostly_even) != line_and_curves(mostly_even, RANK)).any()


def test_one_code_with_nearly_all_rows_gives_finite_curves():
    one = np.where(np.arange(GRID) == 3, 1.0 - FLOOR / 2, FLOOR / 2 / (GRID - 1))
    assert np.isfinite(line_and_curves(one)).all()


def test_bases_of_both_kinds_are_kept_apart():
    shares = np.concatenate([[0.0], bell(4.0)])
    new, old = make_column_basis(AGE, shares), make_column_basis(AGE, shares, RANK)
    assert np.abs(new.values[2] - old.values[2]).max() > 0.5
    assert make_column_basis(AGE, shares) is new
