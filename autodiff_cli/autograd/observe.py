"""What a sweep does, node by node, seen by hooks: for those who explain it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from autodiff_cli.autograd.node import Node
from autodiff_cli.autograd.tensor import Tensor


class Visit:
    """One node that a sweep ran.

    Attributes:
        node: the node.
        gradients: for each of its outputs the gradient that arrived, ``None`` where nothing did.
        parts: for each of its edges what its rule handed on, ``None`` where nobody asked; a part may still have the shape of
            the output that an input was broadcast to.
    """

    __slots__ = ("gradients", "node", "parts")

    def __init__(self, node: Node, gradients: Sequence[Tensor | None], parts: Sequence[Tensor | None]) -> None:
        self.node = node
        self.gradients = gradients
        self.parts = parts


@contextmanager
def watching(output: Tensor) -> Iterator[list[Visit]]:
    """The nodes that sweeps from ``output`` run inside of the block, in the order in which they run."""
    visits: list[Visit] = []

    def watch(node: Node) -> Any:
        return node.register_hook(lambda parts, gradients: visits.append(Visit(node, gradients, parts)))

    handles = [watch(node) for node in nodes_behind(output)]
    try:
        yield visits
    finally:
        for handle in handles:
            handle.remove()


def nodes_behind(output: Tensor) -> list[Node]:
    """Every node that a tensor was made by, without those of leaves, the oldest first."""
    found: set[Node] = set()
    stack = [] if output.grad_fn is None else [output.grad_fn]
    while stack:
        node = stack.pop()
        if node not in found:
            found.add(node)
            stack += [following for following, _ in node.next_functions if following is not None and following.sequence_nr]
    return sorted(found, key=lambda node: node.sequence_nr)
