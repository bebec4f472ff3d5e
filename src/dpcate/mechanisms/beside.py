"""Noise drawn while something else is worked out: exact draws take microseconds each, and run outside Python's lock.

When a number is drawn does not change its law; who may use it is the mechanism's concern. Proof:
``docs/privacy/moments.md``, "Noise beside the sums".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from dpcate.errors import ParameterError
from dpcate.kernels.pool import kept_threads

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Beside"]

Drawn = TypeVar("Drawn")
Total = TypeVar("Total")


class Beside(Generic[Drawn]):
    """Noise that a thread of its own is drawing.

    Parameters
    ----------
    draw
        Draws it; nobody else may ask its source before :meth:`with_total` has returned.
    """

    def __init__(self, draw: Callable[[], Drawn]) -> None:
        self._drawn = [kept_threads("noise", 1).submit(draw)]

    def with_total(self, total: Callable[[], Total]) -> tuple[Drawn, Total]:
        """Return the noise, once, and what ``total`` returns; the noise is waited for also if ``total`` fails."""
        try:
            drawing = self._drawn.pop()
        except IndexError:
            raise ParameterError("noise is given once.") from None
        try:
            exact = total()
        finally:
            drawn = drawing.result()
        return drawn, exact
