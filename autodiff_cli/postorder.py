"""The postorder traversal of graphs, without recursion, because a chain of 100,000 operations is normal input."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

Item = TypeVar("Item", bound=Hashable)


def postorder(roots: Iterable[Item], inputs: Callable[[Item], Iterable[Item]]) -> list[Item]:
    """Return every item that can be reached from the roots, each once and after all of its inputs, which ``inputs`` returns."""
    order: list[Item] = []
    visited: set[Item] = set()
    path: list[Item] = []  # from a root to the current item
    stack: list[Item | None] = [*reversed([*roots])]  # what comes next; None says that all inputs of path[-1] are in the order
    while stack:
        item = stack.pop()
        if item is None:
            order.append(path.pop())
        elif item not in visited:
            visited.add(item)
            path.append(item)
            stack.append(None)
            stack += reversed([*inputs(item)])  # so that the first input is visited first
    return order
