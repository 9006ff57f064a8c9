"""The forward graph, built from the trace of an evaluation or of an abstract evaluation without values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from autodiff_cli.autograd.primitives.registry import FunctionInfo
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.evaluation.evaluation import Evaluation
from autodiff_cli.evaluation.evaluator import Evaluator
from autodiff_cli.evaluation.names import CONSTANTS
from autodiff_cli.evaluation.note_phrases import argument_trees
from autodiff_cli.evaluation.symbolic_execution import Symbol, SymbolicEvaluator
from autodiff_cli.evaluation.trace import Step
from autodiff_cli.graph_drawing.model import LEAVES, Graph, GraphNode, leading_to
from autodiff_cli.language.operators import OPERATORS
from autodiff_cli.language.tree import DEFINING, Syntax, called_name, names_in, new_tree, unparse

_MOST_TEXT = 32
_JOINED = "stack"  # the label of a list of tensors


def graph_of_text(source: str) -> Graph:
    """Return the graph of a program whose variables do not have values; raise ``AutodiffError`` if the program is invalid."""
    evaluator = SymbolicEvaluator(source, np.dtype(np.float64))
    with np.errstate(all="ignore"):
        output = evaluator.run()
    return _GraphBuilder(evaluator, evaluated=False).graph(output)


def graph_of_values(evaluation: Evaluation, output: Tensor) -> Graph:
    """Return the graph of a tensor of an evaluation, with values; after a backward pass, the graph includes gradients."""
    return _GraphBuilder(evaluation.evaluator, evaluated=True).graph(output)


class _GraphBuilder:
    """The nodes of a forward graph, which are added step by step; ``evaluated`` is whether tensors have values."""

    def __init__(self, evaluator: Evaluator, evaluated: bool) -> None:
        self._evaluator = evaluator
        self._evaluated = evaluated
        self._named = {id(tensor): (name, text) for tensor, name, text in evaluator.named()}  # the name and the expression
        self._leaves = {id(tensor) for tensor in evaluator.variables.values()}
        self._nodes: list[GraphNode] = []
        self._at: dict[int, int] = {}  # the position of the node of each tensor, by its id
        self._constants: dict[tuple[str, float], int] = {}  # the positions of named constants

    def graph(self, output: Tensor) -> Graph:
        """Add the nodes of all steps, and return the graph of those that lead to a tensor."""
        tensors = self._evaluator.tensors
        for step in tensors.steps or ():
            self._add(step)
        nodes = leading_to(self._nodes, self._position(output, tree=None))
        if nodes[-1].kind not in LEAVES:
            nodes[-1].kind = "output"
        return Graph(nodes, expression=tensors.source, direction="forward", evaluated=self._evaluated)

    def _add(self, step: Step) -> None:
        """Add a node for each tensor that a step returned and that has none; the node of a step without inputs is a constant."""
        results = step.results
        new = [(i, tensor) for i, tensor in enumerate(results) if isinstance(tensor, Tensor) and id(tensor) not in self._at]
        if not new:
            return
        label = self._label(step.op, step.tree)
        inputs: list[int | None] = [self._position(value, tree) for value, tree in _operands(step, label)]
        for i, tensor in new:
            name, expression = self._named.get(id(tensor), ("", self._evaluator.tensors.text(step.tree.span)))
            own_name = name if name.isidentifier() else ""  # and not a number, such as %1
            if inputs:
                kind = "named" if own_name else "operation"
                self._append(GraphNode(kind, label + _part_label(step.result, i), name, expression, inputs), tensor)
            else:
                self._append(GraphNode("constant", expression, own_name, expression), tensor)

    def _append(self, node: GraphNode, tensor: Tensor) -> int:
        """Append the node of a tensor and return its position; store the value in the node, and the gradient if there is one."""
        if self._evaluated:
            grad = tensor._extra_grad()  # ``tensor.grad`` would warn of a tensor that is not a leaf
            node.value, node.requires_grad = tensor._data, tensor.requires_grad
            node.grad = None if grad is None else grad._data
        self._at[id(tensor)] = len(self._nodes)
        self._nodes.append(node)
        return len(self._nodes) - 1

    def _position(self, value: Tensor | float, tree: Syntax | None) -> int:
        """Return the position of the node of an argument, with its tree if known; a new argument is a variable or a constant."""
        if not isinstance(value, Tensor):
            return self._constant(value, tree)
        position = self._at.get(id(value))
        if position is not None:
            return position
        name, expression = self._named.get(id(value), ("", ""))
        if id(value) in self._leaves and (isinstance(value, Symbol) or value.requires_grad):
            return self._append(GraphNode("variable", name, name, name), value)
        own_name = name if name.isidentifier() else ""  # and not a number, such as %1
        return self._append(GraphNode("constant", own_name or expression, own_name, expression), value)

    def _constant(self, value: float, tree: Syntax | None) -> int:
        """Return the position of a plain number: a named constant has a single node, and a literal has a node for each use."""
        text = "" if tree is None or not self._is_constant(tree) else unparse(tree)  # it would mean something else elsewhere
        name = text if tree is not None and tree.kind == "name" else ""
        if name and (name, value) in self._constants:
            return self._constants[name, value]
        label = text if len(text) <= _MOST_TEXT else ""  # without a label, drawings show the value
        self._nodes.append(GraphNode("constant", label, name, text, value=value, requires_grad=False))
        position = len(self._nodes) - 1
        if name:
            self._constants[name, value] = position
        return position

    def _is_constant(self, tree: Syntax) -> bool:
        """Return whether an expression has the same value outside the function that contains it."""
        known = self._evaluator.names
        return all(not isinstance(known[name], Tensor) if name in known else name in CONSTANTS for name in names_in(tree))

    def _label(self, op: FunctionInfo | None, tree: Syntax) -> str:
        """Return the label of an operation: a symbol or a name; ``op`` is ``None`` for an operation that is not a function."""
        name = called_name(tree)
        if op is not None:
            return OPERATORS[op.name].symbol if not name and op.name in OPERATORS else op.name  # add(x, y) keeps its name
        if tree.kind == "index":  # the label is the index: [0, 1]
            return unparse(new_tree("list", *tree.children[1].children))
        if tree.kind == "attribute":
            return f".{tree.children[1].text}"
        return name if name in self._evaluator.functions or name in DEFINING else _JOINED


def _part_label(result: object, i: int) -> str:
    """Return the end of the label of part ``i`` of a result: ``.values`` or ``[0]``; empty for a result that is not a tuple."""
    if not isinstance(result, tuple):
        return ""
    fields = getattr(result, "_fields", None)  # of a named tuple
    return f".{fields[i]}" if fields else f"[{i}]"


def _operands(step: Step, label: str) -> Iterator[tuple[Tensor | float, Syntax | None]]:
    """Yield each argument that becomes an input, with its syntax tree or ``None``; shapes, flags and ``None`` are not inputs.

    A step without a function ``op`` takes all arguments as inputs, and a variadic function the items of its first argument, a list.
    """
    op, trees = step.op, _known_trees(step, label) or [None] * len(step.inputs)
    if op is None:
        yield from zip(step.arguments, trees, strict=False)
    elif op.variadic:
        yield from ((value, None) for value in (step.arguments[0] if op.tensors and step.arguments else ()))
    else:
        parameters = [*op.parameters[: len(step.arguments)], *step.keywords]
        for parameter, value, tree in zip(parameters, step.inputs, trees, strict=False):
            if parameter in op.tensors and value is not None:
                yield value, tree


def _known_trees(step: Step, label: str) -> Sequence[Syntax | None]:
    """Return the syntax trees of the arguments of a step; empty for tensors that are joined without being written as a list."""
    tree = step.tree
    if tree.kind == "comparison" and len(tree.children) == 3:
        return tree.children[::2]  # without the sign in the middle
    return [] if label == _JOINED and tree.kind != "list" else argument_trees(step)
