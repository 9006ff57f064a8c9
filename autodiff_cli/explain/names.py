"""Names and values of the tensors of an evaluation: the tensors of the program, and the intermediate tensors of its functions.

The tensors of the program keep their names from the tensor table.  A function may consist of several operations: the
intermediate tensors of ``%2`` are named ``%2.1``, ``%2.2``.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import Any

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.node import Edge, Node
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.evaluation.evaluation import Evaluation
from autodiff_cli.evaluation.trace import Step


class Names:
    """The names and values of all tensors that the output of an evaluation depends on.

    Attributes:
        rows: the rows of the tensor table, each with its tensor.
        steps: the step of the program that recorded each node.
    """

    def __init__(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation
        tensors = [*evaluation.leaves.values(), *(tensor for tensor, _ in evaluation.evaluator.tensors.made)]
        self.rows = list(zip(evaluation.rows(), tensors, strict=True))
        self._unnamed = 0
        self._of_edge: dict[Edge, str] = {}
        self._of_tensor: dict[int, str] = {}
        self._values: dict[Edge, Array] = {}
        for row, tensor in self.rows:
            self._of_tensor.setdefault(id(tensor), row.name)
            self._unnamed += row.name.startswith("%")
            if tensor._edge is not None:
                self._of_edge.setdefault(tensor._edge, row.name)
                self._values[tensor._edge] = tensor._data
        self._steps: dict[int, Step] = {}
        for step in evaluation.trace:
            for result in step.result if isinstance(step.result, tuple) else (step.result,):
                self._steps.setdefault(id(result), step)
        made = ((tensor._edge[0], self.step(tensor)) for _, tensor in self.rows if tensor._edge is not None)
        self.steps: dict[Node, Step] = {node: step for node, step in made if step is not None}

    def known(self, text: str) -> bool:
        """Return whether the program uses a name."""
        evaluator = self._evaluation.evaluator
        return text in evaluator.names or text in evaluator.functions or text in self._evaluation.leaves

    def step(self, tensor: Tensor) -> Step | None:
        """Return the step of the program that computed a tensor; ``None`` for a leaf."""
        return self._steps.get(id(tensor))

    def of(self, edge: Edge) -> str:
        """Return the name of the tensor behind an edge; empty if the tensor does not have a name."""
        variable = getattr(edge[0], "variable", None)
        return self._of_tensor.get(id(variable), "") if variable is not None else self._of_edge.get(edge, "")

    def of_tensor(self, tensor: Tensor) -> str:
        """Return the name of a tensor; empty if it does not have a name."""
        return self._of_tensor.get(id(tensor)) or (self.of(tensor._edge) if tensor._edge is not None else "")

    def value(self, edge: Edge) -> Array | None:
        """Return the value of the tensor behind an edge; ``None`` if it is unknown."""
        variable = getattr(edge[0], "variable", None)
        return variable._data if variable is not None else self._values.get(edge)

    def keep(self, edge: Edge, value: Any) -> None:
        """Store the value of the tensor behind an edge, unless a value is already stored."""
        self._values.setdefault(edge, value)

    def keep_tensor(self, tensor: Tensor | None) -> None:
        """Store the value of a tensor, unless a value is already stored."""
        if tensor is not None and tensor._edge is not None:
            self.keep(tensor._edge, tensor._data)

    def name(self, node: Node, name: str = "") -> str:
        """Name the outputs of a node, and return the name; the default name is ``%`` and the next number."""
        if not name:
            self._unnamed += 1
            name = f"%{self._unnamed}"
        if node._outputs == 1:
            self._of_edge[node, 0] = name
        else:
            for i in range(node._outputs):
                self._of_edge.setdefault((node, i), f"{name}[{i}]")
        return name

    def name_edge(self, edge: Edge, name: str) -> None:
        """Name the tensor behind an edge."""
        self._of_edge[edge] = name

    def name_inside(self, nodes: Iterable[Node]) -> dict[str, list[tuple[str, Node]]]:
        """Name the nodes inside functions; return the names and nodes, by the name of the function's result.

        Args:
            nodes: all nodes that the output depends on, in the order in which they were recorded.
        """
        own = sorted((tensor._edge[0].sequence_nr, row.name) for row, tensor in self.rows if tensor._edge is not None)
        numbers = [sequence for sequence, _ in own]
        named = {edge[0] for edge in self._of_edge}
        inside: dict[str, list[tuple[str, Node]]] = {}
        for node in nodes:
            if node not in named:
                owner = own[min(bisect_left(numbers, node.sequence_nr), len(own) - 1)][1]
                members = inside.setdefault(owner, [])
                members.append((self.name(node, f"{owner}.{len(members) + 1}"), node))
        return inside
