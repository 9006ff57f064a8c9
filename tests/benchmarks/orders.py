"""What a derivative of order n in one variable costs: here against order 1, and against peers where they are installed.

Run it with ``python tests/benchmarks/orders.py``.  Peers: PyTorch by gradients of gradients, JAX by
``jax.experimental.jet``, which is Taylor arithmetic too, compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import autodiff_cli as ad
from autodiff_cli.autograd.higher_order import partials
from autodiff_cli.derivatives.taylor import series
from autodiff_cli.evaluation.evaluation import Evaluation
from tests.benchmarks.timing import median

EXPRESSION = "exp(sin(x)*cos(x)) + log(x**2 + 1)/(1 + x**2)"
POINT = 0.7
ORDERS = (1, 2, 3, 5, 6, 10, 20, 30)
MOST_SWEPT = 6


def took(work: Callable[[], Any], rounds: int = 15) -> float:
    """Microseconds, the median."""
    return median(work, rounds) * 1e6


def swept(order: int) -> Any:
    session = Evaluation(EXPRESSION, {"x": POINT})
    return partials(session.output, session.variables, order)


def torch_nested(order: int) -> Callable[[], Any] | None:
    try:
        torch = import_module("torch")
    except ImportError:
        return None
    torch.set_num_threads(1)

    def work() -> Any:
        x = torch.tensor(POINT, dtype=torch.float64, requires_grad=True)
        y = torch.exp(torch.sin(x) * torch.cos(x)) + torch.log(x**2 + 1) / (1 + x**2)
        for _ in range(order):
            (y,) = torch.autograd.grad(y, x, create_graph=True)
        return y

    return work


def jax_jet(order: int) -> Callable[[], Any] | None:
    try:
        jax, jnp, jet = (import_module(name) for name in ("jax", "jax.numpy", "jax.experimental.jet"))
    except ImportError:
        return None
    jax.config.update("jax_enable_x64", True)

    def function(x: Any) -> Any:
        return jnp.exp(jnp.sin(x) * jnp.cos(x)) + jnp.log(x**2 + 1) / (1 + x**2)

    compiled = jax.jit(lambda x: jet.jet(function, (x,), ([1.0] + [0.0] * (order - 1),)))
    return lambda: jax.block_until_ready(compiled(POINT))


def main() -> None:
    first = took(lambda: ad.evaluate(EXPRESSION, {"x": POINT}))
    session = Evaluation(EXPRESSION, {"x": POINT})
    print(f"{'order':>5}{'evaluate':>12}{'/ order 1':>11}{'series alone':>14}{'our sweeps':>12}{'torch':>12}{'jax jet':>12}   (us)")
    for order in ORDERS:
        whole = took(lambda n=order: ad.evaluate(EXPRESSION, {"x": POINT}, order=n))  # type: ignore[misc]
        alone = took(lambda n=order: series(session, n))  # type: ignore[misc]
        cells = [None, torch_nested(order), jax_jet(order)]
        if order <= MOST_SWEPT:
            cells[0] = lambda n=order: swept(n)
        else:
            cells[1] = None
        shown = "".join(f"{'-' if work is None else f'{took(work, 5):,.0f}':>12}" for work in cells)
        print(f"{order:5d}{whole:12,.0f}{whole / first:11.2f}{alone:14,.0f}{shown}")


if __name__ == "__main__":
    main()
