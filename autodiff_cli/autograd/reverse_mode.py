"""The reverse sweep: ``backward`` and ``grad``.

Nodes run youngest first.  A node's inputs are always older than the node itself, so when the youngest pending node is
taken, all of its gradient has arrived: a heap replaces the usual topological sort, and nothing recurses.

The sweep works on plain arrays.  With ``create_graph`` the same rules are handed tensors instead, and record what they
do.  The adjoint of broadcasting and of a change of type is applied here, once, for every rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any

import numpy as np

from autodiff_cli.autograd.accumulate import (
    accumulate,
    as_tensor,
    run_accumulated_hooks,
    run_leaf_hooks,
    run_posthooks,
    run_prehooks,
    run_tensor_hooks,
)
from autodiff_cli.autograd.modes import is_anomaly_enabled, set_grad_enabled
from autodiff_cli.autograd.node import Cotangent, Edge, Node, leaf_edge
from autodiff_cli.autograd.primitives.structural import cast, stack, sum_to
from autodiff_cli.autograd.selection_masks import Blank, both, fitted, follow
from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.errors import ArgumentError, DtypeError, GraphError, ShapeError, type_name

NO_GRAPH = "does not require grad and does not have a grad_fn"
UNUSED = (
    "One of the differentiated Tensors appears to not have been used in the graph. "
    "Set allow_unused=True if this is the desired behavior."
)


def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensor | Sequence[Tensor] | None = None,
) -> None:
    """Add the gradients of ``tensors`` to ``.grad`` of the leaves they depend on, or of ``inputs`` only.

    Args:
        tensors: where the sweep starts.
        grad_tensors: what it starts from, one gradient for each tensor; 1 for scalars if left out.
        retain_graph: keep the saved values for another sweep; as ``create_graph`` if left out.
        create_graph: record the sweep, so that the gradients can be differentiated.
        inputs: fill ``.grad`` of these tensors and no others.

    Raises:
        GraphError: if a tensor has no graph, or its graph was freed.
        ShapeError: if a gradient is missing or has another shape than its tensor.
    """
    roots = _roots(_sequence(tensors), grad_tensors, create_graph)
    keep = create_graph if retain_graph is None else retain_graph
    if inputs is None:
        _sweep(roots, keep, create_graph, None)
        return
    wanted = list({id(tensor): tensor for tensor in _sequence(inputs)}.values())
    if not wanted:
        raise GraphError("'inputs' argument to 'backward' cannot be empty.")
    edges = [_gradient_edge(tensor, i) for i, tensor in enumerate(wanted)]
    captured = _sweep(roots, keep, create_graph, edges)
    for tensor, edge in zip(wanted, edges, strict=True):
        if edge in captured:
            accumulate(tensor, captured[edge], create_graph)


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor] | dict[Any, Tensor],
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """The gradients of ``outputs`` with respect to ``inputs``, returned and not accumulated.

    Args:
        outputs: the tensors to differentiate.
        inputs: the tensors, leaves or not, to differentiate by; a dictionary of them gives a dictionary of gradients.
        grad_outputs: what the sweep starts from, one gradient for each output; 1 for scalars if left out.
        retain_graph: keep the saved values for another sweep; as ``create_graph`` if left out.
        create_graph: record the sweep, so that the gradients can be differentiated.
        only_inputs: there for PyTorch's sake, and always true.
        allow_unused: give ``None`` for an input that the outputs do not depend on, instead of an error.
        is_grads_batched: ``grad_outputs`` have a first dimension more, over which results are stacked.
        materialize_grads: give zeros for it.

    Raises:
        GraphError: if an output has no graph, its graph was freed, or an input was not used.
        ShapeError: if a gradient is missing or has another shape than its output.
    """
    if isinstance(inputs, dict):
        options = (retain_graph, create_graph, only_inputs, allow_unused, is_grads_batched, materialize_grads)
        found = grad(outputs, list(inputs.values()), grad_outputs, *options)
        return dict(zip(inputs, found, strict=True))
    wanted = _sequence(inputs)
    if not wanted:
        raise GraphError("grad: 'inputs' cannot be empty.")
    if allow_unused is False and materialize_grads:
        raise ArgumentError("Expected allow_unused to be True or not passed when materialize_grads=True")
    if is_grads_batched:
        return _batched(outputs, wanted, grad_outputs, retain_graph, create_graph, allow_unused, materialize_grads)
    roots = _roots(_sequence(outputs), grad_outputs, create_graph)
    edges = [_gradient_edge(tensor, i) for i, tensor in enumerate(wanted)]
    captured = _sweep(roots, create_graph if retain_graph is None else retain_graph, create_graph, edges)
    results: list[Tensor | None] = []
    for i, (tensor, edge) in enumerate(zip(wanted, edges, strict=True)):
        if edge in captured:
            value = captured[edge]
            # A gradient that repeats one number by its strides is nothing to hand out.
            shared = isinstance(value, np.ndarray) and not value.flags.writeable
            results.append(as_tensor(value.copy() if shared else value))
        elif materialize_grads:
            zeros = tensor_on(np.zeros(tensor.shape, tensor.dtype)[()], None)
            results.append(zeros.requires_grad_(create_graph))
        elif allow_unused:
            results.append(None)
        else:
            raise GraphError(
                UNUSED.replace("One of the differentiated Tensors", f"The differentiated Tensor at index {i}"),
                hint="is it the tensor that the output was computed from, or a copy of it?",
            )
    return tuple(results)


def _batched(
    outputs: Any, inputs: list[Tensor], starts: Any, retain_graph: bool | None, create_graph: bool, *options: Any
) -> tuple[Tensor | None, ...]:
    """One sweep for each element of the first dimension of the gradients handed in."""
    batches = [starts] if isinstance(starts, Tensor) else list(starts or ())
    lengths = {batch.shape[0] for batch in batches if batch.shape}
    if len(lengths) != 1 or 0 in lengths:
        raise ShapeError("is_grads_batched=True needs gradients whose first dimension has one length, and not 0")
    (count,) = lengths
    for output, batch in zip(_sequence(outputs), batches, strict=True):
        if batch.shape[1:] != output.shape:
            raise ShapeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. The "
                f"sizes of the remaining dimensions are expected to match the shape of corresponding output, but a mismatch was "
                f"detected: grad_output[0] has a shape of {list(batch.shape)} and output[0] has a shape of {list(output.shape)}."
            )
    keep_last = create_graph if retain_graph is None else retain_graph
    allow_unused, materialize = options
    rows = []
    for i in range(count):
        keep = i < count - 1 or keep_last
        rows.append(grad(outputs, inputs, [b[i] for b in batches], keep, create_graph, True, allow_unused, False, materialize))
    return tuple(None if column[0] is None else stack(list(column)) for column in zip(*rows, strict=True))


def _sequence(tensors: Any) -> list[Tensor]:
    if hasattr(tensors, "output_nr") and isinstance(tensors, tuple):  # a graph.GradientEdge
        return [tensors]  # type: ignore[list-item]
    if isinstance(tensors, dict):
        return list(tensors.values())
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _roots(tensors: list[Tensor], gradients: Any, create_graph: bool) -> list[tuple[Edge, Cotangent]]:
    if gradients is None or isinstance(gradients, Tensor) or not isinstance(gradients, (list, tuple)):
        gradients = [gradients] * len(tensors) if gradients is None else [gradients]
    if len(gradients) != len(tensors):
        raise GraphError(f"got {len(tensors)} tensors and {len(gradients)} gradients")
    roots = []
    for i, (tensor, gradient) in enumerate(zip(tensors, gradients, strict=True)):
        if not tensor._requires_grad:
            raise GraphError(
                f"element {i} of tensors {NO_GRAPH}",
                hint="nothing it was computed from requires grad, or it was computed under no_grad or detached",
            )
        edge = tensor._edge or leaf_edge(tensor)
        roots.append((edge, _first_gradient(tensor, gradient, create_graph)))
    return roots


def _first_gradient(tensor: Tensor, gradient: Any, create_graph: bool) -> Cotangent:
    if gradient is None:
        if tensor._data.size != 1:
            raise ShapeError(
                "grad can be implicitly created only for scalar outputs",
                hint=f"the output has shape {list(tensor.shape)}: hand in a gradient of that shape, or sum it first",
            )
        data = np.ones(tensor.shape, tensor.dtype)[()]
        return tensor_on(data, None) if create_graph else data
    if not isinstance(gradient, Tensor):
        raise DtypeError(f"gradients can be either Tensors or None, but got {type_name(gradient)}")
    given = gradient
    if given.shape != tensor.shape:
        raise ShapeError(
            f"Mismatch in shape: the gradient handed in has a shape of {list(given.shape)} "
            f"and the output has a shape of {list(tensor.shape)}."
        )
    if given.dtype is not tensor.dtype:
        given = cast(given, tensor.dtype)
    return given if create_graph else given._data


def _gradient_edge(tensor: Any, index: int) -> Edge:
    if isinstance(tensor, tuple):  # a graph.GradientEdge
        return (tensor[0], tensor[1])
    if not tensor._requires_grad:
        raise GraphError(
            "One of the differentiated Tensors does not require grad",
            hint=f"call requires_grad_() on input {index} before it is used",
        )
    return tensor._edge or leaf_edge(tensor)


def _sweep(
    roots: list[tuple[Edge, Cotangent]], keep: bool, create_graph: bool, targets: list[Edge] | None
) -> dict[Edge, Cotangent]:
    # A derivative that is infinite or nan is an answer here, not something for NumPy to warn of.
    with np.errstate(all="ignore"):
        if not create_graph:
            return _run(roots, keep, False, targets)
        with set_grad_enabled(True):
            return _run(roots, keep, True, targets)


def _run(roots: list[tuple[Edge, Cotangent]], keep: bool, create_graph: bool, targets: list[Edge] | None) -> dict[Edge, Cotangent]:
    """Run the nodes; give the gradients that arrive at ``targets``, or without any, fill the leaves."""
    needed = None if targets is None else _nodes_towards([edge[0] for edge, _ in roots], targets)
    wanted = {} if targets is None else _by_node(targets)
    captured: dict[Edge, Cotangent] = {}
    pending: dict[Node, Cotangent] = {}
    heap: list[tuple[int, Node]] = []
    leaves: list[Any] = []
    hooked: list[Any] = []  # those leaves at whose gradients somebody looks
    to_come: dict[Node, int] | None = None
    blank: dict[Node, Blank] = {}  # see autograd.untaken

    def arrive(edge: Edge, part: Cotangent) -> None:
        target: Any = edge[0]
        if needed is not None and target not in needed:
            return
        if target._outputs != 1:
            _add_output(pending, heap, target, edge[1], part)
            return
        if part.shape != target._shape or part.dtype is not target._dtype:
            part = fit(part, target._shape, target._dtype)
        if target in pending:
            pending[target] = pending[target] + part
            return
        pending[target] = part
        if target.sequence_nr:
            heappush(heap, (-target.sequence_nr, target))
        else:
            extra = target.variable._extra
            (hooked if extra.hooks or extra.after or target._hooks is not None else leaves).append(target)

    def finish(leaf: Any) -> None:
        """The end of the way for a leaf with hooks."""
        hooked.remove(leaf)
        gradient = run_leaf_hooks(leaf, pending.pop(leaf), create_graph)
        if targets is not None:
            captured[(leaf, 0)] = gradient
            return
        if leaf._hooks is not None:
            gradient = run_prehooks(leaf, leaf._hooks, gradient, create_graph)
        accumulate(leaf.variable, gradient, create_graph)
        run_accumulated_hooks(leaf, gradient)

    watching = is_anomaly_enabled()
    for edge, gradient in roots:
        arrive(edge, gradient)
    while heap:
        node = heappop(heap)[1]
        gradient = pending.pop(node)
        hooks = node._hooks
        if hooks is not None:
            gradient = run_tensor_hooks(node, hooks, gradient, create_graph)
        if node in wanted:
            for edge in wanted[node]:
                value = gradient if node._outputs == 1 else gradient[edge[1]]
                if value is not None:
                    captured[edge] = value
            if needed is not None and node not in needed.inner:
                continue
        if hooks is not None and hooks.before:
            gradient = run_prehooks(node, hooks, gradient, create_graph)
        parts = node.apply_recorded(gradient, needed) if create_graph else node.apply(gradient, needed)
        blanks = None
        if node.selects or blank:
            known = blank.pop(node, None)
            if node.selects or known is not None:
                parts, blanks = follow(node, gradient, parts, known, needed)
        if watching:
            _check_nan(node, parts)
        if not keep:
            node.release()
        if hooks is not None and hooks.after:
            parts = run_posthooks(hooks, parts, gradient)
        for i, (next_edge, part) in enumerate(zip(node._edges, parts, strict=False)):
            if part is not None and next_edge is not None:
                if blank or blanks:
                    _note_blank(blank, next_edge[0], blanks[i] if blanks else None, next_edge[0] in pending)
                arrive(next_edge, part)
        if hooked:
            # Their hooks run as soon as all has arrived, before those of nodes further on.
            if to_come is None:
                to_come = _edges_to_leaves([node for _, node in heap], needed)
            else:
                for used in node._edges:
                    if used is not None and used[0] in to_come:
                        to_come[used[0]] -= 1
            for leaf in [leaf for leaf in hooked if not to_come.get(leaf)]:
                finish(leaf)
    for leaf in hooked[:]:  # something on the way gave nothing
        finish(leaf)
    # All other leaves come last: an error in the sweep leaves no half of it behind.
    if targets is None:
        for leaf in leaves:
            accumulate(leaf.variable, pending[leaf], create_graph)
    else:
        for leaf in leaves:
            captured[(leaf, 0)] = pending[leaf]
    return captured


def _note_blank(blank: dict[Node, Blank], target: Node, arriving: Blank | None, is_pending: bool) -> None:
    """Keep the blank elements of what arrives at a node; a further arrival leaves those that both have."""
    if arriving is None or target._outputs != 1 or target.sequence_nr == 0 or (is_pending and target not in blank):
        blank.pop(target, None)
        return
    arriving = fitted(arriving, target._shape, sum_to)
    blank[target] = both(blank[target], arriving) if is_pending else arriving


def _check_nan(node: Node, parts: Sequence[Any]) -> None:
    for i, part in enumerate(parts):
        if part is not None and np.any(np.isnan(getattr(part, "_data", part))):
            raise GraphError(
                f"Function '{node.name()}' returned nan values in its {i}th output.", hint="this is the first node that did"
            )


def _edges_to_leaves(starts: list[Node], needed: _Needed | None) -> dict[Node, int]:
    """How many edges lead to each leaf from these nodes and from what they lead to."""
    counts: dict[Node, int] = {}
    seen = set(starts)
    stack = list(seen)
    while stack:
        for edge in stack.pop()._edges:
            if edge is None or (needed is not None and edge[0] not in needed):
                continue
            following = edge[0]
            if following.sequence_nr == 0:
                counts[following] = counts.get(following, 0) + 1
            elif following not in seen:
                seen.add(following)
                stack.append(following)
    return counts


class _Needed(set[Node]):
    """The nodes on a way to a target; ``inner`` are those whose own inputs lead to one."""

    def __init__(self) -> None:
        super().__init__()
        self.inner: set[Node] = set()


def _nodes_towards(starts: list[Node], targets: list[Edge]) -> _Needed:
    ends = {node for node, _ in targets}
    needed = _Needed()
    seen: set[Node] = set()
    stack: list[tuple[Node, bool]] = [(node, False) for node in starts]
    while stack:
        node, finished = stack.pop()
        if finished:
            for edge in node._edges:
                if edge is not None and edge[0] in needed:
                    needed.add(node)
                    needed.inner.add(node)
                    break
            continue
        if node in seen:
            continue
        seen.add(node)
        if node in ends:
            needed.add(node)
        if node._edges:
            stack.append((node, True))
            for edge in node._edges:
                if edge is not None and edge[0] not in seen:
                    stack.append((edge[0], False))
    return needed


def _by_node(edges: list[Edge]) -> dict[Node, list[Edge]]:
    grouped: dict[Node, list[Edge]] = {}
    for edge in edges:
        grouped.setdefault(edge[0], []).append(edge)
    return grouped


def fit(part: Cotangent, shape: tuple[int, ...], dtype: Any) -> Cotangent:
    """A gradient brought to the shape and type of what it is the gradient of."""
    if part.shape != shape:
        part = sum_to(part, shape)
    return part if part.dtype is dtype else cast(part, dtype)


def _add_output(pending: dict[Node, Cotangent], heap: list[tuple[int, Node]], node: Node, output: int, part: Cotangent) -> None:
    """The gradient of one output of a node that has several: its pending gradient is a list."""
    shapes: Any = node._shape
    dtypes: Any = node._dtype
    shape, dtype = shapes[output], dtypes[output]
    if part.shape != shape or part.dtype is not dtype:
        part = fit(part, shape, dtype)
    if node not in pending:
        pending[node] = [None] * node._outputs
        heappush(heap, (-node.sequence_nr, node))
    before = pending[node][output]
    pending[node][output] = part if before is None else before + part


def _backward_method(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensor | Sequence[Tensor] | None = None,
) -> None:
    """Add the gradient of this tensor to ``.grad`` of the leaves that it depends on.

    Args:
        gradient: where to start, of this tensor's shape; 1 for a scalar.
        retain_graph: keep saved values so that backward can run again; as ``create_graph`` if left out.
        create_graph: record the backward pass itself, so that gradients can be differentiated.
        inputs: fill ``.grad`` of these tensors only.

    Raises:
        GraphError: if nothing was recorded, or the graph was freed by an earlier backward pass.
        ShapeError: if ``gradient`` is missing or has another shape.
    """
    backward(self, gradient, retain_graph, create_graph, inputs)


_backward_method.__name__ = "backward"
setattr(Tensor, "backward", _backward_method)  # noqa: B010  the block under TYPE_CHECKING in Tensor declares it
