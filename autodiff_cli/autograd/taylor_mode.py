"""Truncated power series in the place of tensors: derivatives of any order in one variable, in one evaluation.

A ``Series`` is a tensor to those who handle it: its value is the coefficient of order 0, and functions of it are series.
No function has a recurrence of its own.  From its partial derivative w = df/du, which is declared over functions that
take series too, follows k*v[k] = sum of j*u[j]*w[k-j] for j from 1 to k, by the chain rule (A. Griewank and A. Walther,
Evaluating Derivatives, 2nd edition, SIAM 2008, chapter 13).  It needs w to order k - 1 only.  So all series of an
evaluation grow together, one order at a time, and w may be made of v itself, as exp(u) is, or in turn need v, as sin(u)
and cos(u) need each other: a series that is asked for twice is made once, and the circle closes.  A slope of a slope is
needed to an order less each time, so that what does not close, such as lgamma and its polygammas, ends.

What a declaration says as ``series``:

- ``chain``: element by element, by its partial derivatives as above;
- ``power``: the same, and a whole power of a polynomial is a polynomial;
- ``total``: the same, and where the result is one number the sum over the elements of the arguments;
- ``linear``: in all arguments that have a partial derivative; the operation applies to the coefficients;
- ``product``, ``bilinear``: of two arguments; the products that belong to one order are added up;
- ``quotient``: the first of two arguments by the second, or 1 by the only one;
- ``fixed``: constant around any point, as comparisons and steps are;
- a function: the operation, written over others that have a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import mul
from typing import Any

import numpy as np

from autodiff_cli.autograd.modes import no_grad
from autodiff_cli.autograd.primitives.primitive import Primitive, argument_names
from autodiff_cli.autograd.tensor import Tensor, tensor_on
from autodiff_cli.errors import NoSeriesError
from autodiff_cli.limits import check_bytes, check_count

MOST_PRODUCTS = 5_000_000_000
"""Multiplications of all convolutions of an expansion in vectors, some seconds."""

Step = Callable[["Series", int], Any]


class Series(Tensor):
    """A tensor that depends on the variable of an expansion.

    Attributes:
        coefficients: as many as are known; Python floats for a scalar, else arrays that broadcast to the shape.
        rates: k times the coefficient of order k.
        degree: coefficients above are 0.
        limit: the highest order that anybody needs.
        primitive, given: the operation and its arguments.
        slopes: pairs of an argument and the derivative by it.
    """

    __slots__ = ("coefficients", "degree", "expansion", "given", "head", "limit", "primitive", "rates", "slopes", "step")

    coefficients: list[Any]
    rates: list[Any]
    degree: int
    expansion: Expansion
    given: Sequence[Any]
    head: Tensor
    primitive: Primitive | None
    limit: int
    slopes: list[tuple[Series, Any]]
    step: Step

    def applied(self, primitive: Primitive, given: Sequence[Any]) -> Any:
        """The result of a declared operation, at least one of whose arguments is a series.

        Raises:
            NoSeriesError: if it has no rule.
        """
        return self.expansion.apply(primitive, given)


def _number(value: Any) -> Any:
    """A coefficient as it is kept: numbers as Python floats, whose arithmetic is the fastest."""
    return float(value) if np.ndim(value) == 0 else value


class Expansion:
    """Series in one variable, up to an order.

    Args:
        order: the highest power that is kept.
    """

    def __init__(self, order: int) -> None:
        self.order = order
        self._levels: list[list[Series]] = [[] for _ in range(order + 1)]
        self._known: dict[Any, Any] = {}
        self._kept: list[Any] = []  # so that nothing else can come to have the identity of an argument
        self._bytes = self._products = 0
        self._limit = order  # of the series that are made now

    def variable(self, value: Any) -> Series:
        """The variable itself around ``value``; of an array every element moves by the same amount."""
        series = self._made(value, None, (), _nothing, min(self.order, 1))
        if self.order:
            series.coefficients.append(1.0)
            series.rates.append(1.0)
        return series

    def coefficients(self, output: Any) -> Any:
        """The coefficients of a result, the order as the first dimension.  The expansion is used up by it."""
        shape, dtype = output.shape, output.dtype if output.dtype.kind == "f" else np.dtype(np.float64)
        found = np.zeros((self.order + 1, *shape), dtype)
        found[0] = output._data
        if isinstance(output, Series):
            with np.errstate(all="ignore"), no_grad():
                self._open()
                self._settle()
                self._grow()
            for k in range(1, self.order + 1):
                found[k] = output.coefficients[k]
        for level in self._levels:
            for series in level:  # circles, which reference counting would not free
                series.given, series.slopes = (), []
        self._levels.clear()
        self._known.clear()
        return found

    def _open(self) -> None:
        """Find the slopes of all series, those of the highest limit first: what is found again is never too short."""
        for limit in range(self.order, 0, -1):
            self._limit = limit - 1
            for series in self._levels[limit]:
                if series.step is _chained or series.step is _totalled:
                    series.slopes = self._slopes(series, limit)

    def _slopes(self, series: Series, limit: int) -> list[tuple[Series, Any]]:
        primitive = series.primitive
        assert primitive is not None
        # Of the last slope only the value is needed: it is computed with numbers.
        last = limit == 1
        values = {n: _value(v) if last or type(v) is Tensor else v for n, v in zip(primitive.parameters, series.given, strict=True)}
        for name, partial in primitive.vjps.items():  # a rule computes with numbers, not with true and false
            if partial is not None and getattr(values[name], "dtype", None) == np.bool_:
                values[name] = values[name].astype(np.int64)
        values["out"] = series._data if last else series
        found = []
        for name, partial in primitive.vjps.items():
            argument = series.given[primitive.parameters.index(name)]
            if partial is None or type(argument) is not Series:
                continue
            wanted = argument_names(partial)[1:]
            slope = partial(1.0, *[values[n] if n in values else _shape(values[n.removesuffix("_shape")]) for n in wanted])
            if type(slope) is not Series:
                slope = _number(_value(slope))
                if type(slope) is float and slope == 0:
                    continue  # what was not chosen contributes nothing, whatever it is
            found.append((argument, slope))
        if not found:
            series.degree = 0
        return found

    def _settle(self) -> None:
        """Find the series that are constant: what does not move contributes nothing, even where the derivative by it is nan.

        That a slope is the constant 0, as that of ``hardtanh`` out of its bounds, is known when it has been opened itself.
        """
        changed = True
        while changed:
            changed = False
            for level in reversed(self._levels):
                for series in level:
                    degree = _settled(series)
                    if degree < series.degree:
                        series.degree, changed = degree, True

    def _grow(self) -> None:
        """The coefficients of all series, order by order; what a series needs of the same order is of an older one."""
        for k in range(1, self.order + 1):
            for limit in range(self.order, k - 1, -1):
                for series in self._levels[limit]:
                    coefficient = series.step(series, k) if k <= series.degree else 0.0
                    if len(series.coefficients) == k:
                        series.coefficients.append(coefficient)
                        series.rates.append(k * coefficient)

    def _made(self, value: Any, primitive: Primitive | None, given: Sequence[Any], step: Step, degree: int) -> Series:
        series = Series.__new__(Series)
        series._data = value
        if np.ndim(value):
            self._count(np.size(value), min(degree, self._limit) + 1)
        series._requires_grad = True
        series._edge = series._extra = None
        series.coefficients = [_number(value)]
        series.rates = [0.0]
        series.degree = min(degree, self.order)
        series.expansion = self
        series.given = given
        series.head = tensor_on(value, None)
        series.primitive = primitive
        series.limit = self._limit
        series.slopes = []
        series.step = step
        self._levels[self._limit].append(series)
        return series

    def _count(self, size: int, terms: int) -> None:
        """Count what the coefficients of a series will cost, a pair of arrays and a convolution for each."""
        self._bytes += 16 * size * terms
        self._products += size * terms**2 // 2
        check_bytes(self._bytes)
        check_count(self._products, MOST_PRODUCTS, "the series need {} multiplications, more than the limit of {}")

    def apply(self, primitive: Primitive, given: Sequence[Any]) -> Any:
        """The result of an operation, at least one of whose arguments is a series; the same one for the same arguments."""
        key: Any = (primitive, *map(_token, given))
        try:
            if key in self._known:
                return self._known[key]
        except TypeError:  # a list, for example
            key = None
        made = self._result(primitive, given, primitive.function(*map(_head, given)))
        if key is not None:
            self._known[key] = made
            self._kept.append(given)
        return made

    def _result(self, primitive: Primitive, given: Sequence[Any], result: Any) -> Any:
        kind: Any = primitive.series
        if kind is None:
            raise NoSeriesError(f"{primitive.name} has no rule for power series")
        if kind == "fixed" or not _moves(primitive, given):
            return result
        if callable(kind):
            return kind(*given)
        value = result._data[()]
        if kind == "linear":
            if primitive.name == "where" and np.ndim(_value(given[0])) == 0:
                chosen = given[1] if _value(given[0]) else given[2]
                if _shape(chosen) == value.shape:
                    return chosen
            degree = max(_degree(v) for v in _flat(primitive, given))
            return self._made(value, primitive, _linear_arguments(primitive, given), _of_coefficients, degree)
        if kind in ("product", "bilinear"):
            for one, other in (given, reversed(given)):
                if kind == "product" and type(one) in (int, float) and one == 1:
                    return other
            step = _multiplied if kind == "product" else _summed_products
            return self._made(value, primitive, _plain(given), step, _degree(given[0]) + _degree(given[1]))
        if kind == "quotient":
            over, under = given if len(given) == 2 else (1.0, given[0])
            degree = self.order if type(under) is Series else _degree(over)
            return self._made(value, primitive, _plain((over, under)), _divided, degree)
        degree = self.order
        if kind == "power":
            exponent = given[1]
            if exponent == 1:
                return given[0]
            if exponent >= 0 and float(exponent).is_integer():
                degree = int(exponent) * _degree(given[0])
        total = kind == "total" and value.shape != np.broadcast_shapes(*map(_shape, given))
        return self._made(value, primitive, given, _totalled if total else _chained, degree)


# Arguments


def _flat(primitive: Primitive, given: Sequence[Any]) -> Sequence[Any]:
    """The arguments, with those of a sequence one by one."""
    return [*given[0], *given[1:]] if primitive.of_sequence else given


def _moves(primitive: Primitive, given: Sequence[Any]) -> bool:
    """Whether the result depends on the variable: whether an argument with a partial derivative is a series."""
    if primitive.of_sequence:
        return True
    for i in primitive.differentiable_args:  # noqa: SIM110  the innermost loop
        if type(given[i]) is Series:
            return True
    return False


def _head(value: Any) -> Any:
    """The value of a series, in a list of them too, as a tensor; anything else as it is."""
    if type(value) is Series:
        return value.head
    return [_head(v) for v in value] if type(value) is list else value


def _value(value: Any) -> Any:
    return value._data if isinstance(value, Tensor) else value


def _shape(value: Any) -> Any:
    return value.shape if hasattr(value, "shape") else ()


def _degree(value: Any) -> int:
    return value.degree if type(value) is Series else 0


def _is_nothing(value: Any) -> bool:
    """Whether it is 0 around the point of expansion."""
    return type(value) is Series and not value.degree and not np.any(value._data)


def _settled(series: Series) -> int:
    """The degree of a series, as far as those of what it is made of say."""
    given = series.given
    if series.step is _chained or series.step is _totalled:
        if any(not u.degree or _is_nothing(w) for u, w in series.slopes):
            series.slopes = [(u, w) for u, w in series.slopes if u.degree and not _is_nothing(w)]
        return series.degree if series.slopes else 0
    if series.step is _multiplied or series.step is _summed_products:
        return 0 if any(map(_is_nothing, given)) else _degree(given[0]) + _degree(given[1])
    if series.step is _divided:
        return series.degree if _degree(given[1]) else _degree(given[0])
    if series.step is _of_coefficients and series.primitive is not None:
        return max(map(_degree, _flat(series.primitive, given)))
    return series.degree


def _plain(given: Sequence[Any]) -> list[Any]:
    """Series, and the values of what is none."""
    return [v if type(v) is Series else _number(_value(v)) for v in given]


def _token(value: Any) -> Any:
    """What two arguments have in common if they are the same."""
    kind = type(value)
    if kind is Series or kind is Tensor or kind is np.ndarray:
        return id(value)
    if kind in _NUMBERS and not value:
        return (kind, repr(value))  # 0.0 is not -0.0
    return (kind, value)


_NUMBERS = (bool, int, float, np.float64, np.float32)


def _linear_arguments(primitive: Primitive, given: Sequence[Any]) -> list[Any]:
    """What a linear operation is applied to beside coefficients: zeros for constants, and the rest as it is."""
    if primitive.of_sequence:
        return [[v if type(v) is Series else np.zeros(_shape(v)) for v in given[0]], *given[1:]]
    arguments: list[Any] = []
    for name, value in zip(primitive.parameters, given, strict=True):
        moving = primitive.vjps.get(name) is not None
        if moving and type(value) is Series:
            arguments.append(value)
        else:
            arguments.append(np.zeros(_shape(value))[()] if moving else _value(value))
    return arguments


def _coefficient(value: Any, k: int) -> Any:
    """The coefficient of a series in its full shape; what is no series as it is."""
    if type(value) is not Series:
        return value
    found = value.coefficients[k]
    if value._data.shape == ():
        return np.float64(found)
    return np.broadcast_to(found, value._data.shape)


# Steps: the coefficient of order k of a series, whose lower ones are known


def _nothing(series: Series, k: int) -> Any:
    return 0.0


def _convolved(a: list[Any], b: list[Any], k: int, low: int, high: int) -> Any:
    """The sum of a[j]*b[k-j] for j from low to high."""
    stop = k - high - 1
    return sum(map(mul, a[low : high + 1], b[k - low : stop if stop >= 0 else None : -1])) if low <= high else 0.0


def _multiplied(series: Series, k: int) -> Any:
    a, b = series.given
    if type(a) is not Series:
        return a * b.coefficients[k]
    if type(b) is not Series:
        return a.coefficients[k] * b
    return _convolved(a.coefficients, b.coefficients, k, max(0, k - b.degree), min(k, a.degree))


def _divided(series: Series, k: int) -> Any:
    a, b = series.given
    rest = a.coefficients[k] if type(a) is Series else 0.0
    if type(b) is Series:
        rest = rest - _convolved(b.coefficients, series.coefficients, k, 1, min(k, b.degree))
        b = b.coefficients[0]
    try:
        return rest / b
    except ZeroDivisionError:
        return float(np.divide(rest, b))


def _chained(series: Series, k: int) -> Any:
    total: Any = 0.0
    for u, w in series.slopes:
        if type(w) is Series:
            total = total + _convolved(u.rates, w.coefficients, k, max(1, k - w.degree), min(k, u.degree))
        elif k <= u.degree:
            total = total + _weighted(w, u.rates[k])
    return total / k


def _weighted(weight: Any, rate: Any) -> Any:
    return weight * rate if type(weight) is float else np.where(weight == 0, 0.0, weight * rate)


def _totalled(series: Series, k: int) -> Any:
    total = 0.0
    for u, w in series.slopes:
        coefficients, degree = (w.coefficients, w.degree) if type(w) is Series else ([w], 0)
        shape = np.broadcast_shapes(_shape(w), u._data.shape)
        for j in range(max(1, k - degree), min(k, u.degree) + 1):
            total += float(np.sum(np.broadcast_to(_weighted(coefficients[k - j], u.rates[j]), shape)))
    return total / k


def _of_coefficients(series: Series, k: int) -> Any:
    primitive = series.primitive
    assert primitive is not None
    given: Any = series.given
    if primitive.of_sequence:
        return primitive.forward([_coefficient(v, k) for v in given[0]], *given[1:])
    return _number(primitive.forward(*[_coefficient(v, k) for v in given]))


def _summed_products(series: Series, k: int) -> Any:
    primitive = series.primitive
    assert primitive is not None
    a, b = series.given
    low = max(0, k - b.degree) if type(b) is Series else k
    high = min(k, a.degree) if type(a) is Series else 0
    total: Any = 0.0
    for j in range(low, high + 1):
        total = total + primitive.forward(_coefficient(a, j), _coefficient(b, k - j))
    return _number(total)
