"""Names and values of the tensors of an evaluation: the tensors of the program, and the intermediate tensors of its functions.

The tensors of the program keep their names from the tensor table; the second tensor that the program calls ``x`` is named ``x₂``.
A function may consist of several operations: the intermediate tensors of ``%2`` are named ``%2.1``, ``%2.2``.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from autodiff_cli.arrays import Array
from autodiff_cli.autograd.node import Edge, Node
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.evaluation.evaluation import Evaluation
from autodiff_cli.evaluation.tensor_log import Call
from autodiff_cli.evaluation.trace import Step

_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


class NamedTensor(NamedTuple):
    """A tensor with its name, and the expression of the program that computed it."""

    name: str
    expression: str
    tensor: Tensor


class TensorNames:
    """The names and values of tensors.

    Attributes:
        rows: the tensors that were added, in order.
        steps: the step of the program that recorded each node.
        calls: the outermost call of a function of the program that computed a tensor, by the ``id`` of the tensor.
    """

    def __init__(self) -> None:
        self.rows: list[NamedTensor] = []
        self.steps: dict[Node, Step] = {}
        self.calls: dict[int, Call] = {}
        self._unnamed = 0  # the number of tensors named %1, %2 and so on
        self._used: Counter[str] = Counter()  # how many tensors the program calls by a name
        self._of_edge: dict[Edge, str] = {}
        self._of_tensor: dict[int, str] = {}  # by the ``id`` of a tensor
        self._values: dict[Edge, Array] = {}
        self._steps: dict[int, Step] = {}  # by the ``id`` of a result

    @classmethod
    def of_evaluation(cls, evaluation: Evaluation) -> TensorNames:
        """Return the names of all tensors of an evaluation."""
        names = cls()
        for step, call in zip(evaluation.trace, evaluation.evaluator.tensors.outermost_calls(), strict=True):
            names.add_step(step)
            if call is not None:
                names.calls.update((id(result), call) for result in step.results)
        for tensor, name, expression in evaluation.evaluator.named():
            names.add(NamedTensor(names.another(name), expression, tensor))
        return names

    def add_step(self, step: Step) -> None:
        """Add a step of the program, before the tensors that it returned."""
        for result in step.results:
            self._steps.setdefault(id(result), step)

    def another(self, name: str) -> str:
        """Count one more tensor that the program calls ``name``, and return a name of its own: ``x₂`` for the second ``x``."""
        self._used[name] += 1
        return name if self._used[name] == 1 else name + str(self._used[name]).translate(_SUBSCRIPTS)

    def add(self, row: NamedTensor) -> None:
        """Add a tensor with its name, its value and the step that computed it."""
        name, _, tensor = row
        self.rows.append(row)
        self._of_tensor[id(tensor)] = name
        if name.startswith("%"):
            self._unnamed += 1
        if tensor._edge is not None:
            self._of_edge.setdefault(tensor._edge, name)  # an alias keeps the first name
            self._values[tensor._edge] = tensor._data
            step = self.step(tensor)
            if step is not None:
                self.steps[tensor._edge[0]] = step

    def step(self, tensor: Tensor) -> Step | None:
        """Return the step of the program that computed a tensor; ``None`` for a leaf."""
        return self._steps.get(id(tensor))

    def of_edge(self, edge: Edge) -> str:
        """Return the name of the tensor behind an edge; empty if the tensor does not have a name."""
        variable = getattr(edge[0], "variable", None)  # that of the node of a leaf
        return self._of_tensor.get(id(variable), "") if variable is not None else self._of_edge.get(edge, "")

    def of_tensor(self, tensor: Tensor) -> str:
        """Return the name of a tensor; empty if it does not have a name."""
        return self._of_tensor.get(id(tensor)) or (self.of_edge(tensor._edge) if tensor._edge is not None else "")

    def value(self, edge: Edge) -> Array | None:
        """Return the value of the tensor behind an edge; ``None`` if it is unknown."""
        variable = getattr(edge[0], "variable", None)
        return variable._data if variable is not None else self._values.get(edge)

    def keep(self, edge: Edge, value: Any) -> None:
        """Store the value of the tensor behind an edge, unless a value is already stored."""
        self._values.setdefault(edge, value)

    def keep_tensor(self, tensor: Tensor | None) -> None:
        """Store the value of a recorded tensor, unless a value is already stored; ignore leaves, constants and ``None``."""
        if tensor is not None and tensor._edge is not None:
            self.keep(tensor._edge, tensor._data)

    def name_outputs(self, node: Node, name: str = "") -> str:
        """Name the outputs of a node, several as ``name[0]``, ``name[1]``, and return the name: by default, ``%`` and a number."""
        if not name:
            self._unnamed += 1
            name = f"%{self._unnamed}"
        if node._outputs == 1:
            self._of_edge[node, 0] = name
        else:
            for i in range(node._outputs):
                self._of_edge.setdefault((node, i), f"{name}[{i}]")  # an output that the program names keeps its name
        return name

    def name_inside(self, nodes: Iterable[Node]) -> dict[str, list[tuple[str, Node]]]:
        """Name the nodes inside functions among all nodes, in recorded order; return them by the name of the function's result."""
        results = sorted((row.tensor._edge[0].sequence_nr, row.name) for row in self.rows if row.tensor._edge is not None)
        numbers = [sequence_nr for sequence_nr, _ in results]
        named = {edge[0] for edge in self._of_edge}
        inside: dict[str, list[tuple[str, Node]]] = {}
        for node in nodes:
            if node not in named:  # it belongs to the function whose result was recorded next, or to the last one
                following = bisect_left(numbers, node.sequence_nr)
                _, owner = results[min(following, len(results) - 1)]
                members = inside.setdefault(owner, [])
                members.append((self.name_outputs(node, f"{owner}.{len(members) + 1}"), node))
        return inside
