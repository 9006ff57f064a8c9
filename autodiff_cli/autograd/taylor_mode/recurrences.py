"""Truncated Taylor series, a subclass of tensors, and the recurrences that compute their coefficients.

A recurrence computes the coefficient of order k of a series from its lower orders and its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import mul
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.primitives.primitive import Primitive
from autodiff_cli.autograd.tensor import Tensor

if TYPE_CHECKING:
    from autodiff_cli.autograd.taylor_mode.expansion import Expansion

Operand = Any
"""An argument of an operation: a series, a tensor, an array, a number, or a list of these."""
Coefficient = Any
"""A Python float for a scalar, for fast arithmetic; otherwise an array that broadcasts to the shape of the series."""
Recurrence = Callable[["Series", int], Coefficient]
"""A function that computes one coefficient of a series from its lower-order coefficients and the arguments of its operation."""

LocalDerivative: TypeAlias = "tuple[Series, Series | Coefficient, bool | NDArray[np.bool_]]"
"""An argument, the derivative with respect to it, and where the operation selects it; elsewhere it does not contribute."""


class Series(Tensor):
    """A tensor that depends on the variable of an expansion.

    Attributes:
        coefficients: the known coefficients, in ascending order.
        scaled_coefficients: the known coefficients, each multiplied by its order.
        degree: the order above which all coefficients are 0.
        expansion: the expansion that the series belongs to.
        primitive, args: the operation that computed the series, a ``Primitive`` (``None`` for the variable), and its arguments.
        primal: the value of the series, as a tensor that is not a series.
        needed_order: the highest order to which the coefficients are needed.
        local_derivatives: the arguments with the derivatives with respect to them.
        recurrence: the function that computes the next coefficient.
    """

    __slots__ = (
        *("args", "coefficients", "degree", "expansion", "local_derivatives"),
        *("needed_order", "primal", "primitive", "recurrence", "scaled_coefficients"),
    )

    coefficients: list[Coefficient]
    scaled_coefficients: list[Coefficient]
    degree: int
    expansion: Expansion
    args: Sequence[Operand]
    primal: Tensor
    primitive: Any
    needed_order: int
    local_derivatives: list[LocalDerivative]
    recurrence: Recurrence

    def applied(self, primitive: Primitive, args: Sequence[Operand]) -> Tensor:
        """Return the result of a primitive with a series among its arguments; raise NoSeriesError if it has no rule for them."""
        return self.expansion.apply(primitive, args)


def as_coefficient(value: Coefficient) -> Coefficient:
    """Convert a value to a coefficient: a number to a Python float, an array unchanged."""
    return float(value) if np.ndim(value) == 0 else value


def primal_of(operand: Operand) -> Operand:
    """Return the primal of a series, including each series in a list; return any other operand unchanged."""
    if type(operand) is Series:
        return operand.primal
    return [primal_of(item) for item in operand] if type(operand) is list else operand


def shape_of(operand: Operand) -> tuple[int, ...]:
    """Return the shape of an operand, ``()`` for a number."""
    return operand.shape if hasattr(operand, "shape") else ()


def degree_of(operand: Operand) -> int:
    """Return the degree of a series, 0 for a constant."""
    return operand.degree if type(operand) is Series else 0


def is_zero(operand: Operand) -> bool:
    """Return whether an operand is a series that is 0 around the point of expansion."""
    return type(operand) is Series and not operand.degree and not np.any(operand._data)


def coefficient_of(operand: Operand, k: int) -> Array | Operand:
    """Return the coefficient of order ``k`` of a series in its full shape; return any other operand unchanged."""
    if type(operand) is not Series:
        return operand
    coefficient = operand.coefficients[k]
    if operand._data.shape == ():
        return np.float64(coefficient)
    return np.broadcast_to(coefficient, operand._data.shape)


def flat(primitive: Primitive, args: Sequence[Operand]) -> Sequence[Operand]:
    """Return the arguments of a primitive, with a sequence replaced by its elements."""
    return [*args[0], *args[1:]] if primitive.of_sequence else args


# Recurrences


def variable(series: Series, k: int) -> Coefficient:
    """Return a coefficient of the variable, of order 2 or above: 0.  The coefficient of order 1 is set on creation."""
    return 0.0


def product(series: Series, k: int) -> Coefficient:
    """Return the coefficient of the elementwise product of two arguments."""
    a, b = series.args
    if type(a) is not Series:
        return a * b.coefficients[k]
    if type(b) is not Series:
        return a.coefficients[k] * b
    return _convolution(a.coefficients, b.coefficients, k, low=max(0, k - b.degree), high=min(k, a.degree))


def quotient(series: Series, k: int) -> Coefficient:
    """Return the coefficient v[k] of the quotient a/b: a[k] without the sum of b[j]*v[k-j] for j >= 1, divided by b[0]."""
    a, b = series.args
    rest = a.coefficients[k] if type(a) is Series else 0.0
    if type(b) is Series:
        rest = rest - _convolution(b.coefficients, series.coefficients, k, low=1, high=min(k, b.degree))
        b = b.coefficients[0]
    try:
        return rest / b
    except ZeroDivisionError:  # of Python's floats; NumPy gives inf or nan
        return float(np.divide(rest, b))


def chain(series: Series, k: int) -> Coefficient:
    """Return the coefficient v[k] of an elementwise function: k*v[k] is the sum of j*u[j]*w[k-j] over its arguments u."""
    result: Any = 0.0
    for u, w, selected in series.local_derivatives:
        if type(w) is Series:
            result = result + _convolution(u.scaled_coefficients, w.coefficients, k, max(1, k - w.degree), min(k, u.degree))
        elif k <= u.degree:
            result = result + _weighted(w, u.scaled_coefficients[k], selected)
    return result / k


def total(series: Series, k: int) -> Coefficient:
    """Return the coefficient v[k] of a scalar function: the sum that ``chain`` gives, added up over the elements of u too."""
    result = 0.0
    for u, w, selected in series.local_derivatives:
        coefficients = w.coefficients if type(w) is Series else [w]
        shape = np.broadcast_shapes(shape_of(w), u._data.shape)
        for j in range(max(1, k - degree_of(w)), min(k, u.degree) + 1):
            terms = _weighted(coefficients[k - j], u.scaled_coefficients[j], selected)
            result += float(np.sum(np.broadcast_to(terms, shape)))
    return result / k


def linear(series: Series, k: int) -> Coefficient:
    """Return the operation applied to the coefficients of order ``k`` of the arguments."""
    primitive = series.primitive
    args: Any = series.args
    if primitive.of_sequence:
        return primitive.forward([coefficient_of(v, k) for v in args[0]], *args[1:])
    return as_coefficient(primitive.forward(*[coefficient_of(v, k) for v in args]))


def bilinear(series: Series, k: int) -> Coefficient:
    """Return the sum of the operation over the pairs of coefficients whose orders add up to k; a constant has order 0 only."""
    primitive = series.primitive
    a, b, *statics = series.args
    low = max(0, k - b.degree) if type(b) is Series else k
    high = min(k, a.degree) if type(a) is Series else 0
    result: Any = 0.0
    for j in range(low, high + 1):
        result = result + primitive.forward(coefficient_of(a, j), coefficient_of(b, k - j), *statics)
    return as_coefficient(result)


def degree_now(series: Series) -> int:
    """Return the degree of a series for the known degrees of its arguments; the present one if nothing follows from them."""
    args, recurrence = series.args, series.recurrence
    if recurrence is chain or recurrence is total:
        return series.degree if series.local_derivatives else 0
    if recurrence is product or recurrence is bilinear:
        return degree_of(args[0]) + degree_of(args[1])
    if recurrence is quotient:
        return series.degree if degree_of(args[1]) else degree_of(args[0])
    if recurrence is linear:
        return max(map(degree_of, flat(series.primitive, args)))
    return series.degree


def _convolution(a: list[Coefficient], b: list[Coefficient], k: int, low: int, high: int) -> Coefficient:
    """Return the sum of a[j]*b[k-j] for j from low to high, from slices: a forwards and b backwards."""
    stop = k - high - 1  # -1 would mean the last element of b
    return sum(map(mul, a[low : high + 1], b[k - low : stop if stop >= 0 else None : -1])) if low <= high else 0.0


def _weighted(weight: Coefficient, scaled: Coefficient, selected: bool | NDArray[np.bool_]) -> Coefficient:
    """Return a product of coefficients, and 0 where an operation does not select the argument; true selects everything."""
    return weight * scaled if selected is True else np.where(selected, weight * scaled, 0.0)
