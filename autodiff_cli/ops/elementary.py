"""Elementary functions, applied element by element."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.primitives.argument_kinds import WHOLE, optional, takes
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.autograd.primitives.registry import describe
from autodiff_cli.autograd.primitives.types import Forward, Value
from autodiff_cli.errors import DtypeError
from autodiff_cli.ops.comparison import where
from autodiff_cli.ops.creation import zeros_like

__all__ = [
    "abs",
    "acos",
    "acosh",
    "angle",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "conj",
    "cos",
    "cosh",
    "deg2rad",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "frac",
    "hypot",
    "log",
    "log1p",
    "log2",
    "log10",
    "rad2deg",
    "real",
    "reciprocal",
    "round",
    "rsqrt",
    "sgn",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trunc",
]

declare = Declarations(__name__, elementwise=True)

_LN2 = math.log(2)
_ANY = ((0.3,), (-1.7,), ([0.4, -2.2],))
_POSITIVE = ((0.3,), (2.5,), ([0.5, 7.0],))
_INSIDE = ((0.3,), (-0.8,))
AT_ZERO: dict[str, Any] = {"smooth": "x != 0", "kink": lambda x: x == 0, "edges": ((0.0,),)}

# Exponentials and logarithms

exp = declare("exp", np.exp, {"x": lambda g, out: g * out}, summary="e to the power x", formula="exp(x)", samples=_ANY)
expm1 = declare(
    "expm1",
    np.expm1,
    # PyTorch's rule uses out + 1, which loses digits to cancellation for negative x.
    {"x": lambda g, x, out: g * where(out < -0.5, exp(x), out + 1)},
    recover=np.log1p,
    summary="exp(x) - 1, accurate for small x",
    formula="exp(x)",
    samples=_ANY,
)
exp2 = declare(
    "exp2",
    np.exp2,
    {"x": lambda g, out: g * (out * _LN2)},
    decomposition="2**x",
    summary="2 to the power x",
    formula="2**x*log(2)",
    samples=_ANY,
)
log = declare(
    "log",
    np.log,
    {"x": lambda g, x: g / x},
    aliases=("ln",),
    summary="natural logarithm",
    formula="1/x",
    domain="x > 0",
    convention="at 0 the value is -inf and the derivative is inf; below 0 the value is nan and the derivative is 1/x (PyTorch)",
    inside=lambda x: x > 0,
    samples=_POSITIVE,
    edges=((0.0,), (-1.0,)),
)
log1p = declare(
    "log1p",
    np.log1p,
    {"x": lambda g, x: g / (x + 1)},
    node="Log1PBackward0",
    summary="log(1 + x), accurate for small x",
    formula="1/(1 + x)",
    domain="x > -1",
    convention="at -1 the value is -inf and the derivative is inf; below -1 the value is nan (PyTorch)",
    inside=lambda x: x > -1,
    samples=_POSITIVE,
    edges=((-1.0,),),
)


def _logarithm(base: int, forward: np.ufunc) -> TensorFunction:
    natural = math.log(base)
    return declare(
        f"log{base}",
        forward,
        {"x": lambda g, x: g / natural / x},
        summary=f"logarithm to base {base}",
        formula=f"1/(x*log({base}))",
        domain="x > 0",
        convention="at 0 the value is -inf and the derivative is inf; below 0 the value is nan (PyTorch)",
        inside=lambda x: x > 0,
        samples=_POSITIVE,
        edges=((0.0,),),
    )


log2, log10 = _logarithm(2, np.log2), _logarithm(10, np.log10)

# Roots and reciprocals

sqrt = declare(
    "sqrt",
    np.sqrt,
    {"x": lambda g, out: g / (2 * out)},
    summary="square root",
    formula="1/(2*sqrt(x))",
    domain="x >= 0",
    smooth="x > 0",
    convention="the derivative at 0 is inf (PyTorch)",
    inside=lambda x: x >= 0,
    kink=lambda x: x == 0,
    samples=_POSITIVE,
    edges=((0.0,), (-1.0,)),
)
rsqrt = declare(
    "rsqrt",
    lambda x: 1 / np.sqrt(x),
    {"x": lambda g, out: -0.5 * g * out**3},
    decomposition="1/sqrt(x)",
    summary="1 / sqrt(x)",
    formula="-x**-1.5/2",
    domain="x > 0",
    convention="at 0 the value is inf and the derivative is -inf (PyTorch)",
    inside=lambda x: x > 0,
    samples=_POSITIVE,
    edges=((0.0,),),
)
cbrt = declare(
    "cbrt",
    np.cbrt,
    {"x": lambda g, out: g / (3 * out**2)},
    decomposition="sign(x)*abs(x)**(1/3)",
    summary="real cube root, including for negative arguments",
    formula="1/(3*cbrt(x)**2)",
    convention="the derivative at 0 is inf, which is the limit from both sides; PyTorch does not have cbrt",
    samples=_ANY,
    **AT_ZERO,
)
reciprocal = declare(
    "reciprocal",
    lambda x: 1 / x,
    {"x": lambda g, out: -g * (out * out)},
    series="quotient",
    decomposition="x**-1",
    summary="1 / x",
    formula="-1/x**2",
    domain="x != 0",
    convention="at 0 the value is inf and the derivative is -inf (PyTorch)",
    inside=lambda x: x != 0,
    samples=_ANY,
    edges=((0.0,),),
)


@takes()
def square(x: Value) -> Any:
    """x**2."""
    return x**2


describe(square, formula="2*x", samples=_ANY)


@takes()
def real(x: Value) -> Any:
    """The argument x, unchanged, because tensors are real."""
    return x


@takes()
def conj(x: Value) -> Any:
    """The argument x, unchanged, because tensors are real."""
    return x


describe(real, formula="1", samples=_ANY, methods=())
describe(conj, formula="1", samples=_ANY)

# Signs and steps


def _sign(x: Array) -> Any:
    value = np.sign(x)
    return np.where(np.isnan(value), value.dtype.type(0), value)[()] if np.any(np.isnan(value)) else value


def _step(name: str, forward: Forward, summary: str, kink: dict[str, Any], decomposition: str | None = None) -> TensorFunction:
    return declare(
        name,
        forward,
        {"x": lambda g: zeros_like(g)},
        selects=True,
        series="fixed",
        decomposition=decomposition,
        summary=summary,
        formula="0",
        convention="the derivative at a jump is 0 (PyTorch)",
        samples=_ANY,
        **kink,
    )


_AT_WHOLE: dict[str, Any] = {"smooth": "x is not a whole number", "kink": lambda x: x == np.floor(x), "edges": ((2.0,),)}
_AT_WHOLE_BUT_ZERO: dict[str, Any] = {
    "smooth": "x is 0 or not a whole number",
    "kink": lambda x: (x == np.trunc(x)) & (x != 0),
    "edges": ((2.0,),),
}
sign = _step("sign", _sign, "sign of x: -1, 0 or 1", AT_ZERO)
sgn = _step("sgn", _sign, "sign of x, the same function as sign; PyTorch has a separate node for each", AT_ZERO, "sign(x)")
angle = _step(
    "angle",
    lambda x: np.where(np.isnan(x), x, np.where(x < 0, math.pi, 0.0)).astype(x.dtype if x.dtype.kind == "f" else np.float64)[()],
    "the angle of a real number: 0, or pi where x < 0",
    {**AT_ZERO},
    "x if x != x else pi if x < 0 else 0.0",
)
floor = _step("floor", np.floor, "x rounded down", _AT_WHOLE)
ceil = _step("ceil", np.ceil, "x rounded up", _AT_WHOLE)
_round: TensorFunction = declare(
    "round",
    np.round,
    {"x": lambda g: zeros_like(g)},
    selects=True,
    series="fixed",
    public=False,
)
_round_to: TensorFunction = declare(
    "round_to",
    np.round,
    {"x": lambda g: zeros_like(g)},
    node="RoundBackward1",
    statics={"decimals": 0},
    selects=True,
    series="fixed",
    public=False,
    decomposition=lambda decimals: (
        f"round(x*1e{decimals})*1e{-decimals}" if decimals < 0 else f"round(x*1e{decimals})/1e{decimals}"
    ),
)


@takes(decimals=optional(WHOLE))
def round(x: Value, decimals: int | None = None) -> Any:
    """x rounded to the nearest whole number, or to a number of decimals, with halves rounded to even."""
    if decimals is None:
        return _round(x)
    if x.dtype.kind != "f":
        raise DtypeError(f"round: decimals is defined for floating-point numbers, not for {np.dtype(x.dtype)}")
    return _round_to(x, decimals)


def _at_half(x: Array, decimals: int | None) -> Any:
    scaled = x * 10.0 ** (decimals or 0)
    return scaled - np.floor(scaled) == 0.5


describe(
    round,
    formula="0",
    smooth="x is not halfway between two rounded numbers",
    convention="the derivative at a jump is 0 (PyTorch)",
    kink=_at_half,
    samples=(*_ANY, (0.237, 2)),
    edges=((2.5,),),
)
trunc = _step("trunc", np.trunc, "x rounded towards 0", _AT_WHOLE_BUT_ZERO)
abs = declare(
    "abs",
    np.abs,
    {"x": lambda g, x: g * sign(x)},
    aliases=("absolute",),
    operator="abs",
    summary="absolute value",
    formula="sign(x)",
    convention="the derivative at 0 is 0 (PyTorch)",
    samples=_ANY,
    **AT_ZERO,
)
frac = declare(
    "frac",
    lambda x: x - np.trunc(x),
    {"x": lambda g: g},
    decomposition="x - trunc(x)",
    summary="x - trunc(x), the fractional part",
    formula="1",
    convention="the derivative at a jump is 1 (PyTorch)",
    samples=_ANY,
    **_AT_WHOLE_BUT_ZERO,
)

# The value is computed as a product, which is accurate near 1 and -1.  It is a primitive, because the VJP rules of a product would
# multiply an infinite cotangent by the factor that is 0 there, and the result would be nan.
_one_minus_square = declare(
    "one_minus_square",
    lambda x: (1 - x) * (1 + x),
    {"x": lambda g, x: g * (-2 * x)},
    public=False,
    decomposition="(1 - x)*(1 + x)",
)

# Derivatives of inverse functions.  The square of a large x overflows, so powers are computed from x itself.


@np.errstate(all="ignore")
def _over_root_values(x: Array, j: int, m: int, shift: int) -> Any:
    square = x * x
    near = x**j * ((x - 1) * (x + 1) if shift < 0 else square + 1) ** (-m / 2)
    far = square > 4
    if not np.any(far):
        return near
    size = np.where(far, np.abs(x), 1.0).astype(square.dtype, copy=False)
    beyond = size ** float(j - m) * (1 + shift / size / size) ** (-m / 2) * np.sign(x) ** j
    return np.where(far, beyond, near)[()]


_over_root: TensorFunction = declare(
    "over_root",  # x**j/(x**2 + shift)**(m/2), where shift is 1 or -1
    _over_root_values,
    {"x": lambda g, x, j, m, shift: g * _over_root_slope(x, j, m, shift)},
    statics={"j": 0, "m": 1, "shift": 1},
    public=False,
    decomposition=lambda j, m, shift: f"h = {'hypot(x, 1)' if shift > 0 else 'sqrt(x - 1)*sqrt(x + 1)'}; (x/h)**{j}/h**{m - j}",
)


def _over_root_slope(x: Value, j: int, m: int, shift: int) -> Any:
    right = _over_root(x, j + 1, m + 2, shift) * -m
    return right if j == 0 else _over_root(x, j - 1, m, shift) * j + right


# Trigonometric functions, in radians

sin = declare("sin", np.sin, {"x": lambda g, x: g * cos(x)}, summary="sine of x in radians", formula="cos(x)", samples=_ANY)
cos: TensorFunction = declare(
    "cos",
    np.cos,
    {"x": lambda g, x: g * -sin(x)},
    summary="cosine of x in radians",
    formula="-sin(x)",
    samples=_ANY,
)
tan = declare(
    "tan",
    np.tan,
    {"x": lambda g, out: g * (out * out + 1)},
    summary="tangent of x in radians",
    formula="tan(x)**2 + 1",
    domain="cos(x) != 0",
    inside=lambda x: np.cos(x) != 0,
    samples=_ANY,
)
asin = declare(
    "asin",
    np.arcsin,
    {"x": lambda g, x: g * rsqrt(_one_minus_square(x))},
    aliases=("arcsin",),
    summary="inverse sine in radians",
    formula="1/sqrt(1 - x**2)",
    domain="-1 <= x <= 1",
    smooth="-1 < x < 1",
    convention="the derivative at -1 and 1 is inf (PyTorch)",
    inside=lambda x: np.abs(x) <= 1,
    kink=lambda x: np.abs(x) == 1,
    samples=_INSIDE,
    edges=((-1.0,), (1.0,), (1.5,)),
)
acos = declare(
    "acos",
    np.arccos,
    {"x": lambda g, x: -g * rsqrt(_one_minus_square(x))},
    aliases=("arccos",),
    summary="inverse cosine in radians",
    formula="-1/sqrt(1 - x**2)",
    domain="-1 <= x <= 1",
    smooth="-1 < x < 1",
    convention="the derivative at -1 and 1 is -inf (PyTorch)",
    inside=lambda x: np.abs(x) <= 1,
    kink=lambda x: np.abs(x) == 1,
    samples=_INSIDE,
    edges=((-1.0,), (1.0,), (1.5,)),
)
atan = declare(
    "atan",
    np.arctan,
    {"x": lambda g, x: g * _over_root(x, 0, 2, 1)},
    aliases=("arctan",),
    summary="inverse tangent in radians",
    formula="1/(x**2 + 1)",
    samples=_ANY,
)
# The angle and the absolute value of z = x + y*i.  The first derivatives of the angle are the real and imaginary parts of 1/z,
# the second derivatives are parts of 1/z**2, and so on.  They are computed as products, because sums of quotients would lose
# digits to cancellation.  Squares of numbers near 1e-160 underflow, and squares of numbers near 1e160 overflow, so z is scaled
# by a power of 2, which is exact.


def _scaled(x: Array, y: Array) -> tuple[Any, Any, Any]:
    """Scale two numbers by a power of 2 so that the larger is near 1; return them and the exponent."""
    _, power = np.frexp(np.maximum(np.abs(x), np.abs(y)))
    return np.ldexp(x, -power), np.ldexp(y, -power), -power


def _is_middling(size: Array, order: int) -> Any:
    """Return whether the powers of ``size`` up to ``order`` neither underflow nor overflow."""
    most = 1e280 if size.dtype.itemsize == 8 else 1e30
    return np.all((size < most ** (1 / order)) & (size > most ** (-1 / order)))


def _top(x: Array, y: Array, n: int, imaginary: bool) -> Any:
    """Return the real or imaginary part of (x - y*i)**n, which is abs(z)**(2*n) times the same part of 1/z**n."""
    if n == 2:  # x**2 - y**2 would lose digits to cancellation
        return -2 * (x * y) if imaginary else (x - y) * (x + y)
    real, imag = x, -y
    for _ in range(n - 1):
        real, imag = real * x + imag * y, imag * x - real * y
    return imag if imaginary else real


@np.errstate(all="ignore")
def _inverse_values(x: Array, y: Array, n: int, imaginary: bool) -> Any:
    dtype = np.result_type(x, y, np.float32)
    x, y = np.asarray(x, dtype)[()], np.asarray(y, dtype)[()]
    least = np.minimum(np.abs(x), np.abs(y))
    if _is_middling(x * x + y * y, n) and np.all((least == 0) | (least * least > 0)):
        return _top(x, y, n, imaginary) / (x * x + y * y) ** n
    near_x, near_y, power = _scaled(x, y)
    # Scale up as far as the power allows, so that a subnormal x or y remains accurate when the other number is large.
    lift = (900 if dtype.itemsize == 8 else 90) // n
    top = _top(np.ldexp(x, power + lift), np.ldexp(y, power + lift), n, imaginary)
    value = np.ldexp(top / (near_x * near_x + near_y * near_y) ** n, (power - lift) * n)
    far = (np.isinf(x) & ~np.isnan(y)) | (np.isinf(y) & ~np.isnan(x))
    return np.where(far | ((x == 0) & (y == 0)), dtype.type(0), value)[()]


def _inverse_decomposition(n: int, imaginary: bool) -> str:
    terms = []
    for k in range(1 if imaginary else 0, n + 1, 2):
        sign = "-" if (k + 1) // 2 % 2 else "+"
        terms.append(f"{sign} {math.comb(n, k)}*x**{n - k}*y**{k}")
    top = {(1, False): "x", (1, True): "-y", (2, False): "(x - y)*(x + y)", (2, True): "-2*x*y"}.get((n, imaginary))
    return f"0 if x**2 + y**2 == 0 else ({top or ' '.join(terms).removeprefix('+ ')})/(x**2 + y**2){f'**{n}' if n > 1 else ''}"


_inverse: TensorFunction = declare(
    "inverse",  # the real or imaginary part of 1/z**n, 0 where z is 0
    _inverse_values,
    {
        "x": lambda g, x, y, n, imaginary: g * (_inverse(x, y, n + 1, imaginary) * -n),
        "y": lambda g, x, y, n, imaginary: g * (_inverse(x, y, n + 1, not imaginary) * (-n if imaginary else n)),
    },
    statics={"n": 1, "imaginary": False},
    public=False,
    decomposition=_inverse_decomposition,
)


@np.errstate(all="ignore")
def _share_values(x: Array, y: Array, second: bool) -> Any:
    dtype = np.result_type(x, y, np.float32)
    x, y = np.asarray(x, dtype)[()], np.asarray(y, dtype)[()]
    size = np.hypot(x, y)
    if not _is_middling(size, 1):
        x, y, _ = _scaled(x, y)
        size = np.hypot(x, y)
    return np.where(size == 0, dtype.type(0), (y if second else x) / size)[()]


@np.errstate(all="ignore")
def _product_over_values(a: Array, b: Array, size: Array) -> Any:
    # Divide in the order that neither underflows nor overflows.
    value = np.where(size < 1e-300, a * b / size, a / size * b)
    return np.where(size == 0, value.dtype.type(0), value)[()]


_product_over: TensorFunction = declare(
    "product_over",  # a*b/size for two results of share_of_hypot, 0 where size is 0
    _product_over_values,
    {
        "a": lambda g, b, size: g * where(size == 0, 0.0, b / size),
        "b": lambda g, a, size: g * where(size == 0, 0.0, a / size),
        "size": lambda g, a, b, size: g * where(size == 0, 0.0, -(_product_over(a, b, size) / size)),
    },
    public=False,
    decomposition="0 if size == 0 else a*b/size",
)


def _share_vjp(g: Value, x: Value, y: Value, of: bool, by: bool) -> Any:
    curve = _product_over(_share(x, y, not of), _share(x, y, not by), hypot(x, y))
    return g * (curve if of == by else -curve)


_share: TensorFunction = declare(
    "share_of_hypot",  # x/hypot(x, y), or y/hypot(x, y) if second; 0 where x and y are both 0
    _share_values,
    {
        "x": lambda g, x, y, second: _share_vjp(g, x, y, second, False),
        "y": lambda g, x, y, second: _share_vjp(g, x, y, second, True),
    },
    statics={"second": False},
    public=False,
    decomposition=lambda second: f"0 if x == 0 and y == 0 else {'y' if second else 'x'}/hypot(x, y)",
)
atan2 = declare(
    "atan2",
    np.arctan2,
    {"y": lambda g, y, x: g * _inverse(x, y, 1, False), "x": lambda g, y, x: g * _inverse(x, y, 1, True)},
    aliases=("arctan2",),
    summary="angle of the point (x, y) in radians, from -pi to pi",
    formula="x/(x**2 + y**2), -y/(x**2 + y**2)",
    smooth="y != 0 or x > 0",
    convention="both derivatives at (0, 0) are 0; at the jump on the negative x axis they are the limits from both sides (PyTorch)",
    kink=lambda y, x: (y == 0) & (x <= 0),
    samples=((0.7, -1.2), (-1.5, 2.0)),
    edges=((0.0, 0.0), (0.0, -1.0)),
)


hypot: TensorFunction = declare(
    "hypot",
    np.hypot,
    {"x": lambda g, x, y: g * _share(x, y, False), "y": lambda g, x, y: g * _share(x, y, True)},
    summary="sqrt(x**2 + y**2) without overflow",
    formula="x/hypot(x, y), y/hypot(x, y)",
    smooth="x != 0 or y != 0",
    convention="both derivatives at (0, 0) are 0, the subgradient of least norm; PyTorch gives nan",
    kink=lambda x, y: (x == 0) & (y == 0),
    samples=((0.7, -1.2), (3.0, 4.0)),
    edges=((0.0, 0.0),),
)

# Hyperbolic functions

sinh = declare("sinh", np.sinh, {"x": lambda g, x: g * cosh(x)}, summary="hyperbolic sine", formula="cosh(x)", samples=_ANY)
cosh: TensorFunction = declare(
    "cosh", np.cosh, {"x": lambda g, x: g * sinh(x)}, summary="hyperbolic cosine", formula="sinh(x)", samples=_ANY
)


def _tanh_slope(x: Array, t: Array) -> Any:
    # 1 - t*t loses digits to cancellation where t is near 1 or -1.
    power = np.exp(x)
    inverse_cosh = 2 / (power + 1 / power)
    return inverse_cosh * inverse_cosh


tanh_slope: TensorFunction = declare(
    "tanh_slope",
    _tanh_slope,
    {"x": lambda g, t, out: g * (-2 * t * out), "t": None},
    public=False,
    decomposition="1/cosh(x)**2",
)
tanh: TensorFunction = declare(
    "tanh",
    np.tanh,
    {"x": lambda g, x, out: g * tanh_slope(x, out)},
    recover=np.arctanh,
    summary="hyperbolic tangent",
    formula="1 - tanh(x)**2",
    samples=_ANY,
)
asinh = declare(
    "asinh",
    np.arcsinh,
    {"x": lambda g, x: g * _over_root(x, 0, 1, 1)},
    aliases=("arcsinh",),
    summary="inverse hyperbolic sine",
    formula="1/sqrt(x**2 + 1)",
    samples=_ANY,
)
acosh = declare(
    "acosh",
    np.arccosh,
    {"x": lambda g, x: g * _over_root(x, 0, 1, -1)},
    aliases=("arccosh",),
    summary="inverse hyperbolic cosine",
    formula="1/sqrt(x**2 - 1)",
    domain="x >= 1",
    smooth="x > 1",
    convention="the derivative at 1 is inf (PyTorch)",
    inside=lambda x: x >= 1,
    kink=lambda x: x == 1,
    samples=((1.5,), (4.0,)),
    edges=((1.0,), (0.5,)),
)
atanh = declare(
    "atanh",
    np.arctanh,
    {"x": lambda g, x: g / _one_minus_square(x)},
    aliases=("arctanh",),
    summary="inverse hyperbolic tangent",
    formula="1/(1 - x**2)",
    domain="-1 < x < 1",
    convention="at -1 and 1 the value is infinite and the derivative is inf (PyTorch)",
    inside=lambda x: np.abs(x) < 1,
    samples=_INSIDE,
    edges=((1.0,),),
)


deg2rad = declare(
    "deg2rad",
    lambda x: x * (math.pi / 180),
    {"x": lambda g: g * (math.pi / 180)},
    node="Deg2RadBackward0",
    aliases=("radians",),
    decomposition="x*(pi/180)",
    summary="x converted from degrees to radians",
    formula="pi/180",
    samples=_ANY,
)
rad2deg = declare(
    "rad2deg",
    lambda x: x * (180 / math.pi),
    {"x": lambda g: g * (180 / math.pi)},
    node="Rad2DegBackward0",
    aliases=("degrees",),
    decomposition="x*(180/pi)",
    summary="x converted from radians to degrees",
    formula="180/pi",
    samples=_ANY,
)
