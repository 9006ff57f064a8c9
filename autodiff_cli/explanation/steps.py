"""The steps of a backward pass, from the nodes that it ran: each contribution with its local derivative or its rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from autodiff_cli.arrays import Array
from autodiff_cli.autograd.custom.node import FunctionNode
from autodiff_cli.autograd.node import Edge, Node
from autodiff_cli.autograd.reverse.backward_pass import Visit, fit
from autodiff_cli.autograd.saved.packing import holds_packed
from autodiff_cli.evaluation.user_function import UserFunction
from autodiff_cli.explanation import local_derivatives
from autodiff_cli.explanation.local_derivatives import ARRIVING, GRADIENT, DerivativeFormula, filled_in, product
from autodiff_cli.explanation.model import CotangentContribution, ExplainedStep
from autodiff_cli.explanation.names import TensorNames
from autodiff_cli.explanation.operations import NodeOperations, is_unknown
from autodiff_cli.language.tree import Syntax, name_tree, names_in, unparse, walk


class Steps:
    """The steps of one backward pass of a program with functions, in the order in which its nodes ran.

    ``operations`` contains the operations that the forward pass shows, by node; others follow from the node.
    """

    def __init__(
        self, names: TensorNames, functions: Mapping[str, UserFunction], operations: Mapping[Node, Syntax] | None = None
    ) -> None:
        self.names = names
        self.operations = NodeOperations(names)
        self.functions = functions
        self.shown_operations = {} if operations is None else operations
        self._arrived: dict[Edge, Array] = {}

    def arrived(self, edge: Edge) -> Array | None:
        """Return the gradient that arrived at an edge so far; ``None`` before the first contribution."""
        return self._arrived.get(edge)

    def step(self, visit: Visit) -> ExplainedStep:
        """Return the next step, and add its contributions to the gradients so far; its node must still have its saved values."""
        node = visit.node
        names = [self.names.of_edge((node, i)) for i, gradient in enumerate(visit.gradients) if gradient is not None]
        gradients = [gradient._data for gradient in visit.gradients if gradient is not None]
        operation = self.shown_operations.get(node) or self.operations.of_node(node)
        step = ExplainedStep(names, operation, type(node).__name__, gradients, selects=node.selects)
        for i, (edge, part) in enumerate(zip(node._edges, visit.parts, strict=False)):
            if edge is not None and part is not None:
                contribution = self._contribution(visit, i, edge, part._data)
                step.contributions.append(contribution)
                self._arrived[edge] = contribution.total
        return step

    def _contribution(self, visit: Visit, i: int, edge: Edge, part: Array) -> CotangentContribution:
        """Return the contribution of a node to the gradient of its ``i``-th input, with the formula or the rule in words."""
        node = visit.node
        same_tensor = [k for k, other in enumerate(node._edges) if other is not None and tuple(other) == tuple(edge)]
        place = same_tensor.index(i) + 1 if len(same_tensor) > 1 else None
        value = fit(part, *_shape_and_dtype(edge))
        contribution = CotangentContribution(self.names.of_edge(edge), place, part, value, self._arrived.get(edge))
        contribution.to_leaf = not edge[0].sequence_nr  # only leaves have the number 0
        formula = _declared_formula(node, i)
        local = self._factor(visit, i, part)
        if local is None:
            self._fill_in_rule(contribution, visit, i, formula)
        else:
            contribution.local = local
            contribution.masked = not np.all(_is_product(visit, local, part))
            self._fill_in_derivative(contribution, node, i, formula)
        return contribution

    def _factor(self, visit: Visit, i: int, part: Array) -> Array | None:
        """Return the local derivative if the rule multiplies each element by it, except where the result is 0, else ``None``."""
        node, gradient = visit.node, visit.gradients[0]
        has_shape = np.shape(part) == node._shape
        is_elementwise = node.primitive.elementwise if node.primitive is not None else has_shape
        may_multiply = is_elementwise or (has_shape and node._shape == ())
        if len(visit.gradients) != 1 or gradient is None or not may_multiply:
            return None
        local = self._local_derivative(node, i, gradient._data, np.asarray(part))
        if local is None:
            return None
        return local if np.all(_is_product(visit, local, part) | (np.asarray(part) == 0)) else None  # 0: not selected

    def _fill_in_derivative(self, part: CotangentContribution, node: Node, i: int, formula: DerivativeFormula | None) -> None:
        """Set the formula of the local derivative, and the words: the convention at a kink, or a derivative that is prose."""
        primitive, arguments, local = node.primitive, self.operations.arguments(node), part.local
        assert local is not None
        if primitive is None:
            part.formula = self._declared(node, i, local)
        elif isinstance(formula, Syntax) and local_derivatives.holds(formula, arguments, local):
            part.formula = _complete(filled_in(formula, self.operations.operands(node)))
        part.words = local_derivatives.convention(node, arguments)
        has_prose = primitive is not None and primitive.partial is not None and isinstance(formula, str)
        if has_prose:
            part.words, part.is_convention = str(formula), False

    def _runs_again(self, node: Node) -> bool:
        """Return whether the rule of a node may run once more: a method or a hook of a Python program may not."""
        return self._function(node) is not None if isinstance(node, FunctionNode) else not holds_packed(node)

    def _local_derivative(self, node: Node, i: int, gradient: Array, part: Array) -> Array | None:
        """Return the local derivative by the rule, or for numbers by ``part / gradient``; ``None`` if neither is possible."""
        if self._runs_again(node):
            return _partial(node, i)
        with np.errstate(all="ignore"):
            return np.asarray(part / gradient) if node._shape == () == part.shape and gradient else None  # not by a gradient of 0

    def _function(self, node: Node) -> UserFunction | None:
        """Return the function of the program that recorded a node; ``None`` for any other node."""
        return self.functions.get(type(node).__name__.removesuffix("Backward"))

    def _declared(self, node: Node, i: int, local: Array) -> Syntax | None:
        """Return the derivative that the program declares for a function; ``None`` if missing or wrong at the arguments."""
        step = self.names.steps.get(node)
        function = self._function(node)
        if step is None or function is None or function.partials is None or len(step.arguments) != len(function.parameters):
            return None
        derivative = function.partials[i]  # in terms of the parameters
        values = dict(zip(function.parameters, step.arguments, strict=True))
        operands = {key: self.operations.constant(value) for key, value in values.items()}
        return _complete(filled_in(derivative, operands)) if local_derivatives.holds(derivative, values, local) else None

    def _fill_in_rule(self, part: CotangentContribution, visit: Visit, i: int, formula: DerivativeFormula | None) -> None:
        """Set the VJP rule: as a formula that contains the upstream gradient, or else in words."""
        node = visit.node
        if node.primitive is None and len(visit.gradients) == 1 and node._outputs == 1 and self._runs_again(node):
            derivative = self._declared(node, i, _partial(node, i))
            if derivative is not None:
                part.formula = product(name_tree(ARRIVING), derivative)
                return
        part.words = in_words(node, part.to)
        if part.words is not None:
            return
        operands = self.operations.operands(node)
        part.formula = _rule_formula(formula, operands)
        if part.formula is None:
            text = unparse(formula) if isinstance(formula, Syntax) else formula or ""
            declared = local_derivatives.renamed(text, {key: unparse(tree) for key, tree in operands.items()})
            part.words = declared or f"the VJP rule of {type(node).__name__}"


def _shape_and_dtype(edge: Edge) -> tuple[Any, Any]:
    """Return the shape and the element type of the tensor behind an edge, one of the outputs of a node."""
    node, i = edge
    return (node._shape, node._dtype) if node._outputs == 1 else (node._shape[i], node._dtype[i])


def _declared_formula(node: Node, i: int) -> DerivativeFormula | None:
    """Return the declared derivative of a node with respect to its ``i``-th input; ``None`` without one."""
    primitive = node.primitive
    if primitive is None or primitive.of_sequence:
        return None
    parameter = primitive.parameters[primitive.differentiable_args[i]]
    return local_derivatives.formulas(primitive, type(node).__name__).get(parameter)


def _rule_formula(formula: DerivativeFormula | None, operands: Mapping[str, Syntax]) -> Syntax | None:
    """Return a declared VJP rule with its operands; ``None`` for a local derivative or words, and if an operand is unknown."""
    if not isinstance(formula, Syntax) or GRADIENT not in names_in(formula):
        return None
    trees = {**operands, GRADIENT: name_tree(ARRIVING)}
    return _complete(filled_in(formula, trees)) if names_in(formula) <= trees.keys() else None


def _is_product(visit: Visit, local: Array, part: Array) -> Array:
    """Return for each element whether the result ``part`` of a VJP rule is the gradient times ``local``, up to float32 rounding."""
    assert visit.gradients[0] is not None
    product = visit.gradients[0]._data * local
    return np.asarray(np.isclose(product, np.asarray(part), rtol=1e-4, atol=1e-300, equal_nan=True))


def _partial(node: Node, i: int) -> Array:
    """Return the result of the rule of a node for its ``i``-th input and the gradient 1: the local derivative."""
    local: Array | None = node.apply(np.ones(node._shape, node._dtype)[()], needed=None)[i]  # for all inputs
    assert local is not None
    return local


def _complete(tree: Syntax) -> Syntax | None:
    """Return a formula if all of its operands are known, else ``None``."""
    return None if any(is_unknown(part) for part in walk(tree)) else tree


_SHARED = "; equal elements share it evenly by convention (PyTorch)"
_COPIES = "{x} was repeated: its gradient is the sum over the copies"
_SHAPE = "the gradient is reshaped to the shape of {x}, {shape}"
_ADDED = "the gradient is added up at the selected positions"
_SELECTED = "the selected {0} of {{x}} receive the gradient, all others receive 0"
_EXTREME = "the {0} element receives the gradient, all others receive 0" + _SHARED
_WORDS = {
    "sum": "every element of {x} receives the gradient of its sum",
    "mean": "every element of {x} receives 1/{n} of the gradient",
    "sum_to": "the gradient is broadcast to the shape of {x}, {shape}",
    **dict.fromkeys(("expand", "repeat"), _COPIES),
    **dict.fromkeys(("reshape", "squeeze", "squeeze_", "unsqueeze"), _SHAPE),
    **dict.fromkeys(("alias", "clone"), "the gradient propagates unchanged"),
    "to": "the gradient is converted to the type of {x}",
    "permute": "the dimensions of the gradient are permuted back to their original order",
    **dict.fromkeys(("transpose", "t"), "the gradient is transposed"),
    "select": _SELECTED.format("elements"),
    "slice": _SELECTED.format("elements"),
    "index": _SELECTED.format("elements") + "; an element that is selected several times receives the sum",
    "unindex": "the gradient at the filled positions",
    **dict.fromkeys(("gather", "take", "index_select"), _ADDED),
    "masked_select": "the elements where the mask is true receive the gradient, all others receive 0",
    "masked_fill": "the gradient where the mask is false, 0 elsewhere",
    **dict.fromkeys(("stack", "cat"), "the part of the gradient at the position of {x}"),
    "dot": "the gradient (a number) times the other vector",
    **dict.fromkeys(("trace", "diagonal"), "the gradient on the diagonal, 0 elsewhere"),
    "cumsum": "each element receives the sum of the gradients from its position to the end",
    "prod": "the gradient times the product of the other elements",
    "cumprod": "each element receives the sum of the gradients times the products of the other elements",
    **dict.fromkeys(("amax", "max"), _EXTREME.format("largest")),
    **dict.fromkeys(("amin", "min"), _EXTREME.format("smallest")),
    "median": _EXTREME.format("middle"),
    "flip": "the gradient in reverse order",
    "logsumexp": "the gradient times softmax of {x}",
}


def in_words(node: Node, to: str) -> str | None:
    """Return the VJP rule of a node for its input ``to`` in words, with names between backticks; ``None`` without words for it."""
    if node.primitive is None or node.primitive.name not in _WORDS:
        return None
    first_input = next((edge[0] for edge in node._edges if edge is not None), None)  # the only one where words name its shape
    shape: Any = () if first_input is None or first_input._outputs != 1 else first_input._shape
    elements_of_mean = int(np.prod(shape)) // max(int(np.prod(node._shape)), 1)  # a result without elements has a mean of all
    return _WORDS[node.primitive.name].format(x=f"`{to}`", shape=list(shape), n=elements_of_mean)
