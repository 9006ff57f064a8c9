"""The instructions of each NumPy and SciPy function of numbers.

Arithmetic and choices are instructions of the processor.  Elementary functions come from ``elementary`` where it has them,
from the C library otherwise, and special functions from ``scipy.special.cython_special``.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from autodiff_cli.compiler.llvm.ir import Builder, Value
from autodiff_cli.ops.scipy_addresses import address

Rule = Callable[..., Value]
"""A function that appends the instructions of an operation to a builder, given the vectors of its operands."""


class UnknownFunction(Exception):
    """A kernel cannot compute a function."""


def _binary(operation: str, of_conditions: str = "") -> Rule:
    def rule(builder: Builder, x: Value, y: Value) -> Value:
        if x.kind == "i1" and not of_conditions:
            raise UnknownFunction(operation)
        return builder.binary(of_conditions if x.kind == "i1" else operation, x, y)

    return rule


def _comparison(of_floats: str, of_integers: str) -> Rule:
    def rule(builder: Builder, x: Value, y: Value) -> Value:
        if x.kind == "i1":
            x, y = builder.convert(x, "i64"), builder.convert(y, "i64")
        return builder.compare(of_integers if x.kind == "i64" else of_floats, x, y)

    return rule


def _logical(operation: str) -> Rule:
    return lambda builder, x, y: builder.binary(operation, builder.truth(x), builder.truth(y))


def _of_floats(rule: Rule) -> Rule:
    """Restrict a rule to floating-point operands."""

    def checked(builder: Builder, *operands: Value) -> Value:
        if operands[0].kind not in ("f64", "f32"):
            raise UnknownFunction("an operation on integers")
        return rule(builder, *operands)

    return checked


def _intrinsic(name: str) -> Rule:
    return _of_floats(lambda builder, *operands: builder.intrinsic(name, *operands))


def _in_double(rule: Rule) -> Rule:
    """Compute a function of float32 in double precision, and round the result."""

    @_of_floats
    def converted(builder: Builder, *operands: Value) -> Value:
        kind = operands[0].kind
        return builder.convert(rule(builder, *[builder.convert(one, "f64") for one in operands]), kind)

    return converted


def _library(name: str) -> Rule:
    """Call a function of the C library for each lane."""
    return _in_double(lambda builder, *operands: builder.elementary(name, operands))


def _nan(builder: Builder, x: Value) -> Value:
    return builder.compare("uno", x, x) if x.kind in ("f64", "f32") else builder.constant(False, "i1")


def _finite(builder: Builder, x: Value) -> Value:
    return builder.compare("one", abs(x), math.inf)


def _infinite(builder: Builder, x: Value) -> Value:
    return builder.compare("oeq", abs(x), math.inf)


def _absolute(builder: Builder, x: Value) -> Value:
    if x.kind == "i64":
        return builder.select(x < 0, 0 - x, x)
    return x if x.kind == "i1" else abs(x)


def _negative(builder: Builder, x: Value) -> Value:
    if x.kind == "i1":
        raise UnknownFunction("the negative of a condition")
    return 0 - x if x.kind == "i64" else -x


def _sign(builder: Builder, x: Value) -> Value:
    one = builder.select(x > 0, builder.constant(1, x.kind), builder.constant(0, x.kind))
    one = builder.select(x < 0, -1, one)
    return builder.select(_nan(builder, x), x, one)


def _extreme(predicate: str, of_integers: str, nan: bool) -> Rule:
    """The larger or the smaller of two numbers, the second if they are equal; nan if one is nan, or only if both are."""

    def rule(builder: Builder, x: Value, y: Value) -> Value:
        if x.kind == "i1":
            return builder.binary("or" if predicate == "ogt" else "and", x, y)
        if x.kind == "i64":
            return builder.select(builder.compare(of_integers, x, y), x, y)
        first = builder.compare(predicate, x, y) | _nan(builder, x if nan else y)
        return builder.select(first, x, y)

    return rule


@_of_floats
def _heaviside(builder: Builder, x: Value, middle: Value) -> Value:
    step = builder.select(x < 0, builder.constant(0, x.kind), builder.constant(1, x.kind))
    step = builder.select(x.equals(0), middle, step)
    return builder.select(_nan(builder, x), x, step)


@_of_floats
def _remainder(builder: Builder, x: Value, y: Value) -> Value:
    rest = builder.elementary("fmod", (x, y)) if x.kind == "f64" else builder.each_lane("fmodf", (x, y))
    zero = builder.constant(0, x.kind)
    other_sign = (rest < zero) ^ (y < zero)
    moved = builder.select(other_sign, rest + y, rest)
    signed = builder.select(rest.equals(zero), builder.intrinsic("copysign", zero, y), moved)
    return builder.select(_nan(builder, rest), rest, signed)


@_of_floats
def _floor_divide(builder: Builder, x: Value, y: Value) -> Value:
    """Follow NumPy's definition: the quotient of x minus its remainder, rounded to the nearest integer."""
    rest = builder.elementary("fmod", (x, y)) if x.kind == "f64" else builder.each_lane("fmodf", (x, y))
    zero = builder.constant(0, x.kind)
    quotient = (x - rest) / y
    other_sign = (rest < zero) ^ (y < zero)
    uneven = builder.compare("une", rest, zero) & other_sign
    quotient = builder.select(uneven, quotient - 1, quotient)
    below = builder.intrinsic("floor", quotient)
    nearest = builder.select(builder.compare("ogt", quotient - below, 0.5), below + 1, below)
    signed = builder.select(quotient.equals(zero), builder.intrinsic("copysign", zero, x / y), nearest)
    return builder.select(y.equals(zero), x / y, signed)


@_of_floats
def _power(builder: Builder, x: Value, y: Value) -> Value:
    known = builder.number(y)
    if known is not None and known in _POWERS:
        return _POWERS[known](builder, x)
    return _library("pow")(builder, x, y)


def _one(builder: Builder, x: Value) -> Value:
    return builder.constant(1, x.kind)


_POWERS: Final[Mapping[float, Rule]] = {
    0.0: _one,
    1.0: lambda _, x: x,
    2.0: lambda _, x: x * x,
    0.5: lambda builder, x: builder.intrinsic("sqrt", x),
    -1.0: lambda _, x: 1 / x,
    3.0: lambda _, x: x * x * x,
    4.0: lambda _, x: x * x * (x * x),
    -2.0: lambda _, x: 1 / (x * x),
}
"""The powers that are computed without the C library's ``pow``, as in ``schedule``."""


def _logarithm_of_sum(power: str, base: float) -> Rule:
    """The logarithm of the sum of two powers of a base, by the name of the power in C."""

    @_of_floats
    def rule(builder: Builder, x: Value, y: Value) -> Value:
        equal = x.equals(y)
        high = builder.select(x > y, x, y)
        part = _library("log1p")(builder, _library(power)(builder, -abs(x - y)))
        result = builder.select(equal, x + math.log(2) / math.log(base), high + part * (1 / math.log(base)))
        return builder.select(_nan(builder, x - y) & ~equal, x + y, result)

    return rule


@_of_floats
def _sign_bit(builder: Builder, x: Value) -> Value:
    return builder.compare("olt", builder.intrinsic("copysign", _one(builder, x), x), 0)


def _scaled(factor: float) -> Rule:
    return _of_floats(lambda _, x: x * factor)


def _condition(rule: Rule) -> Rule:
    """Restrict a rule to conditions and integers."""

    def checked(builder: Builder, *operands: Value) -> Value:
        if operands[0].kind not in ("i1", "i64"):
            raise UnknownFunction("an operation on bits")
        return rule(builder, *operands)

    return checked


_LIBRARY: Final = (
    *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "exp", "exp2", "expm1", "fmod", "hypot"),
    *("log", "log10", "log1p", "log2", "sin", "sinh", "tan", "tanh"),
)
"""The functions of the C library, by their names there; the inverse functions of NumPy begin with ``arc``."""

_NUMPY: Final[dict[np.ufunc, Rule]] = {
    np.add: _binary("add", of_conditions="or"),
    np.subtract: _binary("sub"),
    np.multiply: _binary("mul", of_conditions="and"),
    np.divide: _of_floats(_binary("div")),
    np.negative: _negative,
    np.positive: lambda _, x: x,
    np.absolute: _absolute,
    np.fabs: _intrinsic("fabs"),
    np.square: lambda _, x: x * x,
    np.reciprocal: _of_floats(lambda _, x: 1 / x),
    np.sqrt: _intrinsic("sqrt"),
    np.floor: _intrinsic("floor"),
    np.ceil: _intrinsic("ceil"),
    np.trunc: _intrinsic("trunc"),
    np.rint: _intrinsic("rint"),
    np.sign: _of_floats(_sign),
    np.copysign: _intrinsic("copysign"),
    np.maximum: _extreme("ogt", "sgt", nan=True),
    np.minimum: _extreme("olt", "slt", nan=True),
    np.fmax: _extreme("ogt", "sgt", nan=False),
    np.fmin: _extreme("olt", "slt", nan=False),
    np.heaviside: _heaviside,
    np.remainder: _remainder,
    np.floor_divide: _floor_divide,
    np.power: _power,
    np.float_power: _power,
    np.logaddexp: _logarithm_of_sum("exp", math.e),
    np.logaddexp2: _logarithm_of_sum("exp2", 2),
    np.signbit: _sign_bit,
    np.deg2rad: _scaled(math.pi / 180),
    np.radians: _scaled(math.pi / 180),
    np.rad2deg: _scaled(180 / math.pi),
    np.degrees: _scaled(180 / math.pi),
    np.less: _comparison("olt", "slt"),
    np.less_equal: _comparison("ole", "sle"),
    np.greater: _comparison("ogt", "sgt"),
    np.greater_equal: _comparison("oge", "sge"),
    np.equal: _comparison("oeq", "eq"),
    np.not_equal: _comparison("une", "ne"),
    np.logical_and: _logical("and"),
    np.logical_or: _logical("or"),
    np.logical_xor: _logical("xor"),
    np.logical_not: lambda builder, x: ~builder.truth(x),
    np.bitwise_and: _condition(_binary("and", of_conditions="and")),
    np.bitwise_or: _condition(_binary("or", of_conditions="or")),
    np.bitwise_xor: _condition(_binary("xor", of_conditions="xor")),
    np.invert: _condition(lambda _, x: ~x),
    np.isnan: _nan,
    np.isfinite: _of_floats(_finite),
    np.isinf: _of_floats(_infinite),
    **{getattr(np, re.sub("^a", "arc", name)): _library(name) for name in _LIBRARY},
}


@functools.cache
def rule_of(ufunc: np.ufunc) -> Rule | None:
    """Return the rule of a function of NumPy, or of a special function of SciPy; ``None`` if a kernel cannot compute it."""
    if ufunc in _NUMPY:
        return _NUMPY[ufunc]
    name = ufunc.__name__
    place = address(name, ufunc.nin)
    return None if place is None else _in_double(lambda builder, *operands: builder.special(name, place, operands))
