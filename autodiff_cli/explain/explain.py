"""The chain rule in numbers: what a sweep did, node by node, with the formula of each local derivative.

All numbers are those of the engine: a sweep is watched while it runs, and a local derivative is the node's own rule applied
to a gradient of ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.backward_pass import fit
from autodiff_cli.autograd.graph import Visit, nodes_behind, watching
from autodiff_cli.autograd.node import Edge, Node, leaf_edge
from autodiff_cli.autograd.reverse_mode import grad
from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.derivatives.pending import LazyNotes
from autodiff_cli.errors import LimitError, UsageError
from autodiff_cli.evaluation.evaluation import Evaluation
from autodiff_cli.explain.local_derivatives import ARRIVING, GRADIENT, Formula, convention, filled_in, holds, name, of_node, renamed
from autodiff_cli.explain.model import Contribution, End, Explanation, Second, Step, Sweep
from autodiff_cli.explain.names import UNKNOWN, Names
from autodiff_cli.explain.rule_text import condition, in_words
from autodiff_cli.language.tree import Syntax, unparse, walk
from autodiff_cli.limits import lifted

MOST_SWEEPS = 24
"""For order 2 there is a sweep for each element of the gradient."""


def explain(evaluation: Evaluation, order: int = 1, conditions: bool = False) -> Explanation:
    """The forward and the backward pass of an evaluation, step by step.

    Args:
        evaluation: the expression, evaluated; its variables have no gradient yet.
        order: 1, or 2 for the sweeps through the recorded backward pass too.
        conditions: whether to find the condition number of every operation.

    Raises:
        UsageError: for another order.
        ShapeError: if the output is no single number and has no gradient to start from.
        LimitError: if order 2 would take too many sweeps.
    """
    if order not in (1, 2):
        raise UsageError(f"explain shows the orders 1 and 2, not {order}", hint="eval and taylor compute higher orders")
    evaluation.require_scalar()
    result = Explanation(evaluation.expression, evaluation.dtype, order)
    with np.errstate(all="ignore"):
        _Explainer(evaluation, result).run(conditions)
    result.noted = LazyNotes(evaluation, evaluation.notes(), result.numbers, order)
    return result


class _Explainer:
    def __init__(self, evaluation: Evaluation, result: Explanation) -> None:
        self.evaluation = evaluation
        self.result = result
        self.leaves = evaluation.variables
        self.names = Names(evaluation)
        self.zeros = {n: np.zeros(leaf.shape, leaf.dtype)[()] for n, leaf in self.leaves.items()}
        self.operations: dict[Node, Syntax] = {}
        self.meanings: dict[Edge, str] = {}

    def run(self, conditions: bool) -> None:
        evaluation, result, names = self.evaluation, self.result, self.names
        nodes = nodes_behind(evaluation.output)
        names.learn(nodes)
        result.value = evaluation.output._data
        result.given = {n: leaf._data for n, leaf in evaluation.leaves.items()}
        result.forward = names.forward(nodes)
        self.operations = {line.node: line.operation for line in result.forward if line.node is not None}
        result.output = names.of_tensor(evaluation.output)
        unnamed = result.output.startswith("%")
        free = [text for text in ("z", "w", "out", "result") if not names.known(text)]
        result.symbol = free[0] if unnamed and free else result.output
        if conditions:
            result.conditions = {line.name: condition(line.node, names) for line in result.forward}
        result.grad = dict(self.zeros)
        if result.order == 2:
            pairs = {a: [(b, np.zeros(x.shape + y.shape, y.dtype)) for b, y in self.leaves.items()] for a, x in self.leaves.items()}
            result.hessian = {a: dict(row) for a, row in pairs.items()}
        if not evaluation.differentiable or not self.leaves:
            return
        recorded = self.recorded() if result.order == 2 else {}
        with watching(evaluation.output) as visits:
            evaluation.output.backward(evaluation.gradient, retain_graph=True)
        result.grad = {n: self.zeros[n] if leaf.grad is None else leaf.grad._data for n, leaf in self.leaves.items()}
        ones = np.ones(evaluation.output.shape, evaluation.output.dtype)[()]
        start = ones if evaluation.gradient is None else evaluation.gradient._data
        result.sweep = self.followed(Sweep(result.symbol, start), evaluation.output, visits, result.grad)
        for variable, gradient in recorded.items():
            result.seconds.append(self.second(variable, gradient))

    # The first sweep once more, recorded, and the sweeps through what it recorded

    def recorded(self) -> dict[str, Tensor]:
        """The gradients as tensors with a graph of their own."""
        evaluation = self.evaluation
        elements = sum(leaf.numel() for leaf in self.leaves.values())
        if elements > MOST_SWEEPS and not lifted():
            raise LimitError(
                f"order 2 is a sweep for each of the {elements:,} elements of the gradient, more than the limit of {MOST_SWEEPS}",
                hint="name fewer variables with --wrt, or allow it with --no-limits",
            )
        with watching(evaluation.output) as visits:
            found = grad(evaluation.output, list(self.leaves.values()), evaluation.gradient, create_graph=True, allow_unused=True)
        for visit in visits:
            for i, gradient in enumerate(visit.gradients):
                if gradient is not None and gradient._edge is not None:
                    self.meanings.setdefault(gradient._edge, self.names.of((visit.node, i)))
            for tensor in (*visit.gradients, *visit.parts):
                self.names.keep(tensor)
        return {n: tensor_on(self.zeros[n], None) if g is None else g for n, g in zip(self.leaves, found, strict=True)}

    def second(self, variable: str, gradient: Tensor) -> Second:
        """The second derivatives by a variable and each other one, from the graph of its gradient."""
        symbol = f"g_{variable}"
        while self.names.known(symbol):
            symbol += "_"
        second = Second(variable, symbol, gradient._data)
        if not gradient.requires_grad:
            return second
        nodes = nodes_behind(gradient)
        self.names.keep(gradient)
        self.names.learn(nodes)
        edge = gradient._edge or leaf_edge(gradient)
        if edge[0].sequence_nr:
            new = [node for node in nodes if node is edge[0] or not self.names.of((node, 0))]
            second.lines = self.names.appended(new, edge, symbol)
            for line in second.lines:
                if line.node is not None:
                    line.meaning = self.meanings.get((line.node, 0))
                    self.operations[line.node] = line.operation
        for element in np.ndindex(*gradient.shape):
            start = np.zeros(gradient.shape, gradient.dtype)
            start[element] = 1
            with watching(gradient) as visits:
                given = tensor_on(start[()], None)
                found = grad(gradient, list(self.leaves.values()), given, retain_graph=True, allow_unused=True)
            row = {n: self.zeros[n] if g is None else g._data for n, g in zip(self.leaves, found, strict=True)}
            for other, value in row.items():
                self.result.hessian[variable][other][element] = value
            second.sweeps.append(self.followed(Sweep(symbol, start[()], element), gradient, visits, row))
        return second

    # A sweep as it was seen

    def followed(self, sweep: Sweep, output: Tensor, visits: Sequence[Visit], found: Mapping[str, Any]) -> Sweep:
        arrived: dict[Edge, Any] = {}
        parts: dict[str, list[tuple[str, Any]]] = {
            n: [("", sweep.start)] if leaf is output else [] for n, leaf in self.leaves.items()
        }
        for visit in visits:
            node = visit.node
            outputs = [(self.names.of((node, i)), g._data) for i, g in enumerate(visit.gradients) if g is not None]
            operation = self.operations.get(node) or self.names.operation(node)
            step = Step([n for n, _ in outputs], operation, node.name(), [g for _, g in outputs])
            sweep.steps.append(step)
            for i, (edge, part) in enumerate(zip(node._edges, visit.parts, strict=False)):
                if edge is None or part is None:
                    continue
                made = self.contribution(visit, i, edge, part._data, arrived.get(edge))
                step.contributions.append(made)
                arrived[edge] = made.value if made.before is None else made.before + made.value
                if not edge[0].sequence_nr and made.to in parts:
                    parts[made.to].append((step.names[0], made.value))
        sweep.ends = [End(n, parts[n], found[n]) for n in self.leaves]
        return sweep

    def contribution(self, visit: Visit, i: int, edge: Edge, part: Any, before: Any) -> Contribution:
        """What the ``i``-th input of a node receives, and why."""
        node, primitive = visit.node, visit.node.primitive
        target: Any = edge[0]
        shape, dtype = (target._shape, target._dtype) if target._outputs == 1 else (target._shape[edge[1]], target._dtype[edge[1]])
        same = [k for k, other in enumerate(node._edges) if other is not None and tuple(other) == tuple(edge)]
        place = same.index(i) + 1 if len(same) > 1 else None
        made = Contribution(self.names.of(edge), place, part, fit(part, shape, dtype), before)
        parameter = (
            primitive.parameters[primitive.differentiable_args[i]] if primitive is not None and not primitive.of_sequence else ""
        )
        formula = of_node(node).get(parameter)
        if not self.as_factor(made, visit, i, formula):
            self.as_rule(made, visit, i, formula)
        return made

    def as_factor(self, made: Contribution, visit: Visit, i: int, formula: Formula | None) -> bool:
        """Whether a rule is a product with a local derivative; if so, say which."""
        node, gradient = visit.node, visit.gradients[0]
        same_shape = np.shape(made.part) == node._shape
        elementwise = node.primitive.elementwise if node.primitive is not None else same_shape
        if len(visit.gradients) != 1 or gradient is None or not (elementwise or (same_shape and node._shape == ())):
            return False
        local = node.apply(np.ones(node._shape, node._dtype)[()], None)[i]
        product, part = gradient._data * local, np.asarray(made.part)
        close = np.isclose(product, part, rtol=1e-4, atol=1e-300, equal_nan=True)
        if not np.all(close | (part == 0)):
            return False
        made.local = local
        made.untaken = not np.all(close)
        made.formula = self.formula(node, formula, i, local)
        made.words = convention(node, self.names.arguments(node))
        return True

    def formula(self, node: Node, formula: Formula | None, i: int, local: Any) -> Syntax | None:
        """The formula of a local derivative, if there is one that gives this."""
        if node.primitive is None:
            return self.by_hand(node, i, local)
        if formula is not None and formula.tree is not None and holds(formula, self.names.arguments(node), local):
            return _complete(filled_in(formula.tree, self.names.operands(node)))
        return None

    def by_hand(self, node: Node, i: int, local: Any) -> Syntax | None:
        """The derivative that the program wrote beside a function."""
        step = self.names.steps.get(node)
        function = self.evaluation.evaluator.functions.get(node.name().removesuffix("Backward"))
        if step is None or function is None or function.partials is None or len(step.arguments) != len(function.parameters):
            return None
        tree, values = function.partials[i], dict(zip(function.parameters, step.arguments, strict=True))
        shown = {key: self.names.constant(value) for key, value in values.items()}
        return _complete(filled_in(tree, shown)) if holds(Formula(tree), values, local) else None

    def as_rule(self, made: Contribution, visit: Visit, i: int, formula: Formula | None) -> None:
        """Say in words, or with a formula of the gradient, what a rule does."""
        node = visit.node
        if node.primitive is None and len(visit.gradients) == 1 and node._outputs == 1:
            by_hand = self.by_hand(node, i, node.apply(np.ones(node._shape, node._dtype)[()], None)[i])
            if by_hand is not None:
                made.formula = _times(name(ARRIVING), by_hand)
                return
        shown = self.names.operands(node)
        tree = None if formula is None else formula.tree
        made.words = in_words(node, made.to)
        if made.words is not None:
            return
        used = set() if tree is None else {part.children[0].text for part in walk(tree) if part.kind == "name"}
        if tree is not None and GRADIENT in used and used <= {GRADIENT, *shown}:
            made.formula = _complete(filled_in(tree, {**shown, GRADIENT: name(ARRIVING)}))
            if made.formula is not None:
                return
        text = "" if formula is None else formula.text if tree is None else unparse(tree)
        made.words = renamed(text, {key: unparse(tree) for key, tree in shown.items()}) or f"the rule of {node.name()}"


def _complete(tree: Syntax) -> Syntax | None:
    """A formula, if all that is in it is known."""
    return None if any(part.kind == "name" and part.children[0].text == UNKNOWN for part in walk(tree)) else tree


def _times(first: Syntax, second: Syntax) -> Syntax:
    """A product with a product, without brackets."""
    factors = []
    while second.kind == "mul":
        factors.append(second.children[1])
        second = second.children[0]
    for factor in (second, *reversed(factors)):
        first = Syntax("mul", [first, factor], "", first.span)
    return first
