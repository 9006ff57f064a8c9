"""Prose for VJP rules that are not products with a local derivative, and the condition numbers of operations."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.node import Node
from autodiff_cli.explain.names import Names

MOST_OUTPUTS = 64
"""The condition number of an operation that is not elementwise needs its VJP for each element of the result."""

_SHARED = "; equal elements share it evenly by convention (PyTorch)"
_COPIES = "{x} was repeated: its gradient is the sum over the copies"
_SHAPE = "the gradient in the shape of {x}, {shape}"
_ADDED = "the gradient is added up at the selected positions"
_SELECTED = "the gradient goes back to the selected {0}, all other elements of {{x}} receive 0"
_EXTREME = "the {0} element receives the gradient, all others receive 0" + _SHARED
_WORDS = {
    "sum": "every element of {x} receives the gradient of the sum that it is part of",
    "mean": "every element of {x} receives its share of the gradient: 1/{n} of it",
    "sum_to": "the gradient is broadcast to the shape of {x}, {shape}",
    **dict.fromkeys(("expand", "repeat"), _COPIES),
    **dict.fromkeys(("reshape", "squeeze", "squeeze_", "unsqueeze"), _SHAPE),
    **dict.fromkeys(("alias", "clone"), "the gradient is passed on unchanged"),
    "to": "the gradient is converted to the type of {x}",
    "permute": "the dimensions of the gradient are put back in order",
    **dict.fromkeys(("transpose", "t"), "the gradient is transposed"),
    "select": _SELECTED.format("place"),
    "slice": _SELECTED.format("places"),
    "index": _SELECTED.format("places") + "; a place that is selected twice receives the sum",
    "unindex": "the gradient at the places that were filled",
    **dict.fromkeys(("gather", "take", "index_select"), _ADDED),
    "masked_select": "the gradient goes back to where the mask is true, all other elements receive 0",
    "masked_fill": "the gradient where the mask is false, 0 elsewhere",
    **dict.fromkeys(("stack", "cat"), "the part of the gradient at the place of {x}"),
    "dot": "the gradient, a number, times the other vector",
    **dict.fromkeys(("trace", "diagonal"), "the gradient on the diagonal, 0 elsewhere"),
    "cumsum": "each element receives the sum of the gradients from its position on",
    "prod": "the gradient times the product of the other elements",
    "cumprod": "the gradients times the products of the other elements",
    **dict.fromkeys(("amax", "max"), _EXTREME.format("largest")),
    **dict.fromkeys(("amin", "min"), _EXTREME.format("smallest")),
    "median": _EXTREME.format("middle"),
    "flip": "the gradient in reverse order",
    "logsumexp": "the gradient times softmax of {x}",
}


def in_words(node: Node, to: str) -> str | None:
    """Return the rule of a node for its input ``to`` in words, with names between backticks; ``None`` if there are none."""
    if node.primitive is None or node.primitive.name not in _WORDS:
        return None
    edge = next((edge for edge in node._edges if edge is not None), None)
    shape: Any = () if edge is None or edge[0]._outputs != 1 else edge[0]._shape
    share = int(np.prod(shape)) // max(int(np.prod(node._shape)), 1)
    return _WORDS[node.primitive.name].format(x=f"`{to}`", shape=list(shape), n=share)


def condition(node: Node | None, names: Names) -> float | None:
    """Return the condition number of a node: by how much it magnifies relative errors of its inputs, at worst.

    This is the largest value, over the elements of the result ``f``, of the sum of ``abs(x*df/dx)`` over all elements of the
    inputs, divided by ``abs(f)``.  It is ``None`` for leaves, and if it takes too long or a value is not known.
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
