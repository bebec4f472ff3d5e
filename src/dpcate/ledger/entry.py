"""What a ledger holds: data sets with their budgets, and entries with what was spent.

Each record hashes all of its own fields, and an entry the hash before it too. Guarantees and options are kept as the
very text that was hashed.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from dpcate.accounting import EpsilonDelta, Guarantee
from dpcate.errors import DocumentError, ParameterError

__all__ = ["FORMAT", "DataSet", "LedgerEntry", "canonical", "check_text", "now"]

FORMAT = 1
"""Version of the hashes and columns; a part of every data set's first hash."""

_LONGEST_TEXT = 500


def canonical(value: object) -> str:
    """Return the one JSON text of ``value`` that is stored and hashed.

    Examples
    --------
    >>> canonical({"b": 0.5, "a": [1, None]})
    '{"a":[1,null],"b":0.5}'
    """
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as problem:
        raise ParameterError(f"A ledger stores plain JSON values only: {problem}.") from None


def check_text(name: str, value: object) -> str:
    """Return ``value`` if it is a short text of printable characters, or refuse."""
    if not isinstance(value, str) or not value.strip() or not value.isprintable() or len(value) > _LONGEST_TEXT:
        raise ParameterError(f"`{name}` must be a printable text of 1 to {_LONGEST_TEXT} characters on one line.")
    return value


def now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _hash(fields: object) -> str:
    """Hash the canonical JSON of ``fields``; what tampering may have put there and JSON does not know counts too."""
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"), default=repr)
    return hashlib.sha256(text.encode()).hexdigest()


def _guarantee(text: str) -> Guarantee:
    try:
        return Guarantee.from_dict(json.loads(text))
    except (ValueError, TypeError, RecursionError):
        raise DocumentError("The ledger holds a guarantee that dpcate did not write.") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """A data set's budget, and where its chain of entries must end."""

    name: str
    format: int
    budget_json: str
    created: str
    head: str
    count: int

    @property
    def first_hash(self) -> str:
        """What the first entry is chained to: the hash of everything that must never change."""
        return _hash([self.format, self.name, self.budget_json, self.created])

    @property
    def budget(self) -> Guarantee:
        """The whole budget, an (epsilon, delta) trade-off function with its neighbour relation."""
        return _guarantee(self.budget_json)

    @property
    def level(self) -> tuple[float, float]:
        """The budget as its epsilon and delta."""
        f = self.budget.f
        if not isinstance(f, EpsilonDelta):
            raise DocumentError("The ledger holds a budget that dpcate did not write.")
        return f.level, f.failure


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """One spend: what was asked for, when, and at most at which cost.

    ``previous`` is the hash of the entry before, ``hash`` that of this entry with ``previous`` in it.
    """

    dataset: str
    number: int
    recorded: str
    what: str
    guarantee_json: str
    options_json: str
    previous: str
    hash: str = ""

    @property
    def guarantee(self) -> Guarantee:
        """The cost, as a trade-off function with its neighbour relation and flags."""
        return _guarantee(self.guarantee_json)

    @property
    def options(self) -> dict[str, Any]:
        """The options that the caller chose to record."""
        options: dict[str, Any] = json.loads(self.options_json)
        return options

    def own_hash(self) -> str:
        """Return the hash that the fields have now."""
        fields = asdict(self)
        del fields["hash"]
        return _hash(fields)
