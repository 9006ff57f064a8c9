"""The history of a tensor after an in-place change, and of all views that share its memory."""

from __future__ import annotations

from autodiff_cli.autograd.memory import View, adopt, expire_views
from autodiff_cli.autograd.modes import is_inference_mode_enabled, set_grad_enabled
from autodiff_cli.autograd.node import Edge
from autodiff_cli.autograd.primitives.structural import as_strided, copy_slices
from autodiff_cli.autograd.tensor import Tensor, tensor_on


def rebase_history(tensor: Tensor, made: Tensor) -> None:
    """Give ``tensor`` the history of ``made``, and delete the edges of all views that share its memory.

    Args:
        tensor: the tensor that was changed in place; it may be a view.
        made: the result of the same operation out of place.
    """
    view = None if tensor._extra is None else tensor._extra.view
    if view is None or not made.requires_grad:
        adopt(tensor, made)
        expire_views(tensor)
        return
    source = view.source
    before = tensor_on(source._data, source._edge)
    before._requires_grad = source._requires_grad
    adopt(source, copy_slices(before, made, view))
    expire_views(source)


def edge_from_source(view: View) -> Edge | None:
    """Record the steps of a view on its source, and return the edge of the result."""
    with set_grad_enabled(True):
        made = view.of(view.source) if view.replays else as_strided(view.source, view)
    edge: Edge | None = made._edge
    return edge


def derive_edge(view: View, tensor: Tensor) -> Edge | None:
    """Restore the deleted edge of a view after its memory was changed.

    Raises:
        GraphError: if the view was created without a recorded operation, or by a function whose VJP would be bypassed.
    """
    old = view.old_edge
    if is_inference_mode_enabled():
        return old
    if old is not None or view.source._requires_grad:
        refusal = view.refusal(old, indirect=True)
        if refusal is not None:
            raise refusal
        made = tensor_on(tensor._data, edge_from_source(view))
        tensor._edge = old
        adopt(tensor, made)
        view.inherits = False
    else:
        tensor._edge = None
    view.stale, view.old_edge = False, None
    return tensor._edge


View.derive = derive_edge
