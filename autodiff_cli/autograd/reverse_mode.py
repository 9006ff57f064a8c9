"""Reverse mode: ``backward`` and ``grad``, with PyTorch's arguments and errors."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.node import AccumulateGrad, Cotangent, Edge, GradientEdge, leaf_edge
from autodiff_cli.autograd.primitives.primitive import outermost
from autodiff_cli.autograd.primitives.structural import stack
from autodiff_cli.autograd.reverse.accumulate import accumulate, as_tensor
from autodiff_cli.autograd.reverse.backward_pass import run_backward
from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.errors import ArgumentError, DtypeError, GraphError, ShapeError, type_name

Inputs = Tensor | GradientEdge | Sequence[Tensor | GradientEdge]
GradOutputs = Tensor | Sequence[Tensor | None] | None
"""The cotangents of the outputs, one for each output; ``None`` means 1, for a scalar output."""

NO_GRAPH = "does not require grad and does not have a grad_fn"
UNUSED = (
    "The differentiated Tensor at index {} appears to not have been used in the graph. "
    "Set allow_unused=True if this is the desired behavior."
)


def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: GradOutputs = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensor | Sequence[Tensor] | None = None,
) -> None:
    """Add the gradients of ``tensors`` to ``.grad`` of the leaves that they depend on, or only of ``inputs``.

    Args:
        tensors: the tensors to differentiate.
        grad_tensors: the initial gradient of each tensor; if left out, 1 for scalars.
        retain_graph: whether to keep the saved values for another backward pass; the default is ``create_graph``.
        create_graph: whether to record the backward pass, so that the gradients can be differentiated.
        inputs: the only tensors whose ``.grad`` is filled; if left out, all leaves.

    Raises:
        GraphError: if a tensor does not have a graph, or its graph was freed.
        ShapeError: if a gradient is missing, or its shape differs from the shape of its tensor.
    """
    roots = _roots(_tensors(tensors), grad_tensors, create_graph)
    keep = create_graph if retain_graph is None else retain_graph
    if inputs is None:
        run_backward(roots, keep, create_graph)
        return
    wanted = list({id(tensor): tensor for tensor in _tensors(inputs)}.values())
    if not wanted:
        raise GraphError("'inputs' argument to 'backward' cannot be empty.")
    edges = [_gradient_edge(tensor, i) for i, tensor in enumerate(wanted)]
    captured = run_backward(roots, keep, create_graph, edges)
    for tensor, edge in zip(wanted, edges, strict=True):
        if edge in captured:
            accumulate(tensor, captured[edge], create_graph)


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Inputs | Mapping[Any, Tensor],
    grad_outputs: GradOutputs = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """Return the gradients of ``outputs`` with respect to ``inputs``, without accumulation into ``.grad``.

    Args:
        outputs: the tensors to differentiate.
        inputs: the tensors, leaves or not, to differentiate with respect to; a dictionary gives a dictionary of gradients.
        grad_outputs: the initial gradient of each output; if left out, 1 for scalars.
        retain_graph: whether to keep the saved values for another backward pass; the default is ``create_graph``.
        create_graph: whether to record the backward pass, so that the gradients can be differentiated.
        only_inputs: accepted for compatibility with PyTorch; it is always true.
        allow_unused: whether to return ``None``, instead of raising an error, for an input that the outputs do not depend on.
        is_grads_batched: whether ``grad_outputs`` have an additional first dimension; the results are stacked along it.
        materialize_grads: whether to return zeros for an input that the outputs do not depend on.

    Returns:
        A tuple with one gradient for each input, or a dictionary.

    Raises:
        GraphError: if an output does not have a graph, its graph was freed, or an input was not used.
        ShapeError: if a gradient is missing, or its shape differs from the shape of its output.
    """
    if isinstance(inputs, Mapping):
        options = (retain_graph, create_graph, only_inputs, allow_unused, is_grads_batched, materialize_grads)
        found = grad(outputs, list(inputs.values()), grad_outputs, *options)
        return dict(zip(inputs, found, strict=True))
    wanted = [inputs] if isinstance(inputs, (Tensor, GradientEdge)) else list(inputs)
    if not wanted:
        raise GraphError("grad: 'inputs' cannot be empty.")
    if allow_unused is False and materialize_grads:
        raise ArgumentError("Expected allow_unused to be True or not passed when materialize_grads=True")
    if is_grads_batched:
        return _batched(outputs, wanted, grad_outputs, retain_graph, create_graph, allow_unused, materialize_grads)
    given = _tensors(outputs)
    transformed = outermost((given, wanted, grad_outputs if isinstance(grad_outputs, (list, tuple)) else [grad_outputs]))
    if transformed is not None:
        found = transformed.differentiated(given, wanted, grad_outputs, retain_graph, create_graph, allow_unused, materialize_grads)
        return tuple(found)
    roots = _roots(given, grad_outputs, create_graph)
    edges = [_gradient_edge(tensor, i) for i, tensor in enumerate(wanted)]
    captured = run_backward(roots, create_graph if retain_graph is None else retain_graph, create_graph, edges)
    results: list[Tensor | None] = []
    for i, edge in enumerate(edges):
        if edge in captured:
            value = captured[edge]
            # Return a copy, because a broadcast gradient is read-only.
            read_only = isinstance(value, np.ndarray) and not value.flags.writeable
            results.append(as_tensor(value.copy() if read_only else value))
        elif materialize_grads:
            shape, dtype = edge[0].output_type(edge[1])
            results.append(tensor_on(np.zeros(shape, dtype)[()]).requires_grad_(create_graph))
        elif allow_unused:
            results.append(None)
        else:
            raise GraphError(UNUSED.format(i), hint="pass the tensor that the output was computed from, not a copy of it")
    return tuple(results)


def _batched(
    outputs: Tensor | Sequence[Tensor],
    inputs: Sequence[Tensor | GradientEdge],
    grad_outputs: GradOutputs,
    retain_graph: bool | None,
    create_graph: bool,
    allow_unused: bool | None,
    materialize: bool,
) -> tuple[Tensor | None, ...]:
    """Run one backward pass for each position along the first dimension of ``grad_outputs``, and stack the results."""
    batches = [grad_outputs] if isinstance(grad_outputs, Tensor) else [batch for batch in grad_outputs or () if batch is not None]
    lengths = {batch.shape[0] for batch in batches if batch.shape}
    if len(lengths) != 1 or 0 in lengths:
        raise ShapeError("is_grads_batched=True requires gradients whose first dimensions have the same nonzero length")
    (count,) = lengths
    for output, batch in zip(_tensors(outputs), batches, strict=True):
        if batch.shape[1:] != output.shape:
            raise ShapeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. The "
                f"sizes of the remaining dimensions are expected to match the shape of corresponding output, but a mismatch was "
                f"detected: grad_output[0] has a shape of {list(batch.shape)} and output[0] has a shape of {list(output.shape)}."
            )
    keep_last = create_graph if retain_graph is None else retain_graph
    rows = []
    for i in range(count):
        keep = i < count - 1 or keep_last
        rows.append(grad(outputs, inputs, [b[i] for b in batches], keep, create_graph, True, allow_unused, False, materialize))
    return tuple(None if column[0] is None else stack(list(column)) for column in zip(*rows, strict=True))


def _tensors(tensors: Tensor | Sequence[Tensor] | Mapping[Hashable, Tensor]) -> list[Tensor]:
    if isinstance(tensors, Mapping):
        return list(tensors.values())
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _roots(tensors: list[Tensor], grad_outputs: GradOutputs, create_graph: bool) -> list[tuple[Edge, Cotangent]]:
    if grad_outputs is None:
        gradients: Sequence[Tensor | None] = [None] * len(tensors)
    else:
        gradients = grad_outputs if isinstance(grad_outputs, Sequence) else [grad_outputs]
    if len(gradients) != len(tensors):
        raise GraphError(f"got {len(tensors)} tensors and {len(gradients)} gradients")
    roots = []
    for i, (tensor, gradient) in enumerate(zip(tensors, gradients, strict=True)):
        edge = (tensor._edge or leaf_edge(tensor)) if tensor._requires_grad else None
        if edge is None:
            raise GraphError(
                f"element {i} of tensors {NO_GRAPH}",
                hint="compute it from a tensor that requires grad, without no_grad or detach",
            )
        roots.append((edge, _root_cotangent(tensor, gradient, create_graph)))
    return roots


def _root_cotangent(tensor: Tensor, gradient: Tensor | None, create_graph: bool) -> Cotangent:
    if gradient is None:
        if tensor._data.size != 1:
            raise ShapeError(
                "grad can be implicitly created only for scalar outputs",
                hint=f"pass a gradient of shape {list(tensor.shape)}, or sum the output first",
            )
        gradient = tensor_on(np.ones(tensor.shape, tensor.dtype)[()])
    if not isinstance(gradient, Tensor):
        raise DtypeError(f"gradients can be either Tensors or None, but got {type_name(gradient)}")
    if gradient.shape != tensor.shape:
        raise ShapeError(
            f"Mismatch in shape: the gradient passed has a shape of {list(gradient.shape)} "
            f"and the output has a shape of {list(tensor.shape)}."
        )
    return gradient if create_graph else gradient._data


def _gradient_edge(tensor: Tensor | GradientEdge, index: int) -> Edge:
    if isinstance(tensor, GradientEdge):
        return tensor.node, tensor.output_nr
    if not tensor._requires_grad:
        raise GraphError(
            "One of the differentiated Tensors does not require grad",
            hint=f"call requires_grad_() on input {index} before it is used",
        )
    return tensor._edge or leaf_edge(tensor) or (AccumulateGrad(tensor), 0)


def _backward_method(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensor | Sequence[Tensor] | None = None,
) -> None:
    """Add the gradient of this tensor to ``.grad`` of the leaves that it depends on.

    Args:
        gradient: the initial gradient, with the shape of this tensor; 1 for a scalar if left out.
        retain_graph: whether to keep the saved values for another backward pass; the default is ``create_graph``.
        create_graph: whether to record the backward pass, so that the gradients can be differentiated.
        inputs: the only tensors whose ``.grad`` is filled; if left out, all leaves.

    Raises:
        GraphError: if the tensor does not have a graph, or an earlier backward pass freed the graph.
        ShapeError: if ``gradient`` is missing, or its shape differs from the shape of this tensor.
    """
    backward(self, gradient, retain_graph, create_graph, inputs)


_backward_method.__name__ = "backward"
setattr(Tensor, "backward", _backward_method)  # noqa: B010  the block under TYPE_CHECKING in Tensor declares it
