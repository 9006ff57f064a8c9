"""How many digits values have that an equation or an integral defines: ``python -m tests.accuracy.implicit`` prints the tables.

The integrals are those of R. Piessens, E. de Doncker-Kapenga, C. W. Überhuber and D. K. Kahaner, QUADPACK (1983), p. 83 and 84.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np

import autodiff_cli as ad
from autodiff_cli.derivatives.taylor import taylor
from autodiff_cli.errors import NoValue

QUADPACK: list[tuple[str, tuple[float, ...], Callable[[Any], Any]]] = [
    ("integral(x=0..1, x**a*log(1/x))", (-0.9, -0.5, 0.0, 2.6), lambda a: 1 / (1 + a) ** 2),
    (
        "integral(x=0..1, 4**-a/((x - pi/4)**2 + 16**-a))",
        (0, 5, 10, 15, 20),
        lambda a: mpmath.atan((4 - mpmath.pi) * 4 ** (a - 1)) + mpmath.atan(mpmath.pi * 4 ** (a - 1)),
    ),
    ("integral(x=0..pi, cos(2**a*sin(x)))", (0, 3, 6, 10), lambda a: mpmath.pi * mpmath.besselj(0, 2**a)),
    (
        "integral(x=0..1, abs(x - 1/3)**a)",
        (-0.8, -0.3, 0.5, 2.1),
        lambda a: ((mpmath.mpf(2) / 3) ** (a + 1) + (mpmath.mpf(1) / 3) ** (a + 1)) / (a + 1),
    ),
    (
        "integral(x=0..1, abs(x - pi/4)**a)",
        (-0.8, -0.3, 0.5, 2.1),
        lambda a: ((1 - mpmath.pi / 4) ** (a + 1) + (mpmath.pi / 4) ** (a + 1)) / (a + 1),
    ),
    (
        "integral(x=-1..1, 1/sqrt(1 - x**2)/(1 + x + 2**-a))",
        (1, 5, 10, 20),
        lambda a: mpmath.pi / mpmath.sqrt((1 + 2**-a) ** 2 - 1),
    ),
    (
        "integral(x=0..pi/2, sin(x)**(a - 1))",
        (0.1, 0.5, 1.5, 2.0),
        lambda a: 2 ** (a - 2) * mpmath.gamma(a / 2) ** 2 / mpmath.gamma(a),
    ),
    ("integral(x=0..1, log(1/x)**(a - 1))", (0.1, 0.5, 1.5, 2.0), mpmath.gamma),
    (
        "integral(x=0..1, cos(2**a*x)/sqrt(x*(1 - x)))",
        (0, 3, 6, 8),
        lambda a: mpmath.pi * mpmath.cos(2 ** (a - 1)) * mpmath.besselj(0, 2 ** (a - 1)),
    ),
    ("integral(x=0..inf, x**2*exp(-x*2**-a))", (0, 2, 5), lambda a: 2 ** (3 * a + 1)),
    (
        "integral(x=0..inf, x**(a - 1)/(1 + 10*x)**2)",
        (0.1, 0.5, 1.5, 1.9),
        lambda a: 10**-a * (1 - a) * mpmath.pi / mpmath.sin(mpmath.pi * a),
    ),
    (
        "integral(x=0..1, exp(20*(x - 1))*sin(2**a*x))",
        (0, 3, 6, 9),
        lambda a: (20 * mpmath.sin(2**a) - 2**a * mpmath.cos(2**a) + 2**a * mpmath.exp(-20)) / (400 + 4**a),
    ),
]
"""Integrals with a parameter, some of its values, and the closed form."""
ECCENTRICITIES = (0.1, 0.5, 0.9, 0.99, 0.999)
MEAN_ANOMALIES = (0.01, 0.5, 1.5, 3.0)
ORDERS = 6


def quadpack_errors(expression: str, a: float, exact: Callable[[Any], Any]) -> list[float]:
    """Return the relative errors of an integral and its derivative with respect to the parameter; nan if there is no value."""
    with mpmath.workdps(60):
        truth = [exact(mpmath.mpf(a)), mpmath.diff(exact, mpmath.mpf(a))]
    try:
        result = ad.evaluate(expression, {"a": a})
    except NoValue:
        return [math.nan, math.nan]
    return _errors([float(result.value), float(result.grad["a"])], truth)


def kepler_errors(e: float, M: float) -> list[float]:
    """Return the relative errors of the eccentric anomaly and of its derivatives with respect to the mean anomaly."""
    result = taylor("root(E=M, E - e*sin(E) = M)", {"M": M}, {"e": e}, order=ORDERS)
    with mpmath.workdps(80):
        E = mpmath.findroot(lambda E: E - mpmath.mpf(e) * mpmath.sin(E) - M, max(M, 1.0) + e)
        inner = mpmath.taylor(lambda E: E - mpmath.mpf(e) * mpmath.sin(E), E, ORDERS)
        return _errors([float(c) for c in result.coefficients], [E, *_reverted(inner)[1:]])


def _reverted(series: Sequence[Any]) -> list[Any]:
    """Return the series h with g(h(t)) = t, given the series g without its constant term."""
    n = len(series)
    h = [mpmath.mpf(0)] * n
    h[1] = 1 / series[1]
    for order in range(2, n):
        power, total = list(h), mpmath.mpf(0)
        for k in range(2, order + 1):
            power = [sum(power[i] * h[j - i] for i in range(j + 1)) for j in range(n)]
            total += series[k] * power[order]
        h[order] = -total / series[1]
    return h


def _errors(numbers: Sequence[float], truth: Sequence[Any]) -> list[float]:
    return [float(abs((number - exact) / exact)) for number, exact in zip(numbers, truth, strict=True)]


def _shown(errors: Sequence[float]) -> str:
    return " | ".join(f"{error:.0e}" for error in errors)


def main() -> None:
    """Print the tables."""
    print("| e | value | " + " | ".join(f"order {n}" for n in range(1, ORDERS + 1)) + " |")
    print("| --- " * (ORDERS + 2) + "|")
    for e in ECCENTRICITIES:
        print(f"| {e} | {_shown(np.max([kepler_errors(e, M) for M in MEAN_ANOMALIES], axis=0))} |")
    print("\n| integral | a | value | derivative |\n| --- | --- | --- | --- |")
    for expression, parameters, exact in QUADPACK:
        errors = np.max([quadpack_errors(expression, a, exact) for a in parameters], axis=0)
        print(f"| `{expression}` | {', '.join(map(str, parameters))} | {_shown(errors)} |")


if __name__ == "__main__":
    main()
