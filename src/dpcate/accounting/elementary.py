"""Elementary trade-off functions: identity, (epsilon, delta) and Laplace.

Each is exact. (epsilon, delta) is the weakest function that the classical definition allows, so replacing a mechanism
by it never claims too much.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

from dpcate.accounting.atomic import AtomicTradeOff
from dpcate.accounting.losses import LossDistribution
from dpcate.accounting.parameters import check_nonnegative, check_probability
from dpcate.accounting.tradeoff import TradeOffFunction

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["EpsilonDelta", "Identity", "Laplace"]


@dataclass(frozen=True, eq=False)
class Identity(AtomicTradeOff, kind="identity"):
    """Perfect privacy: ``f(alpha) = 1 - alpha``; a release that does not depend on the rows.

    Examples
    --------
    >>> Identity()(0.25), Identity().delta(0.0)
    (0.75, 0.0)
    """

    def losses(self) -> LossDistribution:
        """Return the loss that is always 0."""
        return LossDistribution(np.zeros(1), np.ones(1), 0.0)

    def reverse(self) -> Identity:
        """Return the function itself, which is symmetric."""
        return self

    def _is_identity(self) -> bool:
        return True

    def _parameters(self) -> dict[str, Any]:
        return {}

    @classmethod
    def _from_parameters(cls, parameters: Mapping[str, Any]) -> Identity:  # noqa: ARG003
        return cls()


@dataclass(frozen=True, eq=False)
class EpsilonDelta(AtomicTradeOff, kind="epsilon_delta"):
    """Trade-off function of classical differential privacy, and of nothing more.

    ``f(alpha) = max(0, 1 - delta - e^epsilon alpha, e^-epsilon (1 - delta - alpha))``.

    Conversions are methods named as the parameters are, so the parameters are read as ``level`` and ``failure``.

    Parameters
    ----------
    epsilon : float
        Level, at least 0.
    delta : float
        Failure probability in [0, 1].

    Examples
    --------
    >>> f = EpsilonDelta(1.0, 1e-6)
    >>> f
    EpsilonDelta(epsilon=1.0, delta=1e-06)
    >>> f.delta(1.0), f.epsilon(1e-6)
    (1e-06, 1.0)
    """

    level: float
    failure: float

    def __init__(self, epsilon: float, delta: float = 0.0) -> None:
        object.__setattr__(self, "level", check_nonnegative("epsilon", epsilon))
        object.__setattr__(self, "failure", check_probability("delta", delta))

    def __repr__(self) -> str:
        return f"EpsilonDelta(epsilon={self.level!r}, delta={self.failure!r})"

    def losses(self) -> LossDistribution:
        """Return the loss: plus or minus epsilon as in randomised response, infinite with probability delta."""
        return self._distribution

    def reverse(self) -> EpsilonDelta:
        """Return the function itself, which is symmetric."""
        return self

    @cached_property
    def _distribution(self) -> LossDistribution:
        rest = 1.0 - self.failure
        if self.level == 0.0 or rest == 0.0:
            return LossDistribution(np.zeros(1), np.array([rest]), self.failure)
        masses = rest * expit(np.array([-self.level, self.level]))
        return LossDistribution(np.array([-self.level, self.level]), masses, self.failure)

    def _is_identity(self) -> bool:
        return self.level == 0.0 and self.failure == 0.0

    def _parameters(self) -> dict[str, Any]:
        return {"epsilon": self.level, "delta": self.failure}

    @classmethod
    def _from_parameters(cls, parameters: Mapping[str, Any]) -> EpsilonDelta:
        return cls(parameters["epsilon"], parameters["delta"])


@dataclass(frozen=True, eq=False)
class Laplace(TradeOffFunction, kind="laplace"):
    """Trade-off between Laplace noise of scale 1 around 0 and around ``epsilon``.

    Parameters
    ----------
    epsilon : float
        Sensitivity divided by the scale of the noise. Read it as ``level``.

    Examples
    --------
    >>> Laplace(1.0).epsilon(0.0), Laplace(1.0).delta(1.0)
    (1.0, 0.0)
    """

    level: float

    def __init__(self, epsilon: float) -> None:
        object.__setattr__(self, "level", check_nonnegative("epsilon", epsilon))

    def __repr__(self) -> str:
        return f"Laplace(epsilon={self.level!r})"

    @property
    def infinite_loss(self) -> float:
        """A Laplace loss is bounded: 0."""
        return 0.0

    @property
    def largest_loss(self) -> float:
        """The largest loss is epsilon."""
        return self.level

    def reverse(self) -> Laplace:
        """Return the function itself, which is symmetric."""
        return self

    def _values(self, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
        shrink = np.exp(-self.level)
        middle = 0.25 * shrink / np.maximum(alpha, 1e-300)
        steep = 1.0 - alpha / max(shrink, 1e-300)
        flat = shrink * (1.0 - alpha)
        return np.asarray(np.where(2.0 * alpha <= shrink, steep, np.where(alpha <= 0.5, middle, flat)))

    def _deltas(self, epsilon: NDArray[np.float64]) -> NDArray[np.float64]:
        inner = -np.expm1(0.5 * np.minimum(epsilon - self.level, 0.0))
        return np.where(epsilon > -self.level, inner, -np.expm1(np.minimum(epsilon, 0.0)))

    def _is_identity(self) -> bool:
        return self.level == 0.0

    def _parameters(self) -> dict[str, Any]:
        return {"epsilon": self.level}

    @classmethod
    def _from_parameters(cls, parameters: Mapping[str, Any]) -> Laplace:
        return cls(parameters["epsilon"])
