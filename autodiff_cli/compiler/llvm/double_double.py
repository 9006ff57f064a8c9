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


def fma(x: Value, y: Value | float, z: Value | float) -> Value:
    """Return x*y + z with one rounding."""
    others = (one if isinstance(one, Value) else x.builder.constant(one) for one in (y, z))
    return x.builder.intrinsic("fma", x, *others)


def where(condition: Value, one: Value | float, other: Value | float) -> Value:
    """Choose for each lane; at least one of the two must be a vector."""
    return condition.builder.select(condition, one, other)


def at_most(x: Value, bound: float) -> Value:
    """Return the smaller of x and a bound; nan stays nan."""
    return where(x.builder.compare("ogt", x, bound), bound, x)


def at_least(x: Value, bound: float) -> Value:
    """Return the larger of x and a bound; nan stays nan."""
    return where(x.builder.compare("olt", x, bound), bound, x)


def absolute(x: Value) -> Value:
    """Return the absolute value."""
    return x.builder.intrinsic("fabs", x)


def with_sign(x: Value, sign: Value) -> Value:
    """Return the absolute value of x with the sign of another vector, also of its zeros."""
    return x.builder.intrinsic("copysign", x, sign)


def shifted_right(x: Value, count: int) -> Value:
    """Shift integers without a sign."""
    return x.builder.binary("lshr", x, x.builder.constant(count, x.kind))


def masked(x: Value, mask: int) -> Value:
    """Return some bits of integers."""
    return x & x.builder.constant(mask, x.kind)


def polynomial(x: Value, coefficients: Sequence[float]) -> Value:
    """Evaluate a polynomial by Horner's rule; the first coefficient belongs to the highest power."""
    total = x.builder.constant(coefficients[0])
    for coefficient in coefficients[1:]:
        total = fma(total, x, coefficient)
    return total


def fast_sum(x: Value, y: Value) -> Pair:
    """Return x + y exactly, where x is 0 or at least as large as y in absolute value."""
    high = x + y
    return Pair(high, y - (high - x))


def exact_sum(x: Value, y: Value) -> Pair:
    """Return x + y exactly."""
    high = x + y
    part = high - x
    return Pair(high, (x - (high - part)) + (y - part))


def sum_of(x: Pair, y: Pair) -> Pair:
    """Return x + y, where x is 0 or at least as large as y in absolute value."""
    total = fast_sum(x.high, y.high)
    return Pair(total.high, total.low + (x.low + y.low))


def product_of(x: Pair, y: Pair) -> Pair:
    """Return x*y to about twice the precision of a double."""
    leading = exact_product(x.high, y.high)
    return Pair(leading.high, fma(x.high, y.low, fma(x.low, y.high, leading.low)))


def product(x: Value, high: float, low: float) -> Pair:
    """Return the product of x and a constant of two doubles."""
    leading = x * high
    return Pair(leading, fma(x, low, fma(x, high, -leading)))


def exact_product(x: Value, y: Value) -> Pair:
    """Return x*y exactly."""
    high = x * y
    return Pair(high, fma(x, y, -high))


def quotient(x: Pair, y: Pair) -> Pair:
    """Return x / y to about twice the precision of a double."""
    inverse = 1 / y.high
    high = x.high * inverse
    rest = fma(-high, y.low, fma(-high, y.high, x.high) + x.low)
    return Pair(high, rest * inverse)


def square(x: Value) -> Pair:
    """Return x**2 exactly."""
    return exact_product(x, x)


def square_root(x: Pair) -> Pair:
    """Return the square root to about twice the precision of a double."""
    root = x.high.builder.intrinsic("sqrt", x.high)
    twice = where(x.high.builder.compare("oeq", root, 0), 1, 2 * root)
    return Pair(root, (fma(-root, root, x.high) + x.low) / twice)
