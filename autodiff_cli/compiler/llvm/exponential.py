"""exp, expm1 and tanh of vectors.

x = n*log(2) + r with |r| <= log(2)/2 (Cody and Waite, Software Manual for the Elementary Functions, 1980, with fused
multiply-add), and a polynomial gives exp(r) - 1.  The last sum is one of two doubles, so the error stays near half an ulp.
``tests/benchmarks/elementary_coefficients.py`` prints the constants.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from autodiff_cli.compiler.llvm.double_double import Pair, coefficients, fast_sum, fma, polynomial
from autodiff_cli.compiler.llvm.ir import Value

_LN2: Final = 0.6931471805599453, 2.3190468138462996e-17  # a sum of two doubles
_INVERSE_LN2: Final = 1.4426950408889634
_TAIL: Final = coefficients("""
    2.0914679376583935e-09 2.510520637395701e-08 2.7557273661348637e-07 2.7557255425746435e-06 2.4801587325533363e-05
    0.00019841269874800493 0.0013888888888883752 0.008333333333326141 0.04166666666666667 0.1666666666666667 0.5
""")
"""(exp(r) - 1 - r) / r**2 for |r| <= log(2)/2."""
_OFFSET: Final = 2046
_SHIFT: Final = 1.5 * 2.0**52 + _OFFSET
"""A number whose sum with n has n + 2046 in its last 12 bits: twice the bias of an exponent, so n is split in halves easily."""
_BIAS: Final = 1023


class _Reduced(NamedTuple):
    """2**n * exp(r).

    Attributes:
        n: the integer n.
        field: n + 2046, as an integer.
        r: the rest.
    """

    n: Value
    field: Value
    r: Pair

    @property
    def tail(self) -> Value:
        """exp(r) - 1 - r.high, with a relative error of a few units of 2**-53."""
        high, low = self.r
        return fma(high * high, polynomial(high, _TAIL), fma(low, high, low))

    @property
    def growth(self) -> Pair:
        """exp(r) - 1."""
        return fast_sum(self.r.high, self.tail)

    def scaled(self, x: Value) -> Value:
        """Return x * 2**n with one rounding, also where 2**n is not a double."""
        first = self.field.unsigned_shift(1)  # half of n with its bias; the other half is the rest
        builder = x.builder
        return x * builder.bits(first << 52, "f64") * builder.bits((self.field - first) << 52, "f64")


def power_of_two(n: Value) -> Value:
    """Return 2**n for integers n between -1022 and 1023 in floating point."""
    exponent = n.builder.bits(n + (1.5 * 2.0**52 + _BIAS), "i64")  # its last bits, as in ``_SHIFT``
    return n.builder.bits(exponent << 52, "f64")


def _reduced(x: Value) -> _Reduced:
    """Split x, |x| < 1000, such that exp(x) = 2**n * exp(r)."""
    shifted = fma(x, _INVERSE_LN2, _SHIFT)
    n, field = shifted - _SHIFT, x.builder.bits(shifted, "i64") & 0xFFF  # n as a double, and n + 2046 as an integer
    exact = fma(n, -_LN2[0], x)  # exact, because x and n*_LN2[0] are multiples of 2**-54, and their difference is small
    high = fma(n, -_LN2[1], exact)
    return _Reduced(n, field, Pair(high, fma(n, -_LN2[1], exact - high)))


def exp(x: Value) -> Value:
    """Return the exponential function, at most 0.6 ulp from the exact value; 0.75 ulp for subnormal results."""
    parts = _reduced(x.at_most(710).at_least(-746))  # the result is infinite at 710, and 0 at -746
    total = fast_sum(1, parts.r.high)
    return parts.scaled(total.high + (total.low + parts.tail))


def scaled_exp(x: Pair, factor: Pair | None = None) -> Value:
    """Return factor * exp(x), |x| < 1000; the factor is 1 by default."""
    factor = factor or Pair(x.high.builder.constant(1), x.high.builder.constant(0))
    parts = _reduced(x.high)
    total = fast_sum(1, parts.r.high)
    low = fma(factor.high, x.low, factor.low)  # exp(x.low) is 1 + x.low
    rest = total.low + parts.tail  # exp(r) is total.high + rest
    return parts.scaled(fma(factor.high, total.high, fma(factor.high, rest, low * (total.high + rest))))


def expm1(x: Value) -> Value:
    """Return exp(x) - 1, as 2**n * ((1 - 2**-n) + (exp(r) - 1))."""
    parts = _reduced(x.at_most(710).at_least(-40))  # the result is infinite at 710, and -1 at -40
    growth = parts.growth
    total = fast_sum(1, -power_of_two(-parts.n.at_most(100))) + growth  # 2**-100 is far below the last digit of 1
    return parts.scaled(total.rounded).with_sign(x)  # of x also if the result is 0


def tanh(x: Value) -> Value:
    """Return the hyperbolic tangent: (exp(2*x) - 1) / (exp(2*x) + 1) of the absolute value, a quotient of two sums."""
    parts = _reduced(2 * abs(x).at_most(20))  # tanh(20) is 1
    power = power_of_two(parts.n)
    growth, one = parts.growth.scaled(power), x.builder.constant(1)  # exp(2*x) is the sum of the power and the growth
    result = (fast_sum(power, -one) + growth) / (fast_sum(power, one) + growth)
    return result.rounded.with_sign(x)
