"""Whom to treat, given what a treatment costs: a rule, what it is expected to win, and how sure that is.

Everything is post-processing of released numbers. The rule was chosen because it looks good, so its limits hold for
every rule at once: no way of choosing can break them. Derivation: ``docs/statistics/policy.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcate.errors import NotAvailableError, ParameterError
from dpcate.learners.intervals import limits_around, quantile
from dpcate.learners.people import draw_people
from dpcate.learners.policy_tree import Leaf, candidate_splits, search_tree
from dpcate.models import AdditiveFunction, uncertainty_of
from dpcate.splitting import public_generator
from dpcate.tables import encode_features

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from dpcate.models import Uncertainty
    from dpcate.schema import Schema

__all__ = ["Policy", "make_policy"]

N_PEOPLE, N_ERRORS, N_OF_ERRORS = 20_000, 1000, 2000
"""Made-up people, draws of the error, and people on whom each draw is looked at."""

_DEEPEST = 2


@dataclass(frozen=True, eq=False, repr=False)
class Policy:
    """A rule that says whom to treat.

    Parameters
    ----------
    schema
        What people are described by.
    model
        The released effect.
    known
        Its error, or None where the model does not know it.
    cost
        Cost of one treatment, in units of the outcome.
    people
        Made-up people who follow the released distribution.
    leaves
        The tree's leaves; None treats whoever's effect is larger than the cost.
    """

    schema: Schema
    model: AdditiveFunction
    known: Uncertainty | None
    cost: float
    people: NDArray[np.uint16]
    leaves: tuple[Leaf, ...] | None = None

    def treat(self, X: Any) -> NDArray[np.bool_]:  # noqa: ANN401 - any array or frame
        """Return whether to treat each row of ``X`` (an array in the schema's order, or a frame)."""
        return self._treated(encode_features(X, self.schema))

    def _treated(self, codes: NDArray[np.uint16]) -> NDArray[np.bool_]:
        if self.leaves is None:
            return self.model.predict(codes) > self.cost
        treated = np.zeros(len(codes), dtype=bool)
        for leaf in self.leaves:
            if leaf.treat:
                treated |= leaf.members(codes)
        return treated

    @property
    def share_treated(self) -> float:
        """Share of people, by the released distribution, whom the rule treats."""
        return float(self._treated(self.people).mean())

    @property
    def expected_gain(self) -> float:
        """Effect less cost where the rule treats, per person of the released distribution; nobody treated is zero."""
        return float(np.where(self._treated(self.people), self.model.predict(self.people) - self.cost, 0.0).mean())

    def gain_interval(self, alpha: float = 0.05, *, chosen: bool = True) -> tuple[float, float]:
        """Return limits of the rule's true gain per person of the released distribution.

        Parameters
        ----------
        alpha
            One less the probability that the limits are to hold with.
        chosen
            True: limits that hold for all rules at once, hence for this one however it was chosen. False: for a rule
            that was fixed before the release was seen.
        """
        times = quantile(alpha)
        if self.known is None:
            raise NotAvailableError("the gain has no interval: this model does not know its error.")
        treated = self._treated(self.people)
        share = float(treated.mean())
        shift = share * float(self.known.shifts(self.people[treated]).mean()) if share else 0.0
        if chosen:
            reach = self._every_rule(alpha) * math.sqrt(share)
        else:
            reach = times * share * math.sqrt(self.known.variance_of_mean(self.people[treated]) if share else 0.0)
        widest = self.schema.outcome.high - self.schema.outcome.low
        low, high = share * (-widest - self.cost), share * (widest - self.cost)
        lower, upper = limits_around(self.expected_gain, shift, reach)
        return float(np.clip(lower, low, high)), float(np.clip(upper, low, high))

    def _every_rule(self, alpha: float) -> float:
        """Return w such that, with probability 1 - alpha, no rule's gain is off by more than w sqrt(its share).

        Of all rules that treat k people, the one whose gain is overstated most treats the k people whose effects are.
        """
        assert self.known is not None
        codes = self.people[:N_OF_ERRORS]
        functions = self.known.basis.matrix(codes)
        errors = functions @ _normal_draws(self.known.covariance, N_ERRORS, skipped=self.people.size)
        errors.sort(axis=0)
        scale = np.sqrt(np.arange(1, len(codes) + 1) * float(len(codes)))[:, None]
        below = (np.cumsum(errors, axis=0) / scale).min(axis=0)
        above = (np.cumsum(errors[::-1], axis=0) / scale).max(axis=0)
        return float(np.quantile(np.maximum(above, -below), 1 - alpha))

    def rules(self) -> str:
        """Return the rule in words."""
        if self.leaves is None:
            return f"treat whoever has an estimated effect above {self.cost:g}"
        lines = [f"{'treat' if leaf.treat else 'do not treat'}: {leaf.words}" for leaf in self.leaves]
        return "\n".join(lines)

    def __repr__(self) -> str:
        kind = "threshold" if self.leaves is None else "tree"
        return f"Policy({kind}, cost={self.cost:g}, share_treated={self.share_treated:.3f})"


def make_policy(schema: Schema, models: Mapping[str, AdditiveFunction], *, cost: float, depth: int | None) -> Policy:
    """Return the rule that wins most by the released effect: a threshold (``depth=None``) or a tree."""
    if isinstance(cost, bool) or not isinstance(cost, int | float) or not math.isfinite(cost):
        raise ParameterError(f"`cost` must be a finite number, in units of the outcome; got {cost!r}.")
    if depth is not None and (isinstance(depth, bool) or depth not in range(_DEEPEST + 1)):
        raise ParameterError(f"`depth` must be 0, 1, 2, or None for a threshold; got {depth!r}.")
    model = models["effect"]
    people = draw_people(models, N_PEOPLE)
    leaves = None
    if depth is not None:
        gains = model.predict(people) - cost
        leaves = search_tree(candidate_splits(model, people, gains), people, gains, depth)
    return Policy(schema, model, uncertainty_of(model), float(cost), people, leaves)


def _normal_draws(covariance: NDArray[np.float64], n_draws: int, *, skipped: int) -> NDArray[np.float64]:
    """Return draws of a normal vector, one per column; the public numbers that made up the people are left out."""
    values, vectors = np.linalg.eigh(covariance)
    generator = public_generator()
    generator.standard_normal(skipped)
    normals = generator.standard_normal((len(covariance), n_draws))
    draws: NDArray[np.float64] = vectors @ (np.sqrt(np.maximum(values, 0.0))[:, None] * normals)
    return draws
