"""What a reproduction is asked to run: figures, studies, sizes, budgets, learners; and which cells follow from it.

Everything is checked here, before the first fit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log
from typing import TYPE_CHECKING

from dpcate.errors import ParameterError
from dpcate.experiments.figures.style import Method
from dpcate.experiments.grid import LEARNERS, MODELS, PLANS, Cell, make_cells
from dpcate.experiments.setups import SETUP_NAMES
from dpcate.experiments.studies import STUDY_NAMES, StudyPaths

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["EPSILONS", "FIGURES", "SIZES", "Request", "quick_request"]

FIGURES = (1, 2, 3)
SIZES = (500, 1000, 2000, 4000, 8000, 16000, 32000)
EPSILONS: tuple[float | None, ...] = (1.0, 2.0, 4.0, 8.0, 16.0, None)
SIX = ("A", "B", "C", "D-published", "E-published")  # and voting or GOTV, where there is a file
FIGURE1_SIZE = 16000
FIGURE3_SIZES = {"A": 16000, "B": 16000, "GOTV": 16000, "voting": 16000}
FIGURE3_OTHER_SIZE = 4000


@dataclass(frozen=True, kw_only=True)
class Request:
    """What to reproduce.

    Parameters
    ----------
    figures
        Of 1, 2, 3.
    setups
        Studies by name; None is what each figure needs, and for all figures together every study there is.
    sizes, epsilons, learners, models, plans
        The grid; epsilon None is without privacy.
    runs, shape_runs
        Runs per cell, and fits per curve of figure 1.
    paths
        Files of real studies.
    quick
        Draw figure 2 for one study only, and leave the paper's learners without privacy, which are slow, to figure 1.
    """

    figures: tuple[int, ...] = FIGURES
    setups: tuple[str, ...] | None = None
    sizes: tuple[int, ...] = SIZES
    epsilons: tuple[float | None, ...] = EPSILONS
    learners: tuple[str, ...] = LEARNERS
    models: tuple[str, ...] = ("additive", "published")
    plans: tuple[str, ...] = ("shared",)
    runs: int = 25
    shape_runs: int = 5
    paths: StudyPaths = field(default_factory=StudyPaths)
    quick: bool = False

    def __post_init__(self) -> None:
        _check("figure", self.figures, FIGURES)
        _check("setups", self.setups or SETUP_NAMES, STUDY_NAMES)
        _check("learners", self.learners, LEARNERS)
        _check("models", self.models, MODELS)
        _check("plans", self.plans, PLANS)
        for name, path in (("GOTV", self.paths.gotv), ("voting", self.paths.voting)):
            if name in (self.setups or ()) and path is None:
                raise ParameterError(f"the study {name} needs data that do not come with dpcate; give its path.")
        for name in ("sizes", "epsilons"):
            if not getattr(self, name):
                raise ParameterError(f"`{name}` must name at least one.")
        if min(self.runs, self.shape_runs) < 1:
            raise ParameterError(f"`runs` must be at least 1; got {min(self.runs, self.shape_runs)}.")
        self.cells()

    @property
    def real_studies(self) -> tuple[str, ...]:
        """Studies of real people for which there is a file, the paper's own first."""
        given = (("voting", self.paths.voting), ("GOTV", self.paths.gotv))
        return tuple(name for name, path in given if path is not None)

    @property
    def main_learner(self) -> str:
        """The learner of figures 1 and 3: DR, as in the paper, if it was asked for."""
        return "DR" if "DR" in self.learners else self.learners[0]

    @property
    def ours(self) -> tuple[Method, ...]:
        """Models and plans but the paper's."""
        return tuple(Method(model, plan) for model in self.models if model != "published" for plan in self.plans)

    @property
    def figure2_studies(self) -> tuple[str, ...]:
        """Studies of figure 2; the first one gets the name ``figure2``."""
        if self.setups is not None:
            return self.setups
        every = (*self.real_studies, *SETUP_NAMES)
        return every if set(self.figures) == set(FIGURES) and not self.quick else every[:1]

    @property
    def figure3_sizes(self) -> dict[str, int]:
        """Studies of figure 3, each with the size that is nearest to the paper's."""
        studies = self.setups if self.setups is not None else (*SIX, *self.real_studies[:1])
        return {name: _nearest(self.sizes, FIGURE3_SIZES.get(name, FIGURE3_OTHER_SIZE)) for name in studies}

    def cells(self) -> list[Cell]:
        """Return the cells of figures 2 and 3."""
        cells: list[Cell] = []
        if 2 in self.figures:
            cells += self._make(self.figure2_studies, self.sizes, self.learners)
        if 3 in self.figures:
            for study, n in self.figure3_sizes.items():
                cells += self._make([study], [n], [self.main_learner])
        return [cell for cell in dict.fromkeys(cells) if not (self.quick and _is_slow(cell))]

    def shape_cells(self, study: str) -> list[Cell]:
        """Return the cells of figure 1, on a study that need not have a name for others."""
        n = _nearest(self.sizes, FIGURE1_SIZE)
        return self._make([study], [n], [self.main_learner])

    def _make(self, studies: Sequence[str], sizes: Sequence[int], learners: Sequence[str]) -> list[Cell]:
        how = {"learners": learners, "models": self.models, "plans": self.plans}
        return make_cells(studies, sizes, self.epsilons, **how)


def quick_request(**given: object) -> Request:
    """Return a request that takes under two minutes on two cores; what is given goes before.

    Examples
    --------
    >>> quick_request(runs=1).runs
    1
    """
    small: dict[str, object] = {"sizes": (500, 2000, 8000), "epsilons": (1.0, 4.0, 16.0, None), "runs": 2}
    return Request(**{**small, "shape_runs": 2, "quick": True, **given})  # type: ignore[arg-type]


def _is_slow(cell: Cell) -> bool:
    return cell.model == "published" and cell.epsilon is None


def _check(name: str, given: Sequence[object], known: Sequence[object]) -> None:
    for value in given:
        if value not in known:
            raise ParameterError(f"`{name}` must be of {', '.join(map(str, known))}; got {value!r}.")


def _nearest(sizes: Sequence[int], wanted: int) -> int:
    return min(sizes, key=lambda n: abs(log(n / wanted)))
