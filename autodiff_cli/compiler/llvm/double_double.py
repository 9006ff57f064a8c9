"""Vectors as sums of two doubles, which keep the digits that one double rounds away, and other parts of the functions.

The algorithms are those of Dekker, A floating-point technique for extending the available precision, Numerische Mathematik 18,
1971, with fused multiply-add as in Muller et al., Handbook of Floating-Point Arithmetic, 2018, chapter 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from autodiff_cli.compiler.llvm.ir import Value


class Pair(NamedTuple):
    """The sum of two vectors that was not rounded.

    Attributes:
        high: the sum, nearly rounded to double.
        low: what the rounding omitted.
    """

    high: Value
    low: Value

    @property
    def rounded(self) -> Value:
        """The sum as one double."""
        return self.high + self.low

    def __neg__(self) -> Pair:
        return Pair(-self.high, -self.low)

    def __add__(self, other: Pair) -> Pair:  # type: ignore[override]  # a tuple, but only as a record
        """Return the sum, where this number is 0 or at least as large as the other in absolute value."""
        total = fast_sum(self.high, other.high)
        return total.with_rest(self.low + other.low)

    def __truediv__(self, other: Pair) -> Pair:
        """Return the quotient to about twice the precision of a double."""
        inverse = 1 / other.high
        high = self.high * inverse
        rest = fma(-high, other.low, fma(-high, other.high, self.high) + self.low)  # self - high*other
        return Pair(high, rest * inverse)

    def with_rest(self, rest: Value | float) -> Pair:
        """Return the sum with a number that is small beside it."""
        return Pair(self.high, self.low + rest)

    def scaled(self, factor: Value | float) -> Pair:
        """Return the product with a power of 2."""
        return Pair(factor * self.high, factor * self.low)


def fma(x: Value, y: Value | float, z: Value | float) -> Value:
    """Return x*y + z with one rounding."""
    others = (value if isinstance(value, Value) else x.builder.constant(value) for value in (y, z))
    return x.builder.intrinsic("fma", x, *others)


def where(condition: Value, one: Value | float, other: Value | float) -> Value:
    """Return ``one`` in each lane where the condition holds, and ``other`` elsewhere; two numbers are doubles."""
    return condition.builder.select(condition, one, other)


def coefficients(rows: str) -> tuple[float, ...]:
    """Return the numbers in rows of text, that of the highest power first."""
    return tuple(map(float, rows.split()))


def polynomial(x: Value, coefficients: Sequence[float]) -> Value:
    """Evaluate a polynomial by Horner's rule; the first coefficient belongs to the highest power."""
    total = x.builder.constant(coefficients[0])
    for coefficient in coefficients[1:]:
        total = fma(total, x, coefficient)
    return total


def fast_sum(x: Value | float, y: Value) -> Pair:
    """Return x + y exactly, where x is 0 or at least as large as y in absolute value (Dekker's Fast2Sum)."""
    high = x + y
    return Pair(high, y - (high - x))


def exact_sum(x: Value | float, y: Value) -> Pair:
    """Return x + y exactly (Knuth's 2Sum)."""
    high = x + y
    part = high - x
    return Pair(high, (x - (high - part)) + (y - part))


def product(x: Value, high: float, low: float) -> Pair:
    """Return the product of x and a constant of two doubles."""
    leading = x * high
    return Pair(leading, fma(x, low, fma(x, high, -leading)))


def square(x: Value) -> Pair:
    """Return x**2 exactly."""
    high = x * x
    return Pair(high, fma(x, x, -high))
