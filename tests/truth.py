"""Functions of one variable in mpmath: the truth of series, and of values and derivatives at extreme arguments, which are recorded.

``python -m tests.truth`` computes them with 400 digits and writes ``tests/golden/truth.txt``: an expression, a point, the value,
the first and the second derivative in a line.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mpmath
from mpmath import mpf

from tests.accuracy.truth import ONE, ndtr, sigmoid, softplus

RECORDS = Path(__file__).parent / "golden" / "truth.txt"


def _log_binomial(k: Any, n: Any, p: Any) -> Any:
    choose = mpmath.loggamma(n + 1) - mpmath.loggamma(k + 1) - mpmath.loggamma(n - k + 1)
    return choose + k * mpmath.log(p) + (n - k) * mpmath.log(1 - p)


LN2 = mpmath.log(2)
SHARED: dict[tuple[float, ...], tuple[str, ...]] = {
    (0.3, -2.0): (
        *("reciprocal(x)", "2**x", "exp(x)", "exp2(x)", "sin(x)", "cos(x)", "tan(x)", "sinh(x)", "cosh(x)", "asinh(x)"),
        *(
            "logsigmoid(x)",
            "silu(x)",
            "mish(x)",
            "gelu(x)",
            "gelu(x, 'tanh')",
            "softsign(x)",
            "celu(x, 1.5)",
            "selu(x)",
            "erf(x)",
            "sinc(x)",
        ),
    ),
    (0.3, 0.0): ("square(x)",),
    (1e-09, -2.0): ("expm1(x)",),
    (0.3, 7.0): ("log(x)", "log2(x)", "log10(x)", "sqrt(x)", "rsqrt(x)"),
    (1e-09, 7.0): ("log1p(x)",),
    (0.3, -7.0): ("cbrt(x)", "sign(x)", "abs(x)"),
    (0.3,): ("floor(x)", "round(x)", "deg2rad(x)", "rad2deg(x)"),
    (1.3,): ("frac(x)",),
    (0.3, -0.8): ("asin(x)", "acos(x)", "atanh(x)"),
    (0.3, -2.0, 30.0): ("atan(x)", "sigmoid(x)"),
    (0.3, -2.0, 20.0): ("tanh(x)",),
    (1.5, 4.0): ("acosh(x)",),
    (0.3, -2.0, -20.0): ("softplus(x)", "log_ndtr(x)"),
    (0.3, -2.0, 6.0): ("erfc(x)",),
    (0.3, -2.0, -9.0): ("ndtr(x)",),
    (0.3, 0.9): ("logit(x)",),
}
"""The expressions of ``tests.accuracy.truth`` whose series are compared, by the points of the series."""
TRUTH: list[tuple[str, Any, tuple[float, ...]]] = [
    *((text, ONE[text], points) for points, texts in SHARED.items() for text in texts),
    ("x + 2", lambda x: x + 2, (0.3,)),
    ("2 - x", lambda x: 2 - x, (0.3,)),
    ("-x", lambda x: -x, (0.3,)),
    ("+x", lambda x: x, (0.3,)),
    ("x*sin(x)", lambda x: x * mpmath.sin(x), (0.3, -2.0)),
    ("sin(x)/x", lambda x: mpmath.sin(x) / x, (1.3, -2.0)),
    ("x/3", lambda x: x / 3, (0.3,)),
    ("2/x", lambda x: 2 / x, (0.3, -2.0)),
    ("x**5", lambda x: x**5, (0.3, 0.0, -2.0)),
    ("x**-3", lambda x: x**-3, (0.3, -2.0)),
    ("x**2.5", lambda x: x ** mpf(2.5), (0.3, 20.0)),
    ("(1 + x)**x", lambda x: (1 + x) ** x, (0.3, 2.0)),
    ("x // 2", lambda x: mpmath.floor(x / 2), (0.3, -3.0)),
    ("remainder(x, 2)", lambda x: x - 2 * mpmath.floor(x / 2), (0.3, -3.1)),
    ("remainder(5, x)", lambda x: 5 - x * mpmath.floor(5 / x), (0.3, -3.1)),
    ("fmod(x, 2)", lambda x: mpmath.fmod(x, 2), (0.3, 3.1)),
    ("fmod(5, x)", lambda x: mpmath.fmod(5, x), (0.3, 3.1)),
    ("addcmul(x, x, sin(x), 2)", lambda x: x + 2 * x * mpmath.sin(x), (0.3,)),
    ("addcdiv(x, x, cos(x), 2)", lambda x: x + 2 * x / mpmath.cos(x), (0.3,)),
    ("lerp(x, exp(x), x)", lambda x: x + x * (mpmath.exp(x) - x), (0.3,)),
    ("sgn(x)*x", abs, (0.3, -7.0)),
    ("ceil(x)", mpmath.ceil, (0.3,)),
    ("trunc(x)", mpmath.floor, (0.3,)),
    ("atan2(x, 1 + x**2)", lambda x: mpmath.atan2(x, 1 + x**2), (0.3, -2.0)),
    ("hypot(x, 1 + x**2)", lambda x: mpmath.hypot(x, 1 + x**2), (0.3, -2.0)),
    ("where(x > 0, sin(x), log(x))", mpmath.sin, (0.3,)),
    ("maximum(sin(x), cos(x))", lambda x: max(mpmath.sin(x), mpmath.cos(x)), (0.3, 1.3)),
    ("minimum(sin(x), cos(x))", lambda x: min(mpmath.sin(x), mpmath.cos(x)), (0.3, 1.3)),
    ("max(x**2, x)", lambda x: max(x**2, x), (0.3, 1.3)),
    ("min(x**2, x)", lambda x: min(x**2, x), (0.3, 1.3)),
    ("amax([x**2, x])", lambda x: max(x**2, x), (0.3, 1.3)),
    ("amin([x**2, x])", lambda x: min(x**2, x), (0.3, 1.3)),
    ("clamp(sin(x), 0, 0.5)", lambda x: min(max(mpmath.sin(x), 0), mpf(0.5)), (0.3, 1.3, -0.3)),
    ("relu(x)*sin(x)", lambda x: max(x, 0) * mpmath.sin(x), (0.3, -2.0)),
    ("leaky_relu(sin(x), 0.1)", lambda x: mpmath.sin(x) * (1 if x > 0 else mpf(0.1)), (0.3, -2.0)),
    ("hardtanh(sin(x), -0.5, 0.5)", lambda x: min(max(mpmath.sin(x), mpf(-0.5)), mpf(0.5)), (0.3, 1.3)),
    ("relu6(exp(x))", lambda x: min(mpmath.exp(x), 6), (0.3, 2.0)),
    ("hardsigmoid(sin(x))", lambda x: mpmath.sin(x) / 6 + mpf(1) / 2, (0.3,)),
    ("elu(x, 1.5)", lambda x: x if x > 0 else mpf(1.5) * mpmath.expm1(x), (0.3, -2.0)),
    ("softmax([x, 2*x])[0]", lambda x: sigmoid(-x), (0.3, -2.0)),
    ("log_softmax([x, 2*x])[0]", lambda x: mpmath.log(sigmoid(-x)), (0.3, -2.0)),
    ("erfinv(x)", mpmath.erfinv, (0.3, -0.8)),
    ("ndtri(x)", lambda x: mpmath.sqrt(2) * mpmath.erfinv(2 * x - 1), (0.3, 0.9)),
    ("sinc_slope(x, 2)", lambda x: mpmath.diff(mpmath.sincpi, x, 2), (0.3, -2.0)),
    ("hazard(x)", lambda x: mpmath.npdf(x) / ndtr(x), (0.3, -2.0)),
    ("mills_fraction(x)", lambda x: x + mpmath.npdf(x) / ndtr(x), (0.3, -2.0)),
    ("lgamma(x)", mpmath.loggamma, (0.3, 2.5)),
    ("digamma(x)", mpmath.digamma, (0.3, 2.5)),
    ("gamma(x)", mpmath.gamma, (0.3, 2.5)),
    ("polygamma(2, x)", lambda x: mpmath.psi(2, x), (0.3, 2.5)),
    ("zeta(3, x)", lambda x: mpmath.zeta(3, x), (0.7, 2.5)),
    ("polygamma_gap(x, 1.5)", lambda x: mpmath.digamma(x + 1.5) - mpmath.digamma(x), (0.7, 2.5)),
    ("beta(x, 1.5)", lambda x: mpmath.beta(x, mpf(1.5)), (0.7, 2.5)),
    ("i0(x)", lambda x: mpmath.besseli(0, x), (0.3, -2.0)),
    ("i1(x)", lambda x: mpmath.besseli(1, x), (0.3, -2.0)),
    ("j0(x)", lambda x: mpmath.besselj(0, x), (0.3, -2.0)),
    ("bessel_j(x, 2)", lambda x: mpmath.besselj(2, x), (0.3, -2.0)),
    ("bessel_i(x, 2)", lambda x: mpmath.besseli(2, x), (0.3, -2.0)),
    ("bessel_scaled(x, 2)", lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(2, x), (0.3, -2.0)),
    ("j1(x)", lambda x: mpmath.besselj(1, x), (0.3, -2.0)),
    ("i0e(x)", lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(0, x), (0.3, -2.0)),
    ("i1e(x)", lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(1, x), (0.3, -2.0)),
    ("logaddexp(x, 1)", lambda x: mpmath.log(mpmath.exp(x) + mpmath.e), (0.3, -2.0)),
    ("logaddexp2(x, 1)", lambda x: mpmath.log(mpf(2) ** x + 2) / LN2, (0.3, -2.0)),
    ("xlogy(x, 1 + x)", lambda x: x * mpmath.log(1 + x), (0.3, 2.0)),
    ("xlog1py(x, x)", lambda x: x * mpmath.log(1 + x), (0.3, 2.0)),
    ("normal_logpdf(x, 0.5, 2)", lambda x: mpmath.log(mpmath.npdf(x, mpf(0.5), 2)), (0.3, -2.0)),
    ("normal_logpdf(1, 0.5, x)", lambda x: mpmath.log(mpmath.npdf(1, mpf(0.5), x)), (0.3, 2.0)),
    ("binomial_logpmf(3, 7, x)", lambda x: _log_binomial(mpf(3), mpf(7), x), (0.3, 0.9)),
    ("poisson_logpmf(3, x)", lambda x: 3 * mpmath.log(x) - x - mpmath.log(6), (0.3, 2.0)),
    ("mse_loss([sin(x), x], [1, 2])", lambda x: ((mpmath.sin(x) - 1) ** 2 + (x - 2) ** 2) / 2, (0.3,)),
    ("huber_loss(exp(x), 0)", lambda x: mpmath.exp(x) - mpf(0.5), (0.3,)),
    ("smooth_l1_loss(exp(x), 0)", lambda x: mpmath.exp(x) - mpf(0.5), (0.3,)),
    ("l1_loss(exp(x), 0)", mpmath.exp, (0.3,)),
    ("binary_cross_entropy(x, 1)", lambda x: -mpmath.log(x), (0.3, 0.9)),
    ("binary_cross_entropy_with_logits(x, 1)", lambda x: -mpmath.log(sigmoid(x)), (0.3, -2.0)),
    ("nll_loss([x, exp(x)], 1)", lambda x: -mpmath.exp(x), (0.3,)),
    ("cross_entropy([x, 2*x], 0)", lambda x: -mpmath.log(sigmoid(-x)), (0.3, -2.0)),
    ("kl_div(log(x), 0.5)", lambda x: mpf(0.5) * (mpmath.log(mpf(0.5)) - mpmath.log(x)), (0.3,)),
    ("sum([x, x**2, 3])", lambda x: x + x**2 + 3, (0.3,)),
    ("mean([exp(x), x**2])", lambda x: (mpmath.exp(x) + x**2) / 2, (0.3,)),
    ("[x, exp(x)] @ [sin(x), 2]", lambda x: x * mpmath.sin(x) + 2 * mpmath.exp(x), (0.3,)),
    ("sum(mm([[x, 1]], [[x], [exp(x)]]))", lambda x: x**2 + mpmath.exp(x), (0.3,)),
    ("(([[x, 1], [2, x]] @ [x, 1])[1])", lambda x: 3 * x, (0.3,)),
    ("trace(outer([x, 2], [x, exp(x)]))", lambda x: x**2 + 2 * mpmath.exp(x), (0.3,)),
    ("f(n) = x if n <= 1 else sin(f(n - 1)); f(4)", lambda x: mpmath.sin(mpmath.sin(mpmath.sin(x))), (0.3,)),
]
"""Expression, the truth, and points for its series."""
MORE: dict[str, Any] = {
    "beta(1e6, x)": lambda x: mpmath.beta(mpf(10) ** 6, x),
    "xlogy(2.5, x)": lambda x: mpf(2.5) * mpmath.log(x),
    "xlog1py(2.5, x)": lambda x: mpf(2.5) * mpmath.log1p(x),
    "normal_logpdf(0.7, -0.2, x)": lambda x: mpmath.log(mpmath.npdf(mpf(0.7), mpf(-0.2), x)),
    "binomial_logpmf(300, 10000, x)": lambda x: _log_binomial(mpf(300), mpf(10000), x),
    "poisson_logpmf(1000000, x)": lambda x: 10**6 * mpmath.log(x) - x - mpmath.loggamma(10**6 + 1),
    "softplus(x, beta=2)": lambda x: softplus(2 * x) / 2,
    "swish(x)": lambda x: x * sigmoid(x),
    "gelu(x, approximate='tanh')": ONE["gelu(x, 'tanh')"],
    "celu(x)": lambda x: x if x > 0 else mpmath.expm1(x),
    "celu(x, 2)": lambda x: x if x > 0 else 2 * mpmath.expm1(x / 2),
    "leaky_relu(x, 0.25)": lambda x: x if x > 0 else x / 4,
}
EXTREME: dict[str, tuple[float, ...]] = {
    "erf(x)": (-26.0, -3.0, -1e-08, 0.7, 5.5),
    "erfc(x)": (-5.0, 0.7, 1.1, 7.3, 26.0),
    "erfinv(x)": (1e-10, 0.3, 0.7, 0.99, 0.99999999999999),
    "ndtr(x)": (-37.0, -12.3, -1.0, 0.4, 6.0),
    "ndtri(x)": (1e-100, 1e-20, 0.02, 0.3, 0.9),
    "log_ndtr(x)": (-1000000.0, -1000.0, -40.0, -3.2, -2.9, -1.0, 0.0, 2.5, 9.0, 30.0),
    "lgamma(x)": (-1.3, 1e-08, 0.6, 1.000000001, 1.99, 2.7, 60.0, 10000000000.0),
    "digamma(x)": (-7.3, 0.2, 1.46, 30.0, 100000000.0),
    "polygamma(2, x)": (-7.3, 0.01, 3.0, 1000000.0),
    "gamma(x)": (-2.7, 0.3, 5.0, 20.5),
    "beta(x, 1.5)": (0.4, 3.0, 70.0, 100000000.0),
    "beta(1e6, x)": (0.001, 0.5, 7.0),
    "zeta(3, x)": (0.2, 1.0, 50.0),
    "sinc(x)": (1e-09, 0.001, 0.31, 0.64, 2.3, 1000.3),
    "i0(x)": (1e-06, 2.0, 100.0),
    "i1(x)": (1e-06, 2.0, 100.0),
    "i0e(x)": (0.1, 3.0, 50.0, 10000.0),
    "i1e(x)": (0.1, 3.0, 50.0, 10000.0),
    "j0(x)": (1e-06, 2.0, 10.0),
    "j1(x)": (1e-06, 2.5, 10.0),
    "logit(x)": (1e-100, 0.3, 0.500000001, 0.9, 0.999999999999),
    "logaddexp(x, 1)": (-700.0, -30.0, 0.5, 45.0),
    "logaddexp2(x, 1)": (-30.0, 0.5, 45.0),
    "xlogy(2.5, x)": (1e-06, 0.3, 50.0),
    "xlog1py(2.5, x)": (1e-12, 0.3, 50.0),
    "tanh(x)": (-300.0, -20.0, 1e-09, 0.7, 19.5),
    "sigmoid(x)": (-600.0, -3.0, 0.2, 40.0),
    "normal_logpdf(0.7, -0.2, x)": (0.1, 3.0, 100.0),
    "binomial_logpmf(300, 10000, x)": (1e-06, 0.02, 0.5),
    "expm1(x)": (-40.0, -3.0, -0.6, -0.4, -1e-09, 2.0),
    "poisson_logpmf(1000000, x)": (1.0, 999000.0, 1100000.0, 1000000000.0),
}
"""Points of special functions."""
ACTIVATIONS = (
    *("sigmoid(x)", "logsigmoid(x)", "softplus(x)", "softplus(x, beta=2)", "silu(x)", "swish(x)", "mish(x)", "gelu(x)", "elu(x)"),
    *("gelu(x, approximate='tanh')", "elu(x, 1.5)", "selu(x)", "celu(x)", "celu(x, 2)", "leaky_relu(x)", "leaky_relu(x, 0.25)"),
    *("softsign(x)", "relu6(x)", "hardtanh(x)", "hardsigmoid(x)"),
)


def records(expressions: Any) -> dict[tuple[str, float], list[Any]]:
    """Return the recorded value and derivatives of expressions by expression and point."""
    lines = (line.split(" | ") for line in RECORDS.read_text(encoding="utf-8").splitlines())
    with mpmath.workdps(30):
        return {(text, float(x)): [mpf(part) for part in known] for text, x, *known in lines if text in expressions}


def main() -> None:
    functions = ONE | {expression: function for expression, function, _ in TRUTH} | MORE
    points = {name: (-45.0, -8.0, -0.6, 0.4, 2.9, 30.0) for name in ACTIVATIONS}
    lines = []
    with mpmath.workdps(400):
        for expression in dict.fromkeys((*EXTREME, *ACTIVATIONS)):
            function = functions[expression]
            for x in sorted({*EXTREME.get(expression, ()), *points.get(expression, ())}):
                slopes = [mpmath.diff(function, mpf(x), n, relative=x != 0) for n in (1, 2)]
                found = [mpmath.nstr(mpmath.re(each), 25) for each in (function(mpf(x)), *slopes)]
                lines.append(" | ".join((expression, repr(x), *found)))
    RECORDS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
