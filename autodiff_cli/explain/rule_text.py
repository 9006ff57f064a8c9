"""What rules do that are no product with a local derivative, in words; and how much an operation magnifies errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.node import Node
from autodiff_cli.explain.names import Names

MOST_OUTPUTS = 64
"""Condition numbers of operations that are not element by element take a sweep of the node for each element of the result."""

_SHARED = "; equal ones share it evenly by convention (PyTorch)"
_WORDS = {
    "sum": "every element of {x} receives the gradient of the sum that it is in",
    "mean": "every element of {x} receives its share of the gradient: 1/{n} of it",
    "sum_to": "the gradient is repeated to the shape of {x}, {shape}",
    "expand": "{x} was repeated: its gradient is summed over the copies",
    "repeat": "{x} was repeated: its gradient is summed over the copies",
    "reshape": "the same elements in the shape of {x}, {shape}",
    "squeeze": "the same elements in the shape of {x}, {shape}",
    "squeeze_": "the same elements in the shape of {x}, {shape}",
    "unsqueeze": "the same elements in the shape of {x}, {shape}",
    "alias": "the gradient as it is",
    "clone": "the gradient as it is",
    "to": "the gradient in the type of {x}",
    "permute": "the dimensions go back to where they were",
    "transpose": "the gradient transposed",
    "t": "the gradient transposed",
    "select": "the gradient goes back to the place that was taken, all else of {x} receives 0",
    "slice": "the gradient goes back to the places that were taken, all else of {x} receives 0",
    "index": "the gradient goes back to the places that were taken, all else of {x} receives 0; a place taken twice, the sum",
    "unindex": "the gradient at the places that were filled",
    "gather": "the gradient is added up at the positions that were taken",
    "take": "the gradient is added up at the positions that were taken",
    "index_select": "the gradient is added up at the positions that were taken",
    "masked_select": "the gradient goes back to where the mask is true, all else receives 0",
    "masked_fill": "the gradient where the mask is false, 0 elsewhere",
    "stack": "the part of the gradient at the place of {x}",
    "cat": "the part of the gradient at the place of {x}",
    "dot": "the gradient, a number, times the other vector",
    "trace": "the gradient on the diagonal, 0 elsewhere",
    "diagonal": "the gradient on the diagonal, 0 elsewhere",
    "cumsum": "each element receives the gradients of all sums from it on",
    "prod": "the gradient times the product of the other elements",
    "cumprod": "the gradients times the products of the other elements",
    "amax": f"the largest element receives the gradient{_SHARED}; all else receives 0",
    "amin": f"the smallest element receives the gradient{_SHARED}; all else receives 0",
    "max": f"the largest element receives the gradient{_SHARED}; all else receives 0",
    "min": f"the smallest element receives the gradient{_SHARED}; all else receives 0",
    "median": f"the element in the middle receives the gradient{_SHARED}; all else receives 0",
    "flip": "the gradient in reverse order",
    "logsumexp": "the gradient times softmax of {x}",
}


def in_words(node: Node, to: str) -> str | None:
    """What the rule of a node does for its input ``to``, names between backticks; ``None`` where its formula says more."""
    if node.primitive is None or node.primitive.name not in _WORDS:
        return None
    edge = next((edge for edge in node._edges if edge is not None), None)
    shape: Any = () if edge is None or edge[0]._outputs != 1 else edge[0]._shape
    share = int(np.prod(shape)) // max(int(np.prod(node._shape)), 1)
    return _WORDS[node.primitive.name].format(x=f"`{to}`", shape=list(shape), n=share)


def condition(node: Node | None, names: Names) -> Any:
    """How much a relative error of the inputs is magnified in the output of a node, at worst.

    For each element of the result it is the sum of ``abs(x*df/dx)`` over all elements of the inputs, over ``abs(f)``; the
    largest of them is given.  ``None`` for leaves, and where it would take too long or a value is not known.
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
    return None if np.size(ratio) == 0 else np.float64(np.max(ratio))
