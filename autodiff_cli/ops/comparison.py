"""Comparisons, logic, and selection between values.  The gradient of an unselected value is 0."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.primitives.argument_kinds import DIMENSIONS, FLAG, NUMBER, optional, takes
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.autograd.primitives.registry import describe
from autodiff_cli.autograd.primitives.structural import dimension, where
from autodiff_cli.autograd.primitives.types import Dims, Operand, Value, array_of
from autodiff_cli.autograd.tensor import Tensor, add_methods
from autodiff_cli.errors import ArgumentError
from autodiff_cli.ops.creation import zeros_like

__all__ = [
    "all",
    "allclose",
    "any",
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "clamp",
    "clamp_max",
    "clamp_min",
    "eq",
    "equal",
    "fmax",
    "fmin",
    "ge",
    "gt",
    "heaviside",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "le",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "lt",
    "maximum",
    "minimum",
    "ne",
    "where",
]

declare = Declarations(__name__, elementwise=True)

_SIGNS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
_ALIASES = {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "ne": "not_equal"}


def _comparison(name: str) -> Any:
    return declare(
        name,
        getattr(operator, name),
        {"x": None, "y": None},
        operator=name,
        aliases=(_ALIASES[name],) if name in _ALIASES else (),
        summary=f"true where x {_SIGNS[name]} y; not differentiable",
    )


lt, le, gt, ge, eq, ne = (_comparison(name) for name in _SIGNS)


def _or_unequal(compare: TensorFunction) -> Any:
    """Return a method that calls ``compare``, but leaves comparisons with ``None`` and with text to Python."""
    return lambda self, other: NotImplemented if other is None or isinstance(other, str) else compare(self, other)


Tensor.__eq__ = _or_unequal(eq)  # type: ignore[method-assign]
Tensor.__ne__ = _or_unequal(ne)  # type: ignore[method-assign]
bitwise_and = declare(
    "bitwise_and",
    np.bitwise_and,
    {"x": None, "y": None},
    operator="and",
    decomposition="x and y",
    summary="the bits that are set in both of two integers or booleans",
)
bitwise_or = declare(
    "bitwise_or",
    np.bitwise_or,
    {"x": None, "y": None},
    operator="or",
    decomposition="x or y",
    summary="the bits that are set in one or both of two integers or booleans",
)
bitwise_xor = declare(
    "bitwise_xor",
    np.bitwise_xor,
    {"x": None, "y": None},
    operator="xor",
    decomposition="x != y",
    summary="the bits that are set in exactly one of two integers or booleans",
)
bitwise_not = declare(
    "bitwise_not",
    np.invert,
    {"x": None},
    operator="invert",
    decomposition="not x",
    summary="the inverted bits of an integer, -x - 1; the opposite of a boolean",
)
bitwise_left_shift = declare(
    "bitwise_left_shift",
    np.left_shift,
    {"x": None, "y": None},
    operator="lshift",
    decomposition="x*2**y",
    summary="the bits of the integer x shifted to the left by y places",
)
bitwise_right_shift = declare(
    "bitwise_right_shift",
    np.right_shift,
    {"x": None, "y": None},
    operator="rshift",
    decomposition="floor(x/2**y)",
    summary="the bits of the integer x shifted to the right by y places",
)
logical_and = declare("logical_and", np.logical_and, {"x": None, "y": None}, summary="true where x and y are both nonzero")
logical_or = declare("logical_or", np.logical_or, {"x": None, "y": None}, summary="true where x or y is nonzero")
logical_xor = declare(
    "logical_xor",
    np.logical_xor,
    {"x": None, "y": None},
    decomposition="(x != 0) != (y != 0)",
    summary="true where exactly one of x and y is nonzero",
)
logical_not = declare("logical_not", np.logical_not, {"x": None}, summary="true where x is zero")
isnan = declare("isnan", np.isnan, {"x": None}, summary="true where x is nan")
isinf = declare("isinf", np.isinf, {"x": None}, summary="true where x is infinite")
isfinite = declare("isfinite", np.isfinite, {"x": None}, summary="true where x is neither nan nor infinite")


isclose = declare(
    "isclose",
    np.errstate(all="ignore")(lambda x, y, rtol, atol, equal_nan: np.isclose(x, y, rtol, atol, equal_nan)),
    {"x": None, "y": None},
    statics={"rtol": 1e-5, "atol": 1e-8, "equal_nan": False},
    kinds={"rtol": NUMBER, "atol": NUMBER, "equal_nan": FLAG},
    decomposition=lambda equal_nan: None if equal_nan else "x == y or abs(x - y) <= atol + rtol*abs(y) and isfinite(y)",
    summary="true where abs(x - y) <= atol + rtol*abs(y)",
)


@takes()
def equal(x: Value, y: Value) -> bool:
    """True if two tensors have the same shape and elements."""
    return bool(np.array_equal(array_of(x), array_of(y)))


@takes(rtol=NUMBER, atol=NUMBER, equal_nan=FLAG)
def allclose(x: Value, y: Value, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """True if ``isclose`` holds for all elements."""
    return bool(np.all(array_of(isclose(x, y, rtol, atol, equal_nan))))


describe(equal)
describe(allclose)


def _over(truth: np.ufunc) -> Callable[..., Any]:
    def forward(x: Array, dim: Dims, keepdim: bool) -> Any:
        given = range(x.ndim) if dim is None else [dim] if isinstance(dim, int) else dim
        at = tuple(dimension(d, x.ndim) for d in given) if x.ndim else ()
        return truth.reduce(np.asarray(x, np.bool_), axis=at, keepdims=keepdim)[()]

    return forward


_OVER: dict[str, Any] = {
    "statics": {"dim": None, "keepdim": False},
    "kinds": {"dim": optional(DIMENSIONS), "keepdim": FLAG},
    "elementwise": False,
}
all: TensorFunction = declare(
    "all", _over(np.logical_and), {"x": None}, summary="true if every element is nonzero, of x or along dim", **_OVER
)
any: TensorFunction = declare(
    "any", _over(np.logical_or), {"x": None}, summary="true if any element is nonzero, of x or along dim", **_OVER
)


describe(
    where,
    section="comparison",
    summary="x where condition is true, else y",
    formula="1 or 0",
    methods=(),
    convention="the gradient of the unselected value is 0 (PyTorch)",
    samples=((True, 1.5, -0.5), ([True, False], [1.0, 2.0], [3.0, 4.0])),
)


def _method_where(self: Tensor, condition: Value, other: Operand) -> Any:
    return where(condition, self, other)


add_methods(where=_method_where)


def _larger_share(g: Value, x: Value, y: Value) -> Any:
    return where(x == y, g / 2, where(x < y, 0.0, g))  # if x or y is nan, both receive g


def _smaller_share(g: Value, x: Value, y: Value) -> Any:
    return _larger_share(g, y, x)


def _of_two(name: str, forward: np.ufunc, sign: str) -> TensorFunction:
    """Declare ``maximum`` (sign ``>``) or ``minimum`` (sign ``<``)."""
    return declare(
        name,
        forward,
        {"x": _larger_share, "y": _smaller_share} if sign == ">" else {"x": _smaller_share, "y": _larger_share},
        selects=True,
        summary=f"elementwise {name} of x and y",
        formula=f"1 where x {sign} y else 0, 1 where y {sign} x else 0",
        smooth="x != y",
        convention="both derivatives are 1/2 where x = y (PyTorch)",
        kink=lambda x, y: x == y,
        samples=((1.5, -0.5), ([1.0, 5.0], [3.0, 4.0])),
        edges=((1.0, 1.0),),
    )


maximum, minimum = _of_two("maximum", np.maximum, ">"), _of_two("minimum", np.minimum, "<")


def _of_two_numbers(name: str, forward: np.ufunc, sign: str) -> TensorFunction:
    """Declare ``fmax`` (sign ``>``) or ``fmin`` (sign ``<``), which take the number if the other value is nan."""

    def first(x: Value, y: Value) -> Any:
        return (x > y if sign == ">" else x < y) | isnan(y)

    return declare(
        name,
        forward,
        {
            "x": lambda g, x, y: where(x == y, g / 2, where(first(x, y), g, 0.0)),
            "y": lambda g, x, y: where(first(x, y), 0.0, where(x == y, g / 2, g)),
        },
        selects=True,
        decomposition=f"x if x {sign}= y or y != y else y",
        summary=f"elementwise {'maximum' if sign == '>' else 'minimum'} of x and y; a number if the other is nan",
        formula=f"1 where x {sign} y else 0, 1 where y {sign} x else 0",
        smooth="x != y",
        convention="both derivatives are 1/2 where x = y (PyTorch from 2.14 on)",
        kink=lambda x, y: x == y,
        samples=((1.5, -0.5), ([1.0, 5.0], [3.0, 4.0])),
        edges=((1.0, 1.0),),
    )


fmax, fmin = _of_two_numbers("fmax", np.fmax, ">"), _of_two_numbers("fmin", np.fmin, "<")


heaviside = declare(
    "heaviside",
    np.heaviside,
    {"x": lambda g: zeros_like(g), "values": lambda g, x: where(x == 0, g, 0.0)},
    selects=True,
    decomposition="values if x == 0 else 1.0 if x > 0 else 0.0 if x < 0 else x",
    summary="0 where x < 0, 1 where x > 0, and values where x = 0",
    formula="0, 1 where x = 0 else 0",
    smooth="x != 0",
    convention="the derivative with respect to x is 0 everywhere, at the jump too; PyTorch does not differentiate heaviside",
    kink=lambda x: x == 0,
    samples=((1.5, 0.5), ([-1.0, 2.0], [0.5, 0.3])),
    edges=((0.0, 0.5),),
)


def _inside(x: Value, low: Operand | None, high: Operand | None) -> Any:
    if low is None:
        return x < high
    return x > low if high is None else (x > low) & (x < high)


def _clip(x: Array, low: Array | None, high: Array | None) -> Any:
    # As in PyTorch, the upper bound is applied last: the result is max where min > max.
    raised = x if low is None else np.maximum(x, low)
    return raised if high is None else np.minimum(raised, high)


_clamp_numbers = declare(
    "clamp",
    _clip,
    {"x": lambda g, x, min, max: where(_inside(x, min, max), g, 0.0)},
    node="ClampBackward1",
    statics={"min": None, "max": None},
    selects=True,
    public=False,
    decomposition=lambda min, max: "min(x, max)" if min is None else "max(x, min)" if max is None else "min(max(x, min), max)",
)


def _of_tensors(x: Callable[..., Any], min: Callable[..., Any], max: Callable[..., Any]) -> TensorFunction:
    """Declare ``clamp`` with bounds that are tensors; a missing bound is an infinite number."""
    return declare(
        "clamp",
        _clip,
        {"x": x, "min": min, "max": max},
        node="ClampBackward0",
        public=False,
        selects=True,
        decomposition="min(max(x, min), max)",
    )


def _without(g: Value) -> Any:
    return zeros_like(g)


_clamp_low = _of_tensors(lambda g, x, min: _larger_share(g, x, min), lambda g, x, min: _smaller_share(g, x, min), _without)
_clamp_high = _of_tensors(lambda g, x, max: _smaller_share(g, x, max), _without, lambda g, x, max: _larger_share(g, x, max))
_clamp_both = _of_tensors(
    # Where the bounds meet, x receives the derivative at them.
    lambda g, x, min, max: where((x < min) | (x > max), 0.0, where(((x == min) | (x == max)) & (min < max), g / 2, g)),
    lambda g, x, min, max: where((x < min) & (min <= max), g, where((x == min) & (min < max), g / 2, 0.0)),
    lambda g, x, min, max: where((x > max) | (max < min), g, where((x == max) & (min < max), g / 2, 0.0)),
)


@takes()
def clamp(x: Value, min: Operand | None = None, max: Operand | None = None) -> Any:
    """x clamped to [min, max]; either bound is optional."""
    if min is None and max is None:
        raise ArgumentError("clamp: at least one of min or max must be given")
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        kind = _clamp_low if max is None else _clamp_high if min is None else _clamp_both
        return kind(x, -np.inf if min is None else min, np.inf if max is None else max)
    return _clamp_numbers(x, min, max)


_AT_BOUNDS = (
    "the derivative is 0 at a bound that is a number, and 1/2 for x and for an equal bound that is a tensor (PyTorch from 2.14 on)"
)


def _at_bound(x: Array, min: Array | None, max: Array | None) -> Any:
    low = False if min is None else x == min
    return low if max is None else low | (x == max)


describe(
    clamp,
    aliases=("clip",),
    tensors=("x", "min", "max"),
    formula="1 where min < x < max else 0",
    smooth="x != min and x != max",
    convention=_AT_BOUNDS,
    kink=_at_bound,
    samples=((0.5, 0.0, 1.0), ([-2.0, 0.3, 5.0], -1.0, 1.0)),
    edges=((0.0, 0.0, 1.0), (1.0, 0.0, 1.0)),
)


def _one_bound(bound: str, forward: np.ufunc, inside: TensorFunction) -> Any:
    """Return ``clamp_min`` or ``clamp_max``, of which PyTorch has a node for numbers and a node for tensors."""
    share, rest = (_larger_share, _smaller_share) if bound == "min" else (_smaller_share, _larger_share)
    name, camel = f"clamp_{bound}", f"Clamp{bound.capitalize()}Backward"
    common: dict[str, Any] = {
        "selects": True,
        "public": False,
        "decomposition": "max(x, bound)" if bound == "min" else "min(x, bound)",
    }
    number = declare(
        name,
        forward,
        {"x": lambda g, x, bound: where(inside(x, bound), g, 0.0)},
        node=f"{camel}0",
        statics={"bound": 0.0},
        **common,
    )
    tensor = declare(
        name,
        forward,
        {
            "x": lambda g, x, bound: share(g, x, bound),
            "bound": lambda g, x, bound: rest(g, x, bound),
        },
        node=f"{camel}1",
        **common,
    )
    return lambda x, bound: (tensor if isinstance(bound, Tensor) else number)(x, bound)


_raised, _lowered = _one_bound("min", np.maximum, gt), _one_bound("max", np.minimum, lt)


@takes()
def clamp_min(x: Value, min: Operand) -> Any:
    """The larger of x and min."""
    return _raised(x, min)


@takes()
def clamp_max(x: Value, max: Operand) -> Any:
    """The smaller of x and max."""
    return _lowered(x, max)


describe(
    clamp_min,
    formula="1 where x > min else 0",
    smooth="x != min",
    convention=_AT_BOUNDS,
    kink=lambda x, min: x == min,
    samples=((0.5, 0.0), ([-2.0, 0.3], -1.0)),
    edges=((0.0, 0.0),),
)
describe(
    clamp_max,
    formula="1 where x < max else 0",
    smooth="x != max",
    convention=_AT_BOUNDS,
    kink=lambda x, max: x == max,
    samples=((0.5, 1.0), ([-2.0, 5.0], 1.0)),
    edges=((1.0, 1.0),),
)
