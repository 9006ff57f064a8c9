"""The history of a tensor after an in-place change, and of all tensors that share its memory."""

from __future__ import annotations

from autodiff_cli.autograd.memory import adopt
from autodiff_cli.autograd.primitives.structural import copy_slices
from autodiff_cli.autograd.tensor import Tensor, tensor_on


def rebase_history(tensor: Tensor, made: Tensor) -> None:
    """Give ``tensor`` the history of ``made``, and update all views that share its memory.

    Args:
        tensor: the tensor that was changed in place; it may be a view.
        made: the result of the same operation out of place.
    """
    view = None if tensor._extra is None else tensor._extra.view
    source = tensor
    if view is None or not made.requires_grad:
        adopt(tensor, made)
    else:
        source = view.source
        before = tensor_on(source._data, source._edge)
        before._requires_grad = source._requires_grad
        adopt(source, copy_slices(before, made, view))
        adopt(tensor, view.of(source))
    _refresh(source, tensor)


def _refresh(source: Tensor, changed: Tensor) -> None:
    """Derive the history of the other views of ``source`` from its new history."""
    extra = source._extra
    for reference in (extra.views if extra is not None and extra.views is not None else ())[:]:
        view = reference()
        if view is not None and view is not changed and view._extra is not None and view._extra.view is not None:
            adopt(view, view._extra.view.of(source))
