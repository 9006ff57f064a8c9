"""The part of a graph near its output: nodes that are far from the output are hidden."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from autodiff_cli.graph_drawing.model import Graph, GraphNode


def cut(graph: Graph, depth: int) -> Graph:
    """Return the part of a graph within ``depth`` steps of the output; each cut branch ends in a placeholder for hidden nodes."""
    levels = graph.levels()
    if max(levels) <= depth:
        return graph
    owners = _owners(graph, levels, depth)
    hidden_counts = Counter(owners.values())
    placeholders = {owner: number for number, owner in enumerate(hidden_counts)}  # their new positions, first of all
    parts = [_placeholder(graph, owner, count, levels, depth) for owner, count in hidden_counts.items()]
    positions: dict[int, int] = {}  # the new position of each visible node, after the placeholders
    for i, node in enumerate(graph.nodes):
        if levels[i] > depth:
            continue
        inputs: list[int | None] = []
        for source in node.inputs:
            if source is None or levels[source] <= depth:
                inputs.append(None if source is None else positions[source])
            elif placeholders[owners[source]] not in inputs:  # of hidden inputs that share a placeholder, the first adds it
                inputs.append(placeholders[owners[source]])
        positions[i] = len(parts)
        parts.append(replace(node, inputs=inputs))
    return replace(graph, nodes=parts, hidden=graph.hidden + len(owners))


def _owners(graph: Graph, levels: Sequence[int], depth: int) -> dict[int, int]:
    """Return the owner of each hidden node, below ``depth``: of the nodes at this depth that use it, directly or not, the last."""
    owners: dict[int, int] = {}
    for start in range(len(graph.nodes) - 1, -1, -1):  # from the last, so that it takes all hidden nodes behind it
        stack = [start] if levels[start] == depth else []
        while stack:
            for source in graph.nodes[stack.pop()].inputs:
                if source is not None and levels[source] > depth and source not in owners:
                    owners[source] = start
                    stack.append(source)
    return owners


def _placeholder(graph: Graph, owner: int, count: int, levels: Sequence[int], depth: int) -> GraphNode:
    """Return the node that stands for ``count`` hidden nodes behind ``owner``; gradients flow to it as to its hidden inputs."""
    hidden = [graph.nodes[source] for source in graph.nodes[owner].inputs if source is not None and levels[source] > depth]
    flows = [node.requires_grad for node in hidden]
    return GraphNode("more", f"{count:,} more", count=count, requires_grad=None if None in flows else any(flows))


def readable(graph: Graph, most_edges: int, most_levels: int, most_length: int) -> Graph:
    """Return the part near the output, of at least one level, within the limits on edges, levels and ``Graph.length``."""
    depth = deepest_level(graph, most_edges, most_levels)
    small = cut(graph, depth)
    while depth > 1 and small.length() > most_length:
        depth = max(depth * 3 // 4, 1)  # so that few trials suffice
        small = cut(graph, depth)
    return small


def deepest_level(graph: Graph, most_edges: int, most_levels: int) -> int:
    """Return the greatest depth whose part of a graph is within the limits on edges and levels, but at least 1."""
    edges_of_level = Counter[int]()  # those that lead to the nodes of a level, from its inputs in the next
    for node, level in zip(graph.nodes, graph.levels(), strict=True):
        edges_of_level[level] += len(node.inputs)
    edges = 0
    for level in range(len(edges_of_level)):
        edges += edges_of_level[level]
        if level >= 1 and (level >= most_levels or edges > most_edges):
            return level  # its edges lead to placeholders, of which there are few
    return len(edges_of_level)
