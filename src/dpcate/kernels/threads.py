"""One thread for linear algebra: our matrices are small, and idle BLAS threads that spin cost more than they bring."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from threadpoolctl import ThreadpoolController

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

__all__ = ["one_thread"]


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def one_thread() -> AbstractContextManager[object]:
    """Return a context in which BLAS uses one thread."""
    limits: AbstractContextManager[object] = _controller().limit(limits=1, user_api="blas")
    return limits
