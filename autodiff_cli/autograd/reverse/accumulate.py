"""Accumulation of gradients into ``.grad``."""

from __future__ import annotations

from _thread import allocate_lock  # the lock behind threading.Lock; importing threading takes a few ms

import numpy as np

from autodiff_cli.autograd.modes import inference_used
from autodiff_cli.autograd.node import Cotangent
from autodiff_cli.autograd.primitives.structural import copied
from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.autograd.views_and_versions import check_changeable, mark_changed

_adding = allocate_lock()
"""Held while a gradient is added in place, because another thread may add to the same leaf."""


def as_tensor(value: Cotangent) -> Tensor:
    """Return a cotangent as a tensor."""
    return value if isinstance(value, Tensor) else tensor_on(value)


def accumulate(leaf: Tensor, gradient: Cotangent, create_graph: bool) -> None:
    """Add a gradient to ``leaf.grad``: in place, or with ``create_graph`` as a new tensor with a history, as in PyTorch.

    A leaf that does not require grad any more is left out.
    """
    if not leaf._requires_grad:
        return
    if create_graph:  # without the lock, because recording may call hooks
        retain(leaf, gradient)
        return
    extra = leaf._extra or leaf.extra()
    with _adding:
        before = extra.grad
        if before is None:  # a copy, because the same array may have reached another leaf
            extra.grad = tensor_on(gradient.copy() if isinstance(gradient, np.ndarray) else gradient)
            return
        if inference_used[0]:  # some tensor was made in inference mode
            check_changeable(before)
        mark_changed(before)
        if isinstance(before._data, np.ndarray):
            np.add(before._data, gradient, out=before._data)
        else:  # a NumPy scalar, which cannot change
            before._data = before._data + gradient


def retain(tensor: Tensor, gradient: Cotangent) -> None:
    """Store the gradient of a tensor, or add it to ``tensor.grad``; the sum is a new tensor, as in PyTorch."""
    extra = tensor.extra()
    extra.grad = copied(as_tensor(gradient)) if extra.grad is None else extra.grad + gradient
