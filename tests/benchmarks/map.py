"""Programs over columns in memory: rows a second against JAX, PyTorch, numexpr and NumPy by hand, memory, and growth.
The command as a whole process is in ``files.py``.

``python tests/benchmarks/map.py [--quick] [--growth [FILE.svg]]``; the peers are in the extra ``bench``, each
is left out if it is missing. All write value and gradient; a round runs everybody once, one after the other, and what is
printed is the median of the rounds, and of the ratios within a round.
"""

from __future__ import annotations

import gc
import statistics
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import autodiff_cli as ad

Run = Callable[[], Any]
MAIN = "sin(x)*exp(-y**2) + log(x**2 + y**2 + 1)"
CALL = "d1 = (log(S/K) + (r + s**2/2)*T)/(s*sqrt(T)); d2 = d1 - s*sqrt(T); S*ndtr(d1) - K*exp(-r*T)*ndtr(d2)"


def main_columns(rows: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {"x": rng.normal(size=rows), "y": rng.normal(size=rows)}


def call_columns(rows: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    ranges = {"S": (50, 150), "K": (50, 150), "T": (0.1, 3), "r": (0, 0.1), "s": (0.1, 0.5)}
    return {name: rng.uniform(low, high, rows) for name, (low, high) in ranges.items()}


# The peers: each takes columns and returns what runs once


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


PEERS = {
    "JAX": ("jax", jax_peer(main_formula), jax_peer(call_formula)),
    "PyTorch": ("torch", torch_peer(main_formula), torch_peer(call_formula)),
    "numexpr": ("numexpr", main_numexpr, None),
    "NumPy by hand": ("numpy", main_numpy, call_numpy),
}


def compare(
    title: str, ours: dict[str, Any], peers: dict[str, Any], columns: dict[str, Any], rounds: int, targets: dict[str, float]
) -> None:
    rows = len(next(iter(columns.values())))
    runs = {name: make(columns) for name, make in {**ours, **peers}.items()}
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    gc.disable()
    for k in range(rounds + 1):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            if k:  # the first round compiles and touches memory
                seconds[name].append(time.perf_counter() - start)
    gc.enable()
    del runs
    print(f"{title}, {rows:,} rows, million rows a second")
    for name, times in seconds.items():
        print(f"  {name:14s} {rows / statistics.median(times) / 1e6:7.1f}", end="")
        for our in ours if name in peers else ():
            ratio = statistics.median(b / a for a, b in zip(seconds[our], times, strict=True))
            wanted = f" (target {targets[name]})" if name in targets else ""
            print(f"   {our} is {ratio:.2f} times as fast{wanted}", end="")
        print()


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


def main() -> None:
    memory(10_000_000)  # first: what others have freed would be used again
    quick = "--quick" in sys.argv
    there = {name: peer for name, peer in PEERS.items() if find_spec(peer[0])}
    ours = {"autodiff": autodiff(MAIN)}
    mine = {name: peer[1] for name, peer in there.items()}
    for rows, rounds in ((100_000, 60), (1_000_000, 15), (10_000_000, 5)):
        targets = {"JAX": 1.5} if rows == 10_000_000 else dict.fromkeys(mine, 1.0)
        compare("value and gradient", ours, mine, main_columns(rows), 3 if quick else rounds, targets)
    theirs = {name: peer[2] for name, peer in there.items() if peer[2] is not None}
    compare(
        "a European call",
        {"autodiff": autodiff(CALL)},
        theirs,
        call_columns(1_000_000),
        3 if quick else 15,
        dict.fromkeys(theirs, 1.0),
    )
    if "--growth" in sys.argv:
        growth(next((argument for argument in sys.argv if argument.endswith(".svg")), None))


if __name__ == "__main__":
    main()
