"""What it costs to know how far an answer can be trusted: notes, correct digits and gradcheck, against the evaluation itself.

Run it with ``python tests/benchmarks/trust.py``.  Peer, where it is installed: ``torch.autograd.gradcheck``, whose
differences have one step and tell about seven digits.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import autodiff_cli as ad
from tests.benchmarks.timing import in_turn

Work = Callable[[], Any]

CASES: list[tuple[str, dict[str, Any], str]] = [
    ("log(x**3)", {"x": 5.0}, "torch.log(x**3)"),
    (
        "exp(sin(x)*cos(y)) + log(x**2 + 1)/(1 + y**2)",
        {"x": 0.7, "y": 1.2},
        "torch.exp(torch.sin(x)*torch.cos(y)) + torch.log(x**2 + 1)/(1 + y**2)",
    ),
    ("sum(tanh(x)**2)", {"x": [0.1 * k for k in range(10)]}, "(torch.tanh(x)**2).sum()"),
    ("(1 - cos(x))/x**2", {"x": 1e-5}, "(1 - torch.cos(x))/x**2"),
    ("abs(x - 1) + x", {"x": 1.0}, "abs(x - 1) + x"),
]


def noted(expression: str, at: dict[str, Any], order: int) -> Work:
    return lambda: ad.evaluate(expression, at, order=order).notes


def peer(code: str, at: dict[str, Any]) -> Work | None:
    try:
        torch = import_module("torch")
    except ImportError:
        return None
    torch.set_num_threads(1)
    made = compile(f"lambda {', '.join(at)}: {code}", "peer", "eval")
    function: Callable[..., Any] = eval(made, {"torch": torch})
    inputs = [torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in at.values()]
    return lambda: torch.autograd.gradcheck(function, inputs, raise_exception=False)


def took(works: list[Work]) -> list[float]:
    """Milliseconds of each, the medians."""
    times = in_turn({str(i): work for i, work in enumerate(works)}, 9)
    return [statistics.median(found) * 1000 for found in times.values()]


def main() -> None:
    print("| expression | evaluation | with notes | of order 2 | correct digits | gradcheck | PyTorch's |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for expression, at, code in CASES:
        works = [
            partial(ad.evaluate, expression, at),
            noted(expression, at, 1),
            partial(ad.evaluate, expression, at, order=2),
            noted(expression, at, 2),
            partial(ad.evaluate, expression, at, verify=True),
            partial(ad.gradcheck, expression, at),
        ]
        other = peer(code, at)
        plain, noted1, second, noted2, right, checked, *theirs = took([*works, *([] if other is None else [other])])
        times = [f"{cell:.2f} ms" for cell in (plain, right - plain, checked, *theirs)]
        cells = [times[0], f"{noted1 / plain:.1f}", f"{noted2 / second:.1f}", *times[1:]]
        print(f"| `{expression}` | {' | '.join(cells)}{' |' if theirs else ' | |'}")


if __name__ == "__main__":
    main()
