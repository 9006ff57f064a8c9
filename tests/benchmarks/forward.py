"""Forward mode: the time of a Jacobian-vector product as a multiple of the forward pass, beside PyTorch's on one thread.

``python tests/benchmarks/forward.py`` (PyTorch is in the extra ``bench``; without it only our own ratios are printed).
The forward pass is the same function of tensors without tangents, once without recording and once with it.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import numpy as np

import autodiff_cli as ad
from tests.benchmarks.timing import in_turn

try:
    import torch
    import torch.autograd.forward_ad
except ImportError:
    torch = None  # type: ignore[assignment]

Case = tuple[Callable[..., Any], list[Any]]
"""A function, and its inputs as arrays."""
_draw = np.random.default_rng(0).standard_normal


def scalar(library: Any) -> Case:
    return lambda x: library.log(x**3) + library.sqrt(x**2), [np.array(5.0)]


def network(library: Any) -> Case:
    batch = library.tensor(_draw((64, 2)).tolist(), dtype=library.float64)

    def run(a: Any, b: Any, c: Any, p: Any, q: Any, r: Any) -> Any:
        hidden = library.tanh(batch @ a + p)
        hidden = library.tanh(hidden @ b + q)
        return ((hidden @ c + r) ** 2).mean()

    return run, [_draw(s) for s in ((2, 16), (16, 16), (16, 1), (16,), (16,), (1,))]


def long_vector(library: Any) -> Case:
    def run(x: Any) -> Any:
        total = library.sin(x)
        for k in range(2, 201):
            total = total + library.sin(x * (k / 100))
        return total.sum()

    return run, [np.linspace(0, 1, 1000)]


def cross_entropy(library: Any) -> Case:
    target = library.tensor((np.arange(128) % 50).tolist())
    return lambda x: library.nn.functional.cross_entropy(x, target), [_draw((128, 50))]


def softmax(library: Any) -> Case:
    return lambda x: library.softmax(x, 1), [_draw((256, 100))]


def products(library: Any) -> Case:
    def run(x: Any) -> Any:
        y = x
        for _ in range(10):
            y = y @ x
        return y

    return run, [_draw((100, 100)) / 10]


def cumulative(library: Any) -> Case:
    return lambda x: library.cumsum(x * x, 0).prod() + library.logsumexp(x, 0) + library.linalg.vector_norm(x), [
        _draw(10_000) / 1e3
    ]


def times(library: Any, make: Callable[[Any], Case], repeat: int) -> tuple[float, float, float]:
    """Return the seconds of a forward pass, of a recorded forward pass, and of a Jacobian-vector product."""
    function, arrays = make(library)
    inputs = [library.tensor(a.tolist(), dtype=library.float64) for a in arrays]
    leaves = [x.clone().requires_grad_() for x in inputs]
    vectors = [library.tensor(_draw(a.shape).tolist(), dtype=library.float64) for a in arrays]
    forward_ad = library.autograd.forward_ad

    def product() -> None:
        with forward_ad.dual_level():
            forward_ad.unpack_dual(function(*map(forward_ad.make_dual, inputs, vectors)))

    works = {"plain": lambda: function(*inputs), "recorded": lambda: function(*leaves), "product": product}
    plain, recorded, product_time = map(statistics.median, in_turn(works, 15, repeat).values())
    return plain, recorded, product_time


def compare(name: str, make: Callable[[Any], Case], repeat: int) -> None:
    line = f"{name:34s}"
    for library, label in ((ad, "autodiff"), (torch, "PyTorch")):
        if library is not None:
            plain, recorded, product = times(library, make, repeat)
            line += f"   {label} {product * 1e6:9.1f} us = {product / plain:4.1f} x forward, {product / recorded:4.1f} x recorded"
    print(line)


if __name__ == "__main__":
    if torch is not None:
        torch.set_num_threads(1)
        print(f"numpy {np.__version__}, torch {torch.__version__}")
    compare("log(x**3) + sqrt(x**2)", scalar, 300)
    compare("2-16-16-1 tanh network, batch 64", network, 100)
    compare("200 terms on a vector of 1,000", long_vector, 3)
    compare("cross entropy, 128 x 50", cross_entropy, 50)
    compare("softmax, 256 x 100", softmax, 30)
    compare("10 matrix products, 100 x 100", products, 20)
    compare("cumsum, prod, logsumexp, norm", cumulative, 20)
