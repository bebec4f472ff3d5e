"""What a study offers: a schema, training draws, and test rows with their true effects.

Test rows are never training rows: simulated ones are drawn afresh, real people are divided once and for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dpcate.schema import Schema

__all__ = ["Study", "StudyRows"]


@dataclass(frozen=True, slots=True)
class StudyRows:
    """A training draw.

    Parameters
    ----------
    table
        One array per column of the study's schema, for ``fit_table``.
    """

    table: dict[str, NDArray[Any]]


class Study(Protocol):
    """A population whose effects are known."""

    @property
    def name(self) -> str:
        """What the study is called."""
        ...

    @property
    def schema(self) -> Schema:
        """Public facts about its rows."""
        ...

    def draw(self, n: int, seed: int) -> StudyRows:
        """Return ``n`` training rows."""
        ...

    def test(self, n: int, seed: int) -> tuple[dict[str, NDArray[Any]], NDArray[np.float64]]:
        """Return the features of ``n`` test rows (of all of them, if there are fewer) and their true effects."""
        ...
