"""The paths of a graph that a backward pass takes."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from operator import attrgetter

from autodiff_cli.autograd.node import Edge, Node, input_nodes
from autodiff_cli.postorder import postorder

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


def count_edges_to_leaves(starts: Iterable[Node], needed: Collection[Node] | None) -> dict[Node, int]:
    """Return, for each leaf, the number of edges that lead to it from the nodes that can be reached from ``starts``."""
    counts: dict[Node, int] = {}

    def inputs(node: Node) -> list[Node]:
        return [source for source in input_nodes(node) if needed is None or source in needed]

    for node in postorder(starts, inputs):
        for target in inputs(node):
            if target.sequence_nr == 0:
                counts[target] = counts.get(target, 0) + 1
    return counts
