"""What every trade-off function can do: values, both conversions to (epsilon, delta), equality, documents.

A trade-off function is an immutable value that never sees data. Conversions round to the safe side: ``epsilon(delta)``
returns a number at which ``delta(epsilon)`` does not exceed the delta that was asked for.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self, overload

import numpy as np

from dpcate.accounting.parameters import check_numbers, check_within
from dpcate.errors import DocumentError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from dpcate.accounting.losses import LossDistribution

__all__ = ["TradeOffFunction"]

_SECTIONS = 64  # points per pass of the search for epsilon
_PASSES = 12


class TradeOffFunction(ABC):
    """Smallest type II error ``f(alpha)`` of an attacker who tells two neighbours apart at type I error ``alpha``.

    Subclasses give values for arrays (``_values``, ``_deltas``), the mass at infinite loss, and their parameters; this
    class adds scalars, checks, the search for epsilon, equality and documents.
    """

    kind: ClassVar[str]
    _kinds: ClassVar[dict[str, type[TradeOffFunction]]] = {}

    def __init_subclass__(cls, kind: str | None = None) -> None:
        """Register ``kind`` as the name of the class in documents."""
        super().__init_subclass__()
        if kind is not None:
            cls.kind = kind
            TradeOffFunction._kinds[kind] = cls

    # What a subclass states

    @abstractmethod
    def _values(self, alpha: NDArray[np.float64]) -> NDArray[np.float64]: ...

    @abstractmethod
    def _deltas(self, epsilon: NDArray[np.float64]) -> NDArray[np.float64]: ...

    @property
    @abstractmethod
    def infinite_loss(self) -> float:
        """Probability of an unbounded loss: ``1 - f(0)``, the limit of ``delta(epsilon)``."""

    @property
    def largest_loss(self) -> float:
        """An epsilon from which on ``delta(epsilon)`` equals its limit; infinite where there is none."""
        return math.inf

    @abstractmethod
    def reverse(self) -> TradeOffFunction:
        """Return the trade-off function with the two hypotheses exchanged (the inverse function)."""

    def losses(self) -> LossDistribution | None:
        """Return the exact law of the privacy loss if it has finitely many values, else None."""
        return None

    @abstractmethod
    def _parameters(self) -> dict[str, Any]:
        """Return the constructor's arguments as JSON values."""

    @classmethod
    @abstractmethod
    def _from_parameters(cls, parameters: Mapping[str, Any]) -> TradeOffFunction: ...

    def _is_identity(self) -> bool:
        return False

    # What everyone gets

    @property
    def symmetric(self) -> bool:
        """Whether the function equals its own inverse."""
        return self.reverse() == self

    @overload
    def __call__(self, alpha: float) -> float: ...
    @overload
    def __call__(self, alpha: NDArray[np.float64] | Sequence[float]) -> NDArray[np.float64]: ...
    def __call__(self, alpha: float | NDArray[np.float64] | Sequence[float]) -> float | NDArray[np.float64]:
        """Return ``f(alpha)`` for ``alpha`` in [0, 1]."""
        points = check_within("alpha", alpha, 0.0, 1.0)
        values = self._values(points.ravel())
        values = np.clip(values, 0.0, 1.0 - points.ravel())
        values = np.where(points.ravel() == 0.0, 1.0 - self.infinite_loss, values)
        return float(values[0]) if points.ndim == 0 else values.reshape(points.shape)

    @overload
    def delta(self, epsilon: float) -> float: ...
    @overload
    def delta(self, epsilon: NDArray[np.float64] | Sequence[float]) -> NDArray[np.float64]: ...
    def delta(self, epsilon: float | NDArray[np.float64] | Sequence[float]) -> float | NDArray[np.float64]:
        """Return the smallest delta at ``epsilon``: ``1 + f*(-exp(epsilon))``, for any real epsilon."""
        orders = check_numbers("epsilon", epsilon)
        flat = orders.ravel()
        values = self._deltas(np.where(np.isfinite(flat), flat, 0.0)) + 0.0  # no negative zeros
        values = np.where(flat == np.inf, self.infinite_loss, np.where(flat == -np.inf, 1.0, values))
        return float(values[0]) if orders.ndim == 0 else values.reshape(orders.shape)

    @overload
    def epsilon(self, delta: float) -> float: ...
    @overload
    def epsilon(self, delta: NDArray[np.float64] | Sequence[float]) -> NDArray[np.float64]: ...
    def epsilon(self, delta: float | NDArray[np.float64] | Sequence[float]) -> float | NDArray[np.float64]:
        """Return the smallest epsilon >= 0 with ``self.delta(epsilon) <= delta``; infinite if there is none."""
        targets = check_within("delta", delta, 0.0, 1.0)
        values = [self._epsilon(float(target)) for target in targets.ravel()]
        return values[0] if targets.ndim == 0 else np.array(values).reshape(targets.shape)

    def _epsilon(self, delta: float) -> float:
        """Narrow a bracket whose upper end always satisfies the target, and return that end."""
        if self.delta(0.0) <= delta:
            return 0.0
        low, high = 0.0, self._feasible_epsilon(delta)
        if math.isinf(high):
            return math.inf
        for _ in range(_PASSES):
            points = np.linspace(low, high, _SECTIONS + 1)
            first = int(np.argmax(self._deltas(points) <= delta))
            if first == 0 or high - low <= 1e-15 * high:
                break
            low, high = float(points[first - 1]), float(points[first])
        return high

    def _feasible_epsilon(self, delta: float) -> float:
        if self.infinite_loss > delta:
            return math.inf
        if math.isfinite(self.largest_loss):
            return self.largest_loss
        candidates = np.exp2(np.arange(-30.0, 200.0))
        feasible = self._deltas(candidates) <= delta
        return float(candidates[np.argmax(feasible)]) if feasible.any() else math.inf

    # Values and documents

    def _key(self) -> tuple[Any, ...]:
        if self._is_identity():
            return ("identity",)
        return (self.kind, *(_frozen(value) for value in self._parameters().values()))

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, TradeOffFunction) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def to_dict(self) -> dict[str, Any]:
        """Return a document of plain JSON values from which ``from_dict`` makes an equal function."""
        return {"kind": self.kind, **self._parameters()}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Return the trade-off function that ``to_dict`` described.

        Raises
        ------
        DocumentError
            If the document is not one of ours, is damaged, or describes another kind of function.
        """
        try:
            made = cls._kinds[document["kind"]]._from_parameters(document)
        except (KeyError, TypeError, AttributeError, ParameterError) as problem:
            raise DocumentError(f"This is not a trade-off function that dpcate wrote: {problem}.") from problem
        if not isinstance(made, cls):
            raise DocumentError(f"Expected a document of {cls.__name__}; got one of {type(made).__name__}.")
        return made


def _frozen(value: object) -> object:
    """Return a JSON value with its lists and dictionaries turned into tuples, so that it can be hashed."""
    if isinstance(value, dict):
        return tuple((key, _frozen(item)) for key, item in value.items())
    if isinstance(value, list):
        return tuple(_frozen(item) for item in value)
    return value
