"""Real numbers of many digits, with what IEEE arithmetic says of infinities and nan.

A ``Number`` wraps one of mpmath's, so that NumPy can add and multiply arrays of them, and so that each operation passes
one place.  That place may add rounding errors of a float64 (``Arithmetic.rounding``): a derivative that moves when every
operation is off by half a unit in the last place is one that floats cannot have more exactly.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from autodiff_cli.lazy import library

UNIT = 2.0**-53
"""The rounding error of a float64, relative to its size."""
_LEAST = 2.0**-1074
_MOST_EXPONENT = 4000
"""Bits of the logarithm of what is still a number: the exponential of more is infinite, or 0."""


class Arithmetic:
    """Numbers of one precision.

    Args:
        digits: decimal digits.

    Attributes:
        mp: mpmath's context of that precision; the library's own is left alone.
        operations: how many were done.
        short: whether a term of a sum, most of its digits, or what a function differs from 1 by was lost from sight, so that
            more digits might say more.
    """

    def __init__(self, digits: int) -> None:
        self.mp: Any = library("mpmath.ctx_mp", "arithmetic with more digits").MPContext()
        self.mp.dps = digits
        self.digits = digits
        self.operations = 0
        self.short = False
        self.zero = self.mp.mpf(0)
        self._gap = int(self.mp.prec) // 2
        self._random: random.Random | None = None
        self._reads = False

    def rounding(self, seed: int | None, reads: bool = False) -> None:
        """Begin to round as a float64 would, in directions that depend on the seed; ``None`` ends it.

        Args:
            seed: of the directions.
            reads: whether to round variables, each time that one is read, in the place of the results of operations.
        """
        self._random = None if seed is None else random.Random(seed)
        self._reads = reads

    @property
    def reading(self) -> bool:
        """Whether variables are rounded where they are read."""
        return self._random is not None and self._reads

    def read(self, value: Number) -> Number:
        """A rounded number of a variable."""
        return Number(self, value.value * (1 + self._jitter()))

    def _jitter(self) -> float:
        assert self._random is not None
        error = self._random.uniform(-1, 1)
        return UNIT * (error + (0.3 if error >= 0 else -0.3))

    def of(self, value: Any) -> Number:
        """A number of Python or NumPy as exactly the number that it is."""
        if type(value) is Number:
            return value
        if isinstance(value, Exact):
            return Number(self, value.exact.value)
        return Number(self, self.mp.mpf(value.item() if hasattr(value, "item") else value))

    def made(self, value: Any) -> Number:
        """The result of an operation."""
        self.operations += 1
        if self._random is not None and value and not self._reads:
            value = value * (1 + self._jitter())
            if abs(value) < 2.0**-1021:
                value = value + self._random.choice((-_LEAST, _LEAST)) / 2
        return Number(self, value)

    # The four operations, on mpmath's numbers

    def add(self, x: Any, y: Any) -> Number:
        """x + y."""
        total = x + y
        if x and y and not self.short:
            # The third entry of a finite number is its exponent, the fourth how many bits its mantissa has.
            a, b, c = x._mpf_, y._mpf_, total._mpf_
            if a[1] and b[1]:
                absorbs = abs(a[2] + a[3] - b[2] - b[3]) > self._gap
                rounded = max(a[3], b[3]) > self._gap  # numbers of few bits are exact, and so is their difference
                cancels = rounded and (not c[1] or a[2] + a[3] - c[2] - c[3] > self._gap)
                self.short = absorbs or cancels
        return self.made(total)

    def div(self, x: Any, y: Any) -> Number:
        """x / y."""
        if y:
            return self.made(x / y)
        if not x or self.mp.isnan(x):
            return self.made(self.mp.nan)
        return self.made(self.mp.inf if x > 0 else -self.mp.inf)

    def power(self, x: Any, y: Any) -> Number:
        """x**y, nan where that is no real number."""
        mp = self.mp
        if not y or x == 1:
            return self.made(mp.mpf(1))
        if mp.isnan(x) or mp.isnan(y):
            return self.made(mp.nan)
        whole = not mp.isinf(y) and mp.isint(y)
        odd = whole and y.man_exp[1] == 0  # mantissas are odd; as an int it may fill the memory
        if not x or mp.isinf(x) or mp.isinf(y):
            if mp.isinf(y):
                size = abs(x)
                return self.made(mp.mpf(1) if size == 1 else mp.inf if (size > 1) == (y > 0) else self.zero)
            large = (not x) == (y < 0)
            return self.made((-mp.inf if odd and x < 0 else mp.inf) if large else self.zero)
        if x < 0 and not whole:
            return self.made(mp.nan)
        if whole and abs(y) < 10000:
            return self.made(x ** int(y))
        size = self.exp(y * mp.log(abs(x)))
        return self.made(-size if odd and x < 0 else size)

    def exp(self, x: Any) -> Any:
        """e**x for one of mpmath's numbers."""
        mp = self.mp
        if mp.isnan(x) or mp.isinf(x) or (x and mp.mag(x) <= _MOST_EXPONENT) or not x:
            return self.rounded(mp.exp(x), x)
        return mp.inf if x > 0 else self.zero

    def rounded(self, value: Any, x: Any) -> Any:
        """The value of a function at ``x`` that is near 1 or 2 at places where it is neither: then digits are short."""
        if value in (1, -1, 2) and x and not self.mp.isinf(x):
            self.short = True
        return value


def _other(combine: Callable[[Arithmetic, Any, Any], Number], reflected: bool = False) -> Any:
    def operator(self: Number, other: Any) -> Any:
        try:
            y = other.value if type(other) is Number else self.math.of(other).value
        except (TypeError, ValueError):
            return NotImplemented
        return combine(self.math, y, self.value) if reflected else combine(self.math, self.value, y)

    return operator


def _compared(compare: Callable[[Any, Any], bool]) -> Any:
    def operator(self: Number, other: Any) -> Any:
        try:
            y = other.value if type(other) is Number else self.math.of(other).value
        except (TypeError, ValueError):
            return NotImplemented
        return bool(compare(self.value, y))

    return operator


def _add(math: Arithmetic, x: Any, y: Any) -> Number:
    return math.add(x, y)


def _sub(math: Arithmetic, x: Any, y: Any) -> Number:
    return math.add(x, -y)


def _mul(math: Arithmetic, x: Any, y: Any) -> Number:
    return math.made(x * y)


def _div(math: Arithmetic, x: Any, y: Any) -> Number:
    return math.div(x, y)


def _pow(math: Arithmetic, x: Any, y: Any) -> Number:
    return math.power(x, y)


class Number:
    """One real number.

    Attributes:
        math: the arithmetic that it belongs to.
        value: mpmath's number.
    """

    __slots__ = ("math", "value")

    def __init__(self, math: Arithmetic, value: Any) -> None:
        self.math = math
        self.value = value

    __add__ = _other(_add)
    __radd__ = _other(_add, reflected=True)
    __sub__ = _other(_sub)
    __rsub__ = _other(_sub, reflected=True)
    __mul__ = _other(_mul)
    __rmul__ = _other(_mul, reflected=True)
    __truediv__ = _other(_div)
    __rtruediv__ = _other(_div, reflected=True)
    __pow__ = _other(_pow)
    __rpow__ = _other(_pow, reflected=True)
    __lt__ = _compared(lambda x, y: x < y)
    __le__ = _compared(lambda x, y: x <= y)
    __gt__ = _compared(lambda x, y: x > y)
    __ge__ = _compared(lambda x, y: x >= y)
    __eq__ = _compared(lambda x, y: x == y)
    __ne__ = _compared(lambda x, y: x != y)

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
        return self  # a sum of all elements is one of them, and NumPy's functions take it out of itself

    # What NumPy calls for ``np.sqrt``, ``np.exp`` and the like on an array of objects.

    def sqrt(self) -> Number:
        return self.math.made(self.math.mp.sqrt(self.value) if self.value >= 0 else self.math.mp.nan)

    def exp(self) -> Number:
        return self.math.made(self.math.exp(self.value))

    def log(self) -> Number:
        mp = self.math.mp
        return self.math.made(mp.log(self.value) if self.value > 0 else mp.nan if self.value < 0 else -mp.inf)

    def conjugate(self) -> Number:
        return self


class Exact(float):
    """A float with the number that it was rounded from: what a plain number of a program is, such as ``1/3``.

    Attributes:
        exact: that number.
    """

    exact: Number

    def __new__(cls, exact: Number) -> Exact:
        made = super().__new__(cls, float(exact.value))
        made.exact = exact
        return made
