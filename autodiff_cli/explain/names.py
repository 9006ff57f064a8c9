"""What the tensors of a program are called, and the operations between them: ``%2 = log(%1)``.

The tensors that the program itself makes have the names of its table.  A function may be composed of several operations:
those inside of ``%2`` are called ``%2.1``, ``%2.2``.  Their text is made from their nodes, which know their inputs and what
they saved; what nobody saved is not known.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.node import Edge, Node
from autodiff_cli.autograd.primitives.primitive import PRIMITIVES, Primitive
from autodiff_cli.autograd.primitives.registry import FUNCTIONS
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.evaluation.evaluation import Evaluation, TensorRow
from autodiff_cli.evaluation.phrasing import operands
from autodiff_cli.evaluation.trace import Step
from autodiff_cli.explain.local_derivatives import filled_in, name, names_in, number, written
from autodiff_cli.language.tree import Syntax

UNKNOWN = "constant"
"""What stands for an operand that nobody kept."""
_MOST_ELEMENTS, _MOST_TEXT = 4, 40
_SIGNS = {
    **{kind: kind for kind in ("add", "sub", "mul", "div", "pow", "floor_divide", "remainder", "neg")},
    **dict.fromkeys(("mm", "mv", "bmm", "dot"), "matmul"),
}
"""Operations that are written with a sign, and its kind in the grammar."""


class Line:
    """One line of a forward pass.

    Attributes:
        name: of the tensor.
        operation: what made it, in terms of the tensors before; the name itself for a leaf.
        expression: what the program says; empty for an operation inside of a function.
        value: ``None`` where nobody kept it.
        node: that made it; ``None`` for leaves, and where nothing is recorded.
        meaning: of which tensor it is the gradient, in a recorded sweep.
    """

    __slots__ = ("expression", "meaning", "name", "node", "operation", "value")

    def __init__(self, called: str, operation: Syntax, value: Any, node: Node | None, expression: str = "") -> None:
        self.name = called
        self.operation = operation
        self.expression = expression
        self.value = value
        self.node = node
        self.meaning: str | None = None


class Names:
    """Names for everything behind the output of an evaluation.

    Attributes:
        count: how many tensors have no name of their own so far.
        steps: for nodes of the program the step that made them.
    """

    def __init__(self, evaluation: Evaluation) -> None:
        self.steps: dict[Node, Step] = {}
        self._session = evaluation
        self._of_edge: dict[Edge, str] = {}
        self._of_tensor: dict[int, str] = {}
        self._values: dict[Edge, Any] = {}
        self.count = 0
        self._rows: list[tuple[TensorRow, Tensor]] = list(zip(evaluation.rows(), self._tensors(), strict=True))
        for row, tensor in self._rows:
            self._of_tensor.setdefault(id(tensor), row.name)
            self.count += row.name.startswith("%")
            if tensor._edge is not None:
                self._of_edge.setdefault(tensor._edge, row.name)
                self._values[tensor._edge] = tensor._data

    def _tensors(self) -> list[Tensor]:
        return [*self._session.leaves.values(), *(tensor for tensor, _ in self._session.evaluator.tensors.made)]

    def known(self, text: str) -> bool:
        """Whether the program uses this name."""
        evaluator = self._session.evaluator
        return text in evaluator.names or text in evaluator.functions or text in self._session.leaves

    def of(self, edge: Edge) -> str:
        """The name of the tensor that an edge leads to."""
        variable = getattr(edge[0], "variable", None)
        return self._of_tensor.get(id(variable), "") if variable is not None else self._of_edge.get(edge, "")

    def of_tensor(self, tensor: Tensor) -> str:
        return self._of_tensor.get(id(tensor)) or (self.of(tensor._edge) if tensor._edge is not None else "")

    def value(self, edge: Edge) -> Any:
        """The value of the tensor that an edge leads to; ``None`` if nobody kept it."""
        variable = getattr(edge[0], "variable", None)
        return variable._data if variable is not None else self._values.get(edge)

    def keep(self, tensor: Tensor | None) -> None:
        """Remember the value of a tensor that came by."""
        if tensor is not None and tensor._edge is not None:
            self._values.setdefault(tensor._edge, tensor._data)

    def learn(self, nodes: Sequence[Node]) -> None:
        """Find the values of what these nodes made, the oldest first: saved by one of them, or else computed once more."""
        for node in nodes:
            for value in saved(node).values():
                if isinstance(value, Tensor):
                    self.keep(value)
        for node in reversed(nodes):
            if (node, 0) in self._values:
                edge = self._taken(node) or _unchanged(node)
                if edge is not None and edge[0].sequence_nr and edge[0]._shape == node._shape:
                    self._values.setdefault(edge, self._values[node, 0])
        for node in nodes:
            primitive, given = node.primitive, self.arguments(node)
            if primitive is None or (node, 0) in self._values:
                continue
            if all(given.get(key) is not None for key in primitive.parameters):
                with np.errstate(all="ignore"):
                    made = primitive.forward(*[getattr(given[key], "_data", given[key]) for key in primitive.parameters])
            else:
                edge = self._taken(node)
                made = None if edge is None else self.value(edge)
            if made is not None and np.shape(made) == node._shape:
                self._values[node, 0] = made

    def _taken(self, node: Node) -> Edge | None:
        """The input that a choice took for all elements: rules have such choices, to guard against a zero."""
        if node.primitive is None or node.primitive.name != "where":
            return None
        condition = saved(node).get("condition")
        if condition is None:
            return None
        chosen = np.asarray(getattr(condition, "_data", condition)).astype(bool)
        if not chosen.size or not (chosen.all() or not chosen.any()):
            return None
        return node._edges[0 if chosen.all() else 1]

    # The forward pass

    def forward(self, nodes: Iterable[Node]) -> list[Line]:
        """The lines of the program, with the operations inside of its functions; ``nodes`` are all those of the output."""
        own = sorted((tensor._edge[0].sequence_nr, row.name) for row, tensor in self._rows if tensor._edge is not None)
        numbers = [sequence for sequence, _ in own]
        named = {edge[0] for edge in self._of_edge}
        inside: dict[str, list[Line]] = {}
        for node in nodes:
            if node in named:
                continue
            owner = own[min(bisect_left(numbers, node.sequence_nr), len(own) - 1)][1]
            lines = inside.setdefault(owner, [])
            called = f"{owner}.{len(lines) + 1}"
            self._called(node, called)
            lines.append(Line(called, name(called), None, node))
        for line in [line for lines in inside.values() for line in lines]:
            assert line.node is not None
            line.value, line.operation = self.value((line.node, 0)), self.operation(line.node)
        steps: dict[int, Step] = {}
        for step in self._session.trace:
            results = step.result if isinstance(step.result, tuple) else (step.result,)
            for result in results:
                steps.setdefault(id(result), step)
        lines = []
        for row, tensor in self._rows:
            lines += inside.pop(row.name, [])
            step_ = steps.get(id(tensor))
            lines.append(self._line(row, tensor, step_))
            if step_ is not None and tensor._edge is not None:
                self.steps[tensor._edge[0]] = step_
        return lines

    def appended(self, nodes: Iterable[Node], output: Edge, called: str) -> list[Line]:
        """Lines for further nodes, numbered on; the one of ``output`` has a name of its own."""
        self._of_edge[output] = called
        made = []
        for node in nodes:
            if node is not output[0]:
                self.count += 1
                self._called(node, f"%{self.count}")
            made.append(node)
        return [Line(self.of((node, 0)), self.operation(node), self.value((node, 0)), node) for node in made]

    def _called(self, node: Node, called: str) -> None:
        if node._outputs == 1:
            self._of_edge[node, 0] = called
            return
        for i in range(node._outputs):
            self._of_edge.setdefault((node, i), f"{called}[{i}]")

    def _line(self, row: TensorRow, tensor: Tensor, step: Step | None) -> Line:
        node = tensor.grad_fn
        if row.name == row.expression:
            operation = name(row.name)
        elif step is not None and (node is None or self._is_one(step, node)):
            operation = self._written(step)
        elif node is not None and step is not None:
            operation = self.operation(node)
        else:
            operation = name(row.expression)
        return Line(row.name, operation, row.value, node, row.expression)

    def _is_one(self, step: Step, node: Node) -> bool:
        """Whether a step of the program is the operation of its node, and has no others inside."""
        given = {_edge(value) for value in _flat(step) if isinstance(value, Tensor) and value.requires_grad}
        return given == {edge for edge in node._edges if edge is not None}

    def _written(self, step: Step) -> Syntax:
        """What a step says, with the names of its operands in their place."""
        tree = step.tree
        trees, values = operands(step), _flat(step)
        if tree.kind in ("index", "attribute"):
            trees, values = tree.children[:1], values[:1]
        elif tree.kind == "comparison" and len(tree.children) == 3:
            trees = tree.children[::2]
        elif not trees and tree.kind in ("call", "list"):
            trees = tree.children if tree.kind == "list" else tree.children[1].children if len(tree.children) > 1 else []
        if len(trees) == 1 and trees[0].kind == "list":  # stack([x, y])
            trees = trees[0].children
        if len(trees) != len(values):
            return tree
        shown = {}
        for part, value in zip(trees, values, strict=True):
            called = self.of_tensor(value) if isinstance(value, Tensor) else ""
            if called:
                shown[id(part)] = name(called)
            elif isinstance(value, (bool, int, float)) and not isinstance(value, bool) and part.kind == "name":
                shown[id(part)] = part if part.children[0].text in ("pi", "e", "inf", "nan") else number(float(value))
        return _replaced(tree, shown, 4)

    # Operations from their nodes

    def operands(self, node: Node) -> dict[str, Syntax]:
        """For each parameter of a node's operation what stood there, as far as that is known."""
        return {key: shown for key, (shown, _) in self._given(node).items()}

    def arguments(self, node: Node) -> dict[str, Any]:
        """For each parameter of a node's operation the value, ``None`` where nobody kept it."""
        return {key: value for key, (_, value) in self._given(node).items()}

    def _given(self, node: Node) -> dict[str, tuple[Syntax, Any]]:
        primitive = node.primitive
        if primitive is None or primitive.of_sequence:
            return {}
        kept = saved(node)
        edges = dict(zip(primitive.differentiable_args, node._edges, strict=False))
        given: dict[str, tuple[Syntax, Any]] = {}
        for i, parameter in enumerate(primitive.parameters):
            edge = edges.get(i)
            if edge is not None:
                given[parameter] = name(self.of(edge) or UNKNOWN), self.value(edge)
            elif kept.get(parameter) is not None:
                given[parameter] = self.constant(kept[parameter]), kept[parameter]
            elif parameter in (called := self._called_with(node, primitive)):
                given[parameter] = self.constant(called[parameter]), getattr(called[parameter], "_data", called[parameter])
            elif i < primitive.arity:
                given[parameter] = name(UNKNOWN), None
        return given

    def _called_with(self, node: Node, primitive: Primitive) -> dict[str, Any]:
        """What the program called the operation of a node with, by parameter."""
        step = self.steps.get(node)
        if step is None or step.op is None or PRIMITIVES.get(step.op.function) is not primitive:
            return {}
        given = {**dict(zip(step.op.parameters, step.arguments, strict=False)), **step.keywords}
        edges = dict(zip(primitive.differentiable_args, node._edges, strict=False))
        for i, edge in edges.items():  # an operator whose left side is a number may have turned round what it was given
            value = given.get(primitive.parameters[i])
            if edge is not None and not (isinstance(value, Tensor) and _edge(value) == edge):
                return {}
        return given

    def constant(self, value: Any) -> Syntax:
        """What an operand that is not differentiated by is called."""
        if isinstance(value, Tensor):
            called = self.of_tensor(value)
            if called:
                return name(called)
        value = getattr(value, "_data", value)
        if not isinstance(value, (bool, int, float, np.generic, np.ndarray)):
            text = str(list(value) if isinstance(value, tuple) else value)
            return name(text if len(text) <= _MOST_TEXT else UNKNOWN)
        array = np.asarray(value)
        if array.size > _MOST_ELEMENTS:
            return name(UNKNOWN)
        if array.ndim == 0:
            return name(str(bool(array)).lower()) if array.dtype.kind == "b" else number(float(array))
        return name(str(array.tolist()))

    def operation(self, node: Node) -> Syntax:
        """The operation of a node, with the names of its inputs."""
        primitive = node.primitive
        if primitive is None or primitive.of_sequence:
            inputs = [name(self.of(edge)) if edge is not None else name(UNKNOWN) for edge in node._edges]
            return _call(
                primitive.name if primitive is not None else node.name().rstrip("0123456789").removesuffix("Backward"), inputs
            )
        edge = self._taken(node)
        if edge is not None:
            return name(self.of(edge))
        shown = self.operands(node)
        if primitive.name not in FUNCTIONS:
            formula = self._written_out(node, primitive, shown)
            if formula is not None:
                return formula
        parts = [shown[key] for key in primitive.parameters[: primitive.arity] if key in shown]
        if primitive.name == "pow" and node.name() == "PowBackward2":
            return Syntax("pow", [shown.get("y", name(UNKNOWN)), shown["x"]], "", (0, 0))
        if primitive.name == "rsub":
            return Syntax("sub", [shown.get("y", self._rest(node)), shown["x"]], "", (0, 0))
        if primitive.name == "pow" and primitive.arity == 1:
            return Syntax("pow", [shown["x"], shown.get("y", name(UNKNOWN))], "", (0, 0))
        if primitive.name in ("add", "sub"):
            parts = [self._rest(node) if _is_unknown(part) else part for part in parts]
        if primitive.name in _SIGNS and len(parts) == primitive.arity:
            return Syntax(_SIGNS[primitive.name], parts, "", (0, 0))
        statics = [_keyword(key, shown[key]) for key in primitive.parameters[primitive.arity :] if key in shown]
        return _call(primitive.name, [*parts, *statics])

    def _written_out(self, node: Node, primitive: Primitive, shown: Mapping[str, Syntax]) -> Syntax | None:
        """An operation that has no public name, as the formula of its declaration."""
        arguments = self.arguments(node)
        if not primitive.elementwise:
            return None
        kept = saved(node)
        statics = tuple(kept.get(key, arguments.get(key)) for key in primitive.parameters[primitive.arity :])
        try:
            tree = written(primitive, statics)
        except TypeError:  # a parameter that was not kept
            return None
        if tree is None or any(_is_unknown(shown.get(part, name(UNKNOWN))) for part in names_in(tree) & {*primitive.parameters}):
            return None
        return filled_in(tree, shown)

    def _rest(self, node: Node) -> Syntax:
        """The operand of a sum or a difference that nobody kept: one number, if the other and the result say so."""
        assert node.primitive is not None
        is_first = node._edges[0] is None or node.primitive.name == "rsub"
        known = next((self.value(edge) for edge in node._edges if edge is not None), None)
        result = self.value((node, 0))
        if known is None or result is None or not np.size(result):
            return name(UNKNOWN)
        with np.errstate(all="ignore"):
            if node.primitive.name == "add":
                rest = np.asarray(result - known)
            else:
                rest = np.asarray(result + known if is_first else known - result)
        found = float(f"{float(rest.flat[0]):.12g}")
        return number(found) if np.all(np.isclose(rest, found, rtol=1e-9, atol=1e-9)) else name(UNKNOWN)


def saved(node: Node) -> Mapping[str, Any]:
    """What a node has saved, by the names that its rule has for it."""
    return {} if node._saved is None else node.saved_values()


def _unchanged(node: Node) -> Edge | None:
    """The input of a product with 1: rules multiply with the gradient, and a sweep starts with 1."""
    if node.primitive is None or node.primitive.name != "mul" or None not in node._edges:
        return None
    factor = next((value for value in saved(node).values() if value is not None), None)
    ones = factor is not None and np.all(getattr(factor, "_data", factor) == 1)
    return next((edge for edge in node._edges if edge is not None), None) if ones else None


def _edge(tensor: Tensor) -> Edge | None:
    from autodiff_cli.autograd.node import leaf_edge

    return tensor._edge or leaf_edge(tensor)


def _flat(step: Step) -> list[Any]:
    """The arguments of a step; a sequence of tensors one by one."""
    values: list[Any] = []
    for value in step.given:
        if isinstance(value, (list, tuple)) and any(isinstance(one, Tensor) for one in value):
            values += value
        else:
            values.append(value)
    return values


def _replaced(tree: Syntax, shown: Mapping[int, Syntax], depth: int) -> Syntax:
    """A tree with some of the parts near its root replaced."""
    if id(tree) in shown:
        return shown[id(tree)]
    if not depth or not tree.children:
        return tree
    return Syntax(tree.kind, [_replaced(child, shown, depth - 1) for child in tree.children], tree.text, tree.span)


def _is_unknown(tree: Syntax) -> bool:
    return tree.kind == "name" and tree.children[0].text == UNKNOWN


def _call(function: str, arguments: list[Syntax]) -> Syntax:
    return Syntax("call", [Syntax("NAME", [], function, (0, 0)), Syntax("arguments", arguments, "", (0, 0))], "", (0, 0))


def _keyword(key: str, value: Syntax) -> Syntax:
    return Syntax("keyword", [Syntax("NAME", [], key, (0, 0)), value], "", (0, 0))
