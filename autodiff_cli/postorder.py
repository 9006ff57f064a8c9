"""The one walk over graphs: without recursion, as a chain of 100,000 operations is normal input."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

Item = TypeVar("Item", bound=Hashable)


def postorder(roots: Iterable[Item], inputs: Callable[[Item], Iterable[Item]]) -> list[Item]:
    """Return everything that the roots lead to, each item once and behind all of its inputs.

    Args:
        roots: where to begin.
        inputs: the items that one leads to.
    """
    order: list[Item] = []
    met: set[Item] = set()
    path: list[Item] = []
    stack: list[Item | None] = [*reversed([*roots])]  # None: the inputs of the last item of the path are done
    while stack:
        item = stack.pop()
        if item is None:
            order.append(path.pop())
        elif item not in met:
            met.add(item)
            path.append(item)
            stack.append(None)
            stack += reversed([*inputs(item)])
    return order
