"""The backward graph: the nodes that a sweep goes through, with the gradients that arrive at them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.graph import get_gradient_edge
from autodiff_cli.autograd.node import AccumulateGrad, Node
from autodiff_cli.autograd.reverse_mode import grad
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import GraphError, UnknownName
from autodiff_cli.evaluation.evaluation import Evaluation
from autodiff_cli.graph.model import Call, Graph, GraphNode, outermost_calls


def run_backward(evaluation: Evaluation, output: Tensor) -> bool:
    """Fill the gradients of everything that leads to the output; whether that was possible.

    An output of several elements needs the evaluation's gradient, as in every sweep.
    """
    if not output.requires_grad or (evaluation.gradient is None and output.numel() != 1):
        return False
    for tensor, _ in evaluation.evaluator.tensors.made:
        if tensor.requires_grad:
            tensor.retain_grad()
    start = evaluation.gradient if output is evaluation.output else None
    if start is None and output.numel() != 1:
        return False
    with np.errstate(all="ignore"):
        output.backward(start)
    return True


def gradient_of(evaluation: Evaluation, name: str) -> Tensor:
    """The gradient by a variable, recorded, so that it has a graph of its own.

    Raises:
        UnknownName: if there is no such variable.
        ShapeError: if the output has several elements and no gradient to start from.
        GraphError: if the gradient does not depend on any variable.
    """
    if name not in evaluation.variables:
        raise UnknownName(
            f"--of names the gradient by '{name}', which is not a variable",
            hint=f"the variables are {', '.join(evaluation.variables)}" if evaluation.variables else "give one with --at x=1",
        )
    evaluation.require_scalar()
    with np.errstate(all="ignore"):
        found = grad(
            evaluation.output, [evaluation.variables[name]], evaluation.gradient, create_graph=True, materialize_grads=True
        )[0]
    assert isinstance(found, Tensor)
    if not found.requires_grad:
        raise GraphError(f"the gradient by {name} has no graph: it does not depend on a variable")
    return found


def backward_graph(evaluation: Evaluation, output: Tensor) -> Graph:
    """The graph that a sweep from this tensor goes through, each node with the gradient that arrives there.

    Gradients are left out if the output has several elements and none is given to start from.

    Raises:
        GraphError: if the output depends on no variable.
    """
    if not output.requires_grad:
        raise GraphError(
            "there is no backward graph: the output does not depend on a variable through recorded operations",
            hint="give the variables with --at; a --const requires no grad",
        )
    root = get_gradient_edge(output).node
    nodes = sorted(_reached(root), key=lambda node: node.sequence_nr)
    at = {id(node): i for i, node in enumerate(nodes)}
    arrived: dict[int, Any] = {}
    handles = [node.register_prehook(_keeping(arrived, id(node))) for node in nodes if not isinstance(node, AccumulateGrad)]
    names = _names(evaluation)
    run_backward(evaluation, output)
    for handle in handles:
        handle.remove()
    calls = _calls(evaluation, nodes)
    made = []
    for node in nodes:
        inputs = [None if following is None else at[id(following)] for following, _ in node.next_functions]
        kind = "variable" if isinstance(node, AccumulateGrad) else "operation"
        name, text = names.get(id(node), ("", ""))
        if isinstance(node, AccumulateGrad):
            variable = node.variable
            name = text = next((n for n, leaf in evaluation.leaves.items() if leaf is variable), "")
            arrived[id(node)] = None if variable.grad is None else variable.grad._data
        shown = GraphNode("named" if kind == "operation" and name.isidentifier() else kind, node.name(), name, text, inputs)
        shown.grad, shown.requires_grad, shown.call = arrived.get(id(node)), True, calls.get(id(node))
        made.append(shown)
    if made[-1].kind != "variable":
        made[-1].kind = "output"
    return Graph(made, evaluation.expression, "backward", evaluated=True)


def _reached(root: Node) -> list[Node]:
    reached, seen = [root], {id(root)}
    for node in reached:  # grows while it is read
        for following, _ in node.next_functions:
            if following is not None and id(following) not in seen:
                seen.add(id(following))
                reached.append(following)
    return reached


def _keeping(arrived: dict[int, Any], key: int) -> Any:
    def hook(gradients: Iterable[Any]) -> None:
        first = next((g for g in gradients if g is not None), None)
        arrived[key] = getattr(first, "_data", first)

    return hook


def _names(evaluation: Evaluation) -> dict[int, tuple[str, str]]:
    """For each node the name and the expression of the tensor that it made; the first of several."""
    names: dict[int, tuple[str, str]] = {}
    for tensor, name, text in evaluation.evaluator.named():
        if tensor._edge is not None:
            names.setdefault(id(tensor._edge[0]), (name, text))
    return names


def _calls(evaluation: Evaluation, nodes: Sequence[Node]) -> dict[int, Call | None]:
    """For each node, in order, the call that it was recorded in: a step records the nodes up to that of its result."""
    found: dict[int, Call | None] = {}
    waiting = iter([node for node in nodes if node.sequence_nr])
    node = next(waiting, None)
    for step, call in zip(evaluation.trace, outermost_calls(evaluation.evaluator.tensors), strict=True):
        edge = step.result._edge if isinstance(step.result, Tensor) else None
        while edge is not None and node is not None and node.sequence_nr <= edge[0].sequence_nr:
            found[id(node)] = call
            node = next(waiting, None)
    return found
