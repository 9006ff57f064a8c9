"""In-place changes of dual tensors, and of ordinary tensors by dual tensors.

The tangent of a view is the same view of the tangent of its source, so a change of one tangent is visible in all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff_cli.autograd.forward_ad.dual import Dual, Nested, alias, attach, primal_of, settled, split, take
from autodiff_cli.autograd.forward_ad.level import Level, is_forward_enabled
from autodiff_cli.autograd.forward_ad.rules import zeros_of
from autodiff_cli.autograd.tensor import Tensor, tensor_on

Change = Callable[[Tensor, Callable[[Tensor], Tensor]], Tensor]
"""The function ``ops.inplace.change``."""


def changed(self: Dual, compute: Callable[[Tensor], Tensor], change: Callable[..., Tensor]) -> Tensor:
    """Change this tensor in place, see ``ops.inplace.change``."""
    ordinary = settled(self)
    return _change_dual(self, compute, change) if isinstance(ordinary, Dual) else change(ordinary, compute)


def written_to(self: Dual, tensor: Tensor, change: Callable[..., Tensor]) -> Tensor:
    """Write this tensor, the result of an in-place operation on an ordinary tensor, into the ordinary tensor."""
    ordinary = settled(self)
    return _change_by_dual(tensor, self, change) if isinstance(ordinary, Dual) else change(tensor, lambda old: ordinary)


def _change_dual(tensor: Dual, compute: Callable[[Tensor], Tensor], change: Change) -> Tensor:
    """Change the primal and the tangent of a dual tensor in place."""
    tangent, level, under = tensor._forward
    primal = primal_of(tensor)
    new: list[Tensor | None] = []

    def compute_primal(old: Tensor) -> Tensor:
        result, moved = split(compute(attach(old, _copy(tangent), level)), level)
        new.append(moved)
        return result  # type: ignore[no-any-return]

    change(primal, compute_primal)
    if under is None:
        take(tensor, primal)
    if is_forward_enabled():
        _put(tensor, zeros_of(tensor) if new[0] is None else new[0], level, change)
    return tensor


def _change_by_dual(tensor: Tensor, result: Dual, change: Change) -> Tensor:
    """Write a dual tensor into a tensor that does not have a tangent."""
    level = result._forward[1]
    primal, tangent = split(result, level)
    change(tensor, lambda old: primal)
    if tangent is not None:
        _put(tensor, tangent, level, change)
    return tensor


def _put(tensor: Tensor, tangent: Tensor, level: Level, change: Change) -> None:
    """Write a tangent into a tensor, with the type of the tensor."""
    before = split(tensor, level)[1]
    view = None if tensor._extra is None else tensor._extra.view
    if before is None and view is not None and split(view.source, level)[1] is None:
        _set(view.source, zeros_of(view.source), level)
        before = split(tensor, level)[1]
    if before is not None and (type(before) is not Tensor or _is_writable(before._data)):
        change(before, lambda old: tangent)
    else:
        _set(tensor, _copy(tangent), level)


def _is_writable(data: Any) -> bool:
    return not isinstance(data, np.ndarray) or bool(data.flags.writeable)


def _set(tensor: Tensor, tangent: Tensor, level: Level) -> None:
    """Give a tensor a tangent, and its views without a tangent the views of this tangent."""
    if isinstance(tensor, Dual) and tensor._forward[1] is level:
        tensor._forward = (tangent, level, tensor._forward[2])
    elif isinstance(tensor, Dual):
        _, lower, under = tensor._forward
        inner = attach(alias(tensor), tensor._forward[0], lower) if under is None else under
        tensor.__class__ = Nested
        tensor._forward = (tangent, level, inner)
    else:
        attach(tensor, tangent, level)
    extra = tensor._extra
    for reference in (extra.views if extra is not None and extra.views is not None else ())[:]:
        view = reference()
        if view is not None and view._extra is not None and view._extra.view is not None and split(view, level)[1] is None:
            _set(view, view._extra.view.applied_to(tangent), level)


def _copy(tangent: Tensor) -> Tensor:
    """Return a tangent in memory of its own, with its history."""
    if type(tangent) is not Tensor or tangent._requires_grad:
        return tangent + 0.0
    return tensor_on(np.array(tangent._data)[()])
