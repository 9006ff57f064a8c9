"""The recorded graph: PyTorch's ``torch.autograd.graph``, and a log of the nodes that a backward pass runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Literal
from weakref import WeakKeyDictionary, WeakSet

from autodiff_cli.autograd.hooks import RemovableHandle
from autodiff_cli.autograd.node import GradientEdge, Node, input_nodes, leaf_edge
from autodiff_cli.autograd.reverse.backward_pass import BackwardPass, Visit, current_pass, observer
from autodiff_cli.autograd.saved.packing import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import ArgumentError, GraphError
from autodiff_cli.postorder import postorder

__all__ = [
    "GradientEdge",
    "Node",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Return the gradient edge of a tensor; the edge of a leaf leads to its ``AccumulateGrad`` node.

    Raises:
        GraphError: if the tensor does not require grad.
    """
    if not tensor.requires_grad:
        raise GraphError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(*(tensor._edge or leaf_edge(tensor)))


class _MultiHandle(RemovableHandle):
    """The handles of several hooks, which are removed together."""

    def __init__(self, handles: list[RemovableHandle]) -> None:
        self._handles = handles

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[..., object], *, mode: Literal["all", "any"] = "all"
) -> _MultiHandle:
    """Register a hook that a backward pass calls once, when the gradients of the given tensors are known.

    Args:
        tensors: the tensors; in mode ``all``, each must require grad.
        fn: the hook; it takes the list of gradients in mode ``all``, with ``None`` for a tensor that the pass does not reach, and
            the first gradient in mode ``any``.
        mode: ``all`` to wait for all gradients of the backward pass, ``any`` to call ``fn`` with the first gradient.

    Raises:
        ArgumentError: if ``mode`` is neither.
        GraphError: if a tensor does not require grad, in mode ``all``.
    """
    if mode not in ("all", "any"):
        raise ArgumentError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    if mode == "any":
        called: WeakSet[BackwardPass] = WeakSet()

        def call_first(gradient: Tensor | None) -> None:
            running = _running()
            if running not in called:
                called.add(running)
                fn(gradient)

        return _MultiHandle([tensor.register_hook(call_first) for tensor in tensors if tensor.requires_grad])
    nodes = [get_gradient_edge(tensor).node for tensor in tensors]
    by_pass: WeakKeyDictionary[BackwardPass, tuple[list[Tensor | None], set[int]]] = WeakKeyDictionary()

    def collect(i: int, gradient: Tensor | None) -> None:
        running = _running()
        if running not in by_pass:
            executed = running.executed()
            by_pass[running] = [None] * len(nodes), {k for k, node in enumerate(nodes) if node in executed}
        gradients, missing = by_pass[running]
        gradients[i] = gradient
        missing.discard(i)
        if not missing:
            fn(gradients)

    return _MultiHandle([tensor.register_hook(partial(collect, i)) for i, tensor in enumerate(tensors)])


def _running() -> BackwardPass:
    running = current_pass.get()
    assert running is not None, "hooks run inside a backward pass"
    return running


@contextmanager
def observing(observe: Callable[[Visit], object]) -> Iterator[None]:
    """Call a function for each node that runs in a backward pass inside the ``with`` block, before its saved values are freed."""
    before = observer.set(observe)
    try:
        yield
    finally:
        observer.reset(before)


def nodes_behind(output: Tensor) -> list[Node]:
    """Return the nodes that a tensor depends on, except the nodes of leaves, oldest first."""
    nodes = postorder([] if output.grad_fn is None else [output.grad_fn], input_nodes)
    return sorted((node for node in nodes if node.sequence_nr), key=lambda node: node.sequence_nr)
