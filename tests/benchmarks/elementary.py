"""The elementary functions of the compiled engine: errors in units in the last place, and times, beside NumPy.

``python tests/benchmarks/elementary.py`` prints, for each function, the largest error and its 99th percentile over 10 million
arguments, then the nanoseconds for one number on one thread: our vector function and NumPy's.  ``--count 1e5`` takes fewer
arguments.  The exact values are NumPy's in extended precision, which has 11 bits more.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

from autodiff_cli.compiler.llvm.elementary import FUNCTIONS
from autodiff_cli.compiler.llvm.machine_code import machine
from tests.benchmarks.timing import least
from tests.vector_functions import compiled

Function = Callable[..., np.ndarray]
CHUNK = 1_000_000


def arguments(random: np.random.Generator, count: int) -> np.ndarray:
    """Random bits, numbers of all sizes, near 1, near multiples of pi/2, and in the range of exp."""
    part = -(-count // 5)
    bits = random.integers(0, 2**64, part, np.uint64).view(np.float64)
    sizes = np.exp(random.uniform(-700, 700, part)) * random.choice([-1, 1], part)
    near_one = 1 + np.exp(random.uniform(-36, 0, part)) * random.choice([-1, 1], part)
    quarters = random.integers(-(2**36), 2**36, part) * (np.pi / 2)
    return np.concatenate([bits, sizes, near_one, quarters, random.uniform(-760, 760, part)])


def errors(function: Function, name: str, count: int) -> tuple[float, float]:
    """Return the largest error and the 99th percentile."""
    random, found = np.random.default_rng(0), []
    for _ in range(0, count, CHUNK):
        x = arguments(random, min(count, CHUNK))
        exact = getattr(np, name)(x.astype(np.longdouble))
        rounded = exact.astype(float)
        usable = np.isfinite(rounded) & (rounded != 0)
        off = np.abs(function(x)[usable] - exact[usable]) / np.spacing(np.abs(rounded[usable])).astype(np.longdouble)
        found.append(off.astype(float))
    return float(max(each.max() for each in found)), float(np.mean([np.percentile(each, 99) for each in found]))


def nanoseconds(function: Function, name: str) -> float:
    x = np.random.default_rng(1).uniform(0.1, 3, 200_000)
    return least(lambda: function(x)) / len(x) * 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=float, default=1e7)
    count, width = int(parser.parse_args().count), machine().width
    np.seterr(all="ignore")
    print(f"{width} lanes, {count:,} arguments\n")
    print("           ours           NumPy          nanoseconds")
    print("           max    p99     max    p99     ours   NumPy")
    for name in [name for name in FUNCTIONS if hasattr(np, name)]:
        functions = (compiled(name, width), getattr(np, name))
        off = ["{:6.3f} {:6.3f}".format(*errors(function, name, count)) for function in functions]
        times = [nanoseconds(function, name) for function in functions]
        print(f"{name:8}", *off, "  {:5.2f}  {:5.2f}".format(*times), flush=True)


if __name__ == "__main__":
    main()
