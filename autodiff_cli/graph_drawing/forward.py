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
from autodiff_cli.language.tree import DEFINING, Syntax, names_in, new_tree, unparse

_MOST_TEXT = 32
_JOINED = "stack"
"""The label of a list of tensors."""


def graph_of_text(source: str) -> Graph:
    """Return the graph of a program whose variables do not have values.

    Raises:
        AutodiffError: if the program has a syntax error, an unknown function, or a call with a wrong number of arguments.
    """
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
        nodes = leading_to(self._nodes, self._position(output, None))
        if nodes[-1].kind not in LEAVES:
            nodes[-1].kind = "output"
        return Graph(nodes, tensors.source, "forward", self._evaluated)

    def _add(self, step: Step) -> None:
        """Add a node for each result of a step that does not have one, as ``max.values``; a step without inputs is a constant."""
        result = step.result
        several = isinstance(result, tuple)
        results = result if several else (result,)
        fresh = [(i, tensor) for i, tensor in enumerate(results) if isinstance(tensor, Tensor) and id(tensor) not in self._at]
        if not fresh:
            return
        label = self._label(step.op, step.tree)
        inputs: list[int | None] = [self._position(value, text) for value, text in _operands(step, label)]
        fields = getattr(result, "_fields", None)
        for i, tensor in fresh:
            part = "" if not several else f".{fields[i]}" if fields else f"[{i}]"
            name, text = self._named.get(id(tensor), ("", self._evaluator.tensors.text(step.tree.span)))
            kind = "named" if name.isidentifier() else "operation"
            node = GraphNode(kind, label + part, name, text, inputs)
            if not inputs:
                node = GraphNode("constant", text, name if name.isidentifier() else "", text)
            self._append(node, tensor)

    def _append(self, node: GraphNode, tensor: Tensor) -> int:
        """Append the node of a tensor, with its value and gradient if there are any, and return its position."""
        if self._evaluated:
            extra = tensor._extra
            node.value, node.requires_grad = tensor._data, tensor.requires_grad
            node.grad = None if extra is None or extra.grad is None else extra.grad._data
        self._at[id(tensor)] = len(self._nodes)
        self._nodes.append(node)
        return len(self._nodes) - 1

    def _position(self, value: Tensor | float, tree: Syntax | None) -> int:
        """Return the position of the node for an argument, with its tree if known; one that no step computed becomes a leaf."""
        if not isinstance(value, Tensor):
            return self._constant(value, tree)
        known = self._at.get(id(value))
        if known is not None:
            return known
        name, text = self._named.get(id(value), ("", ""))
        if id(value) in self._leaves and (isinstance(value, Symbol) or value.requires_grad):
            return self._append(GraphNode("variable", name, name, name), value)
        name = name if name.isidentifier() else ""
        return self._append(GraphNode("constant", name or text, name, text), value)

    def _constant(self, value: float, tree: Syntax | None) -> int:
        """Return the position of the node of a plain number.

        A named constant has a single node, and a literal has a separate node for each use.
        """
        text = "" if tree is None or not self._is_constant(tree) else unparse(tree)
        name = text if tree is not None and tree.kind == "name" else ""
        if name and (name, value) in self._constants:
            return self._constants[name, value]
        node = GraphNode("constant", text if len(text) <= _MOST_TEXT else "", name, text)
        node.value, node.requires_grad = value, False
        self._nodes.append(node)
        if name:
            self._constants[name, value] = len(self._nodes) - 1
        return len(self._nodes) - 1

    def _is_constant(self, tree: Syntax) -> bool:
        """Return whether an expression has the same value outside the function that contains it."""
        known = self._evaluator.names
        return all(not isinstance(known[name], Tensor) if name in known else name in CONSTANTS for name in names_in(tree))

    def _label(self, op: FunctionInfo | None, tree: Syntax) -> str:
        """Return the label of an operation: a symbol or a name; ``op`` is ``None`` for an operation that is not a function."""
        if op is None and tree.kind == "index":
            return unparse(new_tree("list", *tree.children[1].children))
        if op is None and tree.kind == "attribute":
            return f".{tree.children[1].text}"
        written = tree.children[1 if tree.kind == "method" else 0].text if tree.kind in ("call", "method") else ""
        if op is None:
            return written if written in self._evaluator.functions or written in DEFINING else _JOINED
        return OPERATORS[op.name].symbol if not written and op.name in OPERATORS else op.name


def _operands(step: Step, label: str) -> Iterator[tuple[Tensor | float, Syntax | None]]:
    """Yield each argument that becomes an input, with its syntax tree if it is known; shapes, flags and ``None`` are not inputs."""
    op, tree = step.op, step.tree
    trees: Sequence[Syntax | None] = [] if label == _JOINED and tree.kind != "list" else argument_trees(step)
    if tree.kind == "comparison" and len(tree.children) == 3:
        trees = tree.children[::2]  # without the sign in the middle
    trees = trees or [None] * len(step.inputs)
    if op is None:
        yield from zip(step.arguments, trees, strict=False)
    elif op.variadic:
        yield from ((value, None) for value in (step.arguments[0] if op.tensors and step.arguments else ()))
    else:
        parameters = [*op.parameters[: len(step.arguments)], *step.keywords]
        for parameter, value, argument in zip(parameters, step.inputs, trees, strict=False):
            if parameter in op.tensors and value is not None:
                yield value, argument
