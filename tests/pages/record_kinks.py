"""The recorder of PyTorch and JAX values and derivatives at the edge points of all declarations.

``python -m tests.pages.record_kinks`` writes ``tests/golden/kinks.json`` and needs both libraries. The page generator and its test
read this file and do not need the libraries.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import torch

from autodiff_cli.autograd.primitives.argument_kinds import POSITIONS
from autodiff_cli.autograd.primitives.registry import FunctionInfo
from tests.pages.expressions_at_kinks import CASES
from tests.pages.kinks import PART, RECORDS, case_key, edge_key, moving, numbers, orders, with_edges
from tests.points import edges_of

jax.config.update("jax_enable_x64", True)
torch.set_default_dtype(torch.float64)

Gradients = Callable[[Callable[..., Any], Sequence[Any], int], Any]

TORCH = (torch.nn.functional, torch, torch.special, torch.linalg)
JAX = (jax.numpy, jax.nn, jax.scipy.special, jax.numpy.linalg, jax.lax)
OTHER_NAMES = {
    "atan2": "arctan2",
    "clamp": "clip",
    "div": "divide",
    "pow": "power",
    "topk": "top_k",
    "hardtanh": "hard_tanh",
    "hardsigmoid": "hard_sigmoid",
    "softsign": "soft_sign",
    "lgamma": "gammaln",
    "vector_norm": "norm",
    "neg": "negative",
}
"""The JAX names of functions whose PyTorch names are different."""
NOT_IN_JAX = {"frac", "kl_div"}
"""The functions whose names have a different meaning in JAX."""
WITH_DIM = {"logsumexp", "cummax", "cummin"}
"""The PyTorch functions that require a dimension."""
BY_POSITION = {"clamp", "topk", "kthvalue", "zeta", "polygamma"}
"""The functions whose non-tensor arguments are passed by position."""


def torch_gradients(function: Callable[..., Any], inputs: Sequence[Any], order: int) -> Any:
    """Return PyTorch's value and derivatives; from order 2 on, only with respect to the first input."""
    tensors = [torch.tensor(value, requires_grad=True) for value in inputs]
    output = function(*tensors)
    if not output.requires_grad:
        return output.tolist(), [[0.0] * t.numel() if t.ndim else 0.0 for t in tensors]
    found = torch.autograd.grad(output.sum(), tensors, create_graph=order > 1, allow_unused=True)
    for _ in range(order - 1):
        first = found[0].sum()
        # The derivative of a constant is 0, but PyTorch raises an error because a constant does not have a graph.
        found = torch.autograd.grad(first, tensors[:1], create_graph=True, allow_unused=True) if first.requires_grad else (None,)
        found = tuple(torch.zeros_like(tensors[0]) if f is None else f for f in found)
    return output.tolist(), [None if f is None else f.clone().tolist() for f in found]


def jax_gradients(function: Callable[..., Any], inputs: Sequence[Any], order: int) -> Any:
    """Return JAX's value and derivatives; from order 2 on, only with respect to the first input."""

    def scalar(*arrays: Any) -> Any:
        return function(*arrays).sum()

    arrays = [jax.numpy.asarray(value) for value in inputs]
    output = function(*arrays)
    if order == 1:
        found = jax.grad(scalar, tuple(range(len(arrays))))(*arrays)
        return output.tolist(), [f.tolist() for f in found]
    nested = scalar
    for _ in range(order):
        nested = jax.grad(nested)
    return output.tolist(), [nested(*arrays).tolist()]


def found_in(homes: Sequence[Any], name: str) -> Callable[..., Any] | None:
    """Return the function with a name from the first module that contains it."""
    return next((getattr(home, name) for home in homes if callable(getattr(home, name, None))), None)


def in_torch(op: FunctionInfo, edge: tuple[Any, ...]) -> Callable[..., Any] | None:
    """Return the PyTorch function that corresponds to a declared function."""
    if op.name in WITH_DIM:
        return partial(getattr(torch, op.name), dim=0)
    if op.name in ("norm", "vector_norm"):
        return torch.linalg.vector_norm
    return found_in(TORCH, f"{op.name}imum" if op.name in ("max", "min") and len(edge) == 2 else op.name)


def in_jax(op: FunctionInfo, edge: tuple[Any, ...]) -> Callable[..., Any] | None:
    """Return the JAX function that corresponds to a declared function."""
    if op.name == "std":
        return partial(jax.numpy.std, ddof=1)
    if op.name in NOT_IN_JAX:
        return None
    name = OTHER_NAMES.get(op.name, op.name)
    return found_in(JAX, f"{name}imum" if name in ("max", "min") and len(edge) == 2 else name)


def answer(gradients: Gradients, function: Callable[..., Any] | None, inputs: Sequence[Any], order: int) -> Any:
    """Return the value and the derivatives for JSON, ``None`` if the library does not have the function or the parameter."""
    if function is None:
        return None
    try:
        value, found = gradients(function, inputs, order)
    except TypeError:  # the function does not have the parameter
        return None
    except Exception as error:  # libraries raise different exception types
        return {"refused": str(error).partition("\n")[0]}
    return {"value": numbers(value), "grad": numbers(found)}


def called(op: FunctionInfo, function: Callable[..., Any], edge: tuple[Any, ...]) -> Callable[..., Any]:
    """Return the function with only the arguments to differentiate with respect to; the other arguments are fixed."""
    moves = moving(op, edge)

    def of_tensors(*tensors: Any) -> Any:
        given = iter(tensors)
        positional, keywords = [], {}
        for name, value, moved in zip(op.parameters, edge, moves, strict=False):
            if moved:
                positional.append(next(given))
            elif op.kinds.get(name) is POSITIONS:
                keywords[name] = torch.tensor(value)  # only PyTorch has functions of positions with edge points
            elif op.name in BY_POSITION:
                positional.append(value)
            else:
                keywords["ord" if op.name == "norm" else name] = value
        output = function(*positional, **keywords)
        return output[PART.get(op.name, 0)] if isinstance(output, (tuple, list)) else output

    return of_tensors


def record() -> dict[str, Any]:
    """Return the results of PyTorch and JAX for all edge points and expressions."""
    records: dict[str, Any] = {}
    for op in with_edges():
        for edge in edges_of(op):
            inputs = [value for value, moves in zip(edge, moving(op, edge), strict=True) if moves]
            for order in orders(op):
                records[edge_key(op, edge, order)] = {
                    library: answer(gradients, function and called(op, function, edge), inputs, order)
                    for library, function, gradients in (
                        ("torch", in_torch(op, edge), torch_gradients),
                        ("jax", in_jax(op, edge), jax_gradients),
                    )
                }
    for case in CASES:
        inputs = list(case.at.values())
        records[case_key(case)] = {
            "torch": answer(torch_gradients, lambda *x, c=case: c.python(torch, *x), inputs, case.order),
            "jax": answer(jax_gradients, lambda *x, c=case: c.python(jax.numpy, *x), inputs, case.order),
        }
    return {"torch": torch.__version__.partition("+")[0], "jax": jax.__version__, "answers": records}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    RECORDS.write_text(json.dumps(record(), indent=1) + "\n", encoding="utf-8")
