"""Truncated power series in two parameters: Taylor coefficients of a function of (a + s, b + t) in powers of s and t.

Derivatives of special functions with respect to their parameters are coefficients of such series.  Sums, products with linear
functions, and exponentials of series keep the accuracy of the formula for the value.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.errors import ArgumentError

Coefficients = dict[tuple[int, int], Any]

MOST_ORDER = 20


def check_order(name: str, order: int, least: int = 1) -> None:
    """Raise an error if the total order of a derivative in parameters is not from ``least`` to ``MOST_ORDER``."""
    if not least <= order <= MOST_ORDER:
        raise ArgumentError(f"{name}: the order of the derivative must be from {least} to {MOST_ORDER}, not {order}")


class Series:
    """A truncated power series whose coefficients are arrays.

    Args:
        coefficients: the coefficient of ``s**i * t**j`` for each ``(i, j)`` up to the truncation.
    """

    __slots__ = ("coefficients",)

    def __init__(self, coefficients: Coefficients) -> None:
        self.coefficients = coefficients

    @classmethod
    def from_function(cls, coefficient: Callable[[int, int], Any], i: int, j: int = 0) -> Series:
        """Return the series with the given coefficients up to ``s**i * t**j``."""
        return cls({place: coefficient(*place) for place in itertools.product(range(i + 1), range(j + 1))})

    def derivative(self, i: int, j: int = 0) -> Any:
        """Return the partial derivative of order ``i`` in s and ``j`` in t."""
        return self.coefficients[i, j] * float(math.factorial(i) * math.factorial(j))

    def __add__(self, other: Series) -> Series:
        return Series({place: c + other.coefficients[place] for place, c in self.coefficients.items()})

    def __mul__(self, other: Series) -> Series:
        u, v = self.coefficients, other.coefficients
        return Series({(i, j): _sum(u[k, m] * v[i - k, j - m] for k in range(i + 1) for m in range(j + 1)) for i, j in u})

    def scaled(self, factor: Array | float) -> Series:
        """Return the product with a number that depends on neither parameter."""
        return Series({place: c * factor for place, c in self.coefficients.items()})

    def times(self, number: Array | float, s: int = 1, t: int = 0) -> Series:
        """Return the product with ``number + s*S + t*T``, where S and T are the variables of the series."""
        result: Coefficients = {}
        for (i, j), c in self.coefficients.items():
            result[i, j] = number * c
            if i and s:
                result[i, j] = result[i, j] + s * self.coefficients[i - 1, j]
            if j and t:
                result[i, j] = result[i, j] + t * self.coefficients[i, j - 1]
        return Series(result)

    def over(self, number: Array | float, s: int = 1, t: int = 0) -> Series:
        """Return the quotient by ``number + s*S + t*T``."""
        result: Coefficients = {}
        for (i, j), c in self.coefficients.items():
            rest = c
            if i and s:
                rest = rest - s * result[i - 1, j]
            if j and t:
                rest = rest - t * result[i, j - 1]
            result[i, j] = rest / number
        return Series(result)

    def exp(self, leading: Array) -> Series:
        """Return ``leading*exp(self)``; the coefficient of order 0 is not used.

        From the derivative of the result: k*v[k] is the sum of m*u[m]*v[k - m] for m = 1 to k.
        """
        u, result = self.coefficients, {(0, 0): leading}
        for i, j in u:
            if i:
                result[i, j] = _sum(k * u[k, m] * result[i - k, j - m] for k in range(1, i + 1) for m in range(j + 1)) / i
            elif j:
                result[i, j] = _sum(m * u[0, m] * result[0, j - m] for m in range(1, j + 1)) / j
        return Series(result)


def _sum(terms: Iterable[Any]) -> Any:
    """Return the sum of one or more terms, without the 0 with which ``sum`` begins."""
    first, *rest = terms
    return sum(rest, first)
