"""The chain rule in numbers: a backward pass, node by node, with the formula of each local derivative.

All numbers come from the autograd engine: hooks record a backward pass, and a local derivative is the VJP rule of the node
applied to a gradient of ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.arrays import Array
from autodiff_cli.autograd.graph import nodes_behind, observing
from autodiff_cli.autograd.node import Edge, Node, leaf_edge
from autodiff_cli.autograd.primitives.interface_kinds import COUNT, at_a_point, checks
from autodiff_cli.autograd.reverse.backward_pass import Visit
from autodiff_cli.autograd.reverse_mode import grad
from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.derivatives.lazy_notes import all_notes
from autodiff_cli.errors import LimitError, UsageError, setting
from autodiff_cli.evaluation.evaluation import Evaluation
from autodiff_cli.explanation.model import (
    AccumulatedGradient,
    Explanation,
    SecondDerivatives,
    Sweep,
)
from autodiff_cli.explanation.names import TensorNames
from autodiff_cli.explanation.operations import NodeOperations
from autodiff_cli.explanation.steps import Steps
from autodiff_cli.language.tree import Syntax
from autodiff_cli.limits import lifted

if TYPE_CHECKING:
    from autodiff_cli.evaluation.evaluation import Value

MOST_SWEEPS = 24
"""The maximum number of backward passes for order 2; each element of the gradient takes one backward pass."""


@checks(**at_a_point(), order=COUNT)
def explain(
    expression: str,
    at: Mapping[str, Value] | None = None,
    const: Mapping[str, Value] | None = None,
    order: int = 1,
    wrt: Sequence[str] | None = None,
    dtype: str = "float64",
    *,
    gradient: Value | None = None,
) -> Explanation:
    """Explain the gradient of an expression: the forward pass line by line, then the backward pass node by node.

    Args:
        expression: a program of the language.
        at: the values of the variables.
        const: the values of constants, which are not differentiated.
        order: 1 for the first derivatives, 2 to include the second derivatives.
        wrt: the variables to differentiate with respect to; by default, all variables in ``at``.
        dtype: ``float64`` or ``float32``.
        gradient: the gradient that starts the backward pass, required if the output is not a scalar.

    Raises:
        UsageError: if the order is not 1 or 2.
        ShapeError: if the output has several elements, and ``gradient`` is missing.
        LimitError: if order 2 takes too many backward passes.
        AutodiffError: if the expression or an argument is invalid.
    """
    evaluation = Evaluation(expression, at, const, wrt, dtype, gradient=gradient)
    if order not in (1, 2):
        raise UsageError(f"the order must be 1 or 2, not {order}", hint="use eval or taylor for higher orders")
    if evaluation.differentiable:
        evaluation.require_scalar()
    with np.errstate(all="ignore"):
        result = _Explainer(evaluation).explained(order)
    result.compute_notes = partial(all_notes, evaluation, evaluation.notes(), result.numbers, order)
    return result


class _Explainer:
    """The builder of the explanation of one evaluation.

    Attributes:
        shown: the operation of each node that is listed in a table.
        meanings: the name of the tensor whose gradient was recorded, by the edge of the gradient.
    """

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation
        self.leaves = evaluation.variables
        self.names = TensorNames.of_evaluation(evaluation)
        self.operations = NodeOperations(self.names)
        self.zeros: dict[str, Array] = {n: np.zeros(leaf.shape, leaf.dtype)[()] for n, leaf in self.leaves.items()}
        self.formulas: dict[Node, Syntax] = {}
        self.meanings: dict[Edge, str] = {}

    def explained(self, order: int) -> Explanation:
        evaluation, names, output = self.evaluation, self.names, self.evaluation.output
        nodes = nodes_behind(output)
        self.operations.learn(nodes)
        forward = self.operations.forward(nodes)
        self.formulas = {line.node: line.operation for line in forward if line.node is not None}
        called = names.of_tensor(output)
        free = [text for text in ("z", "w", "out", "result") if called.startswith("%") and not self.known(text)]
        leaves = {n: leaf._data for n, leaf in evaluation.leaves.items()}
        symbol = free[0] if free else called
        result = Explanation(evaluation.expression, evaluation.dtype, order, output._data, called, symbol, leaves, forward)
        result.grad = dict(self.zeros)
        if order == 2:
            shapes = {n: (leaf.shape, leaf.dtype) for n, leaf in self.leaves.items()}
            result.hessian = {a: {b: np.zeros(x + y, dtype) for b, (y, dtype) in shapes.items()} for a, (x, _) in shapes.items()}
        if not evaluation.differentiable or not self.leaves:
            return result
        if order == 2:
            self.check_elements()
        visits, gradients = self.differentiated(output, evaluation.gradient, create_graph=order == 2)
        result.grad = {n: gradient._data for n, gradient in gradients.items()}
        ones = np.ones(output.shape, output.dtype)[()]
        start = ones if evaluation.gradient is None else evaluation.gradient._data
        result.sweep = self.followed(Sweep(symbol, start), output, visits, result.grad)
        if order == 2:
            self.learn_meanings(visits)
            result.seconds = [self.second(n, gradient, result.hessian[n]) for n, gradient in gradients.items()]
        return result

    def known(self, text: str) -> bool:
        """Return whether the program uses a name."""
        evaluator = self.evaluation.evaluator
        return text in evaluator.names or text in evaluator.functions or text in self.evaluation.leaves

    def differentiated(
        self, output: Tensor, start: Tensor | None, create_graph: bool = False
    ) -> tuple[list[Visit], dict[str, Tensor]]:
        """Run a backward pass, and return its visits of nodes and the gradient with respect to each variable."""
        visits: list[Visit] = []
        leaves = list(self.leaves.values())
        with observing(visits.append):
            gradients = grad(output, leaves, start, retain_graph=True, create_graph=create_graph, allow_unused=True)
        return visits, {n: tensor_on(self.zeros[n], None) if g is None else g for n, g in zip(self.leaves, gradients, strict=True)}

    # Order 2: a recorded backward pass, and the backward passes through its operations

    def check_elements(self) -> None:
        """Raise an error if the gradient has more than ``MOST_SWEEPS`` elements, unless the limits are lifted."""
        elements = sum(leaf.numel() for leaf in self.leaves.values())
        if elements > MOST_SWEEPS and not lifted():
            raise LimitError(
                f"order 2 takes a backward pass for each of the {elements:,} elements of the gradient, more than the limit of "
                f"{MOST_SWEEPS}",
                hint=f"select fewer variables with {setting('wrt')}, or lift the limit with {setting('no_limits')}",
            )

    def learn_meanings(self, visits: Sequence[Visit]) -> None:
        """Remember what the recorded operations of a backward pass compute."""
        for visit in visits:
            for i, gradient in enumerate(visit.gradients):
                if gradient is not None and gradient._edge is not None:
                    self.meanings.setdefault(gradient._edge, self.names.of_edge((visit.node, i)))
            for tensor in (*visit.gradients, *visit.parts):
                self.names.keep_tensor(tensor)

    def second(self, variable: str, gradient: Tensor, hessian: dict[str, Array]) -> SecondDerivatives:
        """Return the derivatives of one gradient with respect to each variable.

        Args:
            variable: the variable of the first derivative.
            gradient: the recorded gradient with respect to ``variable``.
            hessian: the arrays that receive the second derivatives, by the second variable.
        """
        symbol = f"g_{variable}"
        while self.known(symbol):
            symbol += "_"
        second = SecondDerivatives(variable, symbol, gradient._data)
        if not gradient.requires_grad:
            return second
        nodes = nodes_behind(gradient)
        self.names.keep_tensor(gradient)
        self.operations.learn(nodes)
        edge = gradient._edge or leaf_edge(gradient)
        if edge is not None and edge[0].sequence_nr:
            new = [node for node in nodes if node is edge[0] or not self.names.of_edge((node, 0))]
            second.lines = self.operations.appended(new, edge, symbol)
            for node, line in zip(new, second.lines, strict=True):
                line.meaning = self.meanings.get((node, 0))
                self.formulas[node] = line.operation
        for element in np.ndindex(*gradient.shape):
            start = np.zeros(gradient.shape, gradient.dtype)
            start[element] = 1
            visits, gradients = self.differentiated(gradient, tensor_on(start[()], None))
            row = {n: derivative._data for n, derivative in gradients.items()}
            for other, value in row.items():
                hessian[other][element] = value
            second.sweeps.append(self.followed(Sweep(symbol, start[()], element), gradient, visits, row))
        return second

    def followed(self, sweep: Sweep, output: Tensor, visits: Sequence[Visit], gradients: Mapping[str, Array]) -> Sweep:
        """Fill in the steps and the accumulated gradients of a backward pass.

        Args:
            sweep: the backward pass to fill in.
            output: the tensor that the backward pass starts from.
            visits: the visited nodes, with their gradients.
            gradients: the gradient of each variable.
        """
        steps = Steps(self.names, self.evaluation.evaluator.functions, self.formulas)
        sweep.steps = [steps.step(visit) for visit in visits]
        parts: dict[str, list[tuple[str, Array]]] = {
            n: [("", sweep.start)] if leaf is output else [] for n, leaf in self.leaves.items()
        }
        for step in sweep.steps:
            for contribution in step.contributions:
                if contribution.to_leaf and contribution.to in parts:
                    parts[contribution.to].append((step.names[0], contribution.value))
        sweep.accumulated = [AccumulatedGradient(n, parts[n], gradients[n]) for n in self.leaves]
        return sweep
