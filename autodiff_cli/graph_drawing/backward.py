"""The backward graph: the nodes of a backward pass, with the upstream gradient of each node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.autograd.graph import get_gradient_edge
from autodiff_cli.autograd.node import AccumulateGrad, Node
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import GraphError, setting
from autodiff_cli.evaluation.evaluation import Evaluation
from autodiff_cli.graph_drawing.model import Graph, GraphNode
from autodiff_cli.postorder import postorder

if TYPE_CHECKING:
    from autodiff_cli.autograd.saved.memory_use import SavedMemory, SavedValue

    Named = tuple[Tensor, str, str]
    """A tensor, its name and its expression."""


def run_backward(evaluation: Evaluation, output: Tensor) -> bool:
    """Run a backward pass that stores the gradient of every tensor in its ``.grad``; return whether a pass was possible.

    It is not possible if the output does not require grad, or if it has several elements and the evaluation does not have an
    initial gradient.
    """
    initial_gradient = evaluation.gradient if output is evaluation.output else None  # it has the shape of this output
    if not output.requires_grad or (initial_gradient is None and output.numel() != 1):
        return False
    for tensor, _expression in evaluation.evaluator.tensors.entries:
        if tensor.requires_grad:
            tensor.retain_grad()
    with np.errstate(all="ignore"):
        output.backward(initial_gradient)
    return True


def backward_graph(evaluation: Evaluation, output: Tensor, saved: bool = False) -> Graph:
    """Return the graph of a backward pass from a tensor of an evaluation, with the upstream gradient of each node.

    The graph does not contain gradients if the output has several elements and the evaluation does not have an initial gradient.
    With ``saved``, it contains the values that each node saves for the backward pass.

    Raises:
        GraphError: if the output does not depend on any variable.
    """
    if not output.requires_grad:
        raise GraphError(
            "the output does not have a backward graph, because no recorded operation connects it with a variable",
            hint=f"give the variables with {setting('at')}, because constants do not require grad",
        )
    graph, nodes = _graph(output, list(evaluation.evaluator.named()), evaluation.leaves.values(), saved)
    graph.expression = evaluation.expression
    drawn = dict(zip(nodes, graph.nodes, strict=True))
    leaves = [node for node in nodes if isinstance(node, AccumulateGrad)]
    # The gradient of an operation is known only while its node runs; that of a leaf is in its ``.grad`` afterwards.
    hooks = [node.register_prehook(_gradient_hook(drawn[node])) for node in nodes if not isinstance(node, AccumulateGrad)]
    run_backward(evaluation, output)  # if it is possible; else there are no gradients
    for hook in hooks:
        hook.remove()
    for leaf in leaves:
        drawn[leaf].grad = None if leaf.variable.grad is None else leaf.variable.grad._data
    return graph


def graph_of_tensor(output: Tensor, names: Mapping[str, Tensor], saved: bool = False) -> Graph:
    """Return the graph that a backward pass from a tensor would run through; no backward pass runs.

    The graph contains the values of leaves, the gradients that were accumulated in them, and the number of hooks at each node;
    with ``saved``, also the values that each node saves for the backward pass.  ``names`` are the names of tensors.

    Raises:
        GraphError: if the tensor does not require grad.
    """
    if not output.requires_grad:
        raise GraphError(
            "the tensor does not have a graph, because it does not require grad",
            hint="set requires_grad=True for the tensors from which it is computed",
        )
    graph, nodes = _graph(output, [(tensor, name, name) for name, tensor in names.items()], None, saved)
    for drawn, node in zip(graph.nodes, nodes, strict=True):
        drawn.hooks = _hooks(node)
        if isinstance(node, AccumulateGrad):
            drawn.value = node.variable._data
            drawn.grad = None if node.variable.grad is None else node.variable.grad._data
    graph.expression = graph.nodes[-1].name or graph.nodes[-1].label
    return graph


def _hooks(node: Node) -> int:
    """Return the number of hooks that a backward pass calls at a node: those of the node, and those of the tensors it computes."""
    groups = [] if node._hooks is None else [node._hooks.before, node._hooks.after, *node._hooks.tensor.values()]
    of_leaf = node.variable._extra if isinstance(node, AccumulateGrad) else None  # a leaf stores its hooks itself
    if of_leaf is not None:
        groups += [of_leaf.hooks or {}, of_leaf.after or {}]
    return sum(len(group) for group in groups)


def _graph(output: Tensor, named: Sequence[Named], leaves: Iterable[Tensor] | None, saved: bool) -> tuple[Graph, list[Node]]:
    """Return the graph of a backward pass from a tensor, without gradients, and its nodes, inputs first.

    With ``saved``, it contains the values that each node saves, of which those of ``leaves``, by default of all, take no memory.
    """
    root = get_gradient_edge(output).node
    nodes = sorted(postorder([root], _inputs), key=lambda node: node.sequence_nr)
    names = _names(nodes, named)
    if leaves is None:
        leaves = [node.variable for node in nodes if isinstance(node, AccumulateGrad)]
    memory, saved_values = _memory(root, named, names, leaves) if saved else (None, {})
    positions = {node: i for i, node in enumerate(nodes)}
    drawn = []
    for node in nodes:
        name, expression = names.get(node, ("", ""))
        inputs = [None if following is None else positions[following] for following, _ in node.next_functions]
        node_name, values = type(node).__name__, saved_values.get(node)
        drawn.append(GraphNode(_kind(node, root, name), node_name, name, expression, inputs, requires_grad=True, saved=values))
    return Graph(drawn, expression="", direction="backward", evaluated=True, memory=memory), nodes  # the caller has the expression


def _kind(node: Node, root: Node, name: str) -> str:
    """Return the kind of the drawing of a node, whose tensor is called ``name``; ``root`` is the node of the output."""
    if isinstance(node, AccumulateGrad):
        return "variable"
    return "output" if node is root else "named" if name.isidentifier() else "operation"


def _nodes_in_tree_order(root: Node) -> list[Node]:
    """Return the nodes behind a node, depth first: in the order in which the lines of a tree show them for the first time."""
    order: dict[Node, None] = {}
    stack = [root]
    while stack:
        node = stack.pop()
        if node not in order:
            order[node] = None
            stack += reversed(_inputs(node))
    return list(order)


def _memory(
    root: Node, named: Iterable[Named], names: Mapping[Node, tuple[str, str]], leaves: Iterable[Tensor]
) -> tuple[SavedMemory, dict[Node, list[SavedValue]]]:
    """Return the memory of all saved values behind a node, and the saved values of each node.

    A value that several nodes save counts for the first of them in the tree; ``names`` are the names and expressions of nodes.
    """
    from autodiff_cli.autograd.saved.memory_use import SavedMemory

    tensor_names = {id(tensor): name for tensor, name, _expression in named}
    memory = SavedMemory(lambda tensor: tensor_names.get(id(tensor), ""), leaves)
    saved_values = {}
    for node in _nodes_in_tree_order(root):
        name, _expression = names.get(node, ("", ""))
        saved_values[node] = memory.values_of(node, name)
    return memory, saved_values


def _inputs(node: Node) -> list[Node]:
    """Return the nodes that receive a gradient from a node."""
    return [following for following, _ in node.next_functions if following is not None]


def _gradient_hook(drawn: GraphNode) -> Callable[[Sequence[Tensor | None]], None]:
    """Return a hook that stores the upstream gradient of a node, of the first of its outputs that has one, in its drawing."""

    def hook(gradients: Sequence[Tensor | None]) -> None:
        first = next((gradient for gradient in gradients if gradient is not None), None)
        if first is not None:
            drawn.grad = first._data

    return hook


def _names(nodes: Iterable[Node], named: Iterable[Named]) -> dict[Node, tuple[str, str]]:
    """Return the name and the expression of each leaf, and of the first named output of each other node; others are left out."""
    names: dict[Node, tuple[str, str]] = {}
    leaf_names: dict[int, tuple[str, str]] = {}  # by the id of the tensor, which does not know its node
    for tensor, name, expression in named:
        if tensor._edge is not None:
            node, _output_number = tensor._edge
            names.setdefault(node, (name, expression))
        else:
            leaf_names.setdefault(id(tensor), (name, expression))
    for node in nodes:
        if isinstance(node, AccumulateGrad) and id(node.variable) in leaf_names:
            names[node] = leaf_names[id(node.variable)]
    return names
