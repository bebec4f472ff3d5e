"""Put a finished folder in the place of another one.

On Linux the two are exchanged in one step, so at every moment one complete folder stands there. Elsewhere the old one
is moved aside first; if the second step fails, it is moved back.
"""

from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["replace_folder"]

_HERE = -100  # AT_FDCWD
_EXCHANGE = 2  # RENAME_EXCHANGE


def replace_folder(new: Path, old: Path) -> Path:
    """Put ``new`` where ``old`` stands and return where the old one is now."""
    if _exchanged(new, old):
        return new
    aside = new.with_name(new.name + ".old")
    old.rename(aside)
    try:
        new.rename(old)
    except OSError:
        aside.rename(old)
        raise
    return aside


def _exchanged(one: Path, other: Path) -> bool:
    """Exchange two names in one step; False where the system cannot."""
    try:
        rename = ctypes.CDLL(None).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    return bool(rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), ctypes.c_uint(_EXCHANGE)) == 0)
