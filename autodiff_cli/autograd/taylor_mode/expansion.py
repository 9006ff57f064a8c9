"""The expansion, which contains all Taylor series of one evaluation and computes them together, order by order."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.modes import no_grad
from autodiff_cli.autograd.primitives.primitive import Primitive, argument_names
from autodiff_cli.autograd.primitives.types import Value, array_of
from autodiff_cli.autograd.taylor_mode import recurrences
from autodiff_cli.autograd.taylor_mode.recurrences import (
    Coefficient,
    LocalDerivative,
    Operand,
    Recurrence,
    Series,
    as_coefficient,
    degree_of,
    flat,
    is_zero,
    primal_of,
    shape_of,
)
from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.errors import NoSeriesError
from autodiff_cli.limits import check_bytes, check_count

MOST_PRODUCTS = 5_000_000_000
"""The maximum number of multiplications in the convolutions of an expansion with arrays; they take a few seconds."""


class Expansion:
    """The Taylor series of an evaluation in one variable.

    Args:
        order: the highest power of the variable.
    """

    def __init__(self, order: int) -> None:
        self.order = order
        self._levels: list[list[Series]] = [[] for _ in range(order + 1)]  # by ``needed_order``
        self._known: dict[tuple[Any, ...], Tensor] = {}  # by operation and ``_key_of`` each argument
        self._arguments: list[Sequence[Operand]] = []  # keeps arguments alive, so that their ids are not reused
        self._bytes = self._products = 0
        self._needed_order = order  # the ``needed_order`` of new series

    def variable(self, value: Array) -> Series:
        """Return the series ``value + t`` of the variable t, which shifts all elements of an array by the same amount."""
        series = self._new_series(value, primitive=None, args=(), recurrence=recurrences.variable, degree=min(self.order, 1))
        if self.order:
            series.coefficients.append(1.0)
            series.scaled_coefficients.append(1.0)  # times its order, 1
        return series

    def coefficients(self, output: Tensor) -> Array:
        """Compute the coefficients of a result, with shape (order + 1, *shape of the result), and drop all series."""
        dtype = output._data.dtype if output.dtype.kind == "f" else np.float64
        result: Array = np.zeros((self.order + 1, *output.shape), dtype)
        result[0] = output._data
        if isinstance(output, Series):  # otherwise a constant, whose other coefficients are 0
            with np.errstate(all="ignore"), no_grad():
                self._find_local_derivatives()
                self._find_constants()
                self._grow()
            for k in range(1, self.order + 1):
                result[k] = output.coefficients[k]
        self._clear()
        return result

    def _clear(self) -> None:
        """Drop all series, and break their reference cycles, which would be freed late."""
        for level in self._levels:
            for series in level:
                series.args, series.local_derivatives = (), []
        self._levels.clear()
        self._known.clear()

    def apply(self, primitive: Primitive, args: Sequence[Operand]) -> Tensor:
        """Return the result of an operation on a series; the same arguments give the same result object."""
        return self.cached(primitive, args, lambda: self._result(primitive, args))

    def cached(self, operation: object, args: Sequence[Operand], make: Callable[[], Tensor]) -> Tensor:
        """Return the result of an operation, which ``make`` computes unless it is known for these arguments."""
        key = (operation, *map(_key_of, args))
        try:
            is_known = key in self._known
        except TypeError:  # an argument that is not hashable, such as a list
            return make()
        if not is_known:
            self._known[key] = make()
            self._arguments.append(args)
        return self._known[key]

    def _result(self, primitive: Primitive, args: Sequence[Operand]) -> Operand:
        """Return the series of a primitive by its rule (NoSeriesError without one), its value if that is constant."""
        result = primitive.function(*map(primal_of, args))
        rule: Any = primitive.series
        if rule is None:
            raise NoSeriesError(f"{primitive.name} has no rule for power series")
        if rule == "fixed" or not _depends_on_variable(primitive, args):
            return result
        if callable(rule):
            return rule(*args)
        return getattr(self, f"_{rule}")(primitive, args, result._data[()])  # one of the methods below

    # The rules, named after the values of ``series`` in declarations.  Each returns the result for ``args``, whose coefficient of
    # order 0 is ``value``: a new series, or an argument that is equal to the result.

    def _chain(self, primitive: Primitive, args: Sequence[Operand], value: Array) -> Operand:
        """Return the series of an elementwise primitive."""
        return self._new_series(value, primitive, args, recurrences.chain, self.order)

    def _power(self, primitive: Primitive, args: Sequence[Operand], value: Array) -> Operand:
        """Return the series of a power with a constant exponent, of degree n*d for an exponent n and a polynomial of degree d."""
        base, exponent = args
        if exponent == 1:
            return base
        is_whole = exponent >= 0 and float(exponent).is_integer()
        degree = int(exponent) * degree_of(base) if is_whole else self.order
        return self._new_series(value, primitive, args, recurrences.chain, degree)

    def _total(self, primitive: Primitive, args: Sequence[Operand], value: Array) -> Operand:
        """Return the series of a scalar of all elements of the arguments; for scalar arguments, there is nothing to add up."""
        is_elementwise = value.shape == np.broadcast_shapes(*map(shape_of, args))
        return self._new_series(value, primitive, args, recurrences.chain if is_elementwise else recurrences.total, self.order)

    def _product(self, primitive: Primitive, args: Sequence[Operand], value: Array) -> Operand:
        """Return the series of an elementwise product; the product with the number 1 is the other factor."""
        x, y = args
        if type(x) in (int, float) and x == 1:
            return y
        if type(y) in (int, float) and y == 1:
            return x
        return self._new_series(value, primitive, _coefficients_of(args), recurrences.product, degree_of(x) + degree_of(y))

    def _bilinear(self, primitive: Primitive, args: Sequence[Operand], value: Array) -> Operand:
        """Return the series of another product, such as that of two matrices."""
        x, y, *statics = args
        operands = [*_coefficients_of((x, y)), *statics]
        return self._new_series(value, primitive, operands, recurrences.bilinear, degree_of(x) + degree_of(y))

    def _quotient(self, primitive: Primitive, args: Sequence[Operand], value: Array) -> Operand:
        """Return the series of a quotient, or of the reciprocal of the only argument."""
        over, under = args if len(args) == 2 else (1.0, args[0])
        degree = self.order if type(under) is Series else degree_of(over)
        return self._new_series(value, primitive, _coefficients_of((over, under)), recurrences.quotient, degree)

    def _linear(self, primitive: Primitive, args: Sequence[Operand], value: Array) -> Operand:
        """Return the series of a linear primitive; ``where`` with one condition for all elements is the selected argument."""
        if primitive.name == "where" and np.ndim(array_of(args[0])) == 0:
            condition, x, y = args
            branch = x if array_of(condition) else y
            if shape_of(branch) == value.shape:  # the branch is not broadcast
                return branch
        degree = max(degree_of(operand) for operand in flat(primitive, args))
        return self._new_series(value, primitive, _linear_args(primitive, args), recurrences.linear, degree)

    def _new_series(
        self, value: Array, primitive: Primitive | None, args: Sequence[Operand], recurrence: Recurrence, degree: int
    ) -> Series:
        """Return a new series, whose coefficient of order 0 is ``value``; without a primitive, it is the variable."""
        series = Series.__new__(Series)
        series._data = value
        if np.ndim(value):
            self._count_cost(np.size(value), min(degree, self._needed_order) + 1)
        series._requires_grad = True
        series._edge = series._extra = None
        series.coefficients = [as_coefficient(value)]
        series.scaled_coefficients = [0.0]  # times its order, 0
        series.degree = min(degree, self.order)
        series.expansion = self
        series.args = args
        series.primal = tensor_on(value)
        series.primitive = primitive
        series.needed_order = self._needed_order
        series.local_derivatives = []
        series.recurrence = recurrence
        self._levels[self._needed_order].append(series)
        return series

    def _count_cost(self, size: int, terms: int) -> None:
        """Add the cost of a series with ``terms`` arrays of ``size`` numbers to that of all series, and check the limits."""
        self._bytes += 16 * size * terms  # each coefficient is stored twice, also multiplied by its order
        self._products += size * terms**2 // 2  # the convolution for order k is a sum of k products
        check_bytes(self._bytes)
        check_count(self._products, MOST_PRODUCTS, "the series need {} multiplications, more than the limit of {}")

    def _find_local_derivatives(self) -> None:
        """Compute the local derivatives of all series, from the highest ``needed_order`` to the lowest.

        In this order, a series that is requested again always has enough coefficients.
        """
        for order in range(self.order, 0, -1):
            self._needed_order = order - 1  # of the series that the VJP rules create
            for series in self._levels[order]:
                if series.recurrence is recurrences.chain or series.recurrence is recurrences.total:
                    # Only the value of the last derivative is needed: compute it with arrays instead of series.
                    series.local_derivatives = _local_derivatives(series, with_arrays=order == 1)
                    if not series.local_derivatives:
                        series.degree = 0

    def _find_constants(self) -> None:
        """Set the degree of constant series to 0: they do not contribute even if the derivative with respect to them is nan.

        The local derivatives must be known, because a series is constant if they are 0: the derivative of ``hardtanh`` is
        0 outside its bounds.
        """
        changed = True
        while changed:  # because a constant series makes others constant
            changed = False
            for level in reversed(self._levels):
                for series in level:
                    derivatives = series.local_derivatives
                    series.local_derivatives = [(u, w, selected) for u, w, selected in derivatives if u.degree and not is_zero(w)]
                    degree = recurrences.degree_now(series)
                    if degree < series.degree:
                        series.degree, changed = degree, True

    def _grow(self) -> None:
        """Compute all coefficients, order by order; within an order, a series depends only on preceding series."""
        for k in range(1, self.order + 1):
            for needed_order in range(self.order, k - 1, -1):
                for series in self._levels[needed_order]:
                    coefficient = series.recurrence(series, k) if k <= series.degree else 0.0
                    if len(series.coefficients) == k:  # the variable has its coefficient of order 1 from the start
                        series.coefficients.append(coefficient)
                        series.scaled_coefficients.append(k * coefficient)


def _local_derivatives(series: Series, with_arrays: bool) -> list[LocalDerivative]:
    """Return the derivatives of a series by the arguments that it selects anywhere; ``with_arrays``, not as series."""
    primitive = series.primitive
    values = _rule_values(primitive, series, with_arrays)
    derivatives = []
    for name, vjp in primitive.vjps.items():
        argument = series.args[primitive.parameters.index(name)]
        if vjp is None or type(argument) is not Series:
            continue
        names = argument_names(vjp)[1:]  # without the cotangent
        others = [values[n] if n in values else shape_of(values[n.removesuffix("_shape")]) for n in names]  # ``x_shape``: of x
        derivative = vjp(1.0, *others)
        selected: Any = True  # everywhere
        if type(derivative) is not Series:
            derivative = as_coefficient(array_of(derivative))
            selected = True if np.all(derivative) else _selected_elements(derivative, vjp(math.nan, *others))
        if selected is True or np.any(selected):
            derivatives.append((argument, derivative, selected))
    return derivatives


def _selected_elements(derivative: Coefficient, derivative_from_nan: Value) -> Any:
    """Return where an operation selects its argument: a derivative that is 0 because of a factor passes nan, a mask does not."""
    return (derivative != 0) | (array_of(derivative_from_nan) != 0)


def _rule_values(primitive: Primitive, series: Series, with_arrays: bool) -> dict[str, Any]:
    """Return the arguments of a series, and the series as ``out``, by the names in VJP rules; ``with_arrays``: all as arrays."""
    pairs = zip(primitive.parameters, series.args, strict=True)
    values = {name: array_of(arg) if with_arrays or type(arg) is Tensor else arg for name, arg in pairs}
    for name, vjp in primitive.vjps.items():  # VJP rules compute with numbers, not with booleans
        if vjp is not None and getattr(values[name], "dtype", None) == np.bool_:
            values[name] = values[name].astype(np.int64)
    values["out"] = series._data if with_arrays else series
    return values


def _depends_on_variable(primitive: Primitive, args: Sequence[Operand]) -> bool:
    """Return whether a differentiable argument is a series; a sequence contains one, otherwise Taylor mode would not be called."""
    if primitive.of_sequence:
        return True
    for i in primitive.differentiable_args:  # noqa: SIM110  the innermost loop
        if type(args[i]) is Series:
            return True
    return False


def _coefficients_of(args: Sequence[Operand]) -> list[Series | Coefficient]:
    """Return the arguments with each constant as a coefficient."""
    return [operand if type(operand) is Series else as_coefficient(array_of(operand)) for operand in args]


_NUMBERS = (bool, int, float, np.float64, np.float32)


def _key_of(operand: Operand) -> Any:
    """Return the key of an operand in ``Expansion.cached``: the identity of a series, tensor or array, else type and value."""
    kind = type(operand)
    if kind is Series or kind is Tensor or kind is np.ndarray:
        return id(operand)
    if kind in _NUMBERS and not operand:
        return (kind, repr(operand))  # distinguishes 0.0 from -0.0
    return (kind, operand)


def _linear_args(primitive: Primitive, args: Sequence[Operand]) -> list[Operand]:
    """Return the arguments of a linear operation with zeros in place of constants, which affect order 0 only."""
    if primitive.of_sequence:
        return [[item if type(item) is Series else np.zeros(shape_of(item)) for item in args[0]], *args[1:]]
    operands: list[Operand] = []
    for name, value in zip(primitive.parameters, args, strict=True):
        if primitive.vjps.get(name) is None:  # it is not differentiable, such as a condition or a dimension
            operands.append(array_of(value))
        else:
            operands.append(value if type(value) is Series else np.zeros(shape_of(value))[()])
    return operands
