"""The members of a composition, in one order and without needless nesting.

Compositions do not depend on the order of their members, so equal compositions must be equal values whatever order they
were written in.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from dpcate.accounting.tradeoff import TradeOffFunction
from dpcate.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["canonical_order", "check_members", "flattened", "listed"]


def check_members(functions: Iterable[Any]) -> list[TradeOffFunction]:
    """Return ``functions`` as a list of trade-off functions, or refuse."""
    members = list(functions)
    for member in members:
        if not isinstance(member, TradeOffFunction):
            raise ParameterError(f"Every member must be a trade-off function; got {type(member).__name__}.")
    return members


def flattened(functions: Iterable[TradeOffFunction], operation: type[Any]) -> list[TradeOffFunction]:
    """Return ``functions`` with every composition of the class ``operation`` replaced by its members."""
    members: list[TradeOffFunction] = []
    for function in functions:
        members.extend(function.members if isinstance(function, operation) else [function])
    return members


def listed(functions: Iterable[TradeOffFunction]) -> str:
    """Return ``functions`` as Python arguments, repeated ones once with their number."""
    counts = Counter(functions)
    return ", ".join(
        f"*[{function!r}] * {times}" if times > 1 else repr(function) for function, times in counts.items()
    )


def canonical_order(functions: Iterable[TradeOffFunction]) -> list[TradeOffFunction]:
    """Return ``functions`` in an order that depends on their values alone."""
    return sorted(functions, key=lambda function: json.dumps(function.to_dict(), sort_keys=True))
