"""Polynomials and the trapezoidal rule."""

from __future__ import annotations

from typing import Any

from autodiff_cli.autograd.primitives.argument_kinds import DIMENSION, TENSOR, optional, takes
from autodiff_cli.autograd.primitives.registry import describe
from autodiff_cli.autograd.primitives.structural import dimension
from autodiff_cli.autograd.primitives.types import Operand, Value
from autodiff_cli.errors import ShapeError
from autodiff_cli.ops.creation import zeros_like
from autodiff_cli.ops.reduce import sum
from autodiff_cli.ops.shape import reshape

__all__ = ["polyval", "trapezoid"]

_MATRIX = [[1.0, 2.0], [3.0, 5.0]]


@takes(c=TENSOR, x=TENSOR)
def polyval(c: Value, x: Value) -> Any:
    """Polynomial with the coefficients c, highest power first, at x."""
    if len(c.shape) > 1:
        raise ShapeError(
            f"polyval: 'c' must be a list of coefficients, but it has shape {list(c.shape)}",
            hint="give one coefficient for each power, beginning with the highest",
        )
    value = zeros_like(x)
    for i, coefficient in enumerate([c[i] for i in range(c.shape[0])] if c.shape else [c]):  # Horner's rule
        value = value * x + coefficient if i else value + coefficient
    return value


describe(
    polyval,
    tensors=("c", "x"),
    methods=(),
    formula="powers of x; the polynomial of the coefficients k*c of the next lower powers",
    samples=(([2.0, -1.0, 3.0], 0.7), ([2.0, -1.0, 0.5, 3.0], [0.7, -1.2])),
)


@takes(y=TENSOR, x=optional(TENSOR), dx=TENSOR, dim=DIMENSION)
def trapezoid(y: Value, x: Value | None = None, dx: Operand = 1.0, dim: int = -1) -> Any:
    """Integral along dim by the trapezoidal rule, for samples y at the points x, or at points with the distance dx."""
    at = dimension(dim, len(y.shape))
    if not y.shape:
        raise ShapeError("trapezoid expects at least a 1-dimensional tensor")
    before = (slice(None),) * at
    means = (y[(*before, slice(1, None))] + y[(*before, slice(None, -1))]) / 2
    if x is None:
        return sum(means * dx, at)
    if len(x.shape) == 1 and x.shape[0] == y.shape[at]:
        x = reshape(x, (-1, *(1,) * (len(y.shape) - at - 1)))
    elif tuple(x.shape) != tuple(y.shape):
        raise ShapeError(
            f"trapezoid: 'x' has shape {list(x.shape)}, but 'y' has shape {list(y.shape)}",
            hint="give one point for each sample along dim, or a tensor of points in the shape of y",
        )
    along = before if len(x.shape) == len(y.shape) else ()
    return sum(means * (x[(*along, slice(1, None))] - x[(*along, slice(None, -1))]), at)


describe(
    trapezoid,
    tensors=("y", "x", "dx"),
    kinds={"dim": DIMENSION},
    aliases=("trapz",),
    formula="half the distance of the two neighbouring points; half the difference of neighbouring samples, with its sign",
    samples=(
        ([1.0, -2.0, 3.0], [0.0, 0.5, 2.0]),
        ([[1.0, 2.0], [3.0, 5.0]], None, 0.5, 0),
        ([[1.0, 2.0], [3.0, 5.0]], [0.0, 2.0], 1.0, 0),
    ),
)
