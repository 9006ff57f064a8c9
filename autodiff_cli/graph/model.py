"""The graph of an expression as data: what is drawn, whoever draws it.

Nodes are in an order in which inputs come before what uses them, so that whoever needs an order has one and nobody sorts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from autodiff_cli.evaluation.evaluation import plain
from autodiff_cli.evaluation.tensor_log import TensorLog

LEAVES = ("variable", "constant")
KINDS = (*LEAVES, "operation", "named", "group", "output", "more")
"""What a node is: a variable, a constant, an operation, an operation whose result has a name, several operations shown as
one, the one that makes the output, and what was left out."""

Call = tuple[int, str]
"""The outermost call of a function of the program that something was made in: its number, and its text."""


class GraphNode:
    """One node.

    Attributes:
        kind: one of ``KINDS``.
        label: what is done (``log``, ``**``, ``LogBackward0``), or the text of a constant.
        name: what the program calls the result, ``%1`` and so on if it has no name; empty for a literal.
        expression: the text that it stands for.
        inputs: the positions of the nodes that it takes, in order; ``None`` where no gradient flows (backward graphs).
        value, grad: arrays, or ``None`` where unknown.
        requires_grad: whether a gradient flows through it; ``None`` without values.
        count: how many nodes it stands for.
        call: the outermost call of a function of the program that it was made in.
    """

    __slots__ = ("call", "count", "expression", "grad", "inputs", "kind", "label", "name", "requires_grad", "value")

    def __init__(self, kind: str, label: str, name: str = "", expression: str = "", inputs: Sequence[int | None] = ()) -> None:
        self.kind = kind
        self.label = label
        self.name = name
        self.expression = expression
        self.inputs = list(inputs)
        self.value: Any = None
        self.grad: Any = None
        self.requires_grad: bool | None = None
        self.count = 1
        self.call: Call | None = None

    @property
    def has_name(self) -> bool:
        """Whether the program gave it a name, rather than a number."""
        return self.name.isidentifier()

    def moved(self, inputs: Sequence[int | None]) -> GraphNode:
        """The same node with other inputs."""
        made = GraphNode(self.kind, self.label, self.name, self.expression, inputs)
        made.value, made.grad, made.requires_grad, made.count, made.call = (
            self.value,
            self.grad,
            self.requires_grad,
            self.count,
            self.call,
        )
        return made


class Graph:
    """Nodes in order, the last of which is the output.

    Attributes:
        direction: ``forward`` for values, ``backward`` for gradients.
        expression: the program.
        evaluated: whether there are values.
        hidden: how many nodes were left out.
    """

    def __init__(self, nodes: Sequence[GraphNode], expression: str, direction: str, evaluated: bool, hidden: int = 0) -> None:
        self.nodes = list(nodes)
        self.expression = expression
        self.direction = direction
        self.evaluated = evaluated
        self.hidden = hidden

    def like(self, nodes: Sequence[GraphNode], hidden: int = 0) -> Graph:
        """Other nodes of the same expression."""
        return Graph(nodes, self.expression, self.direction, self.evaluated, self.hidden + hidden)

    def edges(self) -> Iterator[tuple[int, int]]:
        """Every edge, from the node that is taken to the one that takes it, in the order of the arguments."""
        for i, node in enumerate(self.nodes):
            yield from ((given, i) for given in node.inputs if given is not None)

    def uses(self) -> list[int]:
        """How often each node is taken."""
        counts = [0] * len(self.nodes)
        for given, _ in self.edges():
            counts[given] += 1
        return counts

    def levels(self) -> list[int]:
        """How far each node is from the output, by the shortest way."""
        levels = [-1] * len(self.nodes)
        reached = [len(self.nodes) - 1]
        levels[-1] = 0
        for i in reached:  # grows while it is read
            for given in self.nodes[i].inputs:
                if given is not None and levels[given] < 0:
                    levels[given] = levels[i] + 1
                    reached.append(given)
        return levels

    def length(self) -> int:
        """How many layers all edges span together, if each node stands right behind the last that uses it.

        That is what laying a graph out costs, rather than the number of its nodes: every layer that an edge passes is work.
        """
        layers = [0] * len(self.nodes)
        for i in range(len(self.nodes) - 1, -1, -1):
            for given in self.nodes[i].inputs:
                if given is not None:
                    layers[given] = max(layers[given], layers[i] + 1)
        return sum(layers[given] - layers[user] for given, user in self.edges())

    def to_dict(self) -> dict[str, Any]:
        """The JSON object, with numbers that are not finite still as floats."""
        return {
            "schema": 1,
            "command": "graph",
            "expression": self.expression,
            "direction": self.direction,
            "nodes": self.records(),
            "edges": [{"from": a, "to": b} for a, b in self.edges()],
            "hidden": self.hidden,
        }

    def records(self) -> list[dict[str, Any]]:
        """One record for each node; ``inputs`` are positions in this list."""
        records = []
        for i, node in enumerate(self.nodes):
            record: dict[str, Any] = {
                "id": i,
                "kind": node.kind,
                "label": node.label,
                "name": node.name or None,
                "expression": node.expression,
                "inputs": node.inputs,
                "count": node.count,
            }
            if self.evaluated:
                shaped = node.value if node.value is not None else node.grad
                record |= {
                    "value": plain(node.value),
                    "shape": None if shaped is None else list(getattr(shaped, "shape", ())),
                    "requires_grad": node.requires_grad,
                    "grad": plain(node.grad),
                }
            records.append(record)
        return records


def leading_to(nodes: Sequence[GraphNode], output: int) -> list[GraphNode]:
    """The nodes that lead to one of them, in order, which becomes the last."""
    wanted = {output}
    for i in range(output, -1, -1):
        if i in wanted:
            wanted.update(given for given in nodes[i].inputs if given is not None)
    order = sorted(wanted)
    at = {old: new for new, old in enumerate(order)}
    return [nodes[i].moved([None if given is None else at[given] for given in nodes[i].inputs]) for i in order]


def outermost_calls(tensors: TensorLog) -> Iterator[Call | None]:
    """For each step of a trace the call that it was made in."""
    at = 0
    for number, (node, start, end) in enumerate(sorted(tensors.calls, key=lambda call: (call[1], -call[2]))):
        if start < at or start == end:
            continue
        yield from (None for _ in range(at, start))
        call = (number, tensors.text(node.span))
        yield from (call for _ in range(start, end))
        at = end
    yield from (None for _ in range(at, tensors.mark()))
