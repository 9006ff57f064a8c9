"""Programs over columns in memory, on one thread and on all: rows a second of both engines, beside JAX, PyTorch, numexpr, numba
with derivatives by hand, NumPy by hand, and a copy of the same bytes.  The command as a whole process is in ``files.py``.

``python tests/benchmarks/map.py [--quick] [--rows 1e6] [--memory] [--growth [FILE.svg]]``; the peers are in the extra ``bench``,
and each is left out if it is missing.  All write value and gradient; a round runs everybody once, one after the other, and what is
printed is the median of the rounds, and of the ratios within a round.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import autodiff_cli as ad
from tests.benchmarks.timing import in_turn, ratio

Run = Callable[[], Any]
Peer = Callable[[dict[str, Any]], Run]
"""A function that takes columns and returns what runs once."""
MAIN = "sin(x)*exp(-y**2) + log(x**2 + y**2 + 1)"
CALL = "d1 = (log(S/K) + (r + s**2/2)*T)/(s*sqrt(T)); d2 = d1 - s*sqrt(T); S*ndtr(d1) - K*exp(-r*T)*ndtr(d2)"


def main_columns(rows: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {"x": rng.normal(size=rows), "y": rng.normal(size=rows)}


def call_columns(rows: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    ranges = {"S": (50, 150), "K": (50, 150), "T": (0.1, 3), "r": (0, 0.1), "s": (0.1, 0.5)}
    return {name: rng.uniform(low, high, rows) for name, (low, high) in ranges.items()}


# The peers


def autodiff(expression: str, **options: Any) -> Callable[[dict[str, Any]], Run]:
    def make(columns: dict[str, Any]) -> Run:
        program = ad.compile(expression, list(columns), **options)
        out = [np.zeros(len(next(iter(columns.values())))) for _ in program.outputs]
        return lambda: program.run(columns, out)

    return make


def jax_peer(formula: Callable[..., Any]) -> Callable[[dict[str, Any]], Run]:
    def make(columns: dict[str, Any]) -> Run:
        import jax

        jax.config.update("jax_enable_x64", True)
        arrays = [jax.numpy.array(column) for column in columns.values()]
        both = jax.jit(jax.vmap(jax.value_and_grad(lambda *a: formula(jax.numpy, jax.scipy.special.ndtr, *a), range(len(arrays)))))
        return lambda: jax.block_until_ready(both(*arrays))

    return make


def torch_peer(formula: Callable[..., Any]) -> Callable[[dict[str, Any]], Run]:
    def make(columns: dict[str, Any]) -> Run:
        import torch

        tensors = [torch.tensor(column, requires_grad=True) for column in columns.values()]

        def run() -> Any:
            value = formula(torch, torch.special.ndtr, *tensors)
            return value, torch.autograd.grad(value.sum(), tensors)

        return run

    return make


def main_formula(np_: Any, ndtr: Any, x: Any, y: Any) -> Any:
    return np_.sin(x) * np_.exp(-(y**2)) + np_.log(x**2 + y**2 + 1)


def call_formula(np_: Any, ndtr: Any, S: Any, K: Any, T: Any, r: Any, s: Any) -> Any:
    root = s * np_.sqrt(T)
    d1 = (np_.log(S / K) + (r + s**2 / 2) * T) / root
    return S * ndtr(d1) - K * np_.exp(-r * T) * ndtr(d1 - root)


def main_numpy(columns: dict[str, Any]) -> Run:
    x, y = columns.values()

    def run() -> Any:
        e = np.exp(-(y**2))
        wave, q = np.sin(x) * e, x**2 + y**2 + 1
        return wave + np.log(q), np.cos(x) * e + 2 * x / q, 2 * y / q - 2 * y * wave

    return run


def main_numexpr(columns: dict[str, Any]) -> Run:
    import numexpr

    out = [np.empty(len(columns["x"])) for _ in range(3)]
    formulas = (
        "sin(x)*exp(-y**2) + log(x**2 + y**2 + 1)",
        "cos(x)*exp(-y**2) + 2*x/(x**2 + y**2 + 1)",
        "2*y/(x**2 + y**2 + 1) - 2*y*sin(x)*exp(-y**2)",
    )
    return lambda: [numexpr.evaluate(f, columns, out=o) for f, o in zip(formulas, out, strict=True)]


def call_numpy(columns: dict[str, Any]) -> Run:
    from scipy.special import ndtr

    S, K, T, r, s = columns.values()

    def run() -> Any:
        q = np.sqrt(T)
        d1 = (np.log(S / K) + (r + s**2 / 2) * T) / (s * q)
        discount, up, down = np.exp(-r * T), ndtr(d1), ndtr(d1 - s * q)
        density = S * np.exp(-(d1**2) / 2) * 0.3989422804014327
        worth = K * discount * down
        return S * up - worth, up, -discount * down, density * s / (2 * q) + r * worth, T * worth, density * q

    return run


ROSENBROCK = " + ".join(f"100*(x{i + 1} - x{i}**2)**2 + (1 - x{i})**2" for i in range(9))


def rosenbrock_columns(rows: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {f"x{i}": rng.normal(size=rows) for i in range(10)}


def rosenbrock_formula(np_: Any, ndtr: Any, *x: Any) -> Any:
    return sum(100 * (b - a**2) ** 2 + (1 - a) ** 2 for a, b in itertools.pairwise(x))


def rosenbrock_numpy(columns: dict[str, Any]) -> Run:
    x = list(columns.values())

    def run() -> Any:
        rest = [b - a**2 for a, b in itertools.pairwise(x)]
        slopes = [2 * (a - 1) - 400 * a * r for a, r in zip(x, rest, strict=False)] + [0.0 * x[-1]]
        for i, r in enumerate(rest):
            slopes[i + 1] += 200 * r
        return sum(100 * r**2 + (1 - a) ** 2 for a, r in zip(x, rest, strict=False)), slopes

    return run


def numba_peer(name: str) -> Callable[[dict[str, Any]], Run]:
    """Return the peer that runs one parallel loop with derivatives by hand."""

    def make(columns: dict[str, Any]) -> Run:
        import math

        import numba

        sin, cos, exp, log, sqrt, erfc = math.sin, math.cos, math.exp, math.log, math.sqrt, math.erfc
        compiled = numba.njit(parallel=True, error_model="numpy")

        @compiled
        def waves(given: Any, out: Any) -> None:
            for i in numba.prange(given.shape[1]):
                x, y = given[0, i], given[1, i]
                e, q = exp(-y * y), x * x + y * y + 1
                wave = sin(x) * e
                out[0, i] = wave + log(q)
                out[1, i] = cos(x) * e + 2 * x / q
                out[2, i] = 2 * y / q - 2 * y * wave

        @compiled
        def call(given: Any, out: Any) -> None:
            for i in numba.prange(given.shape[1]):
                S, K, T, r, s = given[0, i], given[1, i], given[2, i], given[3, i], given[4, i]
                q = sqrt(T)
                d1 = (log(S / K) + (r + s * s / 2) * T) / (s * q)
                discount = exp(-r * T)
                up, down = 0.5 * erfc(-d1 * 0.7071067811865476), 0.5 * erfc((s * q - d1) * 0.7071067811865476)
                density, worth = S * exp(-d1 * d1 / 2) * 0.3989422804014327, K * discount * down
                out[0, i], out[1, i], out[2, i] = S * up - worth, up, -discount * down
                out[3, i], out[4, i], out[5, i] = density * s / (2 * q) + r * worth, T * worth, density * q

        @compiled
        def rosenbrock(given: Any, out: Any) -> None:
            for i in numba.prange(given.shape[1]):
                total = carried = 0.0
                for k in range(given.shape[0] - 1):
                    a = given[k, i]
                    rest = given[k + 1, i] - a * a
                    total += 100 * rest * rest + (1 - a) ** 2
                    out[k + 1, i] = carried + 2 * (a - 1) - 400 * a * rest
                    carried = 200 * rest
                out[0, i], out[given.shape[0], i] = total, carried

        function = {"waves": waves, "a European call": call, "Rosenbrock, 10 variables": rosenbrock}[name]
        given = np.stack(list(columns.values()))
        out = np.zeros((len(columns) + 1, given.shape[1]))
        return lambda: function(given, out)

    return make


def copy(columns: dict[str, Any]) -> Run:
    """Return the peer that copies as many bytes as the others read and write."""
    rows = len(next(iter(columns.values())))
    given = np.ones((2 * len(columns) + 1) * rows // 2)
    out = np.empty_like(given)
    return lambda: np.copyto(out, given)


class Formula(NamedTuple):
    """A formula of the comparison.

    Attributes:
        expression: the formula in our language.
        columns: the function that returns the columns for a number of rows.
        formula: the formula in the language of JAX and PyTorch.
        by_hand: the NumPy program with derivatives.
        numexpr: the same for numexpr, if it has the functions.
    """

    expression: str
    columns: Callable[[int], dict[str, Any]]
    formula: Callable[..., Any]
    by_hand: Peer
    numexpr: Peer | None = None


FORMULAS = {
    "waves": Formula(MAIN, main_columns, main_formula, main_numpy, main_numexpr),
    "a European call": Formula(CALL, call_columns, call_formula, call_numpy),
    "Rosenbrock, 10 variables": Formula(ROSENBROCK, rosenbrock_columns, rosenbrock_formula, rosenbrock_numpy),
}


def peers_of(name: str) -> dict[str, Peer]:
    """Return what runs a formula, by name, as far as it is installed."""
    one = FORMULAS[name]
    found = {
        "copy": ("numpy", copy),
        "NumPy engine": ("numpy", autodiff(one.expression, engine="numpy")),
        "machine code": ("llvmlite", autodiff(one.expression, engine="llvm")),
        "JAX": ("jax", jax_peer(one.formula)),
        "PyTorch": ("torch", torch_peer(one.formula)),
        "numexpr": ("numexpr", one.numexpr),
        "numba by hand": ("numba", numba_peer(name)),
        "NumPy by hand": ("numpy", one.by_hand),
    }
    return {peer: make for peer, (package, make) in found.items() if make is not None and find_spec(package)}


OURS = ("NumPy engine", "machine code")


def compare(name: str, rows: int, rounds: int) -> None:
    columns = FORMULAS[name].columns(rows)
    runs = {peer: make(columns) for peer, make in peers_of(name).items()}
    seconds = in_turn(runs, rounds)
    rates = {peer: rows / statistics.median(times) / 1e6 for peer, times in seconds.items()}
    others = {peer: rate for peer, rate in rates.items() if peer not in (*OURS, "copy", "NumPy by hand")}
    print(f"{name}, {rows:,} rows:", ", ".join(f"{peer} {rate:.1f}" for peer, rate in rates.items()))
    for ours in OURS if others else ():
        if ours in rates:
            best = max(others, key=others.__getitem__)
            times, part = ratio(seconds[best], seconds[ours]), ratio(seconds["copy"], seconds[ours])
            print(f"    {ours}: {times:.2f} times as fast as {best}, {part:.0%} of a copy", flush=True)


def memory(rows: int) -> None:
    """What a run needs beyond its inputs and outputs (Linux: the high-water mark of the process is set back before it)."""
    columns = main_columns(rows)
    program = ad.compile(MAIN)
    out = [np.zeros(rows) for _ in program.outputs]
    for array in out:
        array[:] = 1
    gc.collect()
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return
    before = status("VmRSS")
    program.run(columns, out)
    print(f"memory beyond inputs and outputs at {rows:,} rows: {(status('VmHWM') - before) / 1024:.1f} MiB (target 64)")


def status(key: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(key)).split()[1])


def growth(picture: str | None) -> None:
    print("rows, seconds, nanoseconds a row")
    measured = []
    for exponent in range(3, 9):
        rows = 10**exponent
        run = autodiff(MAIN)(main_columns(rows))
        run()
        times = []
        for _ in range(max(3, min(200, 10 ** (7 - exponent)))):
            start = time.perf_counter()
            run()
            times.append(time.perf_counter() - start)
        best = statistics.median(times)
        print(f"{rows:>11,} {best:10.6f} {best / rows * 1e9:8.2f}", flush=True)
        measured.append((rows, best))
    if picture:
        drawn(measured, picture)


def drawn(measured: list[tuple[int, float]], picture: str) -> None:
    """Time against rows as an SVG, with the line of equal time a row through the last point."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    rows, seconds = zip(*measured, strict=True)
    with rc_context({"svg.hashsalt": "autodiff", "svg.fonttype": "none"}):
        axes = (figure := Figure(figsize=(6.4, 3.6), layout="constrained")).subplots()
        axes.loglog(rows, [seconds[-1] * r / rows[-1] for r in rows], ":", color="#888888", label="in proportion")
        axes.loglog(rows, seconds, "o-", color="#3465a4", label="value and gradient")
        axes.set(xlabel="rows", ylabel="seconds")
        axes.grid(True, alpha=0.3)
        axes.legend(frameon=False)
        figure.savefig(picture, format="svg", metadata={"Date": None})


def measured(threads: int, rows: list[int], quick: bool) -> None:
    """Print the comparison on some of the processors; all libraries take as many threads as there are processors."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    print(f"\n{threads} threads; millions of rows a second, value and gradient")
    for name in FORMULAS:
        for count in rows:
            compare(name, count, 3 if quick else max(5, min(60, 15_000_000 // count)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rows", type=float, action="append")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--growth", nargs="?", const="")
    given = parser.parse_args()
    if given.memory:
        memory(10_000_000)
    elif given.growth is not None:
        growth(given.growth or None)
    elif given.threads is not None:
        measured(given.threads, [int(count) for count in given.rows or (1e5, 1e6, 1e7)], given.quick)
    else:
        for threads in sorted({1, len(os.sched_getaffinity(0))}):  # a library counts processors when it is imported
            subprocess.run([sys.executable, __file__, *sys.argv[1:], "--threads", str(threads)], check=True)


if __name__ == "__main__":
    main()
