"""The instructions of NumPy's functions of numbers and of conditions.

Arithmetic and choices are instructions of the processor, and the most used elementary functions come from ``elementary``.  NumPy
computes all other functions between two kernels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from autodiff_cli.compiler.llvm import elementary
from autodiff_cli.compiler.llvm.ir import Builder, Value

Rule = Callable[..., Value]
"""A function that appends the instructions of an operation to a builder, given the vectors of its operands."""


class Unknown(Exception):
    """A forward function needs the values of a column, or calls a function that a kernel cannot compute."""


def _binary(operation: str) -> Rule:
    """Return the rule of a function that is an instruction of two vectors; see ``Builder.binary``."""
    return lambda builder, x, y: builder.binary(operation, x, y)


def _comparison(predicate: str) -> Rule:
    """Return the rule of a comparison; see ``Builder.compare``."""
    return lambda builder, x, y: builder.compare(predicate, x, y)


def _logical(operation: str) -> Rule:
    """Return the rule of an operation on the truth of two numbers; see ``Builder.truth``."""
    return lambda builder, x, y: builder.binary(operation, builder.truth(x), builder.truth(y))


def _intrinsic(name: str) -> Rule:
    """Return the rule of a function that is an intrinsic of LLVM; see ``Builder.intrinsic``."""
    return lambda builder, *operands: builder.intrinsic(name, *operands)


def _elementary(name: str) -> Rule:
    """Return the rule of a function by its name in C or SciPy, computed in double precision; an unknown name is ``Unknown``."""

    def call(builder: Builder, *operands: Value) -> Value:
        result = elementary.call(builder, name, [builder.convert(operand, "f64") for operand in operands])
        if result is None:
            raise Unknown(name)
        return builder.convert(result, operands[0].kind)

    return call


def _is_nan(builder: Builder, x: Value) -> Value:
    return builder.compare("uno", x, x)


def _sign(builder: Builder, x: Value) -> Value:
    """Return -1, 0 or 1; nan stays nan."""
    sign = builder.select(x > 0, builder.constant(1, x.kind), builder.constant(0, x.kind))
    sign = builder.select(x < 0, -1, sign)
    return builder.select(_is_nan(builder, x), x, sign)


def _extreme(predicate: str, nan: bool) -> Rule:
    """Return the rule of the larger (``ogt``) or smaller (``olt``) number, the second if they are equal.

    With ``nan``, the result is nan if one of the numbers is nan; without it, only if both are.  Thus x is the result also where
    x is nan (with ``nan``), or where y is (without it).
    """

    def rule(builder: Builder, x: Value, y: Value) -> Value:
        return builder.select(builder.compare(predicate, x, y) | _is_nan(builder, x if nan else y), x, y)

    return rule


def _power(builder: Builder, x: Value, y: Value) -> Value:
    """Return x**y for a constant y in ``_POWERS``; raise ``Unknown`` for another y, so that NumPy computes the power."""
    rule = _POWERS.get(builder.number(y))  # ``None``, which is not a key, for a y that is not constant
    if rule is None:
        raise Unknown("power")
    return rule(builder, x)


_POWERS: Final[Mapping[float | None, Rule]] = {  # of one vector
    0.0: lambda builder, x: builder.constant(1, x.kind),
    1.0: lambda _, x: x,
    2.0: lambda _, x: x * x,
    0.5: lambda builder, x: builder.intrinsic("sqrt", x),
    -1.0: lambda _, x: 1 / x,
    3.0: lambda _, x: x * x * x,
    4.0: lambda _, x: x * x * (x * x),
    -2.0: lambda _, x: 1 / (x * x),
}
"""The powers that are products, quotients or roots, as in ``schedule``."""


def _logarithm_of_sum(builder: Builder, x: Value, y: Value) -> Value:
    """Return log(exp(x) + exp(y)) without overflow, as max(x, y) + log1p(exp(-abs(x - y)))."""
    part = _elementary("log1p")(builder, _elementary("exp")(builder, -abs(x - y)))
    equal = x.equals(y)  # also where both are infinite, and x - y is nan; then the result is x + log(2)
    result = builder.select(equal, x + math.log(2), builder.select(x > y, x, y) + part)
    return builder.select(_is_nan(builder, x - y) & ~equal, x + y, result)


def _remainder(builder: Builder, x: Value, y: Value) -> Value:
    """Return the remainder of NumPy, which has the sign of y; that of C, ``rest``, has the sign of x."""
    rest = builder.binary("rem", x, y)
    with_sign_of_y = builder.select((rest < 0) ^ (y < 0), rest + y, rest)
    signed = builder.select(rest.equals(0), builder.constant(0, x.kind).with_sign(y), with_sign_of_y)
    return builder.select(_is_nan(builder, rest), rest, signed)


def _floor_divide(builder: Builder, x: Value, y: Value) -> Value:
    """Follow NumPy's definition: the quotient of x minus its remainder, rounded to the nearest integer."""
    rest = builder.binary("rem", x, y)
    is_rounded_up = builder.compare("une", rest, 0) & ((rest < 0) ^ (y < 0))
    quotient = (x - rest) / y
    quotient = builder.select(is_rounded_up, quotient - 1, quotient)
    below = builder.intrinsic("floor", quotient)
    nearest = builder.select(quotient - below > 0.5, below + 1, below)
    signed = builder.select(quotient.equals(0), builder.constant(0, x.kind).with_sign(x / y), nearest)
    return builder.select(y.equals(0), x / y, signed)  # infinite or nan


_NUMBER_RULES: Final[dict[np.ufunc, Rule]] = {
    np.add: _binary("add"),
    np.subtract: _binary("sub"),
    np.multiply: _binary("mul"),
    np.divide: _binary("div"),
    np.negative: lambda _, x: -x,
    np.positive: lambda _, x: x,
    np.absolute: lambda _, x: abs(x),
    np.fabs: lambda _, x: abs(x),
    np.square: lambda _, x: x * x,
    np.reciprocal: lambda _, x: 1 / x,
    np.sqrt: _intrinsic("sqrt"),
    np.floor: _intrinsic("floor"),
    np.ceil: _intrinsic("ceil"),
    np.trunc: _intrinsic("trunc"),
    np.rint: _intrinsic("rint"),
    np.sign: _sign,
    np.copysign: _intrinsic("copysign"),
    np.maximum: _extreme("ogt", nan=True),
    np.minimum: _extreme("olt", nan=True),
    np.fmax: _extreme("ogt", nan=False),
    np.fmin: _extreme("olt", nan=False),
    np.remainder: _remainder,
    np.floor_divide: _floor_divide,
    np.power: _power,
    np.float_power: _power,
    np.logaddexp: _logarithm_of_sum,
    np.less: _comparison("olt"),
    np.less_equal: _comparison("ole"),
    np.greater: _comparison("ogt"),
    np.greater_equal: _comparison("oge"),
    np.equal: _comparison("oeq"),
    np.not_equal: _comparison("une"),
    np.logical_and: _logical("and"),
    np.logical_or: _logical("or"),
    np.logical_xor: _logical("xor"),
    np.logical_not: lambda builder, x: ~builder.truth(x),
    np.isnan: _is_nan,
    np.isfinite: lambda builder, x: builder.compare("one", abs(x), math.inf),
    np.isinf: lambda builder, x: builder.compare("oeq", abs(x), math.inf),
}
"""The rules of functions of floating-point numbers."""
_CONDITION_RULES: Final[dict[np.ufunc, Rule]] = {
    **dict.fromkeys((np.logical_and, np.bitwise_and, np.multiply, np.minimum, np.fmin), _binary("and")),
    **dict.fromkeys((np.logical_or, np.bitwise_or, np.add, np.maximum, np.fmax), _binary("or")),
    **dict.fromkeys((np.logical_xor, np.bitwise_xor, np.not_equal), _binary("xor")),
    **dict.fromkeys((np.logical_not, np.invert), lambda _, x: ~x),
    np.equal: lambda builder, x, y: ~builder.binary("xor", x, y),
}
"""The rules of functions of conditions."""


def rule_of(ufunc: np.ufunc, of_conditions: bool) -> Rule:
    """Return the rule of a NumPy or SciPy function for conditions or numbers; without one, this or the rule raises ``Unknown``."""
    if not of_conditions:
        return _NUMBER_RULES.get(ufunc) or _elementary(ufunc.__name__)
    if ufunc not in _CONDITION_RULES:
        raise Unknown(f"{ufunc.__name__} of conditions")
    return _CONDITION_RULES[ufunc]
