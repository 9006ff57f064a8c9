"""Calls of all declared functions, and what PyTorch or mpmath says of them: values and gradients.

``python -m tests.values`` needs PyTorch, asks it about each call, and writes ``tests/golden/values.json``.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import autodiff_cli.ops  # noqa: F401  (declares the functions)
from autodiff_cli.autograd.primitives.registry import FUNCTIONS, FunctionInfo
from autodiff_cli.report.array_text import finite_or_text
from tests.points import samples_of

RECORDS = Path(__file__).parent / "golden/values.json"
HOMES = ("nn.functional", "linalg", "special", "", "Tensor")
"""Where PyTorch keeps functions, in the order in which they are looked for."""
LISTS = {"stack", "cat", "vstack", "hstack", "dstack", "column_stack", "index_put"}
"""Functions that take a list of tensors in PyTorch, and several arguments in the language."""
V, M, N = [0.5, -1.0, 2.0], [[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]], [3, 0, -5]
BLOCK = [[[0.5, -1.0, 2.0], [0.1, 0.7, -1.5]], [[1.3, 0.9, -0.4], [-2.0, 0.3, 0.6]]]
"""An array whose dimensions differ, in no order: a wrong dimension gives another answer."""
PAIRS = ((V, [0.5, 1.0, -2.0]), (N, [3, 1, -6]), (2.0, V))
TRUTHS = (([True, False, True], [True, True, False]), (V, [0.0, 1.0, 0.0]))
FURTHER: dict[str, Sequence[tuple[Any, ...]]] = {
    **dict.fromkeys(("lt", "le", "gt", "ge", "eq", "ne", "isclose", "equal", "allclose"), PAIRS),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor"), (([12, -5, 7], [10, 3, 7]), ([True, False], [True, True]))),
    **dict.fromkeys(("bitwise_left_shift", "bitwise_right_shift"), (([12, -5, 7], [1, 2, 3]),)),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor"), TRUTHS),
    **dict.fromkeys(("bitwise_not", "logical_not"), (([True, False],), (N,))),
    **dict.fromkeys(("isnan", "isinf", "isfinite", "signbit"), (([0.0, -0.0, -1.5, float("nan"), float("-inf"), float("inf")],),)),
    **dict.fromkeys(("all", "any", "count_nonzero"), (([[1.0, 0.0], [2.0, 0.0]],), ([[True, False], [True, True]], 1), ([0, 0],))),
    **dict.fromkeys(("argmax", "argmin", "argsort"), ((V,), (M, 0), (M, 1), ([[2, 1, 2]], 1))),
    **dict.fromkeys(("argwhere", "nonzero"), (([[1.0, 0.0], [0.0, 2.0]],), ([0, 3, 4],))),
    **dict.fromkeys(("zeros", "ones", "eye"), (((2,)), ((3,)))),
    **dict.fromkeys(("zeros_like", "ones_like"), ((V,), (N,))),
    **dict.fromkeys(("tril_indices", "triu_indices"), ((3, 4), (3, 4, 1), (2, 3, -1))),
    **dict.fromkeys(("unique", "unique_consecutive"), (([3.0, 1.0, 1.0, 3.0],), ([[2, 2], [1, 2]],))),
    "full": ((([2, 2]), 1.5),),
    "arange": ((4,), (1, 4), (0.5, 3.0, 0.5), (5, 0, -2)),
    "linspace": ((0.0, 1.0, 5), (2.0, -1.0, 4)),
    "logspace": ((0.0, 2.0, 3), (0.0, 3.0, 4, 2.0)),
    "one_hot": (([0, 2, 1],), ([[1], [0]], 3)),
    "searchsorted": (([1.0, 2.0, 4.0], [0.5, 2.0, 5.0]), ([1, 3, 3, 5], [3, 4])),
    "bucketize": (([0.5, 2.0, 5.0], [1.0, 2.0, 4.0]), ([3, 4], [1, 3, 3, 5])),
    "bincount": (([0, 2, 2, 1],),),
    "isin": (([1.0, 2.0, 5.0], [2.0, 5.0]),),
    "matrix_rank": (([[1.0, 2.0], [2.0, 4.0]],), ([[1.0, 2.0], [2.0, 4.1]],)),
    "poisson_nll_loss": (([0.3, 1.2, 0.4, 2.0], [0.5, 1.0, 1.5, 7.0], True, True), ([0.3, 1.2], [1.0, 1.7], False, True)),
    "embedding": (([1, 0, 1, 2], [[0.5, -1.0], [0.1, 0.7], [2.0, 3.0]], -1), ([1, 0], [[0.5, -1.0], [0.1, 0.7]], 0)),
    "exp": (([3, -2],), ([True, False],)),
    "scaled_dot_product_attention": (
        ([[[[0.5, -1.0]], [[2.0, 0.3]]]], [[[[0.1, 0.7], [-1.5, 0.4]]]], [[[[1.0, -2.0], [0.2, 3.0]]]], None, False, None, True),
    ),
    "prod": (([2.0, 0.0, 3.0],), ([0.0, 0.0, 3.0],)),
    "cumprod": (([2.0, 0.0, 3.0, 0.0, 5.0], 0),),
    "scatter_reduce": (
        *(([1.0, -2.0, 3.0], 0, [0, 0, 2], src, "prod") for src in ([0.0, 6.0, 7.0], [0.0, 0.0, 7.0])),
        *(([1.0, -2.0, 3.0], 0, [0, 0, 2], [1.0, 6.0, 3.0], reduce) for reduce in ("amax", "amin")),
    ),
    "round": (([1234.5, -1250.0, 0.126], -2), ([1.25, -0.126], 2)),
}
"""Further calls: of functions without derivatives, and where a branch or an option begins."""


@dataclass(frozen=True)
class Call:
    """A call: the name of a function, and its arguments by name."""

    op: FunctionInfo
    given: tuple[Any, ...]
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def key(self) -> str:
        shown = [*map(repr, self.given), *(f"{name}={value!r}" for name, value in self.options)]
        return f"{self.op.name}({', '.join(shown)})"

    def takes_tensor(self, i: int) -> bool:
        """Whether an argument is a tensor where a list or a number is given."""
        op = self.op
        name = "" if op.variadic else op.parameters[i]
        return (op.variadic or name in op.tensors) and not isinstance(self.given[i], (str, bool, type(None)))


def calls() -> Iterator[Call]:
    """The samples of all functions and further calls, as they are and with one option changed at a time."""
    for op in {op.name: op for op in FUNCTIONS.values()}.values():
        seen: set[str] = set()
        along = [(BLOCK,)] if op.required == 1 and {"dim", "axis"} & set(op.parameters) else []
        for given in (*samples_of(op), *along, *FURTHER.get(op.name, ())):
            varied = [Call(op, given), *(Call(op, given, (option,)) for option in _options(op, given))]
            for call in varied:
                if call.key not in seen:
                    seen.add(call.key)
                    yield call


def _options(op: FunctionInfo, given: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    """Values of options which a call does not give: the other truth value, the last dimension, other reductions."""
    if op.variadic:
        return
    for name in op.parameters[max(len(given), op.required) :]:
        default = op.default(name)
        if isinstance(default, bool):
            yield name, not default
        elif name == "reduction":
            yield from ((name, value) for value in ("none", "sum", "mean") if value != default)
        elif name in ("dim", "axis"):
            yield from ((name, value) for value in (0, -1) if value != default)
        elif name in ("k", "diagonal", "offset", "correction", "order", "n") and isinstance(default, int):
            yield name, default + 1


def answer(torch: ModuleType, call: Call) -> dict[str, Any] | None:
    """Return the value of a call and the gradient of a weighted sum of it; ``None`` if the library does not have the call."""
    function = _found(torch, call.op.name)
    if function is None:
        return None
    for every in (False, True):  # some arguments that are numbers or lists for us are tensors for PyTorch, such as targets
        with suppress(TypeError, RuntimeError, ValueError, AttributeError, IndexError, NotImplementedError):
            arguments = [_tensor(torch, value) if call.takes_tensor(i) or (every and isinstance(value, list)) else value
                         for i, value in enumerate(call.given)]  # fmt: skip
            return _answered(torch, function, call, arguments)
    return None


def _found(torch: ModuleType, name: str) -> Any:
    for home in ("",) if name == "vander" else HOMES:  # linalg.vander has the powers the other way round
        room: Any = torch
        for part in filter(None, home.split(".")):
            room = getattr(room, part)
        if callable(getattr(room, name, None)):
            return getattr(room, name)
    return None


def _tensor(torch: ModuleType, value: Any) -> Any:
    made = torch.tensor(value, dtype=torch.float64 if isinstance(value, float) or "." in repr(value) else None)
    return made.requires_grad_() if made.dtype == torch.float64 else made


def _answered(torch: ModuleType, function: Any, call: Call, arguments: list[Any]) -> dict[str, Any]:
    tensors = next((i for i in range(1, len(arguments)) if not call.takes_tensor(i)), len(arguments))
    options = {
        name: value for name, value in zip(call.op.parameters[tensors:], arguments[tensors:], strict=False) if value is not None
    }
    ways = [(tuple(arguments[:tensors]), {**options, **dict(call.options)}), (tuple(arguments), dict(call.options))]
    if call.op.name in LISTS or call.op.variadic:
        ways = [((arguments,), dict(call.options)), (tuple(arguments), dict(call.options))]
    try:
        output = function(*ways[0][0], **ways[0][1])
    except (TypeError, RuntimeError, ValueError, IndexError):
        output = function(*ways[1][0], **ways[1][1])
    parts = list(output) if isinstance(output, (tuple, list)) else [output]
    inputs = [value for value in arguments if isinstance(value, torch.Tensor) and value.requires_grad]
    weighted = [_weighted(torch, part) for part in parts if isinstance(part, torch.Tensor) and part.requires_grad]
    grads: list[Any] = [None] * len(inputs)
    if weighted:
        with suppress(RuntimeError):  # PyTorch lacks derivatives, for example with respect to orders
            grads = list(torch.autograd.grad(sum(weighted), inputs, allow_unused=True))
    values = [part.tolist() if isinstance(part, torch.Tensor) else part for part in parts]
    return {
        "value": finite_or_text(values if len(values) != 1 or isinstance(output, (tuple, list)) else values[0]),
        "grad": finite_or_text([None if each is None else each.tolist() for each in grads]),
    }


def _weighted(torch: ModuleType, part: Any) -> Any:
    """A sum in which each element has another weight, so that none can hide behind another."""
    return (part * torch.linspace(0.5, 1.5, part.numel(), dtype=torch.float64).reshape(part.shape)).sum()


def _written(value: Any) -> Any:
    """Numbers with 16 digits, which is enough for a comparison and keeps the file small."""
    return json.loads(re.sub(r"-?\d+\.\d+(?:e[+-]?\d+)?", lambda found: f"{float(found.group()):.15g}", json.dumps(value)))


def main() -> None:
    import torch

    warnings.simplefilter("ignore")
    answers = {call.key: answer(torch, call) for call in calls()}
    known = {key: _written(found) for key, found in answers.items() if found is not None}
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(found)}" for key, found in known.items())
    RECORDS.write_text(f'{{"torch": "{torch.__version__}", "answers": {{\n{lines}\n}}}}\n', encoding="utf-8")
    print(len(known), "of", len(answers))
    print("not in PyTorch:", *sorted({call.op.name for call in calls()} - {key.partition("(")[0] for key in known}))


if __name__ == "__main__":
    main()
