"""Accumulation of gradients into ``.grad``."""

from __future__ import annotations

from _thread import allocate_lock  # the lock behind threading.Lock; importing threading takes a few ms
from collections.abc import Collection, Sequence

import numpy as np

from autodiff_cli.autograd.memory import check_changeable, mark_changed
from autodiff_cli.autograd.modes import inference_used
from autodiff_cli.autograd.node import Cotangent, Node, leaf_edge
from autodiff_cli.autograd.primitives.nodes import output_of
from autodiff_cli.autograd.tensor import Tensor, tensor_on

_adding = allocate_lock()
"""Held while a gradient is added in place, because another thread may add to the same leaf."""


def as_tensor(value: Cotangent) -> Tensor:
    """Return a cotangent as a tensor."""
    return value if isinstance(value, Tensor) else tensor_on(value)


def accumulate(leaf: Tensor, gradient: Cotangent, create_graph: bool) -> None:
    """Add a gradient to ``leaf.grad``; the addition is in place without ``create_graph``, as in PyTorch.

    A leaf that does not require grad any more is left out.
    """
    if not leaf._requires_grad:
        return
    extra = leaf._extra or leaf.extra()
    if create_graph:  # without the lock, because recording may call hooks
        extra.grad = _copied(gradient) if extra.grad is None else extra.grad + gradient
        return
    with _adding:
        before = extra.grad
        if before is None:
            extra.grad = tensor_on(gradient.copy() if isinstance(gradient, np.ndarray) else gradient)
            return
        if inference_used[0]:
            check_changeable(before)
        mark_changed(before)
        if isinstance(before._data, np.ndarray):
            np.add(before._data, gradient, out=before._data)
        else:
            before._data = before._data + gradient


def retain(tensor: Tensor, gradient: Cotangent) -> None:
    """Store the gradient of a tensor that is not a leaf, or add it to ``tensor.grad``; the sum is a new tensor, as in PyTorch."""
    extra = tensor.extra()
    extra.grad = _copied(gradient) if extra.grad is None else extra.grad + gradient


class CopyBackwards(Node):
    """The node of a copy of a recorded gradient; the copy ensures that ``.grad`` does not share memory with another tensor.

    As in PyTorch, its first edge is that of the destination, which does not have a history.
    """

    __slots__ = ()

    def __init__(self) -> None:
        self._saved = None

    def apply(self, grad: Cotangent, needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        return None, grad

    apply_recorded = apply


def _copied(gradient: Cotangent) -> Tensor:
    tensor = as_tensor(gradient)
    data = tensor._data.copy() if isinstance(tensor._data, np.ndarray) else tensor._data
    if not tensor._requires_grad:
        return tensor_on(data)
    return output_of(CopyBackwards(), (None, tensor._edge or leaf_edge(tensor)), data)
