"""Recurrences, which compute the coefficient of order k of a series from its lower orders and its arguments."""

from __future__ import annotations

from operator import mul
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autodiff_cli.autograd.primitives.primitive import Primitive
from autodiff_cli.autograd.taylor_mode.series import (
    Coefficient,
    Series,
    as_coefficient,
    coefficient_of,
    degree_of,
    flat,
    is_zero,
    shape_of,
)


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
    return _convolution(a.coefficients, b.coefficients, k, max(0, k - b.degree), min(k, a.degree))


def quotient(series: Series, k: int) -> Coefficient:
    """Return the coefficient of the first argument divided by the second argument."""
    a, b = series.args
    rest = a.coefficients[k] if type(a) is Series else 0.0
    if type(b) is Series:
        rest = rest - _convolution(b.coefficients, series.coefficients, k, 1, min(k, b.degree))
        b = b.coefficients[0]
    try:
        return rest / b
    except ZeroDivisionError:
        return float(np.divide(rest, b))


def chain(series: Series, k: int) -> Coefficient:
    """Return the coefficient of an elementwise function, by the chain rule."""
    found: Any = 0.0
    for u, w, selected in series.local_derivatives:
        if type(w) is Series:
            found = found + _convolution(u.scaled_coefficients, w.coefficients, k, max(1, k - w.degree), min(k, u.degree))
        elif k <= u.degree:
            found = found + _weighted(w, u.scaled_coefficients[k], selected)
    return found / k


def total(series: Series, k: int) -> Coefficient:
    """Return the coefficient of a scalar that depends on all elements of the arguments, by the chain rule."""
    found = 0.0
    for u, w, selected in series.local_derivatives:
        coefficients, degree = (w.coefficients, w.degree) if type(w) is Series else ([w], 0)
        shape = np.broadcast_shapes(shape_of(w), u._data.shape)
        for j in range(max(1, k - degree), min(k, u.degree) + 1):
            found += float(np.sum(np.broadcast_to(_weighted(coefficients[k - j], u.scaled_coefficients[j], selected), shape)))
    return found / k


def linear(series: Series, k: int) -> Coefficient:
    """Return the operation applied to the coefficients of the arguments."""
    primitive = _primitive_of(series)
    args: Any = series.args
    if primitive.of_sequence:
        return primitive.forward([coefficient_of(v, k) for v in args[0]], *args[1:])
    return as_coefficient(primitive.forward(*[coefficient_of(v, k) for v in args]))


def bilinear(series: Series, k: int) -> Coefficient:
    """Return the sum of the operation over the pairs of coefficients whose orders add up to k."""
    primitive = _primitive_of(series)
    a, b, *statics = series.args
    low = max(0, k - b.degree) if type(b) is Series else k
    high = min(k, a.degree) if type(a) is Series else 0
    found: Any = 0.0
    for j in range(low, high + 1):
        found = found + primitive.forward(coefficient_of(a, j), coefficient_of(b, k - j), *statics)
    return as_coefficient(found)


def degree_now(series: Series) -> int:
    """Return the degree of a series for the currently known degrees of its arguments."""
    args, recurrence = series.args, series.recurrence
    if recurrence is chain or recurrence is total:
        if any(not u.degree or is_zero(w) for u, w, _ in series.local_derivatives):
            series.local_derivatives = [each for each in series.local_derivatives if each[0].degree and not is_zero(each[1])]
        return series.degree if series.local_derivatives else 0
    if recurrence is product or recurrence is bilinear:
        return degree_of(args[0]) + degree_of(args[1])
    if recurrence is quotient:
        return series.degree if degree_of(args[1]) else degree_of(args[0])
    if recurrence is linear:
        return max(map(degree_of, flat(_primitive_of(series), args)))
    return series.degree


def _primitive_of(series: Series) -> Primitive:
    assert series.primitive is not None
    return series.primitive


def _convolution(a: list[Coefficient], b: list[Coefficient], k: int, low: int, high: int) -> Coefficient:
    """Return the sum of a[j]*b[k-j] for j from low to high."""
    stop = k - high - 1
    return sum(map(mul, a[low : high + 1], b[k - low : stop if stop >= 0 else None : -1])) if low <= high else 0.0


def _weighted(weight: Coefficient, scaled: Coefficient, selected: bool | NDArray[np.bool_]) -> Coefficient:
    return weight * scaled if selected is True else np.where(selected, weight * scaled, 0.0)
