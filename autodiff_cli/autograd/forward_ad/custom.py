"""Custom functions in forward mode: ``Function.jvp``, and PyTorch's rules for its results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from autodiff_cli.autograd.primitives.structural import zeros_of
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import DtypeError, GraphError, ShapeError, type_name

if TYPE_CHECKING:
    from autodiff_cli.autograd.custom.node import FunctionNode
    from autodiff_cli.autograd.function import Function


def check_size(tensor: Tensor, tangent: Tensor) -> None:
    """Raise PyTorch's ShapeError if a tangent does not have the shape of its tensor."""
    if tuple(tangent.shape) != tuple(tensor.shape):
        raise ShapeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not supported. "
            f"Tensor is of size {list(tensor.shape)} while the given forward gradient is of size {list(tangent.shape)}."
        )


def custom_tangents(
    function: type[Function], node: FunctionNode, inputs: Sequence[Any], tangents: Sequence[Tensor | None], result: Any
) -> list[Tensor | None]:
    """Return the tangent of each result of a custom function.

    Args:
        function: the function, which was applied.
        node: its node, the ``ctx`` of ``jvp``; unless ``set_materialize_grads(False)``, ``jvp`` gets 0 in place of ``None``.
        inputs: the primals of the arguments.
        tangents: the tangents of the arguments; ``None`` for a constant.
        result: the result of the function.
    """
    arguments = list(tangents)
    if node._materialize:
        arguments = [
            zeros_of(primal) if tangent is None and isinstance(primal, Tensor) and primal.is_floating_point() else tangent
            for primal, tangent in zip(inputs, tangents, strict=True)
        ]
    node._in_jvp = True  # ``ctx.saved_tensors`` are then those of ``save_for_forward``
    try:
        products = function.jvp(node, *arguments)
    finally:
        node._in_jvp = False
    outputs = result if isinstance(result, tuple) else (result,)
    output_tangents = list(products) if isinstance(products, tuple) else [products]
    if len(output_tangents) != len(outputs):
        raise GraphError(
            f"Function's jvp returned an invalid number of forward gradients (expected {len(outputs)} but got "
            f"{len(output_tangents)})",
            hint="return one tangent from jvp for each result of forward",
        )
    for i, (output, tangent) in enumerate(zip(outputs, output_tangents, strict=True)):
        if tangent is not None:
            _check_tangent(node, i, output, tangent)
    return output_tangents


def _check_tangent(node: FunctionNode, i: int, output: Any, tangent: Any) -> None:
    """Raise an error unless the i-th tangent that ``jvp`` returned is a tensor, and fits a differentiable result of its shape."""
    if not isinstance(tangent, Tensor):
        raise DtypeError(f"expected Variable or None (got {type_name(tangent)}) for grad output {i}.")
    if not isinstance(output, Tensor) or not output.is_floating_point() or any(output is other for other in node._constant):
        raise GraphError(
            f"Function's jvp returned a gradient at position {i}, but  the corresponding forward output is not a "
            "differentiable Tensor.You should return None at that position instead."
        )
    check_size(output, tangent)
