"""Times of function transformations: gradients of each example of a small network, and Jacobians.

Run it with an interpreter that has both packages: ``python tests/benchmarks/transforms.py``.  Without PyTorch, its column is empty.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from importlib import import_module
from typing import Any

from tests.benchmarks.timing import least

EXAMPLES, INPUTS, HIDDEN = 128, 20, 32


def programs(name: str) -> dict[str, Callable[[], object]]:
    torch: Any = import_module(name)
    func: Any = import_module(f"{name}.func")
    torch.manual_seed(0)

    def new(*size: int) -> Any:
        return torch.randn(*size, dtype=torch.float64)

    first, second = new(INPUTS, HIDDEN) * 0.2, new(HIDDEN) * 0.2
    x, y = new(EXAMPLES, INPUTS), new(EXAMPLES)

    def loss(first: Any, second: Any, x: Any, y: Any) -> Any:
        return (torch.tanh(x @ first) @ second - y) ** 2

    gradient = func.grad(loss, argnums=(0, 1))

    def loop() -> None:
        a, b = first.clone().requires_grad_(), second.clone().requires_grad_()
        for i in range(EXAMPLES):
            torch.autograd.grad(loss(a, b, x[i], y[i]), (a, b))

    point = new(40)
    return {
        "gradients of 128 examples, vmap(grad)": lambda: torch.vmap(gradient, in_dims=(None, None, 0, 0))(first, second, x, y),
        "gradients of 128 examples, loop": loop,
        "jacrev, 40 by 40": lambda: func.jacrev(lambda v: torch.tanh(v * v.sum()))(point),
        "jacfwd, 40 by 40": lambda: func.jacfwd(lambda v: torch.tanh(v * v.sum()))(point),
        "jacobian, 40 by 40": lambda: torch.autograd.functional.jacobian(lambda v: torch.tanh(v * v.sum()), point),
        "jacobian, vectorize": lambda: torch.autograd.functional.jacobian(lambda v: torch.tanh(v * v.sum()), point, vectorize=True),
        "hessian, 40 by 40": lambda: func.hessian(lambda v: torch.tanh(v).prod() + (v**3).sum())(point),
    }


def main() -> None:
    ours = programs("autodiff_cli")
    theirs = programs("torch") if importlib.util.find_spec("torch") else {}
    print(f"{'':40}{'autodiff':>12}{'PyTorch':>12}{'ratio':>8}")
    for name, call in ours.items():
        own = least(call)
        other = least(theirs[name]) if theirs else float("nan")
        print(f"{name:40}{own * 1e3:9.2f} ms{other * 1e3:9.2f} ms{own / other:8.2f}")


if __name__ == "__main__":
    main()
