"""Arithmetic operators and functions."""

from __future__ import annotations

import functools
import math
import operator
from typing import Any, TypeGuard

import numpy as np

from autodiff_cli.autograd.dtypes import Array, default_type
from autodiff_cli.autograd.primitives.argument_kinds import NUMBER, TENSOR, operand, takes
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.autograd.primitives.registry import describe
from autodiff_cli.autograd.primitives.types import Number, Operand, Value
from autodiff_cli.autograd.tensor import Tensor
from autodiff_cli.errors import GraphError
from autodiff_cli.ops.casts import result_type, to
from autodiff_cli.ops.comparison import where
from autodiff_cli.ops.creation import zeros_like
from autodiff_cli.ops.rules.elementary import log, reciprocal, round, trunc

__all__ = [
    "add",
    "addcdiv",
    "addcmul",
    "div",
    "floor_divide",
    "fmod",
    "lerp",
    "mul",
    "neg",
    "pos",
    "pow",
    "remainder",
    "sub",
    "true_divide",
]

declare = Declarations(__name__, elementwise=True)

_PAIR = ((1.5, -0.5), ([1.0, 2.0], 3.0))


def _weak(value: Operand) -> Any:
    """Convert a NumPy scalar to a Python number, which does not widen the dtype of a tensor in the same operation."""
    return value.item() if isinstance(value, np.generic) else value


def _is_number(value: Operand) -> TypeGuard[Number]:
    return isinstance(value, (int, float, np.generic))


add: TensorFunction = declare(
    "add",
    operator.add,
    {"x": lambda g: g, "y": lambda g: g},
    series="linear",
    operator="add",
    reflected=lambda self, other: add(self, other),
    summary="x + y",
    formula="1, 1",
    samples=_PAIR,
)
mul: TensorFunction = declare(
    "mul",
    operator.mul,
    {"x": lambda g, y: g * y, "y": lambda g, x: g * x},
    series="product",
    operator="mul",
    reflected=lambda self, other: mul(self, other),
    aliases=("multiply",),
    summary="x * y",
    formula="y, x",
    samples=_PAIR,
)
neg = declare(
    "neg",
    operator.neg,
    {"x": lambda g: -g},
    series="linear",
    operator="neg",
    aliases=("negative",),
    summary="-x",
    formula="-1",
    samples=((1.5,),),
)
_rsub = declare(
    "rsub",
    lambda x, y: y - x,
    {"x": lambda g: -g},
    node="RsubBackward1",
    statics={"y": 0},
    public=False,
    decomposition="y - x",
)
sub: TensorFunction = declare(
    "sub",
    operator.sub,
    {"x": lambda g: g, "y": lambda g: -g},
    series="linear",
    operator="sub",
    reflected=lambda self, other: _rsub(self, _weak(other)) if _is_number(other) else sub(other, self),
    aliases=("subtract",),
    summary="x - y",
    formula="1, -1",
    samples=_PAIR,
)


@takes()
def pos(x: Value) -> Any:
    """The argument x, unchanged."""
    return x


describe(pos, operator="pos", aliases=("positive",), formula="1", samples=((1.5,),))

_quotient: TensorFunction = declare(
    "div",
    operator.truediv,
    {"x": lambda g, y: g / y, "y": lambda g, x, y: -g * ((x / y) / y)},
    series="quotient",
    operator="truediv",
    # As in PyTorch, number / x is computed as number * reciprocal(x).
    reflected=lambda self, other: reciprocal(self) * other if _is_number(other) else _quotient(other, self),
    aliases=("divide", "true_divide"),
    summary="x / y",
    formula="1/y, -x/y**2",
    domain="y != 0",
    convention="at y = 0 the value and the derivatives follow IEEE arithmetic: they are infinite, or nan for 0/0 (PyTorch)",
    inside=lambda y: y != 0,
    samples=_PAIR,
    edges=((1.0, 0.0),),
)
floor_divide = declare(
    "floor_divide",
    np.floor_divide,
    {"x": lambda g: zeros_like(g), "y": lambda g: zeros_like(g)},
    selects=True,
    series="fixed",
    operator="floordiv",
    summary="x / y rounded down",
    formula="0, 0",
    domain="y != 0",
    smooth="x / y is not a whole number",
    convention="the derivative at the jumps is 0, as for floor (PyTorch does not define one)",
    inside=lambda y: y != 0,
    kink=lambda x, y: np.remainder(x, y) == 0,
    samples=((7.5, 2.0),),
    edges=((4.0, 2.0), (1.0, 0.0)),
)

_remainder_tensor = declare(
    "remainder",
    np.remainder,
    # floor_divide is consistent with the remainder, but floor(x / y) is not where x / y is rounded up to a whole number.
    {"x": lambda g: g, "y": lambda g, x, y: -g * floor_divide(x, y)},
    node="RemainderBackward1",
    public=False,
)
_remainder_number = declare(
    "remainder",
    np.remainder,
    {"x": lambda g: g},
    node="RemainderBackward0",
    statics={"y": 1},
    public=False,
)


def remainder(x: Operand, y: Operand) -> Any:
    """x - y*floor(x/y): the remainder with the sign of y."""
    return _remainder_number(x, _weak(y)) if _is_number(y) and isinstance(x, Tensor) else _remainder_tensor(x, y)


describe(
    remainder,
    operator="mod",
    aliases=("mod",),
    formula="1, -floor(x/y)",
    domain="y != 0",
    smooth="x / y is not a whole number",
    convention="at the jumps the derivative with respect to x is 1, and the derivative with respect to y is one-sided (PyTorch)",
    inside=lambda y: y != 0,
    kink=lambda x, y: np.remainder(x, y) == 0,
    samples=((7.5, 3.0), (-7.5, 2.0)),
    edges=((6.0, 3.0), (1.0, 0.0)),
)

_fmod_tensor = declare(
    "fmod",
    np.fmod,
    {"x": lambda g: g, "y": lambda g, x, y, out: -g * round((x - out) / y)},
    node="FmodBackward1",
    public=False,
)
_fmod_number = declare("fmod", np.fmod, {"x": lambda g: g}, node="FmodBackward0", statics={"y": 1}, public=False)


def fmod(x: Operand, y: Operand) -> Any:
    """x - y*trunc(x/y): the remainder with the sign of x."""
    return _fmod_number(x, _weak(y)) if _is_number(y) and isinstance(x, Tensor) else _fmod_tensor(x, y)


describe(
    fmod,
    formula="1, -trunc(x/y)",
    domain="y != 0",
    smooth="x is 0 or x / y is not a whole number",
    convention="at the jumps the derivative with respect to x is 1, and the derivative with respect to y is one-sided (PyTorch); "
    "at y = 0 the derivative with respect to y is nan, but PyTorch gives -inf",
    inside=lambda y: y != 0,
    kink=lambda x, y: (np.fmod(x, y) == 0) & (x != 0),
    samples=((7.5, 3.0), (-7.5, 2.0)),
    edges=((6.0, 3.0), (1.0, 0.0)),
)

# As in PyTorch, powers with a constant exponent, with a constant base and with neither are separate operations.  The VJP rule for
# a constant exponent does not need a logarithm, and its derivatives of every order are correct at 0.


_EVEN = 2.0**53
"""The magnitude at and above which every float64 is an even integer.

For such y, y - 1 is rounded to an even number, so x**(y - 1) has the wrong sign for x < 0.
"""


def _constant_power_vjp(g: Value, x: Value, y: Number) -> Any:
    if y == 0:
        return zeros_like(g)
    return g * (y * (_power_constant(x, y) / x if _EVEN <= abs(y) < math.inf else _power_constant(x, y - 1)))


@np.errstate(all="ignore")
def _falling_values(x: Array, y: Array, k: int) -> Any:
    count = _count(y, k)
    value = count * x ** (y - k)
    if k % 2:
        value = np.where((x < 0) & (np.abs(y) >= _EVEN), -value, value)
    small = np.abs(y) < 0.5  # for such y, the difference y - 1 is rounded
    if np.any(small):
        root = x ** (y / 2)
        value = np.where(small, functools.reduce(operator.truediv, [x] * k, count * root) * root, value)
    if not np.all(np.isfinite(value)):  # a factor may overflow where the product does not
        root = x ** ((y - k) / 2)
        value = np.where(np.isfinite(value) | (x < 0), value, count * root * root)
        value = np.where((count == 0) & ~np.isnan(x), 0.0, value)
        if np.any(np.isnan(value)):  # one factor overflows and the other underflows: use logarithms
            size = np.abs(x)
            logarithm = k * np.log(np.abs(y)) + (y - k) * np.log(size)
            sign = np.sign(y) ** k * np.where(x < 0, -1.0, 1.0) ** np.where(y == np.floor(y), np.mod(y - k, 2), np.nan)
            apart = np.isnan(value) & np.isfinite(x) & np.isfinite(y) & (size > 0) & ((x > 0) | (y == np.floor(y)))
            value = np.where(apart, np.where(x > 0, np.sign(y) ** k, sign) * np.exp(logarithm), value)
    return value.astype(np.result_type(x, y), copy=False)[()]


def _count(y: Value, k: int) -> Any:
    """Return y*(y - 1)*...*(y - k + 1)."""
    return math.prod([y - i for i in range(1, k)], start=y)


def _count_slope(y: Value, k: int) -> Any:
    """Return the derivative of y*(y - 1)*...*(y - k + 1) with respect to y."""
    if k == 1:
        return 1.0
    terms = [math.prod([y - i for i in range(k) if i != left], start=1.0) for left in range(k)]
    return functools.reduce(operator.add, terms)


def _falling_decomposition(k: int) -> str:
    formula = "*".join(["y", *(f"(y - {i})" for i in range(1, k))]) + f"*x**(y - {k})"
    zeros = " or ".join(f"y == {i}" for i in range(1, k))
    return f"0 if x == 0 and ({zeros}) else {formula}" if zeros else formula


_falling: TensorFunction = declare(
    "falling_power",  # the k-th derivative of x**y with respect to x: y*(y - 1)*...*(y - k + 1)*x**(y - k)
    _falling_values,
    {
        "x": lambda g, x, y, k: g * _falling(x, y, k + 1),
        # The common factor stays outside the sum, because the two products may be infinities of opposite signs.
        "y": lambda g, x, y, k: g * (x ** (y - k) * (_count_slope(y, k) + where((x == 0) & (y >= k), 0.0, _count(y, k) * log(x)))),
    },
    statics={"k": 1},
    public=False,
    decomposition=_falling_decomposition,
)


def _base_vjp(g: Value, x: Value, y: Value) -> Any:
    # The condition avoids 0 * inf at 0**0.  The condition y == 0 alone would give a wrong mixed second derivative.
    return g * where((x == 0) & (y == 0), 0.0, _falling(x, y, 1))


def _exponent_vjp(g: Value, x: Value, y: Value, out: Value) -> Any:
    return g * where((x == 0) & (y >= 0), 0.0, out * log(x))


def _number_power(x: Array, y: Array) -> Any:
    return (default_type() if x.dtype.kind != "f" else x.dtype).type(y) ** x


_power_constant: TensorFunction = declare(
    "pow",
    # NumPy computes x**0.5 with sqrt for arrays and with pow for numbers; their results differ at -inf and in the sign of 0.
    lambda x, y: np.sqrt(x) if y == 0.5 else x**y,
    {"x": _constant_power_vjp},
    series="power",
    node="PowBackward0",
    statics={"y": 2},
    public=False,
)
_power_tensor = declare(
    "pow",
    operator.pow,
    {"x": _base_vjp, "y": _exponent_vjp},
    node="PowBackward1",
    public=False,
)
_power_of_number = declare(
    "pow",
    _number_power,
    {"x": lambda g, x, y, out: g * where((x >= 0) & (y == 0), 0.0, out * log(np.float64(y)))},
    node="PowBackward2",
    statics={"y": 2},
    public=False,
)


def _power_exists(x: Array, y: Array) -> Any:
    return (x > 0) | ((y == np.floor(y)) & (x != 0)) | ((x == 0) & (y >= 0))


def _power_kink(x: Array, y: Array) -> Any:
    if np.ndim(y) == 0 and not 0 <= y < 1:  # x**y does not have a kink for this y
        return np.False_
    return (x == 0) & (y >= 0) & (y < 1)


def pow(input: Operand, exponent: Operand) -> Any:
    """x to the power y."""
    if not isinstance(input, Tensor) and not isinstance(exponent, Tensor):
        return operand(input, "pow") ** operand(exponent, "pow", "exponent", 2)
    if isinstance(input, Tensor) and (input._data if type(input) is Tensor else input).dtype.kind == "b":
        input = to(input, np.int64)
    if _is_number(exponent):
        return _power_constant(input, _weak(exponent))
    return _power_of_number(exponent, input) if _is_number(input) else _power_tensor(input, exponent)


POWER: dict[str, Any] = {
    "parameters": ("x", "y"),
    "formula": "y*x**(y - 1), x**y*log(x)",
    "domain": "x > 0, or x = 0 and y >= 0, or y is a whole number and x != 0",
    "convention": "the derivative with respect to x is inf at x = 0 with 0 < y < 1; the derivative with respect to y is 0 at x = 0 "
    "with y >= 0, and nan at x < 0 (PyTorch)",
    "smooth": "x > 0, or x = 0 and y >= 1, or y is a whole number and x != 0",
    "inside": _power_exists,
    "kink": _power_kink,
    "samples": ((1.3, 2.5), (2.0, 3.0), (0.7, -1.5)),
    "edges": ((0.0, 2.0), (0.0, 1.0), (0.0, 0.0), (0.0, 0.5), (0.0, -1.0), (-2.0, 3.0), (-2.0, 0.5)),
}
"""The description of powers."""
describe(pow, operator="pow", aliases=("power",), **POWER)


def _all_plain(*values: object) -> bool:
    """Return whether an operation on these values is recorded as one node of PyTorch's name.

    In other modes, such as a Taylor series or a tape, it is computed by simpler operations.
    """
    return all(type(value) is Tensor or not isinstance(value, Tensor) for value in values)


def _with_alpha(operation: TensorFunction, fused: TensorFunction) -> TensorFunction:
    """Return a version of ``operation`` with a keyword argument that scales the second operand, as in ``x.add(y, alpha=2)``.

    Args:
        operation: the function without the keyword argument.
        fused: the function with the factor as its third argument.
    """

    def scaled(input: Operand, other: Operand, *, alpha: Number = 1) -> Any:
        if alpha == 1:
            return operation(input, other)
        return fused(input, other, alpha) if _all_plain(input, other) else operation(input, other * alpha)

    scaled.__name__ = scaled.__qualname__ = operation.__name__
    scaled.__doc__ = operation.__doc__
    return scaled


# The operators + and - do not take alpha, so they keep the functions without alpha, which are faster.
add = Tensor.add = _with_alpha(  # type: ignore[attr-defined]
    add,
    declare(
        "add",
        lambda x, y, alpha: x + alpha * y,
        {"x": lambda g: g, "y": lambda g, alpha: g * alpha},
        statics={"alpha": 1},
        public=False,
        decomposition="x + alpha*y",
    ),
)
sub = Tensor.sub = _with_alpha(  # type: ignore[attr-defined]
    sub,
    declare(
        "sub",
        lambda x, y, alpha: x - alpha * y,
        {"x": lambda g: g, "y": lambda g, alpha: -g * alpha},
        statics={"alpha": 1},
        public=False,
        decomposition="x - alpha*y",
    ),
)

_addcmul = declare(
    "addcmul",
    lambda x, tensor1, tensor2, value: x + value * tensor1 * tensor2,
    {
        "x": lambda g: g,
        "tensor1": lambda g, tensor2, value: g * (tensor2 * value),
        "tensor2": lambda g, tensor1, value: g * (tensor1 * value),
    },
    statics={"value": 1},
    public=False,
    decomposition="x + value*tensor1*tensor2",
)
_addcdiv = declare(
    "addcdiv",
    lambda x, tensor1, tensor2, value: x + value * (tensor1 / tensor2),
    {
        "x": lambda g: g,
        "tensor1": lambda g, tensor2, value: g * (value / tensor2),
        "tensor2": lambda g, tensor1, tensor2, value: -g * (value * (tensor1 / tensor2) / tensor2),
    },
    statics={"value": 1},
    public=False,
    decomposition="x + value*(tensor1/tensor2)",
)
_lerp_number = declare(
    "lerp",
    lambda x, end, weight: x + weight * (end - x),
    {"x": lambda g, weight: g * (1 - weight), "end": lambda g, weight: g * weight},
    statics={"weight": 0.5},
    public=False,
    decomposition="x + weight*(end - x)",
)
_lerp_tensor = declare(
    "lerp",
    lambda x, end, weight: x + weight * (end - x),
    {
        "x": lambda g, weight: g * (1 - weight),
        "end": lambda g, weight: g * weight,
        "weight": lambda g, x, end: g * (end - x),
    },
    node="LerpBackward1",
    public=False,
    decomposition="x + weight*(end - x)",
)


def div(input: Operand, other: Operand, *, rounding_mode: str | None = None) -> Any:
    """x / y, or x / y rounded towards 0 ('trunc') or down ('floor')."""
    if rounding_mode is None:
        return _quotient(input, other)
    if rounding_mode == "floor":
        return floor_divide(input, other)
    if rounding_mode != "trunc":
        raise GraphError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'",
            hint="leave it out for an exact quotient",
        )
    made = trunc(_quotient(input, other))
    kind = result_type(input, other)
    return made if kind.is_floating_point else to(made, kind)


Tensor.div = true_divide = div  # type: ignore[attr-defined]


@takes(x=TENSOR, tensor1=TENSOR, tensor2=TENSOR, value=NUMBER)
def addcmul(x: Operand, tensor1: Value, tensor2: Value, value: Number = 1) -> Any:
    """x + value*tensor1*tensor2."""
    if _all_plain(x, tensor1, tensor2):
        return _addcmul(x, tensor1, tensor2, value)
    return x + value * tensor1 * tensor2


@takes(x=TENSOR, tensor1=TENSOR, tensor2=TENSOR, value=NUMBER)
def addcdiv(x: Operand, tensor1: Value, tensor2: Value, value: Number = 1) -> Any:
    """x + value*tensor1/tensor2."""
    if _all_plain(x, tensor1, tensor2):
        return _addcdiv(x, tensor1, tensor2, value)
    return x + value * (tensor1 / tensor2)


@takes(x=TENSOR, end=TENSOR, weight=TENSOR)
def lerp(x: Operand, end: Operand, weight: Operand) -> Any:
    """Linear interpolation x + weight*(end - x): x for weight 0, end for weight 1."""
    if not _all_plain(x, end, weight):
        return x + weight * (end - x)
    return _lerp_number(x, end, _weak(weight)) if _is_number(weight) else _lerp_tensor(x, end, weight)


_THREE = ((1.5, -0.5, 0.7),)
describe(addcmul, formula="1, value*tensor2, value*tensor1", samples=_THREE)
describe(addcdiv, formula="1, value/tensor2, -value*tensor1/tensor2**2", samples=_THREE)
describe(lerp, formula="1 - weight, weight, end - x", samples=_THREE)
