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
    counts = Counter(owners.values())
    visible: list[GraphNode] = []
    at: dict[int, int] = {}  # the new positions of the nodes
    stubs: dict[int, int] = {}  # the positions of the placeholders, by the owner of the hidden nodes
    for i, count in counts.items():
        stubs[i] = len(visible)
        visible.append(GraphNode("more", f"{count:,} more", count=count, requires_grad=_flows(graph, i, levels, depth)))
    for i, node in enumerate(graph.nodes):
        if levels[i] > depth:
            continue
        inputs: list[int | None] = []
        for source in node.inputs:
            if source is None or levels[source] <= depth:
                inputs.append(None if source is None else at[source])
            elif stubs[owners[source]] not in inputs:
                inputs.append(stubs[owners[source]])
        at[i] = len(visible)
        visible.append(replace(node, inputs=inputs))
    return replace(graph, nodes=visible, hidden=graph.hidden + len(owners))


def _owners(graph: Graph, levels: Sequence[int], depth: int) -> dict[int, int]:
    """Return the owner of each node below ``depth``: the last node at this depth that it leads to."""
    owners: dict[int, int] = {}
    for start in range(len(graph.nodes) - 1, -1, -1):
        stack = [start] if levels[start] == depth else []
        while stack:
            for source in graph.nodes[stack.pop()].inputs:
                if source is not None and levels[source] > depth and source not in owners:
                    owners[source] = start
                    stack.append(source)
    return owners


def _flows(graph: Graph, i: int, levels: Sequence[int], depth: int) -> bool | None:
    """Return whether a gradient flows to an input of a node deeper than ``depth``; ``None`` if it is unknown for one."""
    flows = [graph.nodes[source].requires_grad for source in graph.nodes[i].inputs if source is not None and levels[source] > depth]
    return None if None in flows else any(flows)


def readable(graph: Graph, most_edges: int, most_levels: int, most_length: int) -> Graph:
    """Return the part near the output, of at least one level, within the limits on edges, levels and ``Graph.length``."""
    depth = deepest(graph, most_edges, most_levels)
    small = cut(graph, depth)
    while depth > 1 and small.length() > most_length:
        depth = max(depth * 3 // 4, 1)  # so that few trials suffice
        small = cut(graph, depth)
    return small


def deepest(graph: Graph, most_edges: int, most_levels: int) -> int:
    """Return the greatest depth that does not exceed the limits on edges and levels, but at least 1."""
    counts = Counter[int]()  # the number of inputs of the nodes of each level
    for node, level in zip(graph.nodes, graph.levels(), strict=True):
        counts[level] += len(node.inputs)
    edges = 0
    for level in range(len(counts)):
        edges += counts[level]
        if level >= 1 and (level >= most_levels or edges > most_edges):
            return level
    return len(counts)
