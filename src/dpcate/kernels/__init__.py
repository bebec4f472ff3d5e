"""The inner loops over encoded rows: compiled where a C compiler was at hand, in numpy elsewhere.

Which of the two runs never shows in a result: they agree bit for bit. The compiled ones need codes whose columns are
contiguous and let other threads run meanwhile; anything else goes to `dpcate.kernels.plain`.

Privacy
-------
Nothing here releases anything. What a row adds depends on that row and on the tables given. A code beyond the end of
its table raises an error that does not quote it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcate.kernels import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

try:
    from dpcate.kernels import _lookups
except ImportError:
    COMPILED = False
else:
    COMPILED = True

__all__ = ["COMPILED", "add_counts", "add_lookups", "add_weighted_counts", "cell_codes", "scaled_lookups"]


def add_lookups(total: NDArray[np.float64], codes: NDArray[np.uint16], tables: Sequence[NDArray[np.float64]]) -> None:
    """Add ``tables[j][codes[i, j]]`` to ``total[i]``, in place and in the order of the columns.

    Parameters
    ----------
    total : float64 array (n,)
    codes : uint16 array (n, d)
    tables : d float64 arrays
        One table per column.

    Raises
    ------
    IndexError
        When a code is beyond the end of its table; some totals may then have changed.

    Examples
    --------
    >>> import numpy as np
    >>> total = np.zeros(2)
    >>> add_lookups(total, np.array([[0], [1]], np.uint16), (np.array([0.5, 2.0]),))
    >>> total.tolist()
    [0.5, 2.0]
    """
    if not (COMPILED and _lookups.add_lookups(total, codes, tables)):
        plain.add_lookups(total, codes, tables)


def add_counts(counts: Sequence[NDArray[np.int64]], codes: NDArray[np.uint16]) -> None:
    """Add to ``counts[j][c]`` the number of rows whose code in column j is c, in place.

    Parameters
    ----------
    counts : d int64 arrays
    codes : uint16 array (n, d)

    Raises
    ------
    IndexError
        When a code is beyond the end of its counts; some counts may then have changed.

    Examples
    --------
    >>> import numpy as np
    >>> count = np.zeros(2, np.int64)
    >>> add_counts((count,), np.array([[0], [1], [1]], np.uint16))
    >>> count.tolist()
    [1, 2]
    """
    if not (COMPILED and _lookups.add_counts(counts, codes)):
        plain.add_counts(counts, codes)


def add_weighted_counts(
    counts: Sequence[NDArray[np.int64]], codes: NDArray[np.uint16], weights: Sequence[NDArray[np.float64]]
) -> None:
    """Add to ``counts[j][c, l]`` the l-th weights of the rows whose code in column j is c, in place and exactly.

    Parameters
    ----------
    counts : d int64 arrays (n_codes, k)
    codes : uint16 array (n, d)
    weights : k float64 arrays (n,)
        Whole numbers below 2^39 in size.

    Raises
    ------
    IndexError
        When a code is beyond the end of its counts; some counts may then have changed.

    Examples
    --------
    >>> import numpy as np
    >>> count = np.zeros((2, 1), np.int64)
    >>> add_weighted_counts((count,), np.array([[0], [1], [1]], np.uint16), (np.array([5.0, -2.0, 3.0]),))
    >>> count.ravel().tolist()
    [5, 1]
    """
    if not (COMPILED and _lookups.add_weighted_counts(counts, codes, weights)):
        plain.add_weighted_counts(counts, codes, weights)


def scaled_lookups(
    out: NDArray[np.float64],
    codes: NDArray[np.uint16],
    columns: Sequence[int],
    tables: Sequence[NDArray[np.float64]],
    scale: NDArray[np.float64],
) -> None:
    """Write ``tables[q][codes[:, columns[q]]] * scale`` to column q of ``out``.

    Parameters
    ----------
    out : float64 array (n, k)
        Compiled when its columns are contiguous.
    codes : uint16 array (n, d)
    columns : k integers
        Which column of ``codes`` each table belongs to.
    tables : k float64 arrays
    scale : float64 array (n,)

    Raises
    ------
    IndexError
        When a code is beyond the end of its table; part of ``out`` may then be written.

    Examples
    --------
    >>> import numpy as np
    >>> out, codes = np.zeros((2, 1)), np.array([[7, 0], [7, 1]], np.uint16)
    >>> scaled_lookups(out, codes, [1], (np.array([0.5, 2.0]),), np.array([10.0, 100.0]))
    >>> out.ravel().tolist()
    [5.0, 200.0]
    """
    if not (COMPILED and _lookups.scaled_lookups(out, codes, columns, tables, scale)):
        plain.scaled_lookups(out, codes, columns, tables, scale)


def cell_codes(out: NDArray[np.uint16], values: NDArray[np.float64], low: float, high: float, n_cells: int) -> None:
    """Write the code of each value: 0 for NaN, else one more than the cell of the value clamped to the bounds.

    Parameters
    ----------
    out : uint16 array (n,)
    values : float64 array (n,)
    low, high : float
        Public bounds, ``low < high``, of finite width.
    n_cells : int
        Number of equal cells between the bounds, at most 65535.

    Examples
    --------
    >>> import numpy as np
    >>> out = np.empty(4, np.uint16)
    >>> cell_codes(out, np.array([np.nan, -np.inf, 0.5, 7.0]), 0.0, 1.0, 1024)
    >>> out.tolist()
    [0, 1, 513, 1024]
    """
    if not (COMPILED and _lookups.cell_codes(out, values, low, high, n_cells)):
        plain.cell_codes(out, values, low, high, n_cells)
