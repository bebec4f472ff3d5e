"""Any table, as rows of small integer codes on public grids.

This is where private values enter. Every code depends on one value and the schema, so one row's presence changes one
row of the result and nothing else; see `docs/privacy/public_private_line.md`.
"""

from dpcate.tables.encoding import encode_arrays, encode_features, encode_table
from dpcate.tables.grid import GRID, cell_midpoints, n_codes
from dpcate.tables.opening import close_rows, open_table
from dpcate.tables.rows import Rows
from dpcate.tables.source import BATCH, HeldRows, RowSource, RowWork

__all__ = [
    "BATCH",
    "GRID",
    "HeldRows",
    "RowSource",
    "RowWork",
    "Rows",
    "cell_midpoints",
    "close_rows",
    "encode_arrays",
    "encode_features",
    "encode_table",
    "n_codes",
    "open_table",
]
