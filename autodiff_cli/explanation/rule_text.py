"""Descriptions of VJP rules that do not multiply by a local derivative, and condition numbers of operations."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.node import Node
from autodiff_cli.explanation.names import TensorNames

MOST_OUTPUTS = 64
"""The maximum number of output elements for the condition number of an operation that is not elementwise.  Each element takes one
VJP."""

_SHARED = "; equal elements share it evenly by convention (PyTorch)"
_COPIES = "{x} was repeated: its gradient is the sum over the copies"
_SHAPE = "the gradient is reshaped to the shape of {x}, {shape}"
_ADDED = "the gradient is added up at the selected positions"
_SELECTED = "the selected {0} of {{x}} receive the gradient, all others receive 0"
_EXTREME = "the {0} element receives the gradient, all others receive 0" + _SHARED
_WORDS = {
    "sum": "every element of {x} receives the gradient of its sum",
    "mean": "every element of {x} receives 1/{n} of the gradient",
    "sum_to": "the gradient is broadcast to the shape of {x}, {shape}",
    **dict.fromkeys(("expand", "repeat"), _COPIES),
    **dict.fromkeys(("reshape", "squeeze", "squeeze_", "unsqueeze"), _SHAPE),
    **dict.fromkeys(("alias", "clone"), "the gradient propagates unchanged"),
    "to": "the gradient is converted to the type of {x}",
    "permute": "the dimensions of the gradient are permuted back to their original order",
    **dict.fromkeys(("transpose", "t"), "the gradient is transposed"),
    "select": _SELECTED.format("elements"),
    "slice": _SELECTED.format("elements"),
    "index": _SELECTED.format("elements") + "; an element that is selected several times receives the sum",
    "unindex": "the gradient at the filled positions",
    **dict.fromkeys(("gather", "take", "index_select"), _ADDED),
    "masked_select": "the elements where the mask is true receive the gradient, all others receive 0",
    "masked_fill": "the gradient where the mask is false, 0 elsewhere",
    **dict.fromkeys(("stack", "cat"), "the part of the gradient at the position of {x}"),
    "dot": "the gradient (a number) times the other vector",
    **dict.fromkeys(("trace", "diagonal"), "the gradient on the diagonal, 0 elsewhere"),
    "cumsum": "each element receives the sum of the gradients from its position to the end",
    "prod": "the gradient times the product of the other elements",
    "cumprod": "each element receives the sum of the gradients times the products of the other elements",
    **dict.fromkeys(("amax", "max"), _EXTREME.format("largest")),
    **dict.fromkeys(("amin", "min"), _EXTREME.format("smallest")),
    "median": _EXTREME.format("middle"),
    "flip": "the gradient in reverse order",
    "logsumexp": "the gradient times softmax of {x}",
}


def in_words(node: Node, to: str) -> str | None:
    """Return the VJP rule of a node for its input ``to`` in words, with names between backticks; ``None`` if unknown."""
    if node.primitive is None or node.primitive.name not in _WORDS:
        return None
    edge = next((edge for edge in node._edges if edge is not None), None)
    shape: Any = () if edge is None or edge[0]._outputs != 1 else edge[0]._shape
    share = int(np.prod(shape)) // max(int(np.prod(node._shape)), 1)
    return _WORDS[node.primitive.name].format(x=f"`{to}`", shape=list(shape), n=share)


def condition(node: Node | None, names: TensorNames) -> float | None:
    """Return the condition number of a node: the largest factor by which it amplifies relative errors of its inputs.

    For each element ``f`` of the result, sum ``abs(x*df/dx)`` over all elements ``x`` of the inputs and divide by ``abs(f)``;
    the condition number is the largest quotient.  It is ``None`` for leaves, for operations that are not elementwise and have
    more than ``MOST_OUTPUTS`` output elements, and if a value is unknown.
    """
    if node is None or node._outputs != 1 or node.primitive is None or node._saved is None:
        return None
    result = names.value((node, 0))
    values = [None if edge is None else names.value(edge) for edge in node._edges]
    if result is None or any(edge is not None and value is None for edge, value in zip(node._edges, values, strict=True)):
        return None
    if node.primitive.elementwise:
        parts = node.apply(np.ones(np.shape(result), node._dtype)[()], None)
        total = sum(np.abs(x * part) for x, part in zip(values, parts, strict=True) if part is not None)
    elif np.size(result) > MOST_OUTPUTS:
        return None
    else:
        rows = []
        for i in range(np.size(result)):
            unit = np.zeros(np.size(result), node._dtype)
            unit[i] = 1
            parts = node.apply(unit.reshape(np.shape(result))[()], None)
            rows.append(sum(np.sum(np.abs(x * part)) for x, part in zip(values, parts, strict=True) if part is not None))
        total = np.reshape(np.array(rows), np.shape(result))
    ratio = total / np.abs(result)
    return None if np.size(ratio) == 0 else float(np.max(ratio))
