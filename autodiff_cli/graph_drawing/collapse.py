"""Reduction of graphs: show several nodes as one, and hide nodes that are far from the output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from autodiff_cli.errors import UsageError
from autodiff_cli.graph_drawing.model import LEAVES, Graph, GraphNode

if TYPE_CHECKING:
    from autodiff_cli.autograd.saved.memory import SavedValue
from autodiff_cli.suggest import suggestion

WAYS = ("functions", "names", "chains")
_MOST_LABELS = 3


def collapse(graph: Graph, ways: Sequence[str]) -> Graph:
    """Return a graph in which groups of nodes are replaced with single nodes.

    Args:
        graph: the graph.
        ways: any of ``functions`` (each call to a function that the program defines becomes one node), ``names`` (a node
            without a name, except the output, is merged with the nodes that use it if these form one node) and ``chains`` (a
            sequence of operations with one input each, not counting constants, becomes one node).

    Raises:
        UsageError: if ``ways`` contains any other string.
    """
    for way in ways:
        if way not in WAYS:
            raise UsageError(f"unknown way to collapse '{way}'", hint=suggestion(way, WAYS) or f"use {', '.join(WAYS)}")
        graph = {"functions": _functions, "names": _names, "chains": _chains}[way](graph)
    return graph


def _functions(graph: Graph) -> Graph:
    heads: dict[int, int] = {}
    for i, node in enumerate(graph.nodes):
        if node.call is not None:
            heads[node.call[0]] = i
    group = [i if node.call is None else heads[node.call[0]] for i, node in enumerate(graph.nodes)]
    _take_constants(graph, group)
    calls = [(head, graph.nodes[head].call) for head in heads.values()]
    return _grouped(graph, group, {head: call[1] for head, call in calls if call is not None})


def _names(graph: Graph) -> Graph:
    stays = [node.kind in ("variable", "output") or node.has_name for node in graph.nodes]
    group = _with_users(graph, stays)
    return _grouped(graph, group, {})


def _chains(graph: Graph) -> Graph:
    uses = graph.uses()
    nodes = graph.nodes
    group = list(range(len(nodes)))
    for i in range(len(nodes) - 1, -1, -1):
        taken = [given for given in nodes[i].inputs if given is not None and nodes[given].kind != "constant"]
        single = len(taken) == 1
        if single and nodes[i].kind not in LEAVES and nodes[taken[0]].kind in ("operation", "group") and uses[taken[0]] == 1:
            below = [g for g in nodes[taken[0]].inputs if g is not None and nodes[g].kind != "constant"]
            if len(below) == 1:
                group[taken[0]] = group[i]
    _take_constants(graph, group)
    labels = {}
    members: dict[int, list[str]] = {}
    for i, node in enumerate(nodes):
        if node.kind != "constant":
            members.setdefault(group[i], []).append(node.label)
    for head, names in members.items():
        if len(names) > 1:
            more = len(names) - _MOST_LABELS
            shown = names if more <= 1 else [*names[: _MOST_LABELS - 1], "...", names[-1]]
            labels[head] = ", ".join(shown)
    return _grouped(graph, group, labels)


def _with_users(graph: Graph, stays: Sequence[bool]) -> list[int]:
    """Return the group of each node: the group of its users if all of them are in one group, else a new group."""
    group = list(range(len(graph.nodes)))
    of_users: list[set[int]] = [set() for _ in graph.nodes]
    for i in range(len(graph.nodes) - 1, -1, -1):
        if not stays[i] and len(of_users[i]) == 1:
            group[i] = next(iter(of_users[i]))
        for given in graph.nodes[i].inputs:
            if given is not None:
                of_users[given].add(group[i])
    return group


def _take_constants(graph: Graph, group: list[int]) -> None:
    """Add literals to the groups that use them."""
    sizes: dict[int, int] = {}
    for head in group:
        sizes[head] = sizes.get(head, 0) + 1
    for given, user in graph.edges():
        node = graph.nodes[given]
        if node.kind == "constant" and not node.name and sizes[group[user]] > 1:
            group[given] = group[user]


def _grouped(graph: Graph, group: Sequence[int], labels: dict[int, str]) -> Graph:
    """Return a graph with one node for each group; the node has the name of the last member of the group."""
    inputs: dict[int, list[int | None]] = {}
    counts: dict[int, int] = {}
    hooks: dict[int, int] = {}
    saved: dict[int, list[SavedValue]] = {}
    for i, node in enumerate(graph.nodes):
        head = group[i]
        saved.setdefault(head, []).extend(node.saved or ())
        counts[head] = counts.get(head, 0) + node.count
        hooks[head] = hooks.get(head, 0) + node.hooks
        inputs.setdefault(head, []).extend(
            given if given is None else group[given] for given in node.inputs if given is None or group[given] != head
        )
    order = sorted(counts)
    at = {head: i for i, head in enumerate(order)}
    merged = []
    for head in order:
        node = graph.nodes[head]
        alone = counts[head] == node.count and head not in labels
        wanted = inputs[head] if alone else [i for i in dict.fromkeys(inputs[head]) if i is not None]
        new = replace(node, inputs=[None if i is None else at[i] for i in wanted], count=counts[head], hooks=hooks[head])
        new.saved = None if graph.memory is None else saved[head]
        if not alone:
            new.label = labels.get(head, new.expression or new.label)
            new.expression = new.expression if node.call is None or head not in labels else new.label
            new.kind = "group" if new.kind == "operation" else new.kind
        merged.append(new)
    return replace(graph, nodes=merged)


def cut(graph: Graph, depth: int) -> Graph:
    """Return the part of a graph within ``depth`` steps of the output; each cut branch ends in a placeholder for hidden nodes."""
    levels = graph.levels()
    if max(levels) <= depth:
        return graph
    owner = [-1] * len(graph.nodes)
    hidden: dict[int, int] = {}
    for i in range(len(graph.nodes) - 1, -1, -1):
        if levels[i] == depth:
            hidden[i] = _claim(graph, i, levels, depth, owner)
    shown: list[GraphNode] = []
    at: dict[int, int] = {}
    stubs: dict[int, int] = {}
    for i, count in hidden.items():
        if count:
            stubs[i] = len(shown)
            shown.append(GraphNode("more", f"{count:,} more", count=count, requires_grad=_flows(graph, i, levels, depth)))
    for i, node in enumerate(graph.nodes):
        if levels[i] > depth:
            continue
        inputs: list[int | None] = []
        for given in node.inputs:
            if given is None or levels[given] <= depth:
                inputs.append(None if given is None else at[given])
            elif stubs[owner[given]] not in inputs:
                inputs.append(stubs[owner[given]])
        at[i] = len(shown)
        shown.append(replace(node, inputs=inputs))
    return replace(graph, nodes=shown, hidden=graph.hidden + sum(hidden.values()))


def _claim(graph: Graph, start: int, levels: Sequence[int], depth: int, owner: list[int]) -> int:
    """Make a node the owner of the hidden nodes behind it that do not have an owner; return the number of these nodes."""
    stack, count = [start], 0
    while stack:
        for given in graph.nodes[stack.pop()].inputs:
            if given is not None and levels[given] > depth and owner[given] < 0:
                owner[given] = start
                count += 1
                stack.append(given)
    return count


def _flows(graph: Graph, i: int, levels: Sequence[int], depth: int) -> bool | None:
    """Return whether a gradient flows to the hidden inputs of a node; ``None`` if unknown."""
    flows = [graph.nodes[given].requires_grad for given in graph.nodes[i].inputs if given is not None and levels[given] > depth]
    return None if None in flows else any(flows)


def readable(graph: Graph, most_edges: int, most_levels: int, most_length: int) -> Graph:
    """Return the part of a graph near the output that does not exceed the limits on edges, levels and ``Graph.length``."""
    depth = deepest(graph, most_edges, most_levels)
    small = cut(graph, depth)
    while depth > 1 and small.length() > most_length:
        depth = max(depth * 3 // 4, 1)
        small = cut(graph, depth)
    return small


def deepest(graph: Graph, most_edges: int, most_levels: int) -> int:
    """Return the greatest depth that does not exceed the limits on edges and levels, but at least 1."""
    below: dict[int, int] = {}
    for node, level in zip(graph.nodes, graph.levels(), strict=True):
        below[level] = below.get(level, 0) + len(node.inputs)
    shown = 0
    for level in range(len(below)):
        shown += below[level]
        if level >= 1 and (level >= most_levels or shown > most_edges):
            return level
    return len(below)
