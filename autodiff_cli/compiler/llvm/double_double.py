"""Vectors as sums of two doubles, which keep the digits that one double rounds away, and other parts of the functions.

The algorithms are those of Dekker, A floating-point technique for extending the available precision, Numerische Mathematik 18,
1971, with fused multiply-add as in Muller et al., Handbook of Floating-Point Arithmetic, 2018, chapter 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from autodiff_cli.compiler.llvm.ir import Builder, Value


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
    return x.builder.binary("lshr", x, x.builder.constant(count, "i64"))


def masked(x: Value, mask: int) -> Value:
    """Return some bits of integers."""
    return x & x.builder.constant(mask, "i64")


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
    leading = x.high * y.high
    return Pair(leading, fma(x.high, y.low, fma(x.low, y.high, fma(x.high, y.high, -leading))))


def product(x: Value, high: float, low: float) -> Pair:
    """Return the product of x and a constant of two doubles."""
    leading = x * high
    return Pair(leading, fma(x, low, fma(x, high, -leading)))


def quotient(x: Pair, y: Pair) -> Pair:
    """Return x / y to about twice the precision of a double."""
    inverse = 1 / y.high
    high = x.high * inverse
    rest = fma(-high, y.low, fma(-high, y.high, x.high) + x.low)
    return Pair(high, rest * inverse)


def square(x: Value) -> Pair:
    """Return x**2 exactly."""
    high = x * x
    return Pair(high, fma(x, x, -high))


def square_root(x: Pair) -> Pair:
    """Return the square root to about twice the precision of a double."""
    root = x.high.builder.intrinsic("sqrt", x.high)
    twice = where(x.high.builder.compare("oeq", root, 0), 1, 2 * root)
    return Pair(root, (fma(-root, root, x.high) + x.low) / twice)


def replaced(usual: Value, rare: Value, name: str, x: Value) -> Value:
    """Replace some lanes by the C library's function, which is called only if any lane needs it.

    Args:
        usual: the result of the other lanes.
        rare: the condition of the lanes to replace.
        name: the function's name in C.
        x: its argument.
    """
    builder, place = usual.builder, len(usual.builder.lines)
    function = f"vec.rare.{name}"
    vector = builder.type("f64")
    inner = Builder(builder.width)
    found = inner.each_lane(name, [Value(inner, "%x", "f64")])
    body = "\n".join(f"  {line}" for line in [*inner.lines, f"ret {vector} {found.text}"])
    builder.definitions[function] = f"define internal {vector} @{function}({vector} %x) {ATTRIBUTES} noinline cold {{\n{body}\n}}"
    builder.declared |= inner.declared
    reduction = f"llvm.vector.reduce.or.v{builder.width}i1"
    builder.declared[reduction] = f"declare i1 @{reduction}({builder.type('i1')})"
    argument = where(rare, x, 0)
    builder.lines += [
        f"br label %test{place}",
        f"test{place}:",
        f"%any{place} = call i1 @{reduction}({builder.type('i1')} {rare.text})",
        f"br i1 %any{place}, label %rare{place}, label %join{place}",
        f"rare{place}:",
        f"%found{place} = call {vector} @{function}({vector} {argument.text})",
        f"%mixed{place} = select {builder.type('i1')} {rare.text}, {vector} %found{place}, {vector} {usual.text}",
        f"br label %join{place}",
        f"join{place}:",
    ]
    return builder.append(f"phi {vector} [{usual.text}, %test{place}], [%mixed{place}, %rare{place}]", "f64")


ATTRIBUTES = 'nounwind willreturn memory(none) "prefer-vector-width"="512" "min-legal-vector-width"="512"'
"""The attributes of functions of vectors: vectors are passed in registers of up to 512 bits."""
