"""Real people with a synthetic effect, as the paper makes it for the voting data.

With probability -tau(x) a person votes if and only if left alone; otherwise the person's own outcome stays. The effect
is then tau(x) = -voted in 2000 / (2 + 100 / age) plus whatever effect the treatment really had, which is taken as none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcate.errors import ParameterError
from dpcate.experiments.protocol import StudyRows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcate.schema import Schema

__all__ = ["SpikedStudy", "spike", "spiked_effect"]

SPLIT_SEED = 2008
"""Divides the people into those for training and those for testing."""


def spiked_effect(voted_2000: NDArray[np.float64], age: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the paper's effect.

    Examples
    --------
    >>> spiked_effect(np.array([1.0, 0.0]), np.array([50.0, 50.0])).tolist()
    [-0.25, 0.0]
    """
    effect: NDArray[np.float64] = np.where(voted_2000 > 0, -1 / (2 + 100 / age), 0.0)
    return effect


def spike(
    outcome: NDArray[np.float64], treated: NDArray[Any], effect: NDArray[np.float64], generator: np.random.Generator
) -> NDArray[np.float64]:
    """Return outcomes that have the effect: a flipped person votes if and only if not treated."""
    flipped = generator.uniform(size=len(effect)) < -effect
    spiked: NDArray[np.float64] = np.where(flipped, 1 - treated, outcome).astype(np.float64)
    return spiked


@dataclass(frozen=True, eq=False, kw_only=True)
class SpikedStudy:
    """A study of real people; follows :class:`~dpcate.experiments.protocol.Study`.

    Parameters
    ----------
    name, schema
        As for every study.
    people
        Features and outcome before the spike-in, by column; with the treatment, if ``treated_share`` is None.
    effect
        The synthetic effect of each person.
    n_training
        How many people are for training; the others are for testing.
    treated_share
        Probability with which treatment is drawn; None keeps the treatment that people had.
    """

    name: str
    schema: Schema
    people: dict[str, NDArray[Any]]
    effect: NDArray[np.float64]
    n_training: int
    treated_share: float | None = None

    def draw(self, n: int, seed: int) -> StudyRows:
        """Return ``n`` different people of the training part."""
        if n > self.n_training:
            raise ParameterError(f"`n` must be at most {self.n_training} for the study {self.name}; got {n}.")
        generator = np.random.default_rng(seed)
        chosen = generator.choice(self._order()[: self.n_training], size=n, replace=False)
        rows = {name: values[chosen] for name, values in self.people.items()}
        treatment, outcome = self.schema.treatment.name, self.schema.outcome.name
        if self.treated_share is not None:
            rows[treatment] = (generator.uniform(size=n) < self.treated_share).astype(np.int64)
        rows[outcome] = spike(rows[outcome], rows[treatment], self.effect[chosen], generator)
        return StudyRows(rows)

    def test(self, n: int, seed: int) -> tuple[dict[str, NDArray[Any]], NDArray[np.float64]]:
        """Return ``n`` different people of the test part, or all of them if there are fewer."""
        others = self._order()[self.n_training :]
        chosen = np.random.default_rng(seed).choice(others, size=min(n, len(others)), replace=False)
        return {column.name: self.people[column.name][chosen] for column in self.schema.features}, self.effect[chosen]

    def _order(self) -> NDArray[np.int64]:
        return np.random.default_rng(SPLIT_SEED).permutation(len(self.effect))
