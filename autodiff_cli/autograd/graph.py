"""The recorded graph: PyTorch's ``torch.autograd.graph``, and a log of the nodes that a backward pass runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal, NamedTuple

from autodiff_cli.autograd.hooks import RemovableHandle
from autodiff_cli.autograd.memory import mark_changed
from autodiff_cli.autograd.node import GradientEdge, Node, input_nodes, leaf_edge
from autodiff_cli.autograd.saved.hooks import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks
from autodiff_cli.autograd.saved.mutation import allow_mutation_on_saved_tensors
from autodiff_cli.autograd.tensor import Tensor, root_of
from autodiff_cli.errors import ArgumentError, GraphError
from autodiff_cli.postorder import postorder

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
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
        raise GraphError("It is not possible to get the gradient edge for a Tensor that does not require gradients.")
    edge = tensor._edge or leaf_edge(tensor)
    if edge is None:
        raise GraphError("Expected gradient function to be set", hint="the tensor is a view that was created in no_grad mode")
    return GradientEdge(*edge)


def increment_version(tensor: Tensor | Sequence[Tensor]) -> None:
    """Count an in-place change that was made to a tensor outside autograd."""
    for one in _listed(tensor):
        if not one._inference:
            mark_changed(one)


@contextmanager
def preserve_versions(tensors: Tensor | Sequence[Tensor]) -> Iterator[None]:
    """Restore the version counters of tensors at the end of a ``with`` block: PyTorch's ``_unsafe_preserve_version_counter``.

    A backward pass does not notice the changes that were made in the block.
    """
    owners = [root_of(tensor).extra() for tensor in _listed(tensors)]
    before = [(owner.version, None if owner.changes is None else owner.changes.copy()) for owner in owners]
    try:
        yield
    finally:
        for owner, (version, changes) in zip(owners, before, strict=True):
            owner.version, owner.changes = version, changes


def _listed(tensors: Tensor | Sequence[Tensor]) -> list[Tensor]:
    try:
        return [tensors] if isinstance(tensors, Tensor) else list(tensors)
    except TypeError:
        raise ArgumentError("increment_version expect a Iterable[Tensor] as input") from None


class _Handles:
    """The handles of several hooks, which are removed together."""

    def __init__(self, handles: list[RemovableHandle]) -> None:
        self._handles = handles

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[..., None], *, mode: Literal["all", "any"] = "all"
) -> _Handles:
    """Register a hook that runs when the gradients of the given tensors are known.

    Args:
        tensors: the tensors, each of which must require grad.
        fn: the hook; it takes the list of gradients in mode ``all``, and the first gradient in mode ``any``.
        mode: ``all`` to wait for all gradients of a backward pass, ``any`` to call ``fn`` with the first gradient.
    """
    found: dict[int, Tensor] = {}

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


class Visit(NamedTuple):
    """A node that a backward pass ran.

    Attributes:
        node: the node.
        gradients: the gradient of each output, ``None`` for an unused output.
        parts: for each edge, the contribution to the gradient of the input, or ``None`` if it was not needed; a contribution
            may still have the broadcast shape of the output.
    """

    node: Node
    gradients: Sequence[Tensor | None]
    parts: Sequence[Tensor | None]


@contextmanager
def watching(output: Tensor) -> Iterator[list[Visit]]:
    """Record the nodes that run in backward passes from ``output`` inside the ``with`` block, in execution order."""
    visits: list[Visit] = []

    def watch(node: Node) -> RemovableHandle:
        return node.register_hook(lambda parts, gradients: visits.append(Visit(node, gradients, parts)))

    handles = _Handles([watch(node) for node in nodes_behind(output)])
    try:
        yield visits
    finally:
        handles.remove()


def nodes_behind(output: Tensor) -> list[Node]:
    """Return the nodes that a tensor depends on, except the nodes of leaves, oldest first."""
    found = postorder([] if output.grad_fn is None else [output.grad_fn], input_nodes)
    return sorted((node for node in found if node.sequence_nr), key=lambda node: node.sequence_nr)
