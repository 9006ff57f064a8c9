"""The history of a tensor after an in-place change, and of all views that share its memory."""

from __future__ import annotations

from autodiff_cli.autograd.memory import View, adopt, renew_views
from autodiff_cli.autograd.modes import always_recording
from autodiff_cli.autograd.node import Edge
from autodiff_cli.autograd.primitives.structural import as_strided, copy_slices
from autodiff_cli.autograd.tensor import Tensor, tensor_on


def rebase_history(tensor: Tensor, made: Tensor) -> None:
    """Give ``tensor`` the history of ``made``, and update all views that share its memory.

    Args:
        tensor: the tensor that was changed in place; it may be a view.
        made: the result of the same operation out of place.
    """
    source = tensor
    view = None if tensor._extra is None else tensor._extra.view
    if view is not None and made._requires_grad:
        source = view.source
        before = tensor_on(source._data, source._edge)
        before._requires_grad = source._requires_grad
        made = copy_slices(before, made, view)
    adopt(source, made._edge, made._requires_grad)
    renew_views(source)


def edge_from_source(view: View) -> Edge | None:
    """Record the steps of a view on its source, and return the edge of the result."""
    with always_recording():
        result = as_strided(view.source, view)
    edge: Edge | None = result._edge
    return edge
