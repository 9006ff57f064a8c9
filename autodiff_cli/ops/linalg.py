"""The product of vectors, matrices, and batches of matrices."""

from __future__ import annotations

from typing import Any

from autodiff_cli.autograd.primitives.argument_kinds import TENSOR
from autodiff_cli.autograd.primitives.types import Value
from autodiff_cli.errors import ShapeError
from autodiff_cli.ops.rules.linalg import bmm, declare, dot, mm, mv, squeeze_matrix
from autodiff_cli.ops.rules.shape import squeeze, unsqueeze


@declare.described
def matmul(input: Value, other: Value) -> Any:
    """Product of vectors, matrices, or batches of matrices."""
    try:
        dims = (len(input.shape), len(other.shape))
    except AttributeError:  # of a list or a number
        input, other = TENSOR(input, "matmul", "x"), TENSOR(other, "matmul", "y")
        dims = (len(input.shape), len(other.shape))
    if 0 in dims:
        raise ShapeError(
            f"both arguments to matmul need to be at least 1D, but they are {dims[0]}D and {dims[1]}D",
            hint="use * to multiply by a number",
        )
    if dims == (1, 1):
        return dot(input, other)
    if dims == (2, 2):
        return mm(input, other)
    if dims == (2, 1):
        return mv(input, other)
    if dims == (1, 2):
        return squeeze_matrix(mm(unsqueeze(input, 0), other), 0)
    if dims[0] == 1:
        return squeeze(bmm(unsqueeze(input, 0), other), -2)
    if dims[1] == 1:
        return squeeze(bmm(input, unsqueeze(other, 1)), -1)
    return bmm(input, other)
