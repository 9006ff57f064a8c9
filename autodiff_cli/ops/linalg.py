"""Products of vectors and matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.primitives.argument_kinds import TENSOR, takes
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.autograd.primitives.registry import describe
from autodiff_cli.autograd.primitives.types import Value
from autodiff_cli.errors import ShapeError
from autodiff_cli.ops.shape import reshape, squeeze, t, transpose, unsqueeze

__all__ = ["bmm", "dot", "matmul", "mm", "mv", "outer", "trace"]

declare = Declarations(__name__)

_V, _W, _A, _B = [1.0, 2.0], [3.0, -4.0], [[1.0, 2.0], [3.0, 4.0]], [[0.5, -1.0], [2.0, 0.3]]


def _ranked(name: str, *ranks: int) -> Any:
    """Return ``_product`` restricted to operands with the given numbers of dimensions."""

    def forward(x: Array, y: Array) -> Any:
        if (x.ndim, y.ndim) != ranks:
            raise ShapeError(
                f"{name} expects {ranks[0]}D and {ranks[1]}D tensors, but got {x.ndim}D and {y.ndim}D",
                hint="use @ for any product of vectors and matrices",
            )
        return _product(x, y)

    return forward


def _product(x: Array, y: Array) -> Any:
    if not x.ndim or not y.ndim:
        raise ShapeError(
            f"a matrix product expects tensors of at least one dimension, but got {x.ndim}D and {y.ndim}D tensors",
            hint="use * to multiply by a number",
        )
    try:
        return np.matmul(x, y)
    except ValueError:
        if x.ndim == y.ndim == 2:
            raise ShapeError(
                f"mat1 and mat2 shapes cannot be multiplied ({x.shape[0]}x{x.shape[1]} and {y.shape[0]}x{y.shape[1]})"
            ) from None
        raise ShapeError(
            f"shapes {list(x.shape)} and {list(y.shape)} cannot be multiplied: "
            f"the first has {x.shape[-1]} columns, but the second has {y.shape[max(y.ndim - 2, 0)]} rows"
        ) from None


def _dot(x: Array, y: Array) -> Any:
    if x.ndim != 1 or y.ndim != 1:
        raise ShapeError(f"1D tensors expected, but got {x.ndim}D and {y.ndim}D tensors", hint="use @ for matrices")
    if x.shape != y.shape:
        raise ShapeError(
            f"inconsistent tensor size, expected tensor [{len(x)}] and src [{len(y)}] to have the same number of elements"
        )
    return np.dot(x, y)


dot = declare(
    "dot",
    _dot,
    {"x": lambda g, y: g * y, "y": lambda g, x: g * x},
    series="bilinear",
    summary="dot product of two vectors",
    formula="y, x",
    samples=((_V, _W),),
)
mm: TensorFunction = declare(
    "mm",
    _ranked("mm", 2, 2),
    {"x": lambda g, y: mm(g, t(y)), "y": lambda g, x: mm(t(x), g)},
    series="bilinear",
    summary="product of two matrices",
    formula="g @ y.T, x.T @ g",
    samples=((_A, _B),),
)
mv: TensorFunction = declare(
    "mv",
    _ranked("mv", 2, 1),
    {"x": lambda g, y: outer(g, y), "y": lambda g, x: mv(t(x), g)},
    series="bilinear",
    summary="product of a matrix and a vector",
    formula="outer(g, y), x.T @ g",
    samples=((_A, _V),),
)


def _batched(x: Array, y: Array) -> Any:
    for name, batch in (("batch1", x), ("batch2", y)):
        if batch.ndim < 2:
            raise ShapeError(f"bmm: {name} must be a 3D tensor, got {batch.ndim}D")
    return _product(x, y)


bmm: TensorFunction = declare(
    "bmm",
    _batched,
    {"x": lambda g, y: bmm(g, transpose(y, -2, -1)), "y": lambda g, x: bmm(transpose(x, -2, -1), g)},
    series="bilinear",
    summary="products of the matrices in two batches, which broadcast",
    formula="g @ y.mT, x.mT @ g",
    samples=(([_A, _B], [_B, _A]),),
)
_squeeze_in_place = declare(
    "squeeze_",
    lambda x, dim: np.squeeze(x, dim),
    {"x": lambda g, dim: unsqueeze(g, dim)},
    series="linear",
    node="SqueezeBackward4",
    statics={"dim": 0},
    public=False,
)


def matmul(input: Value, other: Value) -> Any:
    """Product of vectors, matrices, or batches of matrices."""
    try:
        dims = (len(input.shape), len(other.shape))
    except AttributeError:
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
        return _squeeze_in_place(mm(unsqueeze(input, 0), other), 0)
    if dims[0] == 1:
        return squeeze(bmm(unsqueeze(input, 0), other), -2)
    if dims[1] == 1:
        return squeeze(bmm(input, unsqueeze(other, 1)), -1)
    return bmm(input, other)


describe(
    matmul,
    parameters=("x", "y"),
    operator="matmul",
    formula="g @ y.mT, x.mT @ g",
    samples=((_A, _B), (_A, _V), (_V, _A), (_V, _W), ([_A, _B], _V)),
)


@takes(x=TENSOR, y=TENSOR)
def outer(x: Value, y: Value) -> Any:
    """Outer product: every element of x multiplied by every element of y."""
    if len(x.shape) != 1 or len(y.shape) != 1:
        raise ShapeError(f"outer: expected 1-D tensors, but got {len(x.shape)}-D and {len(y.shape)}-D")
    return reshape(x, (x.shape[0], 1)) * y


describe(outer, formula="g @ y, g.T @ x", samples=((_V, _W),))


def _trace(x: Array) -> Any:
    if x.ndim != 2:
        raise ShapeError(f"trace: expected a matrix, but got tensor with dim {x.ndim}")
    return np.trace(x)


def _diagonal(g: Value, x_shape: tuple[int, int]) -> Any:
    return g * np.eye(*x_shape)


trace = declare(
    "trace",
    _trace,
    {"x": _diagonal},
    series="linear",
    summary="sum of the diagonal of a matrix",
    formula="eye(n)",
    samples=((_A,),),
)
