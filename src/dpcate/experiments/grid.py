"""Cells of an experiment: which study, how many rows, which budget, which learner.

A seed follows from what it is for, by a hash that is the same on every machine. The rows of a replicate depend on
study, size and replicate alone, so that all learners see the same rows; the noise depends on everything.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from hashlib import blake2b
from itertools import product
from typing import TYPE_CHECKING

from dpcate.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["LEARNERS", "MODELS", "PLANS", "Cell", "Key", "make_cells"]

LEARNERS = ("DR", "R", "S")
MODELS = ("additive", "ebm", "interpret", "published")
PLANS = ("shared", "split")

Key = tuple[str, int, float | None, str, str, str, int]
"""What names a run: the fields of its cell, then the replicate."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One specification that is run several times.

    Parameters
    ----------
    study
        Name that :func:`~dpcate.experiments.studies.make_study` knows.
    n
        Rows of a training draw.
    epsilon
        Budget at delta = 1e-5; None is without privacy.
    learner
        ``"DR"``, ``"R"`` or ``"S"``.
    model
        ``"additive"``, ``"ebm"``, ``"interpret"``, or ``"published"``: as the authors ran it.
    plan
        ``"shared"`` or ``"split"``; the published learners always split.
    """

    study: str
    n: int
    epsilon: float | None
    learner: str
    model: str = "additive"
    plan: str = "shared"

    def __post_init__(self) -> None:
        for name, known in (("learner", LEARNERS), ("model", MODELS), ("plan", PLANS)):
            if getattr(self, name) not in known:
                raise ParameterError(f"`{name}` must be one of {', '.join(known)}; got {getattr(self, name)!r}.")
        if self.n < 1:
            raise ParameterError(f"`n` must be at least 1; got {self.n}.")
        object.__setattr__(self, "n", int(self.n))
        if self.epsilon is not None:
            if not 0 < self.epsilon < float("inf"):
                raise ParameterError(f"`epsilon` must be positive and finite, or None; got {self.epsilon}.")
            object.__setattr__(self, "epsilon", float(self.epsilon))
        if self.model == "published":
            object.__setattr__(self, "plan", "split")

    def key(self, replicate: int) -> Key:
        """Return what names a run of this cell."""
        return (*astuple(self), replicate)

    def data_seed(self, replicate: int) -> int:
        """Return the seed of the rows: the same for every learner, model, plan and budget."""
        return _stable_hash("rows", self.study, self.n, replicate)

    def seed(self, replicate: int) -> int:
        """Return the seed of the noise: its own for every run.

        Examples
        --------
        >>> Cell("A", 500, 1, "R").seed(0) == Cell("A", 500, 1.0, "R").seed(0)
        True
        """
        return _stable_hash("noise", *self.key(replicate))


def make_cells(
    studies: Iterable[str],
    sizes: Iterable[int],
    epsilons: Iterable[float | None],
    *,
    learners: Iterable[str] = LEARNERS,
    models: Iterable[str] = ("additive",),
    plans: Iterable[str] = ("shared",),
) -> list[Cell]:
    """Return every combination once, in the order of the arguments.

    Examples
    --------
    >>> len(make_cells("AB", (500, 1000), (1.0, None)))
    24
    """
    combinations = product(studies, sizes, epsilons, learners, models, plans)
    return list(dict.fromkeys(Cell(*combination) for combination in combinations))


def _stable_hash(*parts: object) -> int:
    """Return a hash in [0, 2^63), which fits a signed integer of 64 bits."""
    return int.from_bytes(blake2b(repr(parts).encode(), digest_size=8).digest(), "big") >> 1
