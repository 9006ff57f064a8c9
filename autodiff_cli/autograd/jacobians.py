"""Jacobians of recorded outputs, and their products with vectors.

Products do not form a matrix: a Jacobian-vector product and a Hessian-vector product run two backward passes.  A vector-Jacobian
product is linear in the vector, so its derivative with respect to the vector gives the Jacobian-vector product.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from autodiff_cli.autograd.primitives.structural import reshaped, stack
from autodiff_cli.autograd.reverse_mode import grad
from autodiff_cli.autograd.tensor import Tensor, tensor_on, zeros_on

Gradients = Sequence[Tensor | None]
"""The gradient of each input, ``None`` for an input that the outputs do not depend on."""


def gradients_of(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], starts: Sequence[Tensor] | None = None, create_graph: bool = False
) -> Gradients:
    """Return the gradients of the sum of the outputs that require grad, all ``None`` if none does.

    ``starts`` are the cotangents of the outputs, 1 if left out; ``create_graph`` records the result.
    """
    live = [i for i, output in enumerate(outputs) if output.requires_grad]
    if not live:
        return [None] * len(inputs)
    cotangents = None if starts is None else [starts[i] for i in live]
    return grad(  # type: ignore[no-any-return]
        [outputs[i] for i in live], list(inputs), cotangents, retain_graph=True, create_graph=create_graph, allow_unused=True
    )


def gradients_of_elements(output: Tensor, inputs: Sequence[Tensor], create_graph: bool = False) -> list[list[Tensor]]:
    """Return the gradients of each element of a recorded output, in row-major order; a scalar is its only element."""
    # A one-hot cotangent of the whole output would contain zeros, and zero times an infinite derivative is nan.
    elements = [output[i] if i else output for i in itertools.product(*map(range, output.shape))]
    return [filled(gradients_of([element], inputs, None, create_graph), inputs) for element in elements]


def jacobian_of(output: Tensor, inputs: Sequence[Tensor], create_graph: bool = False) -> list[Tensor]:
    """Return the Jacobian of a recorded output with respect to each input, by one backward pass for each output element."""
    rows = gradients_of_elements(output, inputs, create_graph)
    jacobians = []
    for k, x in enumerate(inputs):
        shape = output.shape + x.shape
        jacobians.append(reshaped(stack([row[k] for row in rows]), shape) if rows else zeros_on(shape, x))
    return jacobians


def jacobian_by_columns(output: Tensor, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Return the Jacobian with respect to each input, by one backward pass for each element of the inputs.

    The vector-Jacobian product is linear in its vector, so its own backward pass gives a column.
    """
    start = zeros_on(output.shape, output).requires_grad_()
    slopes = filled(gradients_of([output], inputs, [start], create_graph=True), inputs)
    blocks = []
    for x, slope in zip(inputs, slopes, strict=True):
        units = np.eye(x.numel(), dtype=x._data.dtype).reshape(x.numel(), *x.shape)
        columns = [filled(gradients_of([slope], [start], [tensor_on(unit[()])]), [start])[0] for unit in units]
        blocks.append(reshaped(stack(columns, -1) if columns else zeros_on((0,), x), output.shape + x.shape))
    return blocks


def jacobian_vector(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], v: Sequence[Tensor], create_graph: bool = False
) -> list[Tensor]:
    """Return the product of the Jacobian of recorded outputs with ``v``, by two backward passes."""
    starts = [zeros_on(output.shape, output).requires_grad_() for output in outputs]
    return filled(_product(gradients_of(outputs, inputs, starts, create_graph=True), starts, v, create_graph), outputs)


def hessian_vector(output: Tensor, inputs: Sequence[Tensor], v: Sequence[Tensor], create_graph: bool = False) -> list[Tensor]:
    """Return the product of the Hessian of a recorded scalar with ``v``, by a backward pass through the gradient."""
    return filled(_product(gradients_of([output], inputs, None, create_graph=True), inputs, v, create_graph), inputs)


def _product(slopes: Gradients, inputs: Sequence[Tensor], v: Sequence[Tensor], create_graph: bool) -> Gradients:
    """Return the gradients of the sum of the products of recorded gradients with ``v``; a gradient ``None`` adds nothing."""
    pairs = [(slope, vector) for slope, vector in zip(slopes, v, strict=True) if slope is not None]
    return gradients_of([slope for slope, _ in pairs], inputs, [vector for _, vector in pairs], create_graph)


def filled(gradients: Gradients, like: Sequence[Tensor]) -> list[Tensor]:
    """Return gradients with zeros for missing ones."""
    return [zeros_on(x.shape, x) if gradient is None else gradient for x, gradient in zip(like, gradients, strict=True)]
