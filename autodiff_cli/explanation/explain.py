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
from autodiff_cli.autograd.node import Node
from autodiff_cli.autograd.primitives.interface_kinds import at_a_point, checks
from autodiff_cli.autograd.reverse.backward_pass import Visit
from autodiff_cli.autograd.reverse_mode import grad
from autodiff_cli.derivatives.lazy_notes import all_notes
from autodiff_cli.evaluation.evaluation import Evaluation
from autodiff_cli.explanation.chains import multiplied_out
from autodiff_cli.explanation.model import AccumulatedGradient, Explanation, Sweep
from autodiff_cli.explanation.names import TensorNames
from autodiff_cli.explanation.operations import NodeOperations
from autodiff_cli.explanation.steps import Steps
from autodiff_cli.language.tree import Syntax

if TYPE_CHECKING:
    from autodiff_cli.evaluation.evaluation import Value


@checks(**at_a_point())
def explain(
    expression: str,
    at: Mapping[str, Value] | None = None,
    const: Mapping[str, Value] | None = None,
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
        wrt: the variables to differentiate with respect to; by default, all variables in ``at``.
        dtype: ``float64`` or ``float32``.
        gradient: the gradient that starts the backward pass, required if the output is not a scalar.

    Raises:
        ShapeError: if the output has several elements, and ``gradient`` is missing.
        AutodiffError: if the expression or an argument is invalid.
    """
    evaluation = Evaluation(expression, at, const, wrt, dtype, gradient=gradient)
    if evaluation.differentiable:
        evaluation.require_scalar()
    with np.errstate(all="ignore"):
        result = _Explainer(evaluation).explanation()
    result.compute_notes = partial(all_notes, evaluation, evaluation.notes(), result.numbers, 1)
    return result


class _Explainer:
    """The builder of the explanation of an evaluation whose backward pass has not run; ``names`` are those of all tensors."""

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation
        self.leaves = evaluation.variables
        self.names = TensorNames.of_evaluation(evaluation)

    def explanation(self) -> Explanation:
        """Return an explanation of the forward pass and, if the result depends on a variable, of a backward pass that runs now."""
        evaluation, output = self.evaluation, self.evaluation.output
        nodes, operations = nodes_behind(output), NodeOperations(self.names)
        operations.learn(nodes)
        result = Explanation(evaluation.expression, evaluation.dtype, output._data, self.names.of_tensor(output), self.symbol())
        result.given = {name: leaf._data for name, leaf in evaluation.leaves.items()}
        result.forward = operations.forward(nodes)
        result.grad = {name: np.zeros(leaf.shape, leaf.dtype)[()] for name, leaf in self.leaves.items()}
        if evaluation.differentiable and self.leaves:
            gradients, visits = self.backward()
            result.grad |= gradients
            shown_operations = {line.node: line.operation for line in result.forward if line.node is not None}
            result.sweep = self.sweep(result, visits, shown_operations)
            chains = multiplied_out(result)
            for gradient in result.sweep.accumulated:
                gradient.chain = chains.get(gradient.name)
        return result

    def symbol(self) -> str:
        """Return the name of the result in derivatives: its own name, or a word that the program does not use, such as ``z``."""
        evaluator = self.evaluation.evaluator
        used = {*evaluator.names, *evaluator.functions, *self.evaluation.leaves}
        name = self.names.of_tensor(self.evaluation.output)
        free = [letter for letter in ("z", "w", "out", "result") if letter not in used]
        is_unnamed = name.startswith("%")
        return free[0] if is_unnamed and free else name  # %1 if no word is free

    def backward(self) -> tuple[dict[str, Array], list[Visit]]:
        """Run the backward pass; return the gradient of each variable that has one, and the visits of nodes."""
        visits: list[Visit] = []
        leaves = list(self.leaves.values())
        with observing(visits.append):
            results = grad(self.evaluation.output, leaves, self.evaluation.gradient, retain_graph=True, allow_unused=True)
        return {name: g._data for name, g in zip(self.leaves, results, strict=True) if g is not None}, visits

    def sweep(self, result: Explanation, visits: Sequence[Visit], operations: Mapping[Node, Syntax]) -> Sweep:
        """Return the steps of the backward pass with the operations of the forward pass, and the parts of each gradient."""
        output, start = self.evaluation.output, self.evaluation.gradient
        sweep = Sweep(result.symbol, np.ones(output.shape, output.dtype)[()] if start is None else start._data)
        steps = Steps(self.names, self.evaluation.evaluator.functions, operations)
        sweep.steps = [steps.step(visit) for visit in visits]
        parts: dict[str, list[tuple[str, Array]]] = {name: [] for name in self.leaves}
        for name, leaf in self.leaves.items():
            if leaf is output:
                parts[name].append(("", sweep.start))  # from no other tensor
        for step in sweep.steps:
            for contribution in step.contributions:
                if contribution.to_leaf and contribution.to in parts:
                    parts[contribution.to].append((step.names[0], contribution.value))
        sweep.accumulated = [AccumulatedGradient(name, parts[name], result.grad[name]) for name in self.leaves]
        return sweep
