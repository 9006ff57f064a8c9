"""The gradient of a Gaussian mixture's log-likelihood against PyTorch on one thread, and HIPS autograd.

The objective of F. Srajer, Z. Kukelova and A. Fitzgibbon, A benchmark of selected algorithmic differentiation tools on some
problems in computer vision and machine learning (2018), section 3.1, vectorised: d = 10 dimensions, K = 25 components,
n = 1,000 points; the covariances by the logarithms of the diagonal and the rest of the inverse square roots.
``python tests/benchmarks/mixture.py``
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np

import autodiff_cli as ad
from tests.benchmarks.timing import in_turn, ratio, seconds

D, K, N = 10, 25, 1000
GAMMA, M = 1.0, 0


def data() -> tuple[dict[str, Any], Any]:
    """Parameters and points, drawn."""
    generator = np.random.default_rng(0)
    parameters = {
        "alphas": generator.standard_normal(K),
        "means": generator.random((K, D)),
        "logs": generator.standard_normal((K, D)) * 0.3,
        "lower": generator.standard_normal((K, D * (D - 1) // 2)) * 0.3,
    }
    return parameters, generator.standard_normal((N, D))


ROWS, COLUMNS = np.tril_indices(D, -1)
PLACES = np.zeros((D * (D - 1) // 2, D * D))
PLACES[np.arange(len(ROWS)), ROWS * D + COLUMNS] = 1
"""Puts the elements below the diagonal at their places in a matrix."""
CONSTANT = -N * D * 0.5 * math.log(2 * math.pi)


def likelihood(library: Any, points: Any, places: Any, identity: Any, alphas: Any, means: Any, logs: Any, lower: Any) -> Any:
    """The logarithm of the likelihood with the Wishart prior."""
    diagonal = library.exp(logs)
    roots = library.reshape(lower @ places, (K, D, D)) + library.reshape(diagonal, (K, 1, D)) * identity
    # points (N, D) against means (K, D), turned by the K roots: (K, N, D)
    away = library.reshape(points, (1, N, D)) - library.reshape(means, (K, 1, D))
    turned = away @ transposed(library, roots)
    inner = library.reshape(alphas + logs.sum(1), (K, 1)) - 0.5 * (turned * turned).sum(2)
    prior = 0.5 * GAMMA**2 * ((diagonal * diagonal).sum() + (lower * lower).sum()) - M * logs.sum()
    return CONSTANT + logsumexp(library, inner, 0).sum() - N * logsumexp(library, alphas, 0) + prior


def transposed(library: Any, x: Any) -> Any:
    return library.transpose(x, (0, 2, 1)) if is_numpy(library) else library.transpose(x, 1, 2)


def is_numpy(library: Any) -> bool:
    """Return whether a library has the functions of NumPy; looking for a missing name in ours takes 90 us."""
    return bool(library.__name__ == "autograd.numpy")


def logsumexp(library: Any, x: Any, dim: int) -> Any:
    if not is_numpy(library):
        return library.logsumexp(x, dim)
    largest = library.max(x, axis=dim, keepdims=True)
    return library.sum(largest, axis=dim) + library.log(library.sum(library.exp(x - largest), axis=dim))


def with_tensors(library: Any) -> Callable[[], list[Any]]:
    parameters, points = data()
    leaves = [library.tensor(v.tolist(), dtype=library.float64, requires_grad=True) for v in parameters.values()]
    fixed = [library.tensor(v.tolist(), dtype=library.float64) for v in (points, PLACES, np.eye(D))]

    def run() -> list[Any]:
        return [g.numpy() for g in library.autograd.grad(likelihood(library, *fixed, *leaves), leaves)]

    return run


def with_hips() -> Callable[[], list[Any]]:
    import autograd
    import autograd.numpy as anp

    parameters, points = data()
    gradient = autograd.grad(lambda values: likelihood(anp, points, PLACES, np.eye(D), *values))
    return lambda: list(gradient(list(parameters.values())))


def main() -> None:
    ours = with_tensors(ad)
    peers: dict[str, Callable[[], list[Any]]] = {}
    try:
        import torch

        torch.set_num_threads(1)
        peers["PyTorch"] = with_tensors(torch)
        peers["HIPS autograd"] = with_hips()
    except ImportError:
        pass
    expected = ours()
    for name, theirs in peers.items():
        worst = max(float(np.max(np.abs(a - b) / (np.abs(b) + 1e-9))) for a, b in zip(expected, theirs(), strict=True))
        a, b = in_turn({"ours": ours, name: theirs}, 15, repeat=5).values()
        line = f"{statistics.median(a) * 1e3:.2f} ms, {name} {statistics.median(b) * 1e3:.2f} ms, ratio {ratio(a, b):.2f}"
        print(f"gradient of the mixture: {line}, largest difference {worst:.1e}")
    if not peers:
        print(f"gradient of the mixture: {seconds(ours, 50) * 1e3:.2f} ms")


if __name__ == "__main__":
    main()
