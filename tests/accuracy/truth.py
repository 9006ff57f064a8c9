"""What mpmath says of the scalar functions of the language: values and derivatives to order 2, as floats.

A derivative is a central difference of the function at so many digits that its own error is far below the last one of a float:
the step is 2**-100 of the size of the variable, the precision grows with the distance of its logarithm from 0.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import mpmath
from mpmath import mp

Real = Callable[..., Any]
Index = tuple[int, ...]
"""How often a function is differentiated with respect to each of its arguments."""


class Outside(Exception):
    """The function is not real there, or mpmath does not know it."""


def indices(count: int) -> list[Index]:
    """All derivatives up to order 2 of a function of so many variables."""
    return [index for index in itertools.product(range(3), repeat=count) if sum(index) <= 2]


def _real(value: Any) -> Any:
    if isinstance(value, mpmath.mpc):
        if value.imag != 0:
            raise Outside
        value = value.real
    value = mp.mpf(value)
    if not mp.isfinite(value):
        raise Outside
    return value


def _digits(point: Sequence[float]) -> int:
    sizes = [abs(x) for x in point if x]
    logarithms = [0.0, *(math.log10(size) for size in sizes)]
    distance = max(logarithms) - min(logarithms)
    tail = 1200 if any(5 < size < 2000 for size in sizes) else 0  # of 1 - exp(-x**2) the rest is wanted
    return 160 + 4 * int(distance) + tail


def _differences(function: Real, point: Sequence[Any], index: Index) -> Any:
    """A mixed central difference, and the quotient."""
    stencils: list[list[tuple[int, int]]] = []
    divisor = mp.mpf(1)
    steps = []
    for x, times in zip(point, index, strict=True):
        step = mp.mpf(2) ** -100 * (min(1, abs(x)) if x else 1)
        steps.append(step)
        stencils.append([[(0, 1)], [(1, 1), (-1, -1)], [(1, 1), (0, -2), (-1, 1)]][times])
        divisor *= [mp.mpf(1), 2 * step, step * step][times]
    total = largest = mp.mpf(0)
    for parts in itertools.product(*stencils):
        weight = math.prod(weight for _, weight in parts)
        value = _real(function(*[x + k * h for x, (k, _), h in zip(point, parts, steps, strict=True)]))
        total, largest = total + weight * value, max(largest, abs(value))
    # What is left of a difference that ought to be 0 is the last digits.
    return total / divisor if abs(total) > largest * mp.mpf(10) ** (10 - mp.dps) else mp.mpf(0)


def _bends(function: Real, point: Sequence[Any]) -> bool:
    """Whether the slopes on both sides differ with respect to one of the variables."""
    for i, x in enumerate(point):
        step = mp.mpf(2) ** -100 * (min(1, abs(x)) if x else 1)
        left, here, right = (_real(function(*point[:i], x + k * step, *point[i + 1 :])) for k in (-1, 0, 1))
        gap = abs((right - here) - (here - left))
        if gap > mp.mpf(2) ** -50 * (abs(right - here) + abs(here - left)):
            return True
    return False


def truths(function: Real | dict[Index, Real], point: Sequence[float]) -> dict[Index, float]:
    """Value and derivatives at a point.

    Args:
        function: on mpmath numbers; or one for each derivative, where differences take too long.

    Raises:
        Outside: if it is not real there.
    """
    with mp.workdps(_digits(point)):
        at = [mp.mpf(x) for x in point]
        try:
            found = {}
            if not isinstance(function, dict) and _bends(function, at):
                raise Outside
            for index in indices(len(point)):
                if isinstance(function, dict):
                    try:
                        found[index] = float(_real(function[index](*at)))
                    except Outside:  # another derivative may exist
                        continue
                else:
                    found[index] = float(_differences(function, at, index))
            return found
        except (ArithmeticError, ValueError, TypeError, mpmath.libmp.ComplexResult, mpmath.libmp.NoConvergence) as error:
            raise Outside from error


def ndtr(x: Any) -> Any:
    return mp.erfc(-x / mp.sqrt(2)) / 2


def _log_ndtr(x: Any) -> Any:
    if x < -1000:  # Laplace's continued fraction; erfc would need an exponent of its own size
        t, fraction = -x, mp.mpf(0)
        for k in range(400, 0, -1):
            fraction = k / (t + fraction)
        return -x * x / 2 - mp.log(2 * mp.pi) / 2 - mp.log(t + fraction)
    return mp.log(ndtr(x)) if x < 0 else mp.log1p(-ndtr(-x))


def softplus(x: Any) -> Any:
    return mp.log1p(mp.exp(-abs(x))) + max(x, 0)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x)) if x >= 0 else mp.exp(x) / (1 + mp.exp(x))


def _selu(x: Any) -> Any:
    scale, alpha = mp.mpf("1.0507009873554804934193349852946"), mp.mpf("1.6732632423543772848170429916717")
    return scale * (x if x > 0 else alpha * mp.expm1(x))


def _gelu_tanh(x: Any) -> Any:
    return x * sigmoid(2 * mp.sqrt(2 / mp.pi) * (x + mp.mpf(0.044715) * x**3))


def _psi(n: int) -> Real:
    def function(x: Any) -> Any:
        if x <= 0 and x == mp.floor(x):
            raise Outside
        with mp.workdps(80 if abs(x) > 1e-30 else 700):
            return mp.psi(n, x)

    return function


def _log_gamma(x: Any) -> Any:
    if x <= 0 and x == mp.floor(x):
        raise Outside
    with mp.workdps(80 if abs(x) > 1e-30 else 400):
        if x > 1e15:
            return (x - mp.mpf(1) / 2) * mp.log(x) - x + mp.log(2 * mp.pi) / 2 + 1 / (12 * x)
        return mp.re(mp.loggamma(x))


def _gamma(order: int) -> Real:
    def function(x: Any) -> Any:
        if x > 200 or x < -200 or (x <= 0 and x == mp.floor(x)):
            raise Outside
        with mp.workdps(100 if abs(x) > 1e-30 else 1100):
            value, first = mp.gamma(x), mp.psi(0, x)
            return value * (1, first, first**2 + mp.psi(1, x))[order]

    return function


def _beta(a_times: int, b_times: int) -> Real:
    def function(a: Any, b: Any) -> Any:
        if a <= 0 or b <= 0 or max(a, b) > 1e12:
            raise Outside
        with mp.workdps(120 if min(a, b) > 1e-20 else 700):
            value = mp.exp(mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b))
            by_a, by_b, shared = (mp.psi(0, c) - mp.psi(0, a + b) for c in (a, b, a + b))
            second = mp.psi(1, a + b)
            return (
                value
                * {
                    (0, 0): lambda: mp.mpf(1),
                    (1, 0): lambda: by_a,
                    (0, 1): lambda: by_b,
                    (2, 0): lambda: by_a**2 + mp.psi(1, a) - second,
                    (0, 2): lambda: by_b**2 + mp.psi(1, b) - second,
                    (1, 1): lambda: by_a * by_b - second + shared,
                }[a_times, b_times]()
            )

    return function


def _bessel(function: Real, n: int, sign: int, order: int) -> Real:
    """Derivatives are sums over neighbouring orders."""

    def derivative(x: Any) -> Any:
        if abs(x) > 1e6:
            raise Outside
        with mp.workdps(80):
            terms = [(mp.binomial(order, i) * sign**i, n + order - 2 * i) for i in range(order + 1)]
            # d/dx J[n] = (J[n-1] - J[n+1])/2, d/dx I[n] = (I[n-1] + I[n+1])/2
            # Those of negative orders are those of positive ones, with their sign.
            total = sum(c * (sign ** abs(k) if k < 0 else 1) * function(abs(k), x) for c, k in terms)
            return total * (sign**order if sign < 0 else 1) / mp.mpf(2) ** order

    return derivative


def _scaled_bessel(n: int, order: int) -> Real:
    """Of exp(-abs(x))*I_n(x); from 200 on of the asymptotic series."""

    def far(x: Any) -> Any:
        total, term = mp.mpf(0), mp.mpf(1)
        for k in range(60):
            total += term
            term *= -mp.mpf(4 * n * n - (2 * k + 1) ** 2) / (8 * (k + 1) * abs(x))
        return total / mp.sqrt(2 * mp.pi * abs(x)) * (mp.sign(x) ** n)

    def function(x: Any) -> Any:
        return far(x) if abs(x) > 200 else mp.exp(-abs(x)) * mp.besseli(n, x)

    def derivative(x: Any) -> Any:
        if x == 0 and order:
            raise Outside
        if 0 < abs(x) <= 200:
            with mp.workdps(300 + 4 * int(abs(mp.log10(abs(x))))):
                return _differences(function, [x], (order,))
        return _differences(function, [x], (order,))

    return derivative


def _by_order(make: Callable[[int], Real]) -> dict[Index, Real]:
    return {(order,): make(order) for order in range(3)}


def _erfinv(order: int) -> Real:
    def function(x: Any) -> Any:
        if not -1 < x < 1:
            raise Outside
        with mp.workdps(60 + 2 * int(abs(mp.log10(abs(x)))) if x else 60):
            y = mp.erfinv(x)
            slope = mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
            return (y, slope, 2 * y * slope**2)[order]

    return function


def _ndtri(order: int) -> Real:
    def function(p: Any) -> Any:
        if not 0 < p < 1:
            raise Outside
        with mp.workdps(60):
            tail = min(p, 1 - p)
            # Newton's method on log(erfc), from the asymptotic quantile.
            y = mp.sqrt(-2 * mp.log(2 * tail)) if tail < mp.mpf("0.4") else mp.mpf("0.1")
            for _ in range(200):
                step = (mp.log(ndtr(-y)) - mp.log(tail)) / (-mp.npdf(y) / ndtr(-y))
                y -= step
                if abs(step) < mp.mpf(10) ** -50:
                    break
            y = mp.mpf(0) if p == mp.mpf(1) / 2 else -y if p < mp.mpf(1) / 2 else y
            slope = 1 / mp.npdf(y)
            return (y, slope, y * slope**2)[order]

    return function


def _whole(x: Any) -> Any:
    return x == mp.floor(x)


def _steps(function: Real) -> Real:
    """A function of the next whole number; the truth at its jumps is not defined."""

    def here(x: Any) -> Any:
        if _whole(2 * x) or abs(x) > 2**51:
            raise Outside
        return function(x)

    return here


def _truncated(x: Any) -> Any:
    return mp.floor(x) if x >= 0 else mp.ceil(x)


def _remainder(rounded: Real) -> Real:
    def function(x: Any, y: Any) -> Any:
        if y == 0 or abs(x / y) > 1e15 or _whole(x / y):
            raise Outside
        return x - y * rounded(x / y)

    return function


def _power(x_times: int, y_times: int) -> Real:
    """Derivatives of x**y by formulas: a step that is small beside y may be large beside 1/y."""

    def function(x: Any, y: Any) -> Any:
        if x == 0 or (x < 0 and (not _whole(y) or y_times)):
            raise Outside
        power = mp.power(x, y - x_times)
        return (
            power
            * {
                (0, 0): lambda: mp.mpf(1),
                (1, 0): lambda: y,
                (2, 0): lambda: y * (y - 1),
                (0, 1): lambda: mp.log(x),
                (0, 2): lambda: mp.log(x) ** 2,
                (1, 1): lambda: 1 + y * mp.log(x),
            }[x_times, y_times]()
        )

    return function


def _log_add(x: Any, y: Any) -> Any:
    return max(x, y) + mp.log1p(mp.exp(-abs(x - y)))


def _log_add2(x: Any, y: Any) -> Any:
    return max(x, y) + mp.log1p(mp.mpf(2) ** -abs(x - y)) / mp.log(2)


def _sinc(x: Any) -> Any:
    return mp.sinpi(x) / (mp.pi * x) if x else mp.mpf(1)


def _log_factorial(x: Any) -> Any:
    if x < 0 or x > 1e8:
        raise Outside
    return mp.loggamma(x + 1)


def _huber(x: Any, y: Any) -> Any:
    size = abs(x - y)
    if abs(size - 1) < mp.mpf(2) ** -90:  # the second derivative has a jump
        raise Outside
    return size**2 / 2 if size < 1 else size - mp.mpf(1) / 2


ONE: dict[str, Real | dict[Index, Real]] = {
    "exp(x)": mp.exp,
    "expm1(x)": mp.expm1,
    "exp2(x)": lambda x: mp.mpf(2) ** x,
    "log(x)": mp.log,
    "log1p(x)": mp.log1p,
    "log2(x)": lambda x: mp.log(x) / mp.log(2),
    "log10(x)": lambda x: mp.log(x) / mp.log(10),
    "sqrt(x)": mp.sqrt,
    "rsqrt(x)": lambda x: 1 / mp.sqrt(x),
    "cbrt(x)": lambda x: mp.sign(x) * mp.root(abs(x), 3),
    "reciprocal(x)": lambda x: 1 / x,
    "square(x)": lambda x: x * x,
    "abs(x)": abs,
    "sign(x)": mp.sign,
    "frac(x)": _steps(lambda x: x - _truncated(x)),
    "floor(x)": _steps(mp.floor),
    "round(x)": _steps(mp.nint),
    "sin(x)": mp.sin,
    "cos(x)": mp.cos,
    "tan(x)": mp.tan,
    "asin(x)": mp.asin,
    "acos(x)": mp.acos,
    "atan(x)": mp.atan,
    "sinh(x)": mp.sinh,
    "cosh(x)": mp.cosh,
    "tanh(x)": mp.tanh,
    "asinh(x)": mp.asinh,
    "acosh(x)": mp.acosh,
    "atanh(x)": mp.atanh,
    "deg2rad(x)": lambda x: x * mp.pi / 180,
    "rad2deg(x)": lambda x: x * 180 / mp.pi,
    "neg(x)": lambda x: -x,
    "erf(x)": mp.erf,
    "erfc(x)": mp.erfc,
    "erfinv(x)": _by_order(_erfinv),
    "ndtr(x)": ndtr,
    "log_ndtr(x)": _log_ndtr,
    "ndtri(x)": _by_order(_ndtri),
    "sinc(x)": _sinc,
    "sigmoid(x)": sigmoid,
    "logsigmoid(x)": lambda x: -softplus(-x),
    "softplus(x)": softplus,
    "softplus(x, 3)": lambda x: softplus(3 * x) / 3,
    "silu(x)": lambda x: x * sigmoid(x),
    "mish(x)": lambda x: x * mp.tanh(softplus(x)),
    "gelu(x)": lambda x: x * ndtr(x),
    "gelu(x, 'tanh')": _gelu_tanh,
    "relu(x)": lambda x: max(x, 0),
    "leaky_relu(x)": lambda x: x if x > 0 else mp.mpf(0.01) * x,
    "hardtanh(x)": lambda x: min(max(x, -1), 1),
    "relu6(x)": lambda x: min(max(x, 0), 6),
    "hardsigmoid(x)": lambda x: min(max(x + 3, 0), 6) / 6,
    "softsign(x)": lambda x: x / (1 + abs(x)),
    "tanhshrink(x)": lambda x: x - mp.tanh(x),
    "hardswish(x)": lambda x: x * min(max(x + 3, 0), 6) / 6,
    "hardshrink(x)": lambda x: x if abs(x) > 0.5 else mp.mpf(0),
    "softshrink(x)": lambda x: mp.sign(x) * max(abs(x) - mp.mpf(0.5), 0),
    "binary_cross_entropy_with_logits(x, 0.3)": lambda x: mp.mpf(0.3) * softplus(-x) + (1 - mp.mpf(0.3)) * softplus(x),
    "soft_margin_loss(x, 1.0)": lambda x: softplus(-x),
    "smooth_l1_loss(x, 0.0)": lambda x: _huber(x, 0),
    "elu(x)": lambda x: x if x > 0 else mp.expm1(x),
    "celu(x, 1.5)": lambda x: x if x > 0 else mp.mpf(1.5) * mp.expm1(x / mp.mpf(1.5)),
    "selu(x)": _selu,
    "i0(x)": _by_order(lambda k: _bessel(mp.besseli, 0, 1, k)),
    "i1(x)": _by_order(lambda k: _bessel(mp.besseli, 1, 1, k)),
    "j0(x)": _by_order(lambda k: _bessel(mp.besselj, 0, -1, k)),
    "j1(x)": _by_order(lambda k: _bessel(mp.besselj, 1, -1, k)),
    "i0e(x)": _by_order(lambda k: _scaled_bessel(0, k)),
    "i1e(x)": _by_order(lambda k: _scaled_bessel(1, k)),
    "lgamma(x)": {(0,): _log_gamma, (1,): _psi(0), (2,): _psi(1)},
    "digamma(x)": {(0,): _psi(0), (1,): _psi(1), (2,): _psi(2)},
    "polygamma(2, x)": {(0,): _psi(2), (1,): _psi(3), (2,): _psi(4)},
    "gamma(x)": _by_order(_gamma),
    "logit(x)": lambda x: mp.log(x) - mp.log1p(-x),
    "normal_logpdf(x)": lambda x: -x * x / 2 - mp.log(2 * mp.pi) / 2,
    "x**0.5": lambda x: mp.sqrt(x),
    "x**-0.5": lambda x: 1 / mp.sqrt(x),
    "x**-1": lambda x: 1 / x,
    "x**-2": lambda x: 1 / x**2,
    "x**3": lambda x: x**3,
    "x**4": lambda x: x**4,
    "x**1.5": lambda x: mp.sqrt(x) ** 3,
    "2**x": lambda x: mp.mpf(2) ** x,
    "0.3**x": lambda x: mp.mpf(0.3) ** x,
    "1/x": lambda x: 1 / x,
}
"""Expressions in x."""

TWO: dict[str, Real | dict[Index, Real]] = {
    "x*y": lambda x, y: x * y,
    "x/y": lambda x, y: x / y,
    "x - y": lambda x, y: x - y,
    "remainder(x, y)": _remainder(mp.floor),
    "fmod(x, y)": _remainder(_truncated),
    "x**y": {index: _power(*index) for index in indices(2)},
    "atan2(x, y)": lambda x, y: mp.atan2(x, y),
    "hypot(x, y)": lambda x, y: mp.sqrt(x * x + y * y),
    "logaddexp(x, y)": _log_add,
    "logaddexp2(x, y)": _log_add2,
    "xlogy(x, y)": lambda x, y: x * mp.log(y),
    "xlog1py(x, y)": lambda x, y: x * mp.log1p(y),
    "beta(x, y)": {index: _beta(*index) for index in indices(2)},
    "max(x, y)": max,
    "minimum(x, y)": min,
    "norm([x, y])": lambda x, y: mp.sqrt(x * x + y * y),
    "norm([x, y], 3)": lambda x, y: mp.root(abs(x) ** 3 + abs(y) ** 3, 3),
    "norm([x, y], 1.5)": lambda x, y: (abs(x) ** mp.mpf(1.5) + abs(y) ** mp.mpf(1.5)) ** (mp.mpf(2) / 3),
    "logsumexp([x, y])": _log_add,
    "softmax([x, y])[0]": lambda x, y: sigmoid(x - y),
    "log_softmax([x, y])[0]": lambda x, y: -softplus(y - x),
    "mse_loss(x, y)": lambda x, y: (x - y) ** 2,
    "huber_loss(x, y)": _huber,
    "poisson_logpmf(x, y)": lambda x, y: x * mp.log(y) - y - _log_factorial(x),
    "normal_logpdf(x, 0, y)": lambda x, y: -((x / y) ** 2) / 2 - mp.log(y) - mp.log(2 * mp.pi) / 2,
    "lerp(x, y, 0.3)": lambda x, y: x + mp.mpf(0.3) * (y - x),
}
"""Expressions in x and y."""
