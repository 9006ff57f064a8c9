"""How the benchmarks take times: in turn, so that a drift of the machine falls on all, and as medians or the least."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Work = Callable[[], Any]
Clock = Callable[[], float]


def seconds(work: Work, repeat: int = 1, clock: Clock = time.perf_counter) -> float:
    """Return the seconds of one call, the mean of several."""
    start = clock()
    for _ in range(repeat):
        work()
    return (clock() - start) / repeat


def in_turn(
    works: Mapping[str, Work], rounds: int, repeat: int = 1, warm: int = 1, clock: Clock = time.perf_counter
) -> dict[str, list[float]]:
    """Return the seconds of each work in each round after ``warm`` rounds, which compile and touch memory."""
    times: dict[str, list[float]] = {name: [] for name in works}
    gc.disable()
    for turn in range(rounds + warm):
        for name, work in works.items():
            taken = seconds(work, repeat, clock)
            if turn >= warm:
                times[name].append(taken)
    gc.enable()
    return times


def median(work: Work, rounds: int = 15) -> float:
    """Return the median of the seconds of a call."""
    return statistics.median(in_turn({"": work}, rounds)[""])


def least(work: Work, rounds: int = 15, clock: Clock = time.perf_counter) -> float:
    """Return the shortest of the seconds of a call."""
    return min(in_turn({"": work}, rounds, clock=clock)[""])


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Return the median of the ratios of each round."""
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
