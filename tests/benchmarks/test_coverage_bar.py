"""A quick form of the coverage bar: fewer cells and runs than the benchmark, and a wider margin."""

import numpy as np
import pytest
from benchmarks.coverage import study


@pytest.mark.slow
def test_intervals_cover_about_as_often_as_they_say():
    cells = study(
        sizes=(1000, 4000),
        epsilons=(4.0,),
        runs=8,
        average_runs=16,
        setups=("B", "linear"),
        plans=("shared",),
        n_jobs=1,
    )
    people = [cell["people"] for cell in cells]
    assert min(people) > 0.85
    assert np.mean([cell["aipw"] for cell in cells]) > 0.75
    assert max(cell["people_width"] for cell in cells) < 6.0, "wide enough is easy"
