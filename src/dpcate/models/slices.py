"""Slices of people by a released function: those with the largest values first.

Where to cut follows from released numbers: the function at made-up people. Which slice a row is in depends on that row
alone, to the last bit, as the function's value does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcate.models.function import AdditiveFunction

__all__ = ["Slices", "make_slices"]

_THINNEST = 0.5
"""A slice holds at least this part of what even slices would hold: functions with few values get fewer slices."""


@dataclass(frozen=True, slots=True)
class Slices:
    """Groups of rows by the value of a released function.

    Parameters
    ----------
    function
        What is cut.
    cuts
        Falling: slice 0 has values of at least the first, slice 1 of at least the second, and so on.
    """

    function: AdditiveFunction
    cuts: tuple[float, ...]

    @property
    def n_slices(self) -> int:
        """How many there are: one more than there are cuts."""
        return len(self.cuts) + 1

    def of(self, codes: NDArray[np.uint16]) -> NDArray[np.int64]:
        """Return the slice of each row."""
        reached = np.searchsorted(np.array(self.cuts[::-1]), self.function.predict(codes), side="right")
        return (len(self.cuts) - reached).astype(np.int64)


def make_slices(function: AdditiveFunction, people: NDArray[np.uint16], n_slices: int) -> Slices:
    """Return about ``n_slices`` slices of equally many made-up people.

    Parameters
    ----------
    function
        What to cut.
    people
        Made-up people who follow the released distribution of the inputs.
    n_slices
        How many slices to aim for; there are fewer where many people have the same value.
    """
    falling = np.sort(function.predict(people))[::-1]
    thinnest = _THINNEST / n_slices * len(people)
    cuts: list[float] = []
    above = 0
    for k in range(1, n_slices):
        cut = float(falling[k * len(people) // n_slices - 1])
        reached = int(np.searchsorted(-falling, -cut, side="right"))
        if reached - above >= thinnest and len(people) - reached >= thinnest:
            cuts.append(cut)
            above = reached
    return Slices(function, tuple(cuts))
