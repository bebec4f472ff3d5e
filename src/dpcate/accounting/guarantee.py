"""A guarantee: a trade-off function together with the neighbour relation that it protects.

Flags are contagious: whatever is combined from a void or nominal guarantee is void or nominal, and says so first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, get_args, overload

from dpcate.accounting.mixture import mixture
from dpcate.accounting.parallel import parallel
from dpcate.accounting.sequential import sequential
from dpcate.accounting.tradeoff import TradeOffFunction
from dpcate.errors import DocumentError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "Guarantee",
    "Neighbours",
    "check_neighbours",
    "compose_guarantees",
    "mixture_guarantees",
    "parallel_guarantees",
]

Neighbours = Literal["replace", "add_remove"]
"""Tables are neighbours if one row differs (``replace``) or if one has a row more (``add_remove``)."""

_PHRASES = {"replace": "replacing one row", "add_remove": "adding or removing one row"}
_SHOWN_DELTA = 1e-5


def check_neighbours(value: object) -> Neighbours:
    """Return ``value`` if it names a neighbour relation, or refuse."""
    if value not in get_args(Neighbours):
        raise ParameterError(f'`neighbours` must be "replace" or "add_remove"; got {value!r}.')
    return "replace" if value == "replace" else "add_remove"


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What an attacker can learn about one row, at most.

    Parameters
    ----------
    f : TradeOffFunction
        Smallest type II error of telling two neighbours apart, as a function of the type I error.
    neighbours : {"replace", "add_remove"}
        Which tables count as neighbours.
    void : bool
        True if the numbers do not hold, e.g. because the noise was reproducible.
    nominal : bool
        True if the numbers are claimed by software that we could not prove right.
    notes : tuple of str
        Why, and anything else that a reader must know.

    Examples
    --------
    >>> from dpcate.accounting import Gaussian
    >>> print(Guarantee(Gaussian(0.25), "replace"))
    epsilon = 0.9263 at delta = 1e-05 for replacing one row: Gaussian(mu=0.25)
    """

    f: TradeOffFunction
    neighbours: Neighbours
    void: bool = False
    nominal: bool = False
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.f, TradeOffFunction):
            raise ParameterError(f"`f` must be a trade-off function; got {type(self.f).__name__}.")
        check_neighbours(self.neighbours)
        if isinstance(self.notes, str):
            raise ParameterError("`notes` must be a sequence of strings; got one string.")
        object.__setattr__(self, "notes", tuple(str(note) for note in self.notes))

    @overload
    def epsilon(self, delta: float) -> float: ...
    @overload
    def epsilon(self, delta: NDArray[np.float64] | Sequence[float]) -> NDArray[np.float64]: ...
    def epsilon(self, delta: float | NDArray[np.float64] | Sequence[float]) -> float | NDArray[np.float64]:
        """Return the smallest epsilon at ``delta``."""
        return self.f.epsilon(delta)

    @overload
    def delta(self, epsilon: float) -> float: ...
    @overload
    def delta(self, epsilon: NDArray[np.float64] | Sequence[float]) -> NDArray[np.float64]: ...
    def delta(self, epsilon: float | NDArray[np.float64] | Sequence[float]) -> float | NDArray[np.float64]:
        """Return the smallest delta at ``epsilon``."""
        return self.f.delta(epsilon)

    @overload
    def tradeoff(self, alpha: float) -> float: ...
    @overload
    def tradeoff(self, alpha: NDArray[np.float64] | Sequence[float]) -> NDArray[np.float64]: ...
    def tradeoff(self, alpha: float | NDArray[np.float64] | Sequence[float]) -> float | NDArray[np.float64]:
        """Return the attacker's smallest type II error at type I error ``alpha``."""
        return self.f(alpha)

    def __str__(self) -> str:
        numbers = f"epsilon = {self.epsilon(_SHOWN_DELTA):.4g} at delta = {_SHOWN_DELTA:g}"
        text = f"{numbers} for {_PHRASES[self.neighbours]}: {self.f!r}"
        if self.nominal:
            text = f"NOMINAL (claimed, not proved): {text}"
        if self.void:
            text = f"VOID (no privacy is guaranteed): {text}"
        return f"{text} [{'; '.join(self.notes)}]" if self.notes else text

    def to_dict(self) -> dict[str, Any]:
        """Return a document of plain JSON values from which ``from_dict`` makes an equal guarantee."""
        return {
            "kind": "guarantee",
            "f": self.f.to_dict(),
            "neighbours": self.neighbours,
            "void": self.void,
            "nominal": self.nominal,
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Return the guarantee that ``to_dict`` described; refuse with DocumentError what is not one."""
        try:
            if document["kind"] != "guarantee":
                raise DocumentError(f"Expected a document of kind 'guarantee'; got {document['kind']!r}.")
            flags = document["void"], document["nominal"]
            if not all(isinstance(flag, bool) for flag in flags):
                raise DocumentError("`void` and `nominal` must be true or false in a guarantee's document.")
            f = TradeOffFunction.from_dict(document["f"])
            return cls(f, check_neighbours(document["neighbours"]), *flags, tuple(document["notes"]))
        except (KeyError, TypeError, ParameterError) as problem:
            raise DocumentError(f"This is not a guarantee that dpcate wrote: {problem}.") from problem


def compose_guarantees(*guarantees: Guarantee) -> Guarantee:
    """Return what stages on the same rows guarantee together."""
    return _combined(guarantees, sequential(*(g.f for g in guarantees)))


def parallel_guarantees(*guarantees: Guarantee) -> Guarantee:
    """Return what stages on disjoint rows guarantee together (Theorem 1 of the paper)."""
    return _combined(guarantees, parallel(*(g.f for g in guarantees)))


def mixture_guarantees(guarantees: Sequence[Guarantee], weights: Sequence[float]) -> Guarantee:
    """Return what stages on parts guarantee together while the coins that fill the parts stay secret."""
    return _combined(guarantees, mixture([g.f for g in guarantees], weights))


def _combined(guarantees: Sequence[Guarantee], f: TradeOffFunction) -> Guarantee:
    relations = sorted({guarantee.neighbours for guarantee in guarantees})
    if len(relations) != 1:
        raise ParameterError(f"Guarantees to combine must share one neighbour relation; got {relations}.")
    return Guarantee(
        f,
        relations[0],
        void=any(guarantee.void for guarantee in guarantees),
        nominal=any(guarantee.nominal for guarantee in guarantees),
        notes=tuple(dict.fromkeys(note for guarantee in guarantees for note in guarantee.notes)),
    )
