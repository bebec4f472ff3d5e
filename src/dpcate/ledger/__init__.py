"""The ledger: how much privacy each data set has left, written down before anything is released.

Entries are only ever added, and each is chained to the one before by its hash. Nothing that was read from a table is
stored (``docs/ledger.md``).
"""

from __future__ import annotations

from dpcate.ledger.entry import LedgerEntry
from dpcate.ledger.ledger import Ledger
from dpcate.ledger.status import LedgerStatus

__all__ = ["Ledger", "LedgerEntry", "LedgerStatus"]
