"""The graph of an expression as data, independent of how it is drawn.

Nodes are in topological order: inputs come before the nodes that use them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff_cli.command_result import CommandResult, Record, plain
from autodiff_cli.evaluation.tensor_log import TensorLog

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Value = NDArray[Any] | np.generic | float

LEAVES = ("variable", "constant")
KINDS = (*LEAVES, "operation", "named", "group", "output", "more")
"""The kinds of nodes: a variable, a constant, an operation, an operation whose result has a name, several operations shown
as one, the operation of the output, and the place of nodes that are left out."""

Call = tuple[int, str]
"""The number and the text of a call of a function that the program defines."""


@dataclass(slots=True, eq=False)
class GraphNode:
    """One node.

    Attributes:
        kind: one of ``KINDS``.
        label: the operation (``log``, ``**``, ``LogBackward0``), or the text of a constant.
        name: the name of the result, ``%1`` and so on if the program gives it none; empty for a literal.
        expression: the text of the node in the program.
        inputs: the positions of its inputs, in order; ``None`` where no gradient flows (backward graphs).
        value, grad: arrays or numbers; ``None`` if unknown.
        requires_grad: whether a gradient flows through it; ``None`` without values.
        count: the number of nodes that it stands for.
        call: the outermost call of a function of the program around it.
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
    call: Call | None = None

    @property
    def has_name(self) -> bool:
        """Whether the program gives it a name, rather than a number."""
        return self.name.isidentifier()


@dataclass(slots=True, eq=False)
class Graph(CommandResult):
    """Nodes in topological order, the last of which is the output.

    Attributes:
        nodes: in order.
        expression: the program.
        direction: ``forward`` for values, ``backward`` for gradients.
        evaluated: whether there are values.
        hidden: the number of nodes that are left out.
        notes: what the user should know.
    """

    command = "graph"

    nodes: list[GraphNode]
    expression: str
    direction: str
    evaluated: bool
    hidden: int = 0
    notes: list[dict[str, Any]] = field(default_factory=list)

    def edges(self) -> Iterator[tuple[int, int]]:
        """Yield every edge, from an input to the node that uses it, in the order of the arguments."""
        for i, node in enumerate(self.nodes):
            yield from ((given, i) for given in node.inputs if given is not None)

    def uses(self) -> list[int]:
        """Return how often each node is used."""
        counts = [0] * len(self.nodes)
        for given, _ in self.edges():
            counts[given] += 1
        return counts

    def levels(self) -> list[int]:
        """Return the distance of each node from the output, along the shortest path."""
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
        """Return the number of layers that all edges span together, if each node stands next to the last node that uses it.

        The cost of a layout grows with this number, as each layer that an edge passes is work.
        """
        layers = [0] * len(self.nodes)
        for i in range(len(self.nodes) - 1, -1, -1):
            for given in self.nodes[i].inputs:
                if given is not None:
                    layers[given] = max(layers[given], layers[i] + 1)
        return sum(layers[given] - layers[user] for given, user in self.edges())

    def content(self) -> Record:
        return {
            "expression": self.expression,
            "direction": self.direction,
            "nodes": self.records(),
            "edges": [{"from": a, "to": b} for a, b in self.edges()],
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
                shaped = node.value if node.value is not None else node.grad
                record |= {
                    "value": plain(node.value),
                    "shape": None if shaped is None else list(np.shape(shaped)),
                    "requires_grad": node.requires_grad,
                    "grad": plain(node.grad),
                }
            records.append(record)
        return records


def leading_to(nodes: Sequence[GraphNode], output: int) -> list[GraphNode]:
    """Return the nodes that lead to one of them, in order; that node is the last."""
    wanted = {output}
    for i in range(output, -1, -1):
        if i in wanted:
            wanted.update(given for given in nodes[i].inputs if given is not None)
    order = sorted(wanted)
    at = {old: new for new, old in enumerate(order)}
    return [replace(nodes[i], inputs=[None if given is None else at[given] for given in nodes[i].inputs]) for i in order]


def outermost_calls(tensors: TensorLog) -> Iterator[Call | None]:
    """Yield for each step of a trace the outermost call around it."""
    at = 0
    for number, (node, start, end) in enumerate(sorted(tensors.calls, key=lambda call: (call[1], -call[2]))):
        if start < at or start == end:
            continue
        yield from (None for _ in range(at, start))
        call = (number, tensors.text(node.span))
        yield from (call for _ in range(start, end))
        at = end
    yield from (None for _ in range(at, tensors.mark()))
