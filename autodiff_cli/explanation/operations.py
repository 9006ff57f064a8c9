"""The operations of an evaluation as text, ``%2 = log(%1)``, from the program or from nodes of the graph.

A node stores its inputs and its saved values; the other operands of its operation are unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.node import Edge, Node, leaf_edge
from autodiff_cli.autograd.primitives.primitive import PRIMITIVES, Primitive
from autodiff_cli.autograd.saved.packing import holds_packed
from autodiff_cli.autograd.tensor import Tensor, root_of
from autodiff_cli.evaluation.note_phrases import operand_trees
from autodiff_cli.evaluation.trace import Step, raw
from autodiff_cli.explanation.local_derivatives import number
from autodiff_cli.explanation.model import ForwardLine
from autodiff_cli.explanation.names import TensorNames
from autodiff_cli.language.operators import OPERATORS
from autodiff_cli.language.tree import Syntax, binding, call_tree, keyword_tree, name_tree, new_tree

UNKNOWN = "constant"
"""The placeholder for an operand that was not saved."""
_MOST_ELEMENTS, _MOST_TEXT = 4, 40
"""The largest number of elements of an array, and the largest length of another constant, that is written out."""
_PRODUCTS = ("mm", "mv", "bmm", "dot")
"""Primitives that are written with the operator ``@``, as ``matmul`` is."""


class NodeOperations:
    """The operations of nodes and steps as expressions of named tensors."""

    def __init__(self, names: TensorNames) -> None:
        self.names = names

    # The forward pass

    def learn(self, nodes: Sequence[Node]) -> None:
        """Store the values of nodes, in recorded order, in ``names``: take saved values, and recompute the others."""
        for value in [value for node in nodes for value in saved(node).values()]:
            if isinstance(value, Tensor):
                self.names.keep_tensor(value)
        for node in nodes:
            if self.names.value((node, 0)) is None:
                value = self._recomputed(node)
                if value is not None:
                    self.names.keep((node, 0), value)

    def _recomputed(self, node: Node) -> Any:
        """Return the value of a node, computed from its arguments; ``None`` if one is unknown, or the shape is not the node's."""
        primitive, arguments = node.primitive, self.arguments(node)
        if primitive is None or any(arguments.get(key) is None for key in primitive.parameters):
            return None
        with np.errstate(all="ignore"):
            value = primitive.forward(*[raw(arguments[key]) for key in primitive.parameters])
        return value if np.shape(value) == node._shape else None

    def forward(self, nodes: Sequence[Node]) -> list[ForwardLine]:
        """Return the lines of the program, and of the operations inside its functions among all nodes, in recorded order."""
        inside = self.names.name_inside(nodes)
        lines = []
        for name, expression, tensor in self.names.rows:
            for inner_name, node in inside.pop(name, []):  # once, before the result of the function
                lines.append(ForwardLine(inner_name, self.of_node(node), self.names.value((node, 0)), node))
            line = ForwardLine(name, self.of_tensor(tensor, expression), tensor._data, tensor.grad_fn, expression)
            line.call = self.names.calls.get(id(tensor))
            lines.append(line)
        return lines

    def of_tensor(self, tensor: Tensor, expression: str) -> Syntax:
        """Return the operation that computed a tensor as an expression of named tensors; that of a leaf is its expression."""
        step, node = self.names.step(tensor), tensor.grad_fn
        if step is None:
            return name_tree(expression)
        if node is None or _is_single_node(step, node):
            return self._of_step(step)
        return self.of_node(node)  # the last operation of a function of several ones

    def _of_step(self, step: Step) -> Syntax:
        """Return the expression of a step with the names of tensors and the values of numbers; an unusual one stays as written."""
        tree = step.tree
        if binding(tree) is not None:  # such as a sum over an index
            return tree
        trees, values = _operand_trees(step), _flat(step)
        if tree.kind in ("index", "attribute"):
            values = values[:1]  # without the positions
        if len(trees) != len(values):
            return tree
        operands = {id(part): self._operand(part, value) for part, value in zip(trees, values, strict=True)}
        return replaced(tree, operands, 4)  # an operand is at most 4 levels deep: call, arguments, keyword or list, item

    def _operand(self, tree: Syntax, value: Any) -> Syntax:
        """Return the operand ``tree`` as the name of its tensor, or a name of a number as the number; keep any other operand."""
        name = self.names.of_tensor(value) if isinstance(value, Tensor) else ""
        if name:
            return name_tree(name)
        is_variable = tree.kind == "name" and tree.children[0].text not in ("pi", "e", "inf", "nan")
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return number(float(value)) if is_number and is_variable else tree

    # Operations of nodes

    def operands(self, node: Node) -> dict[str, Syntax]:
        """Return the known operands of a node by parameter."""
        return {key: tree for key, (tree, _) in self._operand_values(node).items()}

    def arguments(self, node: Node) -> dict[str, Any]:
        """Return the arguments of a node by parameter; ``None`` for an unknown value."""
        return {key: value for key, (_, value) in self._operand_values(node).items()}

    def _operand_values(self, node: Node) -> dict[str, tuple[Syntax, Any]]:
        """Return the operands of a node with their values, by parameter: inputs, saved values, and arguments of the program."""
        primitive = node.primitive
        if primitive is None or primitive.of_sequence:  # its operands do not have parameters of their own
            return {}
        saved_values, program_values = saved(node), self._program_arguments(node, primitive)
        edges = dict(zip(primitive.differentiable_args, node._edges, strict=False))
        operands: dict[str, tuple[Syntax, Any]] = {}
        for i, parameter in enumerate(primitive.parameters):
            edge, saved_value = edges.get(i), saved_values.get(parameter)
            if edge is not None:
                operands[parameter] = name_tree(self.names.of_edge(edge) or UNKNOWN), self.names.value(edge)
            elif saved_value is not None:
                operands[parameter] = self.constant(saved_value), saved_value
            elif parameter in program_values:
                operands[parameter] = self.constant(program_values[parameter]), raw(program_values[parameter])
            elif i < primitive.arity:  # a tensor; an unknown setting is left out
                operands[parameter] = name_tree(UNKNOWN), None
        return operands

    def _program_arguments(self, node: Node, primitive: Primitive) -> Mapping[str, Any]:
        """Return the arguments by parameter with which the program called the function of a node; empty if it did not call it."""
        step = self.names.steps.get(node)
        if step is None or step.op is None or PRIMITIVES.get(step.op.function) is not primitive:
            return {}
        values = {**dict(zip(step.op.parameters, step.arguments, strict=False)), **step.keywords}
        # A reflected operator may have swapped its operands.
        edges = zip(primitive.differentiable_args, node._edges, strict=False)
        is_swapped = any(edge is not None and _edge(values.get(primitive.parameters[i])) != edge for i, edge in edges)
        return {} if is_swapped else values

    def constant(self, value: object) -> Syntax:
        """Return the syntax tree of an operand that is not differentiated: a name, a number, a short text, or the placeholder."""
        name = self._name(value) if isinstance(value, Tensor) else ""
        if name:
            return name_tree(name)
        value = raw(value)
        if not isinstance(value, (bool, int, float, np.generic, np.ndarray)):
            text = str(list(value) if isinstance(value, tuple) else value)
            return name_tree(text if len(text) <= _MOST_TEXT else UNKNOWN)
        array = np.asarray(value)
        if array.size > _MOST_ELEMENTS:
            return name_tree(UNKNOWN)
        if array.dtype == np.float32:
            array = array.astype(str).astype(np.float64)  # the shortest digits that tell the number from others
        if array.ndim == 0:
            return name_tree(str(bool(array)).lower()) if array.dtype.kind == "b" else number(float(array))
        return name_tree(str(array.tolist()))

    def _name(self, tensor: Tensor) -> str:
        """Return the name of a tensor, or an empty text.

        A view that only adds or removes dimensions of length 1, as ``matmul`` makes of a vector, has the name of its tensor.
        """
        whole, view = np.squeeze(root_of(tensor)._data), np.squeeze(tensor._data)  # without dimensions of length 1
        is_whole = whole.strides == view.strides and np.array_equal(whole, view, equal_nan=True)
        return self.names.of_tensor(tensor) or (self.names.of_tensor(root_of(tensor)) if is_whole else "")

    def of_node(self, node: Node) -> Syntax:
        """Return the operation of a node as an expression of named tensors; a ``where`` that selects one input is this input."""
        primitive = node.primitive
        if primitive is None or primitive.of_sequence:
            node_name = type(node).__name__  # such as SquareBackward0 for a function of the program
            function = node_name.rstrip("0123456789").removesuffix("Backward") if primitive is None else primitive.name
            return call_tree(function, *(name_tree(UNKNOWN if edge is None else self.names.of_edge(edge)) for edge in node._edges))
        edge = _selected(node)
        if edge is not None:
            return name_tree(self.names.of_edge(edge))
        operands = self.operands(node)
        if primitive.notation is not None and len(operands) == len(primitive.parameters):
            tree: Syntax = primitive.notation([operands[key] for key in primitive.parameters])
            return tree
        operator_tree = self._of_operator(node, primitive, operands)
        if operator_tree is not None:
            return operator_tree
        known = [key for key in primitive.parameters if key in operands]
        tensors = [operands[key] for key in known if key in primitive.parameters[: primitive.arity]]
        settings = [keyword_tree(key, operands[key]) for key in known if key in primitive.parameters[primitive.arity :]]
        return call_tree(primitive.name.removesuffix("_"), *tensors, *settings)  # an in-place operation as the ordinary one

    def _of_operator(self, node: Node, primitive: Primitive, operands: Mapping[str, Syntax]) -> Syntax | None:
        """Return the operation of a node that is written with an operator; ``None`` for another operation."""
        if primitive.name == "rsub":  # y - x for the parameters x, y
            return new_tree("sub", operands.get("y", self._rest(node)), operands["x"])
        if primitive.name == "pow" and primitive.arity == 1:
            x, constant = operands["x"], operands.get("y", name_tree(UNKNOWN))
            is_exponential = type(node).__name__ == "PowBackward2"  # y**x
            return new_tree("pow", constant, x) if is_exponential else new_tree("pow", x, constant)
        kind = "matmul" if primitive.name in _PRODUCTS else primitive.name
        parts = [operands[key] for key in primitive.parameters[: primitive.arity] if key in operands]
        if kind not in OPERATORS or len(parts) != primitive.arity:
            return None
        if kind in ("add", "sub"):
            parts = [self._rest(node) if is_unknown(part) else part for part in parts]
        return new_tree(kind, *parts)

    def _rest(self, node: Node) -> Syntax:
        """Return the unknown operand of a sum or difference: a number if it follows from the result, else the placeholder."""
        assert node.primitive is not None
        is_first = node._edges[0] is None or node.primitive.name == "rsub"  # whether the unknown operand is on the left
        known = next((self.names.value(edge) for edge in node._edges if edge is not None), None)
        result = self.names.value((node, 0))
        if known is None or result is None or not np.size(result):
            return name_tree(UNKNOWN)
        with np.errstate(all="ignore"):
            if node.primitive.name == "add":
                rest = np.asarray(result - known)
            else:
                rest = np.asarray(result + known if is_first else known - result)
        rounded = float(f"{float(rest.flat[0]):.12g}")  # the difference has fewer digits than its operands
        return number(rounded) if np.all(np.isclose(rest, rounded, rtol=1e-9, atol=1e-9)) else name_tree(UNKNOWN)


def is_unknown(tree: Syntax) -> bool:
    """Return whether a tree is the placeholder for an unknown operand."""
    return tree.kind == "name" and tree.children[0].text == UNKNOWN


def saved(node: Node) -> Mapping[str, Any]:
    """Return the saved values of a node that can be read without calling a hook, by the parameter names of its VJP rule."""
    return {} if node._saved is None or holds_packed(node) else node.saved_values()


def _selected(node: Node) -> Edge | None:
    """Return the input that a ``where`` node, such as a guard in a VJP rule, selects for all elements; ``None`` without one."""
    if node.primitive is None or node.primitive.name != "where":
        return None
    condition = saved(node).get("condition")
    chosen = np.asarray([] if condition is None else raw(condition)).astype(bool)
    if not chosen.size or chosen.any() != chosen.all():
        return None
    return node._edges[0 if chosen.all() else 1]


def _edge(value: object) -> Edge | None:
    """Return the edge of a tensor, also of a leaf that requires grad; ``None`` for other values."""
    return value._edge or leaf_edge(value) if isinstance(value, Tensor) else None


def _operand_trees(step: Step) -> Sequence[Syntax]:
    """Return the operands of a step as the program writes them; the items of a list if it is the only operand, as in ``stack``."""
    trees = operand_trees(step.tree)
    is_list = len(trees) == 1 and trees[0].kind == "list" and isinstance(next(iter(step.inputs), None), (list, tuple))
    return trees[0].children if is_list else trees


def _is_single_node(step: Step, node: Node) -> bool:
    """Return whether a step of the program recorded a single node: its operands are the inputs of the node."""
    edges = {_edge(value) for value in _flat(step) if isinstance(value, Tensor) and value.requires_grad}
    return edges == {edge for edge in node._edges if edge is not None}


def _flat(step: Step) -> list[Any]:
    """Return the arguments of a step, with each sequence of tensors replaced by its items."""
    values: list[Any] = []
    for value in step.inputs:
        is_sequence = isinstance(value, (list, tuple)) and any(isinstance(item, Tensor) for item in value)
        values += value if is_sequence else [value]
    return values


def replaced(tree: Syntax, replacements: Mapping[int, Syntax], depth: int) -> Syntax:
    """Return a tree with ``replacements``, by the ``id`` of a subtree, for subtrees at most ``depth`` levels below the root."""
    if id(tree) in replacements:
        return replacements[id(tree)]
    if not depth or not tree.children:
        return tree
    return tree.with_children([replaced(child, replacements, depth - 1) for child in tree.children])
