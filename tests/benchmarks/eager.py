"""The engine through the Python API against PyTorch on one thread, and how its time grows.

``python tests/benchmarks/eager.py`` (PyTorch is in the extra ``bench``; without it only our own times are printed).
"""

from __future__ import annotations

import gc
import resource
import statistics
import time
import tracemalloc
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

import autodiff_cli as ad
from tests.benchmarks.timing import in_turn, ratio, seconds

try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment]


def compare(name: str, make: Callable[[Any], Callable[[], Any]], repeat: int, target: float) -> None:
    """Compare the processor time of both, which other programs on the machine change least."""
    works = {library.__name__: make(library) for library in (ad, torch) if library is not None}
    ours, *theirs = in_turn(works, 15, repeat, clock=time.process_time).values()
    line = f"{name:44s} {statistics.median(ours) * 1e6:10.1f} us"
    for times in theirs:
        line += f"  PyTorch {statistics.median(times) * 1e6:10.1f} us  ratio {ratio(ours, times):5.2f}   target {target}"
    print(line)


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


def higher(order: int) -> Callable[[Any], Callable[[], Any]]:
    """The scalar case differentiated ``order`` times, each sweep recorded but the last."""

    def make(library: Any) -> Callable[[], Any]:
        x = library.tensor(5.0, dtype=library.float64, requires_grad=True)

        def run() -> None:
            value = library.log(x**3) + library.sqrt(x**2)
            for k in range(order):
                (value,) = library.autograd.grad(value, x, create_graph=k < order - 1)

        return run

    return make


def network(library: Any) -> Callable[[], Any]:
    """2-16-16-1 with tanh on a batch of 64: the mean square of the output, by all weights."""
    generator = np.random.default_rng(0)
    sizes = [(2, 16), (16, 16), (16, 1)]
    weights = [library.tensor(generator.standard_normal(s).tolist(), dtype=library.float64, requires_grad=True) for s in sizes]
    offsets = [library.tensor(generator.standard_normal(s[1]).tolist(), dtype=library.float64, requires_grad=True) for s in sizes]
    batch = library.tensor(generator.standard_normal((64, 2)).tolist(), dtype=library.float64)

    def run() -> None:
        for parameter in weights + offsets:
            parameter.grad = None
        hidden = library.tanh(batch @ weights[0] + offsets[0])
        hidden = library.tanh(hidden @ weights[1] + offsets[1])
        out = hidden @ weights[2] + offsets[2]
        (out**2).mean().backward()

    return run


def long_vector(library: Any) -> Callable[[], Any]:
    """A sum of 200 terms ``sin(x*k)`` on a vector of 1,000."""
    x = library.tensor(np.linspace(0, 1, 1000).tolist(), dtype=library.float64, requires_grad=True)

    def run() -> None:
        x.grad = None
        total = library.sin(x)
        for k in range(2, 201):
            total = total + library.sin(x * (k / 100))
        total.sum().backward()

    return run


def growth() -> None:
    """A chain of operations as text: parse, evaluate, backward, free."""
    from autodiff_cli.evaluation.evaluation import Evaluation
    from autodiff_cli.language.parser import parse

    gc.set_threshold(200_000, 20, 100)  # as the command line sets it
    print("\nchain of n calls to sin as text       parse   evaluate   backward       free   (seconds)   us per operation")
    for count in (1_000, 10_000, 100_000):
        text = "sin(" * count + "x" + ")" * count
        marks = [time.perf_counter()]
        tree = parse(text)
        marks.append(time.perf_counter())
        session = Evaluation(text, {"x": 0.5})
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


def large_graphs() -> None:
    """A chain of n multiplications through the Python API: time and memory of the graph, and of sweeping it."""
    print("\nchain of n multiplications            forward   backward (seconds)   us per node   bytes per node")
    for count in (1_000, 10_000, 100_000, 1_000_000):
        x = ad.tensor(1.0, requires_grad=True)
        tracemalloc.start()
        y = x
        for _ in range(min(count, 100_000)):
            y = y * 1.000001
        size = tracemalloc.get_traced_memory()[0] / min(count, 100_000)
        tracemalloc.stop()
        start = time.perf_counter()
        y = x
        for _ in range(count):
            y = y * 1.000001
        middle = time.perf_counter()
        y.backward()
        end = time.perf_counter()
        each = (end - start) / count * 1e6
        print(f"{count:>12,d}                     {middle - start:11.3f}{end - middle:11.3f}{each:21.2f}{size:17.0f}")


def many_sweeps(count: int = 1_000_000) -> None:
    """The memory of the process over many small backward passes."""
    run = scalar(ad)
    seconds(run, 10_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds(run, count)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"\n{count:,} forward and backward passes: the process grew by {after - before:,} KiB")


def hessian_product(size: int = 10_000) -> None:
    """A Hessian times a vector against one gradient."""
    from autodiff_cli.autograd.functional import hvp

    def function(x: Any) -> Any:
        return (ad.sin(x) * ad.exp(x * 0.1)).sum() + (x[1:] * x[:-1]).sum()

    x, v = ad.tensor(np.linspace(0, 1, size), requires_grad=True), ad.ones(size)

    def gradient() -> None:
        ad.autograd.grad(function(x), x)

    one, product = seconds(gradient, 100), seconds(lambda: hvp(function, x, v), 100)
    print(f"\nHessian times vector, {size:,} variables: {product / one:.1f} times a gradient")


if __name__ == "__main__":
    if torch is not None:
        torch.set_num_threads(1)
        print(f"numpy {np.__version__}, torch {torch.__version__}")
    compare("log(x**3) + sqrt(x**2), forward and backward", scalar, 300, 0.6)
    compare("1,000 times sin, forward and backward", chain, 3, 0.5)
    compare("the scalar case, second derivative", higher(2), 100, 0.8)
    compare("the scalar case, third derivative", higher(3), 50, 0.8)
    compare("2-16-16-1 tanh network, batch of 64", network, 100, 1.0)
    compare("200 terms on a vector of 1,000", long_vector, 3, 1.0)
    growth()
    large_graphs()
    hessian_product()
    many_sweeps()
