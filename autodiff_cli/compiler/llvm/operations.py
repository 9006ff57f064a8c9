"""The instructions of NumPy's functions of numbers.

Arithmetic and choices are instructions of the processor, and the most used elementary functions come from ``elementary``.  NumPy
computes all other functions between two kernels.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from autodiff_cli.compiler.llvm import elementary
from autodiff_cli.compiler.llvm.ir import Builder, Value

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


def _elementary(name: str) -> Rule:
    """Call a function of vectors, by its name in C or SciPy."""

    @_in_double
    def call(builder: Builder, *operands: Value) -> Value:
        result = elementary.call(builder, name, operands)
        if result is None:
            raise UnknownFunction(name)
        return result

    return call


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
def _power(builder: Builder, x: Value, y: Value) -> Value:
    known = builder.number(y)
    if known is not None and known in _POWERS:
        return _POWERS[known](builder, x)
    return _elementary("pow")(builder, x, y)


_POWERS: Final[Mapping[float, Rule]] = {
    0.0: lambda builder, x: builder.constant(1, x.kind),
    1.0: lambda _, x: x,
    2.0: lambda _, x: x * x,
    0.5: lambda builder, x: builder.intrinsic("sqrt", x),
    -1.0: lambda _, x: 1 / x,
    3.0: lambda _, x: x * x * x,
    4.0: lambda _, x: x * x * (x * x),
    -2.0: lambda _, x: 1 / (x * x),
}
"""The powers that are computed without ``pow``, as in ``schedule``."""


@_of_floats
def _logarithm_of_sum(builder: Builder, x: Value, y: Value) -> Value:
    part = _elementary("log1p")(builder, _elementary("exp")(builder, -abs(x - y)))
    equal = x.equals(y)
    result = builder.select(equal, x + math.log(2), builder.select(x > y, x, y) + part)
    return builder.select(_nan(builder, x - y) & ~equal, x + y, result)


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
    np.power: _power,
    np.float_power: _power,
    np.logaddexp: _logarithm_of_sum,
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
    np.bitwise_and: _binary("and", of_conditions="and"),
    np.bitwise_or: _binary("or", of_conditions="or"),
    np.bitwise_xor: _binary("xor", of_conditions="xor"),
    np.invert: lambda _, x: ~x,
    np.isnan: _nan,
    np.isfinite: _of_floats(_finite),
    np.isinf: _of_floats(_infinite),
}


@functools.cache
def rule_of(ufunc: np.ufunc) -> Rule:
    """Return the rule of a function of NumPy or SciPy, which raises ``UnknownFunction`` if a kernel cannot compute it."""
    return _NUMPY.get(ufunc) or _elementary(ufunc.__name__)
