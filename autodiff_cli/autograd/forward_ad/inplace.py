"""In-place changes of dual tensors, and of ordinary tensors by dual tensors, which then become dual tensors themselves.

The tangent of a view is the same view of the tangent of its source, so a change of one tangent is visible in all of them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from autodiff_cli.autograd.forward_ad.dual import Dual, Level, dual, split
from autodiff_cli.autograd.primitives.structural import zeros_of
from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.autograd.views_and_versions import live_views

Change = Callable[[Tensor, Callable[[Tensor], Tensor]], Tensor]
"""The function ``ops.inplace.change``: ``change(tensor, compute)`` writes ``compute(old)`` into the tensor and returns it."""


def changed(self: Dual, compute: Callable[[Tensor], Tensor], change: Change) -> Tensor:
    """Change this tensor in place, see ``ops.inplace.change``: its primal, and its tangent if its level has not ended."""
    primal, tangent, level = self._forward
    if tangent is None or not level.is_open:
        change(primal, compute)
        return self
    new_tangent: Tensor | None = None  # the second result of the one call of ``compute``

    def compute_primal(old: Tensor) -> Tensor:
        nonlocal new_tangent
        result, new_tangent = split(compute(dual(old, _copied(tangent), level)), level)  # ``tangent`` is overwritten below
        return result  # type: ignore[no-any-return]

    change(primal, compute_primal)
    _write_tangent(self, zeros_of(primal) if new_tangent is None else new_tangent, level, change)
    return self


def written_to(self: Dual, tensor: Tensor, change: Change) -> Tensor:
    """Write this tensor, the result of an in-place operation on an ordinary tensor, into the ordinary tensor."""
    primal, tangent, level = self._forward
    change(tensor, lambda old: primal)
    if tangent is not None and level.is_open:
        _write_tangent(tensor, tangent, level, change)
    return tensor


def _write_tangent(tensor: Tensor, tangent: Tensor, level: Level, change: Change) -> None:
    """Write a tangent into the tangent of a tensor; if it has none, or a read-only one (broadcast), attach a copy instead."""
    _, before = split(tensor, level)
    view = None if tensor._extra is None else tensor._extra.view
    if before is None and view is not None and split(view.source, level)[1] is None:
        _attach_tangent(view.source, zeros_of(view.source), level)  # and thereby a tangent of this view
        _, before = split(tensor, level)
    is_read_only = type(before) is Tensor and not np.asarray(before._data).flags.writeable
    if before is not None and not is_read_only:
        change(before, lambda old: tangent)
    else:
        _attach_tangent(tensor, _copied(tangent), level)


def _attach_tangent(tensor: Tensor, tangent: Tensor, level: Level) -> None:
    """Make a tensor a dual tensor by changing its class; its views without a tangent get views of the tangent in the same way."""
    if isinstance(tensor, Dual):
        primal, before, own = tensor._forward
        tensor._forward = (primal if own is level else dual(primal, before, own), tangent, level)  # keeps the tangent of ``own``
    else:
        primal = _ordinary_alias(tensor)
        tensor.__class__ = Dual
        tensor._forward = (primal, tangent, level)
    for view, steps in live_views(tensor):
        if split(view, level)[1] is None:
            _attach_tangent(view, steps.applied_to(tangent), level)


def _ordinary_alias(tensor: Tensor) -> Tensor:
    """Return an ordinary tensor with the same values, history and rarely used state."""
    result = tensor_on(tensor._data, tensor._edge)
    result._requires_grad = tensor._requires_grad
    result._extra = tensor.extra()
    return result


def _copied(tangent: Tensor) -> Tensor:
    """Return a tangent in memory of its own, with its history."""
    if type(tangent) is not Tensor or tangent._requires_grad:
        return tangent + 0.0
    return tensor_on(np.array(tangent._data)[()])
