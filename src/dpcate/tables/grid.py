"""The fixed, public, uniform grid of a number.

Code 0 is missing; codes 1 to `GRID` are the cells between the schema's bounds. The arithmetic is element by element
in IEEE operations that round the same way everywhere, so the code of a value never depends on its neighbours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dpcate import kernels
from dpcate.schema import Category

if TYPE_CHECKING:
    from dpcate.schema import Feature, Number

__all__ = ["GRID", "MISSING", "cell_codes", "cell_midpoints", "n_codes"]

GRID = 1024
"""Number of cells between a number's bounds."""

MISSING = 0
"""The code of a missing number."""


def cell_codes(values: npt.NDArray[np.float64], number: Number) -> npt.NDArray[np.uint16]:
    """Return the code of each value: 0 for NaN, else one more than the cell of the value clamped to the bounds.

    Privacy
    -------
    Releases nothing. Each code depends on one value and on public bounds. See `docs/privacy/public_private_line.md`.

    Examples
    --------
    >>> from dpcate.schema import Number
    >>> cell_codes(np.array([np.nan, -np.inf, 0.0, 0.5, 1.0, 7.0]), Number("share", 0, 1)).tolist()
    [0, 1, 1, 513, 1024, 1024]
    """
    codes = np.empty(len(values), dtype=np.uint16)
    kernels.cell_codes(codes, values, number.low, number.high, GRID)
    return codes


def cell_midpoints(number: Number) -> npt.NDArray[np.float64]:
    """Return the mid-points of a number's cells; entry ``code - 1`` belongs to ``code``.

    Examples
    --------
    >>> from dpcate.schema import Number
    >>> cell_midpoints(Number("age", 0, 1024))[:3].tolist()
    [0.5, 1.5, 2.5]
    """
    shares = (np.arange(GRID) + 0.5) / GRID
    return number.low + shares * (number.high - number.low)


def n_codes(column: Feature) -> int:
    """Return how many codes a column has, "other" included: public, whatever the table.

    Examples
    --------
    >>> from dpcate.schema import Category, Number
    >>> n_codes(Number("age", 18, 105)), n_codes(Category("sex", ["female", "male"]))
    (1025, 3)
    """
    return column.n_codes if isinstance(column, Category) else GRID + 1
