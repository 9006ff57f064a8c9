"""Threads that compute blocks of rows."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor


@functools.cache  # starting threads takes as long as computing 10,000 rows
def _pool(process: int, workers: int) -> ThreadPoolExecutor:
    """Return the reusable thread pool of a process; its id is a key of the cache, because a forked process has no such threads."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(workers, "autodiff")


def processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_threads(work: Callable[[], None], workers: int) -> None:
    """Call a function once in each of several threads, one of them this one; return, or raise, when all calls have ended."""
    if workers <= 1:
        work()
        return
    pool = _pool(os.getpid(), workers - 1)
    others = [pool.submit(work) for _ in range(workers - 1)]
    try:
        work()
    finally:
        for other in others:  # no thread may write to the results after this call
            other.result()
