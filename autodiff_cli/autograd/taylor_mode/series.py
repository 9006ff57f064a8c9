"""Truncated Taylor series, a subclass of tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
        primitive, args: the operation that computed the series, and its arguments.
        primal: the value of the series, as a tensor that is not a series.
        needed_order: the highest order to which the coefficients are needed.
        local_derivatives: the arguments with the derivatives with respect to them.
        recurrence: the function that computes the next coefficient.
    """

    __slots__ = (
        "args",
        "coefficients",
        "degree",
        "expansion",
        "local_derivatives",
        "needed_order",
        "primal",
        "primitive",
        "recurrence",
        "scaled_coefficients",
    )

    coefficients: list[Coefficient]
    scaled_coefficients: list[Coefficient]
    degree: int
    expansion: Expansion
    args: Sequence[Operand]
    primal: Tensor
    primitive: Primitive | None
    needed_order: int
    local_derivatives: list[LocalDerivative]
    recurrence: Recurrence

    def applied(self, primitive: Primitive, args: Sequence[Operand]) -> Tensor:
        """Return the result of a primitive with at least one series among its arguments.

        Raises:
            NoSeriesError: if the primitive does not have a rule for series.
        """
        return self.expansion.apply(primitive, args)


def as_coefficient(value: Coefficient) -> Coefficient:
    """Convert a value to a coefficient: a number to a Python float, an array unchanged."""
    return float(value) if np.ndim(value) == 0 else value


def value_of(operand: Operand) -> Any:
    """Return the array of a tensor or a series; return any other operand unchanged."""
    return operand._data if isinstance(operand, Tensor) else operand


def primal_of(operand: Operand) -> Operand:
    """Return the primal of a series, including each series in a list; return any other operand unchanged."""
    if type(operand) is Series:
        return operand.primal
    return [primal_of(each) for each in operand] if type(operand) is list else operand


def shape_of(operand: Operand) -> tuple[int, ...]:
    """Return the shape of an operand, ``()`` for a number."""
    return operand.shape if hasattr(operand, "shape") else ()


def degree_of(operand: Operand) -> int:
    """Return the degree of a series, 0 for a constant."""
    return operand.degree if type(operand) is Series else 0


def is_zero(operand: Operand) -> bool:
    """Return whether a series is 0 around the point of expansion."""
    return type(operand) is Series and not operand.degree and not np.any(operand._data)


def coefficient_of(operand: Operand, k: int) -> Array | Operand:
    """Return the coefficient of order ``k`` of a series in its full shape; return any other operand unchanged."""
    if type(operand) is not Series:
        return operand
    found = operand.coefficients[k]
    if operand._data.shape == ():
        return np.float64(found)
    return np.broadcast_to(found, operand._data.shape)


def flat(primitive: Primitive, args: Sequence[Operand]) -> Sequence[Operand]:
    """Return the arguments of a primitive, with a sequence replaced by its elements."""
    return [*args[0], *args[1:]] if primitive.of_sequence else args
