"""The recorded graph: PyTorch's ``torch.autograd.graph``, and a log of the nodes that a backward pass runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from autodiff_cli.autograd.node import GradientEdge, Node, input_nodes, leaf_edge
from autodiff_cli.autograd.reverse.backward_pass import Visit, observer
from autodiff_cli.autograd.saved.packing import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import GraphError
from autodiff_cli.postorder import postorder

__all__ = ["GradientEdge", "Node", "disable_saved_tensors_hooks", "get_gradient_edge", "save_on_cpu", "saved_tensors_hooks"]


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Return the gradient edge of a tensor; the edge of a leaf leads to its ``AccumulateGrad`` node.

    Raises:
        GraphError: if the tensor does not require grad.
    """
    if not tensor.requires_grad:
        raise GraphError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(*(tensor._edge or leaf_edge(tensor)))


@contextmanager
def observing(observe: Callable[[Visit], object]) -> Iterator[None]:
    """Call a function for each node that runs in a backward pass inside the ``with`` block, before its saved values are freed."""
    before = observer.set(observe)
    try:
        yield
    finally:
        observer.reset(before)


def nodes_behind(output: Tensor) -> list[Node]:
    """Return the nodes that a tensor depends on, oldest first, without the nodes of leaves, whose number is 0."""
    nodes = postorder([] if output.grad_fn is None else [output.grad_fn], input_nodes)
    return sorted((node for node in nodes if node.sequence_nr), key=lambda node: node.sequence_nr)
