"""Public points are the same every time, inside the cube, and even: averages over them are nearly exact."""

import numpy as np
import pytest

from dpcate.splitting import public_points


def test_points_are_fixed_and_strictly_inside_the_cube():
    points = public_points(1024, 11)
    assert points.shape == (1024, 11)
    assert np.array_equal(points, public_points(1024, 11))
    assert points.min() > 0.0
    assert points.max() < 1.0


@pytest.mark.parametrize("n_columns", [2, 11, 50])
def test_averages_of_one_and_two_columns_beat_random_points(n_columns):
    centred = np.sqrt(12) * (public_points(1024, n_columns) - 0.5)
    products = centred.T @ centred / len(centred)
    assert np.abs(centred.mean(axis=0)).max() < 0.002
    assert np.abs(np.diagonal(products) - 1).max() < 0.01
    off = products[~np.eye(n_columns, dtype=bool)]
    assert np.sqrt((off**2).mean()) < 0.5 / np.sqrt(1024)
