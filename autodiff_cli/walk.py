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
    stack = [(root, False) for root in reversed(list(roots))]
    while stack:
        item, done = stack.pop()
        if done:
            order.append(item)
        elif item not in met:
            met.add(item)
            stack.append((item, True))
            stack.extend((each, False) for each in reversed(list(inputs(item))) if each not in met)
    return order
