"""A first look at correlations: close to the truth at a small price, from public facts alone decided."""

from functools import partial

import numpy as np
import pytest
from tests.models.stages import altered

from dpcate.mechanisms import SeededNoise
from dpcate.models import StageData
from dpcate.models.additive.equations import FAINT_WEIGHT, weigh_target
from dpcate.models.additive.first_look import looks_first, release_correlations
from dpcate.models.additive.regression import MomentRegression
from dpcate.models.additive.target import TargetLaw
from dpcate.schema import Category, Number
from dpcate.tables import GRID

COLUMNS = (Number("x0", 0, 1), Number("x1", 0, 1), Category("site", ["a", "b", "c"]), Category("sex", ["f", "m"]))
N_ROWS = 4000


def make_stage(seed=0, **changes):
    generator = np.random.default_rng(seed)
    common = generator.normal(size=N_ROWS)
    x = [np.clip(0.5 + 0.12 * (common + 0.4 * generator.normal(size=N_ROWS)), 0, 0.999) for _ in range(2)]
    sex = 1 + (common + generator.normal(size=N_ROWS) > 0)
    codes = [*(1 + np.floor(each * GRID) for each in x), generator.integers(1, 4, N_ROWS), sex]
    data = StageData.of_arrays(
        columns=COLUMNS,
        codes=np.asfortranarray(np.column_stack(codes), dtype=np.uint16),
        target=generator.integers(0, 2, N_ROWS).astype(float),
        low=0.0,
        high=1.0,
        n_rows=N_ROWS,
        n_features=4,
    )
    return altered(data, kind="probability", loose=True, **changes)


def with_columns(n_numbers, n_levels):
    """A stage with so many numbers and so many categories of three levels."""
    columns = [Number(f"x{j}", 0, 1) for j in range(n_numbers)]
    columns += [Category(f"c{j}", ["a", "b", "c"]) for j in range(n_levels)]
    codes = np.ones((5, len(columns)), dtype=np.uint16)
    return altered(make_stage(), columns=tuple(columns), codes=codes, target=np.zeros(5), n_features=len(columns))


def shares_of(data):
    counts = [np.bincount(data.held.codes[:, j], minlength=size) for j, size in enumerate((GRID + 1,) * 2 + (4, 3))]
    return [count / count.sum() for count in counts]


def look(data, mu, seed=0):
    prepared = partial(
        MomentRegression, data=data, law=TargetLaw.of_probability(), n_rows=N_ROWS, neighbours="replace", mu=mu
    )
    return release_correlations(prepared, shares_of(data), 1024, SeededNoise(seed))


def test_correlations_are_found_with_a_small_part_of_a_small_budget():
    data = make_stage()
    codes = data.held.codes.astype(float)
    truth = np.corrcoef(codes[:, [0, 1, 3]].T)
    mean = np.mean([look(data, mu=0.05, seed=seed) for seed in range(8)], axis=0)
    assert mean[np.ix_([0, 1, 3], [0, 1, 3])] == pytest.approx(truth, abs=0.1)
    assert mean[2] == pytest.approx(np.eye(4)[2])  # three levels have no single leading function


def test_who_looks_first_is_a_public_fact():
    data = make_stage()
    assert looks_first(data)
    assert not looks_first(altered(data, loose=False))
    assert not looks_first(altered(data, constant=True))
    assert not looks_first(altered(data, n_features=3))  # the last column is the treatment
    assert not looks_first(with_columns(1, 2))  # levels cannot be mixed
    assert looks_first(with_columns(16, 2))
    assert not looks_first(with_columns(17, 0))


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_where_only_the_gram_matrix_is_wanted_the_target_has_hardly_any_room(neighbours):
    assert weigh_target(neighbours, later=False, constant=False, gram_only=True) == FAINT_WEIGHT
    assert weigh_target(neighbours, later=False, constant=False) > 5 * FAINT_WEIGHT
