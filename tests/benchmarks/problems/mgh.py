"""Problems of Moré, Garbow and Hillstrom, Testing Unconstrained Optimization Software, ACM TOMS 7 (1981) 17-41.

The residuals of each problem are an expression of the language in the vector ``x``.  Problem 11 has ``|y - x2|`` in place of
the misprinted ``|y*m*i*x2|`` of the paper.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple


class Problem(NamedTuple):
    """A problem of the collection.

    Attributes:
        number: its number in the paper.
        name: its name.
        residuals: the residuals as a list in the language, in which ``x`` is the vector of n unknowns.
        start: the standard start.
    """

    number: int
    name: str
    residuals: str
    start: tuple[float, ...]

    @property
    def square(self) -> bool:
        """Whether there are as many residuals as unknowns."""
        return self.count == len(self.start)

    @property
    def count(self) -> int:
        """The number of residuals."""
        depth, commas = 0, 0
        for sign in self.residuals:
            depth += (sign in "([") - (sign in ")]")
            commas += sign == "," and depth == 1
        return commas + 1


def _listed(residuals: Sequence[str]) -> str:
    return f"[{', '.join(residuals)}]"


def _rosenbrock(n: int) -> Problem:
    pairs = [(f"10*(x[{i + 1}] - x[{i}]**2)", f"1 - x[{i}]") for i in range(0, n, 2)]
    name = "Rosenbrock" if n == 2 else f"extended Rosenbrock, n={n}"
    return Problem(1 if n == 2 else 21, name, _listed([one for pair in pairs for one in pair]), (-1.2, 1.0) * (n // 2))


def _powell_singular(n: int) -> Problem:
    rows = []
    for a, b, c, d in ((f"x[{i}]", f"x[{i + 1}]", f"x[{i + 2}]", f"x[{i + 3}]") for i in range(0, n, 4)):
        rows += [f"{a} + 10*{b}", f"sqrt(5)*({c} - {d})", f"({b} - 2*{c})**2", f"sqrt(10)*({a} - {d})**2"]
    name = "Powell singular" if n == 4 else f"extended Powell singular, n={n}"
    return Problem(13 if n == 4 else 22, name, _listed(rows), (3.0, -1.0, 0.0, 1.0) * (n // 4))


def _beale() -> Problem:
    return Problem(5, "Beale", _listed([f"{y} - x[0]*(1 - x[1]**{i})" for i, y in enumerate((1.5, 2.25, 2.625), 1)]), (1.0, 1.0))


def _helical_valley() -> Problem:
    angle = "(atan(x[1]/x[0])/(2*pi) + (0 if x[0] > 0 else 0.5))"
    return Problem(7, "helical valley", f"[10*(x[2] - 10*{angle}), 10*(hypot(x[0], x[1]) - 1), x[2]]", (-1.0, 0.0, 0.0))


def _gulf(m: int) -> Problem:
    levels = [i / 100 for i in range(1, m + 1)]
    rows = [f"exp(-abs({25 + (-50 * math.log(t)) ** (2 / 3)!r} - x[1])**x[2]/x[0]) - {t!r}" for t in levels]
    return Problem(11, f"Gulf research, m={m}", _listed(rows), (5.0, 2.5, 0.15))


def _box(m: int) -> Problem:
    rows = [f"exp(-{i / 10!r}*x[0]) - exp(-{i / 10!r}*x[1]) - x[2]*(exp(-{i / 10!r}) - exp(-{i}))" for i in range(1, m + 1)]
    return Problem(12, f"Box, m={m}", _listed(rows), (0.0, 10.0, 20.0))


def _wood() -> Problem:
    rows = ["10*(x[1] - x[0]**2)", "1 - x[0]", "sqrt(90)*(x[3] - x[2]**2)", "1 - x[2]", "sqrt(10)*(x[1] + x[3] - 2)"]
    return Problem(14, "Wood", _listed([*rows, "(x[1] - x[3])/sqrt(10)"]), (-3.0, -1.0, -3.0, -1.0))


def _biggs(m: int) -> Problem:
    rows = []
    for i in range(1, m + 1):
        t = repr(i / 10)
        given = f"(exp(-{t}) - 5*exp(-{i}) + 3*exp(-4*{t}))"
        rows.append(f"x[2]*exp(-{t}*x[0]) - x[3]*exp(-{t}*x[1]) + x[5]*exp(-{t}*x[4]) - {given}")
    return Problem(18, f"Biggs EXP6, m={m}", _listed(rows), (1.0, 2.0, 1.0, 1.0, 1.0, 1.0))


def _variably_dimensioned(n: int) -> Problem:
    total = " + ".join(f"{j + 1}*(x[{j}] - 1)" for j in range(n))
    rows = [f"x[{j}] - 1" for j in range(n)]
    start = tuple(1 - j / n for j in range(1, n + 1))
    return Problem(25, f"variably dimensioned, n={n}", _listed([*rows, total, f"({total})**2"]), start)


def _trigonometric(n: int) -> Problem:
    total = " - ".join(f"cos(x[{j}])" for j in range(n))
    rows = [f"{n} - {total} + {i + 1}*(1 - cos(x[{i}])) - sin(x[{i}])" for i in range(n)]
    return Problem(26, f"trigonometric, n={n}", _listed(rows), (1 / n,) * n)


def _brown_almost_linear(n: int) -> Problem:
    total = " + ".join(f"x[{j}]" for j in range(n))
    product = "*".join(f"x[{j}]" for j in range(n))
    return Problem(
        27,
        f"Brown almost-linear, n={n}",
        _listed([*(f"x[{i}] + {total} - {n + 1}" for i in range(n - 1)), f"{product} - 1"]),
        (0.5,) * n,
    )


def _boundary_value(n: int) -> Problem:
    h = 1 / (n + 1)
    x = ["0", *(f"x[{i}]" for i in range(n)), "0"]
    rows = [f"2*{x[i]} - {x[i - 1]} - {x[i + 1]} + {h * h / 2!r}*({x[i]} + {i * h + 1!r})**3" for i in range(1, n + 1)]
    return Problem(28, f"discrete boundary value, n={n}", _listed(rows), tuple(i * h * (i * h - 1) for i in range(1, n + 1)))


def _integral_equation(n: int) -> Problem:
    h = 1 / (n + 1)
    t = [i * h for i in range(1, n + 1)]
    cubes = [f"(x[{j}] + {t[j] + 1!r})**3" for j in range(n)]
    rows = []
    for i in range(n):
        weights = [(1 - t[i]) * t[j] if j <= i else t[i] * (1 - t[j]) for j in range(n)]
        rows.append(f"x[{i}] + {h / 2!r}*({' + '.join(f'{w!r}*{cube}' for w, cube in zip(weights, cubes, strict=True))})")
    return Problem(29, f"discrete integral equation, n={n}", _listed(rows), tuple(one * (one - 1) for one in t))


def _broyden_tridiagonal(n: int) -> Problem:
    x = ["0", *(f"x[{i}]" for i in range(n)), "0"]
    rows = [f"(3 - 2*{x[i]})*{x[i]} - {x[i - 1]} - 2*{x[i + 1]} + 1" for i in range(1, n + 1)]
    return Problem(30, f"Broyden tridiagonal, n={n}", _listed(rows), (-1.0,) * n)


def _broyden_banded(n: int) -> Problem:
    rows = []
    for i in range(n):
        band = [j for j in range(max(0, i - 5), min(n, i + 2)) if j != i]
        rows.append(f"x[{i}]*(2 + 5*x[{i}]**2) + 1 - ({' + '.join(f'x[{j}]*(1 + x[{j}])' for j in band)})")
    return Problem(31, f"Broyden banded, n={n}", _listed(rows), (-1.0,) * n)


def _linear(n: int) -> Problem:
    total = " + ".join(f"x[{j}]" for j in range(n))
    return Problem(32, f"linear of full rank, n={n}", _listed([f"x[{i}] - {2 / n!r}*({total}) - 1" for i in range(n)]), (1.0,) * n)


def _chebyquad(n: int) -> Problem:
    # The Chebyshev polynomials on [0, 1], by their coefficients in powers of y = 2*x - 1.
    polynomials = [[1], [0, 1]]
    for _ in range(n):
        doubled = [0, *(2 * c for c in polynomials[-1])]
        before = [*polynomials[-2], *[0] * (len(doubled) - len(polynomials[-2]))]
        polynomials.append([a - b for a, b in zip(doubled, before, strict=True)])
    rows = []
    for i in range(1, n + 1):

        def at(j: int, coefficients: Sequence[int] = polynomials[i]) -> str:
            text = str(coefficients[-1])
            for c in coefficients[-2::-1]:
                text = f"({text})*(2*x[{j}] - 1) + {c}"
            return f"({text})"

        integral = -1 / (i * i - 1) if i % 2 == 0 else 0.0
        rows.append(f"({' + '.join(at(j) for j in range(n))})/{n} - ({integral!r})")
    return Problem(35, f"Chebyquad, n={n}", _listed(rows), tuple(j / (n + 1) for j in range(1, n + 1)))


PROBLEMS = [
    _rosenbrock(2),
    Problem(
        2,
        "Freudenstein and Roth",
        "[-13 + x[0] + ((5 - x[1])*x[1] - 2)*x[1], -29 + x[0] + ((x[1] + 1)*x[1] - 14)*x[1]]",
        (0.5, -2.0),
    ),
    Problem(3, "Powell badly scaled", "[1e4*x[0]*x[1] - 1, exp(-x[0]) + exp(-x[1]) - 1.0001]", (0.0, 1.0)),
    Problem(4, "Brown badly scaled", "[x[0] - 1e6, x[1] - 2e-6, x[0]*x[1] - 2]", (1.0, 1.0)),
    _beale(),
    _helical_valley(),
    _gulf(10),
    _box(10),
    _powell_singular(4),
    _wood(),
    _biggs(13),
    _rosenbrock(10),
    _powell_singular(12),
    _variably_dimensioned(10),
    _trigonometric(10),
    _brown_almost_linear(10),
    _boundary_value(10),
    _integral_equation(10),
    _broyden_tridiagonal(10),
    _broyden_banded(10),
    _linear(10),
    _chebyquad(5),
    _chebyquad(6),
    _chebyquad(7),
    _chebyquad(9),
]
"""The problems whose residuals have a common root."""
FACTORS = (1.0, 10.0, 100.0)
"""The factors of the standard starts."""
