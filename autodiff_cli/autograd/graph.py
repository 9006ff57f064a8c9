"""The graph itself: PyTorch's ``torch.autograd.graph``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from autodiff_cli.autograd.hooks import RemovableHandle
from autodiff_cli.autograd.memory import mark_changed
from autodiff_cli.autograd.node import GradientEdge, Node, leaf_edge
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import GraphError

__all__ = ["GradientEdge", "Node", "get_gradient_edge", "increment_version", "register_multi_grad_hook"]


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge of a tensor; for a leaf it leads to its ``AccumulateGrad``.

    Raises:
        GraphError: if the tensor does not require grad.
    """
    if not tensor.requires_grad:
        raise GraphError("It is not possible to get the gradient edge for a Tensor that does not require gradients.")
    return GradientEdge(*(tensor._edge or leaf_edge(tensor)))


def increment_version(tensor: Tensor | Sequence[Tensor]) -> None:
    """Count a change in place that was made behind the back of autograd."""
    for one in [tensor] if isinstance(tensor, Tensor) else tensor:
        mark_changed(one)


class _Handles:
    """The hooks on several tensors, removed together."""

    def __init__(self, handles: list[RemovableHandle]) -> None:
        self._handles = handles

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()


def register_multi_grad_hook(tensors: Sequence[Tensor], fn: Callable[..., Any], *, mode: str = "all") -> _Handles:
    """Call ``fn`` when the gradients of these tensors are known.

    Args:
        tensors: which ones; each must require grad.
        fn: for ``all`` it takes the list of gradients, for ``any`` the first of them.
        mode: whether to wait for ``all`` of a sweep or call at once for ``any``.
    """
    found: dict[int, Any] = {}

    def hook(index: int) -> Callable[[Tensor], None]:
        def call(gradient: Tensor) -> None:
            found[index] = gradient
            if mode == "any" and len(found) == 1:
                fn(gradient)
            if len(found) == len(tensors):
                gradients = [found[i] for i in range(len(tensors))]
                found.clear()
                if mode == "all":
                    fn(gradients)

        return call

    return _Handles([tensor.register_hook(hook(i)) for i, tensor in enumerate(tensors)])
