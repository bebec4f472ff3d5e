"""Trees of depth two at most that say whom to treat, found by looking at every one of them.

The search runs over made-up people who follow the released distribution, so it is post-processing. One matrix product
gives the gain of every leaf of every tree: for splits s and t, how much is won among those who pass both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcate.schema import Number
from dpcate.tables import GRID

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dpcate.models import AdditiveFunction
    from dpcate.schema import Category

__all__ = ["Leaf", "Split", "candidate_splits", "search_tree"]

MOST_CUTS, FEWEST_CUTS, MOST_SPLITS = 15, 3, 600
"""Cut points per number, and about how many splits are looked at in all; many features have fewer cut points each."""

_WORTH_A_SPLIT = 1e-9
"""A split must win this much per person, relative to the largest gain of one person; less is rounding."""


@dataclass(frozen=True, slots=True)
class Split:
    """A question with two answers about one column.

    Parameters
    ----------
    column
        Which column.
    passes
        Per code, whether the answer is yes; missing values and unknown levels never pass.
    yes, no
        Both answers in words.
    """

    column: int
    passes: NDArray[np.bool_]
    yes: str
    no: str

    def of(self, codes: NDArray[np.uint16]) -> NDArray[np.bool_]:
        """Return the answer for each row of ``codes``."""
        answers: NDArray[np.bool_] = np.take(self.passes, codes[:, self.column])
        return answers


@dataclass(frozen=True, slots=True)
class Leaf:
    """People who gave certain answers, and whether to treat them."""

    answers: tuple[tuple[Split, bool], ...]
    treat: bool

    def members(self, codes: NDArray[np.uint16]) -> NDArray[np.bool_]:
        """Return who is in the leaf."""
        inside = np.ones(len(codes), dtype=bool)
        for split, answer in self.answers:
            inside &= split.of(codes) == answer
        return inside

    @property
    def words(self) -> str:
        """The answers, readable."""
        said = [split.yes if answer else split.no for split, answer in self.answers]
        return " and ".join(said) if said else "everybody"


def candidate_splits(model: AdditiveFunction, codes: NDArray[np.uint16], gains: NDArray[np.float64]) -> list[Split]:
    """Return the splits to try: quantiles of numbers, and levels of categories in the order of their gains."""
    n_cuts = int(np.clip(MOST_SPLITS // len(model.columns), FEWEST_CUTS, MOST_CUTS))
    splits: list[Split] = []
    for j, (column, share) in enumerate(zip(model.columns, model.shares, strict=True)):
        if isinstance(column, Number):
            splits += _number_splits(j, column, share, n_cuts)
        else:
            splits += _category_splits(j, column, _mean_by_code(codes[:, j], gains, len(share)), n_cuts)
    return splits


def _number_splits(j: int, column: Number, share: NDArray[np.float64], n_cuts: int) -> list[Split]:
    """Return cuts at evenly spaced quantiles of the released distribution."""
    known = np.cumsum(np.maximum(share[1:], 0.0))
    if known[-1] <= 0:
        return []
    levels = np.arange(1, n_cuts + 1) / (n_cuts + 1) * known[-1]
    cells = np.unique(np.searchsorted(known, levels) + 1)
    codes = np.arange(GRID + 1)
    splits = []
    for cell in cells[cells < GRID]:
        edge = column.low + float(cell) / GRID * (column.high - column.low)
        passes = (codes >= 1) & (codes <= cell)
        splits.append(Split(j, passes, f"{column.name} < {edge:.5g}", f"({column.name} >= {edge:.5g} or missing)"))
    return splits


def _category_splits(j: int, column: Category, means: NDArray[np.float64], most: int) -> list[Split]:
    """Return single levels and, from the level with the largest gain downwards, the sets that win most."""
    ranked = [int(code) for code in np.argsort(-means[1:], kind="stable") + 1]
    sets = [ranked[:size] for size in range(1, max(len(ranked), 2))]  # all levels together tell nobody apart
    sets += [[code] for code in ranked[1:]]
    splits = []
    for chosen in sets[:most]:
        passes = np.isin(np.arange(len(means)), chosen)
        if len(chosen) == 1:
            level = column.levels[chosen[0] - 1]
            yes, no = f"{column.name} is {level}", f"{column.name} is not {level}"
        else:
            names = ", ".join(str(column.levels[code - 1]) for code in sorted(chosen))
            yes, no = f"{column.name} is one of {names}", f"{column.name} is none of {names}"
        splits.append(Split(j, passes, yes, no))
    return splits


def _mean_by_code(codes: NDArray[np.uint16], gains: NDArray[np.float64], n_codes: int) -> NDArray[np.float64]:
    counts = np.bincount(codes, minlength=n_codes)
    sums = np.bincount(codes, weights=gains, minlength=n_codes)
    return np.where(counts > 0, sums / np.maximum(counts, 1), -np.inf)


def search_tree(
    splits: Sequence[Split], codes: NDArray[np.uint16], gains: NDArray[np.float64], depth: int
) -> tuple[Leaf, ...]:
    """Return the leaves of the tree that wins most in total, over all trees of the depth.

    Parameters
    ----------
    splits
        The questions that may be asked.
    codes, gains
        Made-up people, and what is won by treating each.
    depth
        0, 1 or 2 questions on the way to a leaf.
    """
    if depth == 0 or not splits:
        return (Leaf((), bool(gains.sum() > 0)),)
    answers = np.column_stack([split.of(codes) for split in splits]).astype(np.float64)
    won = gains @ answers
    both = answers.T @ (answers * gains[:, None])
    least = _WORTH_A_SPLIT * len(gains) * float(np.abs(gains).max(initial=0.0))
    kept: tuple[Leaf, ...] = (Leaf((), bool(gains.sum() > 0)),)
    best_value = max(float(gains.sum()), 0.0)
    for deep in (False, True)[:depth]:  # a deeper tree must win more than the best shallower one
        left = _Branches(won, both, deep=deep)
        right = _Branches(gains.sum() - won, won[None, :] - both, deep=deep)
        best = int(np.argmax(left.value + right.value))
        value = float(left.value[best] + right.value[best])
        if value > best_value + least:
            sides = left.leaves(splits, best, True, least), right.leaves(splits, best, False, least)
            kept, best_value = (*sides[0], *sides[1]), value
    return kept


class _Branches:
    """One side of every first question: what is won there at most, and by which second question.

    Parameters
    ----------
    whole
        Per first question, the sum of gains on this side.
    passing
        Per first and second question, the sum of gains of those on this side who pass the second.
    deep
        Whether a second question may be asked.
    """

    def __init__(self, whole: NDArray[np.float64], passing: NDArray[np.float64], *, deep: bool) -> None:
        self.whole, self.passing, self.deep = whole, passing, deep
        self.flat = np.maximum(whole, 0.0)
        parted = np.maximum(passing, 0.0) + np.maximum(whole[:, None] - passing, 0.0)
        self.second = np.argmax(parted, axis=1)
        self.value = parted.max(axis=1) if deep else self.flat

    def leaves(self, splits: Sequence[Split], first: int, answer: bool, least: float) -> list[Leaf]:
        """Return the one or two leaves on this side of a first question."""
        start = ((splits[first], answer),)
        if not self.deep or self.value[first] <= self.flat[first] + least:
            return [Leaf(start, bool(self.whole[first] > 0))]
        second = int(self.second[first])
        inside = float(self.passing[first, second])
        return [
            Leaf((*start, (splits[second], True)), inside > 0),
            Leaf((*start, (splits[second], False)), float(self.whole[first]) - inside > 0),
        ]
