"""Reverse mode: ``backward`` and ``grad``, with PyTorch's arguments and errors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.node import Cotangent, Edge, GradientEdge, leaf_edge
from autodiff_cli.autograd.primitives.primitive import outermost
from autodiff_cli.autograd.printing import Size
from autodiff_cli.autograd.reverse.accumulate import as_tensor
from autodiff_cli.autograd.reverse.backward_pass import run_backward
from autodiff_cli.autograd.tensor import Tensor, add_methods, tensor_on, zeros_on
from autodiff_cli.errors import ArgumentError, DtypeError, GraphError, ShapeError, type_name
from autodiff_cli.lazy import named

Differentiable = Tensor | GradientEdge
Inputs = Differentiable | Sequence[Differentiable] | Mapping[Any, Differentiable]
GradOutputs = Tensor | Sequence[Tensor | None] | None
"""The cotangents of the outputs, one for each output; ``None`` means 1, for a scalar output."""

NO_GRAPH = "does not require grad and does not have a grad_fn"
UNUSED = (
    "The differentiated Tensor at index {} appears to not have been used in the graph. "
    "Set allow_unused=True if this is the desired behavior."
)


def backward(
    tensors: Differentiable | Sequence[Differentiable],
    grad_tensors: GradOutputs = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Inputs | None = None,
) -> None:
    """Add the gradients of ``tensors`` to ``.grad`` of the leaves that they depend on, or only of ``inputs``.

    Args:
        tensors: the tensors or gradient edges to differentiate.
        grad_tensors: the initial gradient of each tensor; if left out, 1 for scalars.
        retain_graph: whether to keep the saved values for another backward pass; the default is ``create_graph``.
        create_graph: whether to record the backward pass, so that the gradients can be differentiated.
        inputs: the only tensors whose ``.grad`` is filled; if left out, all leaves.  As in PyTorch, a tensor that is not a leaf
            retains its gradient from then on.

    Raises:
        GraphError: if a tensor does not have a graph, or its graph was freed.
        ShapeError: if a gradient is missing, or its shape differs from the shape of its tensor.
    """
    targets = None if inputs is None else _checked_inputs(inputs, "backward")
    roots = _root_edges(_checked_outputs(tensors), grad_tensors, create_graph)
    edges = None
    if targets is not None:
        for tensor in targets:
            if isinstance(tensor, Tensor):
                tensor.retain_grad()
        edges = [_input_edge(tensor, i) for i, tensor in enumerate(targets)]
    run_backward(roots, create_graph if retain_graph is None else retain_graph, create_graph, edges)


def grad(
    outputs: Differentiable | Sequence[Differentiable],
    inputs: Inputs,
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
        outputs: the tensors or gradient edges to differentiate.
        inputs: the tensors, leaves or not, or the gradient edges to differentiate with respect to; a dictionary gives a
            dictionary of gradients.
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
    if allow_unused is False and materialize_grads:
        raise ArgumentError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    starts, targets = _checked_outputs(outputs), _checked_inputs(inputs, "grad")
    gradients = grad_outputs if isinstance(grad_outputs, (list, tuple)) else [grad_outputs]
    keep = create_graph if retain_graph is None else retain_graph
    results: Any = NotImplemented
    if is_grads_batched:
        results = _batched_gradients(starts, targets, gradients, keep, create_graph)
    else:
        transformed = outermost((starts, targets))
        transformed = outermost((gradients,)) if transformed is None else transformed
        if transformed is not None:  # a dual or batched tensor
            results = transformed.differentiated(
                starts,
                targets,
                grad_outputs,
                retain_graph=retain_graph,
                create_graph=create_graph,
                allow_unused=allow_unused,
                materialize_grads=materialize_grads,
            )
    if results is NotImplemented:
        roots = _root_edges(starts, grad_outputs, create_graph)
        edges = [_input_edge(tensor, i) for i, tensor in enumerate(targets)]
        captured = run_backward(roots, keep, create_graph, edges, accumulates=False)
        results = [_as_writable_tensor(captured[edge]) if edge in captured else None for edge in edges]
    if any(gradient is None for gradient in results):
        results = [
            _gradient_of_unused(tensor, i, create_graph, materialize_grads, allow_unused) if gradient is None else gradient
            for i, (tensor, gradient) in enumerate(zip(targets, results, strict=True))
        ]
    return dict(zip(inputs, results, strict=True)) if isinstance(inputs, dict) else tuple(results)


def _batched_gradients(
    outputs: list[Differentiable], inputs: list[Differentiable], gradients: Sequence[Any], keep: bool, create_graph: bool
) -> list[Tensor | None]:
    """Return the gradients for each example of initial gradients, stacked, ``None`` if unused; ``keep`` is ``retain_graph``."""
    from autodiff_cli.autograd.active_batches import active_batches, running

    examples = named("autodiff_cli.autograd.transforms.batched:Batch")(_batch_size(outputs, gradients))
    with running(*active_batches(), examples):
        batched = [None if g is None else examples.wrap(g) for g in gradients]
        rows = grad(outputs, inputs, batched, keep, create_graph, allow_unused=True)
    return [None if row is None else examples.lift(row) for row in rows]


def _as_writable_tensor(value: Cotangent) -> Tensor:
    """Return a captured cotangent as a tensor; a broadcast array is copied, because it is read-only."""
    return as_tensor(value.copy() if isinstance(value, np.ndarray) and not value.flags.writeable else value)


def _gradient_of_unused(
    tensor: Differentiable, i: int, create_graph: bool, materialize: bool, allowed: bool | None
) -> Tensor | None:
    """Return the gradient of the i-th input, which the outputs do not depend on: zeros to ``materialize``, ``None`` if allowed."""
    if materialize:
        if isinstance(tensor, GradientEdge):
            raise GraphError("materialize_grads cannot be used when the given input is a GradientEdge")
        return zeros_on(tensor.shape, tensor).requires_grad_(create_graph)
    if not allowed:
        raise GraphError(UNUSED.format(i), hint="pass the tensor that the output was computed from, not a copy of it")
    return None


def _checked_outputs(outputs: Differentiable | Sequence[Differentiable]) -> list[Differentiable]:
    """Return the outputs as a list of tensors and gradient edges."""
    if isinstance(outputs, (Tensor, GradientEdge)):
        return [outputs]
    roots = list(outputs) if isinstance(outputs, Iterable) else [outputs]
    for root in roots:
        if not isinstance(root, (Tensor, GradientEdge)):
            raise ArgumentError(f"all outputs have to be Tensors or GradientEdges, but got {type_name(root)}")
    return roots


def _checked_inputs(inputs: Inputs, caller: str) -> list[Differentiable]:
    """Return the inputs as a list of tensors and gradient edges; ``caller`` is the function that messages name."""
    if isinstance(inputs, (Tensor, GradientEdge)):
        return [inputs]
    if isinstance(inputs, Mapping) and type(inputs) is not dict:
        raise ArgumentError(
            f"`inputs` argument to `{caller}()` must be a dict, not {type_name(inputs)}. Other Mapping types are not supported."
        )
    tensors = list(inputs.values() if isinstance(inputs, dict) else inputs if isinstance(inputs, Iterable) else [inputs])
    if not tensors:
        raise GraphError(f"`inputs` argument to `{caller}()` cannot be empty.")
    for tensor in tensors:
        if not isinstance(tensor, (Tensor, GradientEdge)):
            raise GraphError(f"all inputs have to be Tensors or GradientEdges, but got {type_name(tensor)}")
    return tensors


def _input_edge(tensor: Differentiable, index: int) -> Edge:
    """Return the edge of an input; ``index`` is its number, for messages."""
    if isinstance(tensor, GradientEdge):
        return tensor.node, tensor.output_nr
    if not tensor._requires_grad:
        raise GraphError(
            "One of the differentiated Tensors does not require grad",
            hint=f"call requires_grad_() on input {index} before it is used",
        )
    return tensor._edge or leaf_edge(tensor)


def _root_edges(outputs: list[Differentiable], grad_outputs: GradOutputs, create_graph: bool) -> list[tuple[Edge, Cotangent]]:
    """Return the edge of each output with its initial cotangent; more cotangents than outputs are ignored."""
    if grad_outputs is None:
        gradients: Sequence[Tensor | None] = (None,) * len(outputs)
    else:
        gradients = grad_outputs if isinstance(grad_outputs, (list, tuple)) else (grad_outputs,)
    if len(gradients) < len(outputs):
        raise GraphError(f"got {len(outputs)} tensors and {len(gradients)} gradients")
    roots = []
    for i, output in enumerate(outputs):
        if isinstance(output, Tensor):
            if not output._requires_grad:
                raise GraphError(
                    f"element {i} of tensors {NO_GRAPH}",
                    hint="compute it from a tensor that requires grad, without no_grad or detach",
                )
            edge = output._edge or leaf_edge(output)
        else:
            edge = (output.node, output.output_nr)
        roots.append((edge, _root_cotangent(edge, gradients[i], i, create_graph)))
    return roots


def _root_cotangent(edge: Edge, gradient: Tensor | None, index: int, create_graph: bool) -> Cotangent:
    """Return the initial cotangent of an output: the given gradient after checks, or 1 for one number."""
    shape, dtype = edge[0].output_type(edge[1])
    if gradient is None:
        if shape and math.prod(shape) != 1:
            raise ShapeError(
                "grad can be implicitly created only for scalar outputs",
                hint=f"pass a gradient of shape {list(shape)}, or sum the output first",
            )
        ones = np.ones(shape, dtype) if shape else dtype.type(1)
        return tensor_on(ones) if create_graph else ones
    if not isinstance(gradient, Tensor):
        raise DtypeError(f"gradients can be either Tensors or None, but got {type_name(gradient)}")
    if gradient.shape != shape:
        raise ShapeError(
            f"Mismatch in shape: grad_output[{index}] has a shape of {Size(gradient.shape)} and output[{index}] has a shape of "
            f"{Size(shape)}."
        )
    # The array of a batched tensor has no values.
    return gradient if create_graph or not isinstance(gradient._data, (np.ndarray, np.generic)) else gradient._data


def _batch_size(outputs: list[Differentiable], batches: Sequence[Tensor | None]) -> int:
    """Return the length of the first dimension of the initial gradients, which counts the examples, after checks."""
    for i, (output, batch) in enumerate(zip(outputs, batches, strict=False)):
        if batch is None or not batch.shape:
            continue
        shape = output.shape if isinstance(output, Tensor) else output.node.output_type(output.output_nr)[0]
        if batch.shape[1:] != shape:
            if isinstance(output, GradientEdge):
                raise GraphError("Batched grads are not supported with GradientEdge")
            raise ShapeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. The "
                "sizes of the remaining dimensions are expected to match the shape of corresponding output, but a mismatch was "
                f"detected: grad_output[{i}] has a shape of {Size(batch.shape[1:])} and output[{i}] has a shape of {Size(shape)}. "
                "If you only want some tensors in `grad_output` to be considered batched, consider using vmap."
            )
    lengths = {batch.shape[0] if batch.shape else 0 for batch in batches if batch is not None}
    if len(lengths) != 1 or 0 in lengths:
        raise ShapeError("is_grads_batched=True requires gradients whose first dimensions have the same nonzero length")
    (size,) = lengths
    return size


def _backward_method(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Inputs | None = None,
) -> None:
    """Add the gradient of this tensor to ``.grad`` of the leaves that it depends on; see ``autograd.backward``."""
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


add_methods(backward=_backward_method)

# After glibc has freed a block of 8 MB, it keeps freed blocks of up to this size for the next arrays, and does not return their
# pages to the system (mallopt(3), M_MMAP_THRESHOLD).  Gradients of arrays of some MB then take half of the time.
np.empty(8 * 2**20, np.uint8)
