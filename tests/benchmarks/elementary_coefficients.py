"""Print the polynomials and constants of the vector functions in ``autodiff_cli/compiler/llvm``.

``python tests/benchmarks/elementary_coefficients.py`` prints each table with the largest error of its polynomial.  A polynomial
interpolates its function at the zeros of a Chebyshev polynomial, in 60 digits; its coefficients are then rounded to double.
"""

from __future__ import annotations

from collections.abc import Callable
from textwrap import fill, indent

from mpmath import chebyfit, cos, diff, erf, erfc, exp, expm1, factorial, log, mp, mpf, nstr, pi, sin, sqrt

mp.dps = 60
Function = Callable[[mpf], mpf]


def series(terms: Function, otherwise: Function) -> Function:
    """Return a function that is the series sum of terms(i)*z**i for small z, where the other formula cancels."""
    return lambda z: sum(terms(i) * z**i for i in range(30)) if abs(z) < 0.01 else otherwise(z)


def scaled_complement(u: mpf) -> mpf:
    """Return (1 + 9/8*x)*exp(x**2)*erfc(x) for u = (x - 4)/(x + 4)."""
    x = 4 * (1 + u) / (1 - u)
    return (1 + mpf(9) / 8 * x) * exp(x * x) * erfc(x)


POLYNOMIALS: dict[str, tuple[Function, tuple[mpf, mpf], int]] = {
    "EXP: (exp(r) - 1 - r) / r**2": (
        series(lambda i: 1 / factorial(i + 2), lambda r: (expm1(r) - r) / r**2),
        (-log(2) / 2, log(2) / 2),
        11,
    ),
    "LOG: (log((1 + s) / (1 - s)) - 2*s) / s**3 in z = s**2": (
        series(lambda i: mpf(2) / (2 * i + 3), lambda z: (log((1 + sqrt(z)) / (1 - sqrt(z))) / sqrt(z) - 2) / z),
        (mpf(0), ((sqrt(2) - 1) / (sqrt(2) + 1)) ** 2),
        7,
    ),
    "SIN: (sin(r) - r) / r**3 in z = r**2": (
        series(lambda i: (-1) ** (i + 1) / factorial(2 * i + 3), lambda z: (sin(sqrt(z)) / sqrt(z) - 1) / z),
        (mpf(0), (pi / 4) ** 2),
        7,
    ),
    "COS: (cos(r) - 1 + r**2/2) / r**4 in z = r**2": (
        series(lambda i: (-1) ** i / factorial(2 * i + 4), lambda z: (cos(sqrt(z)) - 1 + z / 2) / z**2),
        (mpf(0), (pi / 4) ** 2),
        6,
    ),
    "ERF: erf(x)/x - 1 in z = x**2": (
        series(lambda i: 2 * (-1) ** i / (sqrt(pi) * factorial(i) * (2 * i + 1)) - (i == 0), lambda z: erf(sqrt(z)) / sqrt(z) - 1),
        (mpf(0), mpf(1)),
        13,
    ),
    "ERFC: (1 + 9/8*x)*exp(x**2)*erfc(x) in u = (x - 4)/(x + 4)": (scaled_complement, (mpf(-1), mpf(3) / 4), 24),
    "SLOPE: the derivative of ERFC": (lambda u: diff(scaled_complement, u), (mpf(-1), mpf(3) / 4), 4),
}
"""The function, its interval and the number of its coefficients, by name and formula."""


def parts(number: mpf, *bits: int) -> list[float]:
    """Return doubles whose sum is a number: the first ones with so many bits, the last one with all its bits."""
    found = []
    for count in (*bits, 53):
        mp.prec, precision = count, mp.prec
        part = +number
        mp.prec = precision
        found.append(float(part))
        number -= part
    return found


def main() -> None:
    for title, (function, interval, count) in POLYNOMIALS.items():
        coefficients, error = chebyfit(function, interval, count, error=True)
        print(f"{title}   # error {nstr(error, 2)}")
        print("    # the last one with its rest:", *parts(coefficients[-1], 53))
        print(indent(fill(" ".join(repr(float(one)) for one in coefficients), 120), "    "))
    print("LN2", *parts(log(2), 53))
    print("LN2 for products with an exponent", *parts(log(2), 42))
    print("1/LN2", *parts(1 / log(2), 53))
    print("SQRT(1/2)", *parts(sqrt(mpf(1) / 2), 53))
    print("PI/2", *parts(pi / 2, 53, 53))


if __name__ == "__main__":
    main()
