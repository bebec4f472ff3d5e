from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

def add_lookups(
    total: NDArray[np.float64], codes: NDArray[np.uint16], tables: Sequence[NDArray[np.float64]], /
) -> bool: ...
def add_counts(counts: Sequence[NDArray[np.int64]], codes: NDArray[np.uint16], /) -> bool: ...
def add_weighted_counts(
    counts: Sequence[NDArray[np.int64]], codes: NDArray[np.uint16], weights: Sequence[NDArray[np.float64]], /
) -> bool: ...
def scaled_lookups(
    out: NDArray[np.float64],
    codes: NDArray[np.uint16],
    columns: Sequence[int],
    tables: Sequence[NDArray[np.float64]],
    scale: NDArray[np.float64],
    /,
) -> bool: ...
def cell_codes(
    out: NDArray[np.uint16], values: NDArray[np.float64], low: float, high: float, n_cells: int, /
) -> bool: ...
