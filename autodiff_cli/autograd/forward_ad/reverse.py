"""Reverse mode on dual tensors: the gradient of a dual tensor is a dual tensor.

The tangent of an output is recorded as a function of the same leaves as its primal.  For outputs with the primal y and the tangent
y', and cotangents with the primal v and the tangent v', the gradient of sum(v*y) has the tangent: the gradient of
sum(v*y') + sum(v'*y).  A product of a Hessian with a vector is computed in this way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autodiff_cli.autograd.primitives.structural import zeros_of
from autodiff_cli.autograd.reverse_mode import grad
from autodiff_cli.autograd.tensor import Tensor

Pair = tuple[Any, "Tensor | None"]
"""A primal and its tangent."""


def gradients(
    outputs: Sequence[Pair],
    inputs: Sequence[Any],
    grad_outputs: Sequence[Pair],
    retain_graph: bool | None,
    create_graph: bool,
    allow_unused: bool | None,
    materialize_grads: bool,
) -> list[Pair]:
    """Return the gradient of each input and its tangent, ``None`` for a constant; see ``reverse_mode.grad`` for the options.

    Args:
        outputs: the primals and the tangents of the outputs.
        inputs: the primals of the inputs.
        grad_outputs: the cotangents, likewise; ``(None, None)`` means 1, for an output with one element.
    """
    cotangents = [v for v, _ in grad_outputs]
    # The terms of sum(v*y') + sum(v'*y) that are not constant; dy is y', and dv is v'.
    terms = [(dy, v) for (_, dy), v in zip(outputs, cotangents, strict=True) if dy is not None and dy.requires_grad]
    terms += [(y, dv) for (y, _), (_, dv) in zip(outputs, grad_outputs, strict=True) if dv is not None]
    keep = create_graph if retain_graph is None else retain_graph
    primals = grad(
        [y for y, _ in outputs],
        inputs,
        cotangents,
        retain_graph=keep or bool(terms),  # for the second pass
        create_graph=create_graph,
        allow_unused=allow_unused,
        materialize_grads=materialize_grads,
    )
    if not terms:
        return [(primal, None) for primal in primals]
    tangents = grad([y for y, _ in terms], inputs, [v for _, v in terms], keep, create_graph, allow_unused=True)
    pairs = zip(primals, tangents, strict=True)
    # An unused input has neither; an input that no term depends on has the tangent 0.
    return [(primal, None if primal is None else zeros_of(primal) if tangent is None else tangent) for primal, tangent in pairs]
