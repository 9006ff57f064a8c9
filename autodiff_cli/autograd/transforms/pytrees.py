"""Nested structures of arguments and results: tuples, named tuples, lists and dictionaries with tensors as their leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from autodiff_cli.errors import GraphError

Tree = Any
"""A leaf, or a tuple, list or dictionary of trees."""


def is_node(tree: Tree) -> bool:
    """Return whether a tree is a tuple, a list or a dictionary rather than a leaf."""
    return isinstance(tree, (tuple, list, dict))


def children(tree: Tree) -> Sequence[Tree]:
    """Return the children of a node, of a dictionary its values."""
    return list(tree.values()) if isinstance(tree, dict) else tree


def with_children(tree: Tree, parts: Iterable[Tree]) -> Tree:
    """Return a node of the same kind, such as the same named tuple (``_fields``), with other children."""
    if isinstance(tree, dict):
        return type(tree)(zip(tree, parts, strict=True))
    return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)


def leaves(tree: Tree) -> list[Any]:
    """Return the leaves of a tree in order."""
    result, waiting = [], [tree]
    while waiting:
        node = waiting.pop()
        if is_node(node):
            waiting.extend(reversed(children(node)))
        else:
            result.append(node)
    return result


def rebuilt(tree: Tree, new_leaves: Iterable[Any]) -> Tree:
    """Return a tree of the same structure with other leaves: ``new_leaves`` has one for each leaf, in order."""
    rest: Iterator[Any] = iter(new_leaves)
    # A depth-first walk: the nodes on the path to the current leaf with their remaining children, and their rebuilt children.
    # The first of them is a stand-in, whose only child is the tree.
    open_nodes: list[tuple[Tree, Iterator[Tree]]] = [((), iter((tree,)))]
    done: list[list[Tree]] = [[]]
    while True:
        node, remaining = open_nodes[-1]
        for child in remaining:
            if is_node(child):
                open_nodes.append((child, iter(children(child))))
                done.append([])
                break
            done[-1].append(next(rest))
        else:  # no children remain: the node is complete
            open_nodes.pop()
            parts = done.pop()
            if not open_nodes:
                return parts[0]
            done[-1].append(with_children(node, parts))


def mapped(function: Callable[[Any], Any], tree: Tree) -> Tree:
    """Return a tree of the same structure whose leaves are ``function(leaf)``."""
    return rebuilt(tree, map(function, leaves(tree)))


def structure(tree: Tree) -> str:
    """Return the structure of a tree as text, in which a leaf is ``*``."""
    return repr(mapped(lambda _: _LEAF, tree))


class _Leaf:
    __slots__ = ()

    def __repr__(self) -> str:
        return "*"


_LEAF = _Leaf()


def broadcast(prefix: Tree, tree: Tree) -> list[Any] | None:
    """Return one value for each leaf of ``tree`` from a prefix: a leaf of the prefix holds for all leaves below it.

    The result is ``None`` if the structures do not fit.
    """
    values: list[Any] = []
    waiting = [(prefix, tree)]
    while waiting:
        value, below = waiting.pop()
        if not is_node(value):
            values += [value] * len(leaves(below))  # for all leaves below it
        elif type(value) is not type(below) or len(value) != len(below):
            return None
        elif isinstance(value, dict):
            if set(value) != set(below):
                return None
            waiting.extend(reversed([(value[key], below[key]) for key in below]))
        else:
            waiting.extend(reversed(list(zip(value, below, strict=True))))  # the first pair is popped first
    return values


def argument_positions(argnums: int | Sequence[int], count: int) -> tuple[int, ...]:
    """Return the positions of the arguments that ``argnums`` names; raise GraphError unless they exist and are distinct."""
    if isinstance(argnums, int):
        return (_position(argnums, count),)
    if not isinstance(argnums, tuple):
        raise GraphError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    if not argnums:
        raise GraphError("argnums must be non-empty")
    if len(set(argnums)) != len(argnums):
        raise GraphError(f"argnums elements must be unique, got {argnums}")
    return tuple(_position(number, count) for number in argnums)


def _position(number: int, count: int) -> int:
    """Return the position of one of ``count`` arguments, counted from the front; -1 means the last argument."""
    if not isinstance(number, int):
        raise GraphError(f"argnum must be int, got: {type(number)}")
    if not -count <= number < count:
        raise GraphError(f"Got argnum={number}, but only {count} positional inputs")
    return number % count
