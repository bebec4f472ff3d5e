"""Threads that are started once and kept: starting one costs as much as a small pass over rows."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

__all__ = ["available_cores", "kept_threads"]


def available_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def kept_threads(purpose: str, n_threads: int) -> ThreadPoolExecutor:
    """Return the pool of one purpose.

    Each purpose has threads of its own: work that waits for other work never keeps it from starting. A forked process
    gets new ones.
    """
    return _pool(purpose, n_threads, os.getpid())


@lru_cache(maxsize=32)
def _pool(purpose: str, n_threads: int, process: int) -> ThreadPoolExecutor:  # noqa: ARG001 - part of the key
    return ThreadPoolExecutor(n_threads, thread_name_prefix=f"dpcate-{purpose}")
