"""Numbers, a yes/no category and one with three levels, and made-up rows that hang together."""

import numpy as np

from dpcate.models.additive.basis import make_basis
from dpcate.models.additive.dependence import draw_codes
from dpcate.schema import Category, Number
from dpcate.tables import GRID

COLUMNS = (Number("age", 0, 1), Category("sex", ["f", "m"]), Number("income", 0, 1), Category("town", list("abc")))
RISING = np.append(0.0, np.arange(1, GRID + 1) / (GRID * (GRID + 1) / 2))
SHARES = [
    RISING,
    np.array([0.0, 0.7, 0.3]),
    np.append(0.1, np.full(GRID, 0.9 / GRID)),
    np.array([0.01, 0.33, 0.33, 0.33]),
]
BASIS = make_basis(COLUMNS, SHARES, None, n_features=4)
TRUTH = np.array([[1, 0.6, -0.4, 0], [0.6, 1, 0, 0], [-0.4, 0, 1, 0], [0, 0, 0, 1.0]])


def drawn(correlations, n_rows=40_000):
    return draw_codes(BASIS.columns, correlations, n_rows, np.random.default_rng(0))


def leading(codes):
    return np.column_stack([BASIS.columns[j].leading[codes[:, j]] for j in range(3)])
