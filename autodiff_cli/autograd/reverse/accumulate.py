"""Accumulation of gradients into ``.grad``."""

from __future__ import annotations

from _thread import allocate_lock  # the lock behind threading.Lock; importing threading takes a few ms
from collections.abc import Collection, Sequence

import numpy as np

from autodiff_cli.autograd.dtypes import dtype
from autodiff_cli.autograd.memory import check_changeable, mark_changed
from autodiff_cli.autograd.modes import inference_used, is_grad_enabled
from autodiff_cli.autograd.node import AccumulateGrad, Cotangent, Node, leaf_edge
from autodiff_cli.autograd.primitives.node_factory import output_of
from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.errors import GraphError, type_name

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


def _accumulate_once(self: AccumulateGrad, grad: Cotangent, needed: Collection[Node] | None) -> Sequence[Cotangent | None]:
    """Add a gradient to the leaf: the call of its node outside a backward pass."""
    recording = bool(is_grad_enabled())
    accumulate(self.variable, grad if recording else grad._data, recording)
    return ()


setattr(AccumulateGrad, "apply_recorded", _accumulate_once)  # noqa: B010  the class is below this module


def _grad_dtype(self: Tensor) -> dtype | None:
    """The type of the gradient of a leaf: its own type unless another was set, ``None`` for any type.

    Raises:
        GraphError: if the tensor is not a leaf; for a new value, if there is a gradient of another type.
    """
    if self._edge is not None:
        raise GraphError("grad_dtype can only be accessed on leaf tensors.")
    wanted = self.extra().grad_dtype
    return self.dtype if wanted is False else wanted


def _set_grad_dtype(self: Tensor, value: dtype | None) -> None:
    if self._edge is not None:
        raise GraphError("grad_dtype can only be set on leaf tensors.")
    if value is not None and not isinstance(value, dtype):
        raise GraphError(f"grad_dtype must be a torch.dtype or None, but got {type_name(value)}")
    extra = self.extra()
    if value is not None and extra.grad is not None and extra.grad.dtype is not value:
        raise GraphError(
            f"Cannot set grad_dtype to '{value.scalar_name}' because there is already a gradient with dtype "
            f"'{extra.grad.dtype.scalar_name.lower()}'. Please clear the gradient (.grad = None) before changing grad_dtype, or "
            "ensure the new grad_dtype matches the existing gradient's dtype."
        )
    extra.grad_dtype = value
    node = None if extra.accumulator is None else extra.accumulator()
    if node is not None:
        node._dtype = None if value is None else value.dtype


setattr(Tensor, "grad_dtype", property(_grad_dtype, _set_grad_dtype, doc=_grad_dtype.__doc__))  # noqa: B010


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
