"""Accumulation of gradients into ``.grad``."""

from __future__ import annotations

from _thread import allocate_lock  # the lock behind threading.Lock; importing threading takes a few ms
from collections.abc import Collection, Sequence

import numpy as np

from autodiff_cli.autograd.memory import check_changeable
from autodiff_cli.autograd.modes import inference_used, is_grad_enabled
from autodiff_cli.autograd.node import AccumulateGrad, Cotangent, Node, leaf_edge
from autodiff_cli.autograd.primitives.node_factory import output_of
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
    with _adding:
        before = extra.grad
        if create_graph:
            extra.grad = _copied(gradient) if before is None else before + gradient
            return
        if before is None:
            extra.grad = tensor_on(gradient.copy() if isinstance(gradient, np.ndarray) else gradient)
            return
        if inference_used[0]:
            check_changeable(before)
        if isinstance(before._data, np.ndarray):
            np.add(before._data, gradient, out=before._data)
        else:
            before._data = before._data + gradient


def _accumulate_once(self: AccumulateGrad, grad: Cotangent, needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
    """Add a gradient to the leaf: the call of its node outside a backward pass."""
    recording = bool(is_grad_enabled())
    accumulate(self.variable, grad if recording else grad._data, recording)
    return ()


setattr(AccumulateGrad, "apply_recorded", _accumulate_once)  # noqa: B010  the class is below this module


def retain(tensor: Tensor, gradient: Cotangent) -> None:
    """Store the gradient of a tensor that is not a leaf, or add it to ``tensor.grad``; the sum is a new tensor, as in PyTorch."""
    extra = tensor.extra()
    extra.grad = _copied(gradient) if extra.grad is None else extra.grad + gradient


class CopyBackwards(Node):
    """The node of a copy of a recorded gradient; the copy ensures that ``.grad`` does not share memory with another tensor."""

    __slots__ = ()

    def __init__(self) -> None:
        self._saved = None

    def apply(self, grad: Cotangent, needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
        return (grad,)

    apply_recorded = apply


def _copied(gradient: Cotangent) -> Tensor:
    tensor = as_tensor(gradient)
    data = tensor._data.copy() if isinstance(tensor._data, np.ndarray) else tensor._data
    if not tensor._requires_grad:
        return tensor_on(data)
    return output_of(CopyBackwards(), (tensor._edge or leaf_edge(tensor),), data)
