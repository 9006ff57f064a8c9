"""Arbitrary-precision real numbers that treat infinities and nan as IEEE arithmetic does.

A ``Number`` wraps an mpmath number, so that NumPy can add and multiply arrays of numbers, and so that every operation passes
through ``Arithmetic``.  ``Arithmetic.rounding`` can add float64 rounding errors to every result.  The change that these errors
cause in a derivative limits the accuracy of any float64 evaluation of that derivative.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, TypeVar

from autodiff_cli.lazy import library

Real = Any
"""A number of mpmath, which does not declare types."""
UNIT = 2.0**-53
"""The rounding error of a float64, relative to its size."""
MOST_EXPONENT = 4000
"""The largest binary exponent of an argument of ``exp``; for larger arguments, the result is set to infinity or 0."""
_Result = TypeVar("_Result")


class Arithmetic:
    """Arithmetic at one precision; an attribute that is not defined here is a constant or a function of mpmath.

    Args:
        digits: the number of decimal digits.

    Attributes:
        context: an mpmath context with that precision, separate from the global context.
        operations: the number of operations computed so far.
        short: whether more digits might give another result, because an addition lost a term or most of its digits, or because a
            function value is too close to 1 or 2.
        constants: the values of the parts of a program that derivatives treat as constants; see ``Evaluator``.
    """

    def __init__(self, digits: int) -> None:
        self.context: Any = library("mpmath.ctx_mp", "arithmetic with more digits").MPContext()
        self.context.dps = digits
        self.digits = digits
        self.operations = 0
        self.short = False
        self.zero: Real = self.mpf(0)
        self.constants: dict[Any, Any] = {}
        self._gap = int(self.context.prec) // 2  # in bits: half of all digits
        self._random: random.Random | None = None  # the directions of simulated rounding; ``None`` while nothing is rounded
        self._reads = False  # whether the reading of variables is rounded, and not the results of operations

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self.context, name)
        if callable(attribute):
            setattr(self, name, attribute)  # the next access does not come here
        return attribute

    def simulate_rounding(self, seed: int | None, reads: bool = False) -> None:
        """Start to simulate float64 rounding in random directions of a seed, or stop for ``None``.

        With ``reads``, a variable is rounded each time it is read, instead of the results of operations.
        """
        self._random = None if seed is None else random.Random(seed)
        self._reads = reads

    @property
    def reading(self) -> bool:
        """Whether variables are rounded when they are read."""
        return self._random is not None and self._reads

    def read(self, value: Number) -> Number:
        """Return the value of a variable with a simulated rounding error."""
        return Number(self, value.value * (1 + self._jitter()))

    def _jitter(self) -> float:
        """Return a random relative error of 0.3 to 1.3 units of rounding: one near 0 would hide what rounding can change."""
        assert self._random is not None
        error = self._random.uniform(-1, 1)
        return UNIT * (error + (0.3 if error >= 0 else -0.3))

    def number(self, value: Number | Real | float) -> Number:
        """Convert a Python, NumPy or mpmath number without rounding."""
        if type(value) is Number:
            return value
        if isinstance(value, Exact):
            return Number(self, value.exact.value)
        return Number(self, self.mpf(value.item() if hasattr(value, "item") else value))

    def result(self, value: Real) -> Number:
        """Return the result of an operation as a number, count the operation, and round the result if rounding is simulated."""
        self.operations += 1
        if self._random is not None and value and not self._reads:
            value = value * (1 + self._jitter())
            if abs(value) < 2.0**-1021:  # floats near 0 are multiples of 2**-1074, so their relative error is a larger power of 2
                value = value * (1 + self.ldexp(self._random.choice((-1, 1)), min(-1074 - self.mag(value), 0)))
        return Number(self, value)

    def finite(self, x: Real) -> bool:
        """Return whether a number is neither nan nor infinite."""
        return not (self.isnan(x) or self.isinf(x))

    def add(self, x: Real, y: Real) -> Number:
        """Return x + y, and set ``short`` if the sum lost a term or most of its digits."""
        total = x + y
        if x and y and not self.short:
            _, x_mantissa, x_exponent, x_bits = x._mpf_
            _, y_mantissa, y_exponent, y_bits = y._mpf_
            _, total_mantissa, total_exponent, total_bits = total._mpf_
            if x_mantissa and y_mantissa:  # it is 0 for nan and infinity; the leading bit of a number has the place exponent + bits
                absorbs = abs(x_exponent + x_bits - y_exponent - y_bits) > self._gap
                loses_bits = not total_mantissa or x_exponent + x_bits - total_exponent - total_bits > self._gap
                is_rounded = max(x_bits, y_bits) > self._gap  # numbers with few bits are exact, and so is their difference
                self.short = absorbs or (is_rounded and loses_bits)
        return self.result(total)

    def sub(self, x: Real, y: Real) -> Number:
        """Return x - y."""
        return self.add(x, -y)

    def mul(self, x: Real, y: Real) -> Number:
        """Return x*y."""
        return self.result(x * y)

    def div(self, x: Real, y: Real) -> Number:
        """Return x/y; x/0 is infinite with the sign of x, and 0/0 is nan."""
        if y:
            return self.result(x / y)
        if not x or self.isnan(x):
            return self.result(self.nan)
        return self.result(self.inf if x > 0 else -self.inf)

    def power(self, x: Real, y: Real) -> Number:
        """Return x**y as IEEE arithmetic does (1 for y = 0 and for x = 1, even if the other is nan); nan if it is not real."""
        if not y or x == 1:
            return self.result(self.mpf(1))
        if self.isnan(x) or self.isnan(y):
            return self.result(self.nan)
        if self.isinf(y):
            size = abs(x)
            return self.result(self.mpf(1) if size == 1 else self.inf if (size > 1) == (y > 0) else self.zero)
        whole = self.isint(y)
        odd = whole and y.man_exp[1] == 0  # an mpmath mantissa is odd; int(y) may exhaust the memory
        if not x or self.isinf(x):
            is_infinite = (not x) == (y < 0)  # 0 to a negative power, or infinity to a positive one
            return self.result((-self.inf if odd and x < 0 else self.inf) if is_infinite else self.zero)
        if x < 0 and not whole:
            return self.result(self.nan)
        if whole and abs(y) < 10000:  # for larger powers, exp and log are faster
            return self.result(x ** int(y))
        size = self.exp(y * self.log(abs(x)))
        return self.result(-size if odd and x < 0 else size)

    def exp(self, x: Real) -> Real:
        """Return e**x; infinity or 0 for arguments beyond ``MOST_EXPONENT``."""
        if not x or not self.finite(x) or self.mag(x) <= MOST_EXPONENT:
            value = self.context.exp(x)
            self.note_lost_digits(value, x)
            return value
        return self.inf if x > 0 else self.zero

    def log(self, x: Real) -> Real:
        """Return the logarithm of x: -inf at 0, and nan for a negative number."""
        return self.context.log(x) if x > 0 else -self.inf if x == 0 else self.nan

    def log1p(self, x: Real) -> Real:
        """Return the logarithm of 1 + x: -inf at -1, and nan below."""
        return self.context.log1p(x) if x > -1 else self.log(x + 1)

    def note_lost_digits(self, value: Real, x: Real) -> None:
        """Set ``short`` if the value of a function at ``x`` is 1, -1 or 2, or differs only in the second half of its digits."""
        if x and not self.short and self.finite(value):
            whole = self.nint(value)
            self.short = whole in (1, -1, 2) and self.mag(value - whole) < -self._gap and not self.isinf(x)


def _operator(combine: Callable[[Arithmetic, Real, Real], _Result], reflected: bool = False) -> Callable[[Number, Any], _Result]:
    """Return the method for an operator with a number or anything that converts to one; ``reflected`` exchanges the operands."""

    def operator(self: Number, other: Number | Real | float) -> Any:
        try:
            y = other.value if type(other) is Number else self.math.number(other).value
        except (TypeError, ValueError):
            return NotImplemented  # so that Python asks the other operand
        return combine(self.math, y, self.value) if reflected else combine(self.math, self.value, y)

    return operator


class Number:
    """One real number.

    Attributes:
        math: the arithmetic of the number.
        value: the mpmath number.
    """

    __slots__ = ("math", "value")

    def __init__(self, math: Arithmetic, value: Real) -> None:
        self.math = math
        self.value = value

    __add__ = _operator(Arithmetic.add)
    __radd__ = _operator(Arithmetic.add, reflected=True)
    __sub__ = _operator(Arithmetic.sub)
    __rsub__ = _operator(Arithmetic.sub, reflected=True)
    __mul__ = _operator(Arithmetic.mul)
    __rmul__ = _operator(Arithmetic.mul, reflected=True)
    __truediv__ = _operator(Arithmetic.div)
    __rtruediv__ = _operator(Arithmetic.div, reflected=True)
    __pow__ = _operator(Arithmetic.power)
    __rpow__ = _operator(Arithmetic.power, reflected=True)
    __lt__ = _operator(lambda _, x, y: x < y)
    __le__ = _operator(lambda _, x, y: x <= y)
    __gt__ = _operator(lambda _, x, y: x > y)
    __ge__ = _operator(lambda _, x, y: x >= y)
    __eq__ = _operator(lambda _, x, y: x == y)
    __ne__ = _operator(lambda _, x, y: x != y)

    def __hash__(self) -> int:
        return hash(self.value)

    def __neg__(self) -> Number:
        return Number(self.math, -self.value)

    def __pos__(self) -> Number:
        return self

    def __abs__(self) -> Number:
        return Number(self.math, abs(self.value))

    def __bool__(self) -> bool:
        return bool(self.value != 0)

    def __float__(self) -> float:
        return float(self.value)

    def __repr__(self) -> str:
        return f"Number({self.value})"

    def __getitem__(self, key: tuple[()]) -> Number:
        return self  # functions apply [()] to a sum of all elements

    # For an object array, NumPy implements ``np.sqrt``, ``np.exp`` and similar functions by calling these methods.

    def sqrt(self) -> Number:
        return self.math.result(self.math.sqrt(self.value) if self.value >= 0 else self.math.nan)

    def exp(self) -> Number:
        return self.math.result(self.math.exp(self.value))

    def log(self) -> Number:
        return self.math.result(self.math.log(self.value))

    def log1p(self) -> Number:
        return self.math.result(self.math.log1p(self.value))

    def conjugate(self) -> Number:
        return self


class Exact(float):
    """A float that also stores the number before rounding; it represents a plain number in a program, such as ``1/3``.

    Attributes:
        exact: the number before rounding.
    """

    exact: Number

    def __new__(cls, exact: Number) -> Exact:
        result = super().__new__(cls, float(exact.value))
        result.exact = exact
        return result
