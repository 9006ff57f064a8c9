"""The graph of an expression as data, independent of any drawing.

Nodes are in topological order: inputs come before the nodes that use them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from autodiff_cli.command_result import CommandResult, Record, plain
from autodiff_cli.lazy import deferred

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from autodiff_cli.autograd.saved.memory_use import SavedMemory, SavedValue

    Value = NDArray[Any] | np.generic | float


LEAVES = ("variable", "constant")
KINDS = (*LEAVES, "operation", "named", "output", "more")
"""The kinds of nodes: a variable, a constant, an operation, an operation whose result has a name, the operation of the output,
and a placeholder for hidden nodes."""


@dataclass(slots=True, eq=False)
class GraphNode:
    """One node of a graph.

    Attributes:
        kind: the kind, one of ``KINDS``.
        label: the operation (``log``, ``**``, ``LogBackward0``), or the text of a constant.
        name: the name of the result, or ``%1``, ``%2``, ... if the program does not name it; empty for a literal.
        expression: the text of the node in the program.
        inputs: the positions of the inputs, in order; in a backward graph, ``None`` for an input that does not receive a gradient.
        value, grad: the value and its gradient, as arrays or numbers; ``None`` if unknown.
        requires_grad: whether a gradient flows through the node; ``None`` in a graph without values.
        count: the number of nodes that this node represents.
        saved: the values that the node saves for the backward pass; ``None`` if they were not requested.
        hooks: the number of hooks that a backward pass calls at the node.
    """

    kind: str
    label: str
    name: str = ""
    expression: str = ""
    inputs: list[int | None] = field(default_factory=list)
    value: Value | None = None
    grad: Value | None = None
    requires_grad: bool | None = None
    count: int = 1
    saved: list[SavedValue] | None = None
    hooks: int = 0

    @property
    def has_name(self) -> bool:
        """Whether the program names the result; other results have a number."""
        return self.name.isidentifier()


@dataclass(slots=True, eq=False, repr=False)
class Graph(CommandResult):
    """A graph of nodes in topological order.

    Attributes:
        nodes: the nodes; the output is the last node.
        expression: the program.
        direction: ``forward`` for values, ``backward`` for gradients.
        evaluated: whether the nodes have values.
        hidden: the number of hidden nodes.
        notes: the notes on the graph.
        memory: the memory of the saved values of all nodes; ``None`` if they were not requested.
    """

    command = "graph"
    tables = "autodiff_cli.graph_drawing.terminal:pages"
    _repr_html_ = None
    _repr_svg_ = deferred("autodiff_cli.graph_drawing.svg:to_svg")

    nodes: list[GraphNode]
    expression: str
    direction: str
    evaluated: bool
    hidden: int = 0
    notes: list[dict[str, Any]] = field(default_factory=list)
    memory: SavedMemory | None = None

    def edges(self) -> Iterator[tuple[int, int]]:
        """Yield every edge, in the order of the arguments, as the positions of an input and of the node that uses it."""
        for i, node in enumerate(self.nodes):
            yield from ((source, i) for source in node.inputs if source is not None)

    def uses(self) -> list[int]:
        """Return the number of uses of each node."""
        counts = [0] * len(self.nodes)
        for source, _ in self.edges():
            counts[source] += 1
        return counts

    def levels(self) -> list[int]:
        """Return the length of the shortest path from each node to the output; -1 for a node without a path."""
        levels = [-1] * len(self.nodes)
        reached = [len(self.nodes) - 1]
        levels[-1] = 0
        for i in reached:  # the list grows during the loop, a breadth-first search
            for source in self.nodes[i].inputs:
                if source is not None and levels[source] < 0:
                    levels[source] = levels[i] + 1
                    reached.append(source)
        return levels

    def length(self) -> int:
        """Return the total number of layers that the edges span, if each node is one layer above the closest node that uses it.

        The cost of a layout grows with this number.
        """
        layers = [0] * len(self.nodes)
        for i in range(len(self.nodes) - 1, -1, -1):
            for source in self.nodes[i].inputs:
                if source is not None:
                    layers[source] = max(layers[source], layers[i] + 1)
        return sum(layers[source] - layers[user] for source, user in self.edges())

    def content(self) -> Record:
        """Return the graph for JSON, with the memory of saved values if they were requested."""
        return {
            "expression": self.expression,
            "direction": self.direction,
            "nodes": self.records(),
            "edges": [{"from": a, "to": b} for a, b in self.edges()],
            **({} if self.memory is None else {"saved": self.memory.to_dict()}),
            "hidden": self.hidden,
            "notes": self.notes,
        }

    def records(self) -> list[dict[str, object]]:
        """Return one record for each node; ``inputs`` are positions in this list."""
        records = []
        for i, node in enumerate(self.nodes):
            record: dict[str, object] = {
                "id": i,
                "kind": node.kind,
                "label": node.label,
                "name": node.name or None,
                "expression": node.expression,
                "inputs": node.inputs,
                "count": node.count,
            }
            if self.evaluated:
                shaped = node.value if node.value is not None else node.grad  # which has the shape of the unknown value
                record |= {
                    "value": plain(node.value),
                    "shape": None if shaped is None else list(np.shape(shaped)),
                    "requires_grad": node.requires_grad,
                    "grad": plain(node.grad),
                }
            if node.saved is not None:
                record["saved"] = [value.to_dict() for value in node.saved]
            records.append(record)
        return records


def leading_to(nodes: Sequence[GraphNode], output: int) -> list[GraphNode]:
    """Return copies of the nodes that the node at position ``output`` depends on, in order, with that node last."""
    needed = {output}
    for i in range(output, -1, -1):
        if i in needed:
            needed.update(source for source in nodes[i].inputs if source is not None)
    positions: dict[int | None, int | None] = {None: None}  # the new position of each old one; an input may be None
    positions |= {old: new for new, old in enumerate(sorted(needed))}
    return [replace(nodes[i], inputs=[positions[source] for source in nodes[i].inputs]) for i in sorted(needed)]


_ANY = 10**9


class Limits(NamedTuple):
    """The maximum number of edges, the maximum number of levels, and the maximum ``Graph.length``."""

    edges: int = _ANY
    levels: int = _ANY
    length: int = _ANY


LIMITS = {
    "table": Limits(edges=200, levels=20),  # fills a few screens
    "mermaid": Limits(edges=500),  # the limit of Mermaid
    "svg": Limits(edges=4_000, length=20_000),  # the layout takes a few seconds
    "png": Limits(edges=1_000, levels=100, length=20_000),  # a taller bitmap would take gigabytes of memory
}
"""The limits of each format; formats for data are not limited."""
LONGEST = 200_000
"""The maximum ``Graph.length`` of an SVG, even if the user lifts the limits; its layout takes ten seconds."""
LONG = 1_000
"""Graphs above this ``Graph.length`` are drawn with ``HURRY``; without it, Graphviz takes minutes to straighten the edges."""
HURRY = "nslimit=1; mclimit=0.2;"
