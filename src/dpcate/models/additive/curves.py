"""The functions of a number: a straight line, and cosines of a coordinate in which its codes are spread out.

Where few rows are, little can be learned; so the coordinate gives room by how many rows there are, but not in
proportion. In the rank, which is in proportion, the tails of a bell-shaped feature have next to no room: a cosine is
flat there, and two thirds of a parabola is left over. With steps of width h the squared error is about h^2 where a
function has a slope; the least of it, averaged over rows of density p, comes with steps of width proportional to
p^(-1/3). So the coordinate has the cube root of the density. Everything here is made from released shares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcate.models.additive.density import FLOOR, stand_alone

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CUBE_ROOT", "CURVE_SIZES", "N_CELLS", "RANK", "line_and_curves"]

CURVE_SIZES = (0.06, 0.12, 0.011, 0.004, 0.002)
"""Prior variance of each curve (cosines beside the linear term) relative to a leading term's. The first is what half a
wave has beyond a straight line, the second bends to one side."""

CUBE_ROOT, RANK = 1 / 3, 1.0
"""Powers of the density that make the coordinate: that of new models, and that of releases that do not name theirs."""

N_CELLS = 32
"""Cells of a number's histogram."""

MOSTLY = 0.75
"""A number with more than this share of its rows in cells that stand alone is a count: what noise left in the cells
between would take room by its cube root, and has no rows. It keeps the rank."""


def line_and_curves(shares: NDArray[np.float64], power: float = CUBE_ROOT) -> NDArray[np.float64]:
    """Return a straight line in the value and cosines of the coordinate, one per row, with a value per code.

    Parameters
    ----------
    shares
        Released share of rows at each code of a number; they sum to one.
    power
        Of the density, that the coordinate's own is.
    """
    by_cell = shares.reshape(N_CELLS, -1).sum(axis=1)
    alone = stand_alone(by_cell)
    if by_cell[alone].sum() > MOSTLY:
        power = RANK
    orders = np.arange(1, len(CURVE_SIZES) + 1)
    cosines = np.cos(np.pi * orders[:, None] * _coordinate(shares, power))
    line = np.arange(len(shares)) / len(shares)
    return _flat_where(alone, np.vstack([line, cosines]))


def _coordinate(shares: NDArray[np.float64], power: float) -> NDArray[np.float64]:
    """Return where each code lies between zero and one; the share that all cells are given is no sign of rows."""
    room = shares if power == RANK else np.maximum(shares - FLOOR / len(shares), 0.0) ** power
    places: NDArray[np.float64] = (np.cumsum(room) - room / 2) / room.sum()
    return places


def _flat_where(alone: NDArray[np.bool_], candidates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Make functions, one per row, constant on cells that stand alone.

    Such a cell holds one value, whose place inside the cell is not known; a function that varied inside it would not be
    the function that the rows see.
    """
    values = candidates.reshape(len(candidates), N_CELLS, -1)
    values[:, alone] = values[:, alone].mean(axis=2, keepdims=True)
    return values.reshape(candidates.shape)
