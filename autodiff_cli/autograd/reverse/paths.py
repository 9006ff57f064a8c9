"""The paths of a graph that a backward pass takes."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

from autodiff_cli.autograd.node import Edge, Node

_age = attrgetter("sequence_nr")


def nodes_towards(starts: Iterable[Node], targets: Iterable[Edge]) -> set[Node]:
    """Return the nodes on the paths from ``starts`` to ``targets``, with both ends."""
    ends = {node for node, _ in targets}
    oldest = min(map(_age, ends), default=0)
    nodes = {node for node in starts if node.sequence_nr >= oldest}
    reached = list(nodes)
    for node in reached:
        for edge in node._edges:
            # The inputs of a node are older than the node: no path leads from a node older than all targets to a target.
            if edge is not None and (below := edge[0]) not in nodes and below.sequence_nr >= oldest:
                nodes.add(below)
                reached.append(below)
    needed = ends & nodes
    reached.sort(key=_age)
    for node in reached:
        for edge in node._edges:
            if edge is not None and edge[0] in needed:
                needed.add(node)
                break
    return needed
