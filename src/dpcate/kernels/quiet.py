"""No warnings while private rows are worked on: a warning may quote one.

Python keeps one list of warning filters for all threads, and puts it back when a context ends. Fits in several threads
therefore share one context, which ends with the last of them.
"""

from __future__ import annotations

import threading
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["no_warnings"]

_lock = threading.Lock()
_shared: list[warnings.catch_warnings[None]] = []
_n_inside = 0


@contextmanager
def no_warnings() -> Iterator[None]:
    """Silence warnings in all threads until everybody who asked for it is done."""
    global _n_inside  # noqa: PLW0603 - filters are global too
    with _lock:
        if _n_inside == 0:
            _shared.append(warnings.catch_warnings())
            _shared[0].__enter__()
            warnings.simplefilter("ignore")
        _n_inside += 1
    try:
        yield
    finally:
        with _lock:
            _n_inside -= 1
            if _n_inside == 0:
                _shared.pop().__exit__(None, None, None)
