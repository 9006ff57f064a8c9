"""The engine through the Python API against PyTorch on one thread, and how its time grows.

``python tests/benchmarks/eager.py`` (PyTorch is in the extra ``bench``; without it only our own times are printed).
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

import autodiff_cli as ad

try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment]


def timed(function: Callable[[], Any], repeat: int) -> float:
    start = time.perf_counter()
    for _ in range(repeat):
        function()
    return (time.perf_counter() - start) / repeat


def compare(name: str, make: Callable[[Any], Callable[[], Any]], repeat: int, target: float, rounds: int = 15) -> None:
    """Time both in turn; the ratio is the median over the rounds."""
    ours = make(ad)
    timed(ours, repeat)
    if torch is None:
        print(f"{name:44s} {statistics.median(timed(ours, repeat) for _ in range(rounds)) * 1e6:10.1f} us")
        return
    theirs = make(torch)
    timed(theirs, repeat)
    pairs = [(timed(ours, repeat), timed(theirs, repeat)) for _ in range(rounds)]
    ratio = statistics.median(a / b for a, b in pairs)
    a, b = (statistics.median(column) * 1e6 for column in zip(*pairs, strict=True))
    print(f"{name:44s} {a:10.1f} us  PyTorch {b:10.1f} us  ratio {ratio:5.2f}   target {target}")


def scalar(library: Any) -> Callable[[], Any]:
    x = library.tensor(5.0, dtype=library.float64, requires_grad=True)

    def run() -> None:
        x.grad = None
        (library.log(x**3) + library.sqrt(x**2)).backward()

    return run


def chain(library: Any) -> Callable[[], Any]:
    x = library.tensor(5.0, dtype=library.float64, requires_grad=True)

    def run() -> None:
        x.grad = None
        y = x
        for _ in range(1000):
            y = library.sin(y)
        y.backward()

    return run


def growth() -> None:
    """A chain of operations as text: parse, evaluate, backward, free."""
    from autodiff_cli.language.evaluate import Session
    from autodiff_cli.language.parser import parse

    gc.set_threshold(200_000, 20, 100)  # as the command line sets it
    print("\nchain of n calls of sin as text       parse   evaluate   backward       free   (seconds)   us per operation")
    for count in (1_000, 10_000, 100_000):
        text = "sin(" * count + "x" + ")" * count
        marks = [time.perf_counter()]
        tree = parse(text)
        marks.append(time.perf_counter())
        session = Session(text, {"x": 0.5})
        marks.append(time.perf_counter())
        with np.errstate(all="ignore"):
            session.output.backward()
        marks.append(time.perf_counter())
        del session, tree
        marks.append(time.perf_counter())
        steps = [b - a for a, b in pairwise(marks)]
        # A session parses again; that is not counted twice.
        steps[1] -= steps[0]
        print(f"{count:>12,d}                     " + "".join(f"{s:11.3f}" for s in steps) + f"{sum(steps) / count * 1e6:28.1f}")


if __name__ == "__main__":
    if torch is not None:
        torch.set_num_threads(1)
        print(f"numpy {np.__version__}, torch {torch.__version__}")
    compare("log(x**3) + sqrt(x**2), forward and backward", scalar, 300, 0.8)
    compare("1,000 times sin, forward and backward", chain, 3, 0.8)
    growth()
