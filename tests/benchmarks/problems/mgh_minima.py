"""The problems of Moré, Garbow and Hillstrom whose minimum is not 0; see ``mgh`` for the others and for the source."""

from __future__ import annotations

from typing import NamedTuple

from tests.benchmarks.problems import mgh

Start = dict[str, "float | list[float]"]


class Residuals(NamedTuple):
    """A problem of the collection.

    Attributes:
        number: the number in the paper.
        name: the name in the paper, with the dimension where the paper leaves a choice.
        residuals: the program whose last expression is the vector of the residuals.
        start: the standard start.
        minima: the known local minima of the sum of squares, to the six digits of the paper.
    """

    number: int
    name: str
    residuals: str
    start: Start
    minima: tuple[float, ...]

    @property
    def objective(self) -> str:
        """The program of the sum of squares."""
        *definitions, last = self.residuals.split("; ")
        return "; ".join([*definitions, f"sum(({last})**2)"])


def _numbers(text: str) -> str:
    return f"[{', '.join(text.split())}]"


_BARD = _numbers("0.14 0.18 0.22 0.25 0.29 0.32 0.35 0.39 0.37 0.58 0.73 0.96 1.34 2.10 4.39")
_GAUSS = _numbers("""0.0009 0.0044 0.0175 0.0540 0.1295 0.2420 0.3521 0.3989 0.3521 0.2420 0.1295 0.0540 0.0175 0.0044 0.0009""")
_MEYER = _numbers("34780 28610 23650 19630 16370 13720 11540 9744 8261 7030 6005 5147 4427 3820 3307 2872")
_KOWALIK_Y = _numbers("0.1957 0.1947 0.1735 0.1600 0.0844 0.0627 0.0456 0.0342 0.0323 0.0235 0.0246")
_KOWALIK_U = _numbers("4 2 1 0.5 0.25 0.167 0.125 0.1 0.0833 0.0714 0.0625")
_OSBORNE_1 = _numbers(
    """0.844 0.908 0.932 0.936 0.925 0.908 0.881 0.850 0.818 0.784 0.751 0.718 0.685 0.658 0.628 0.603 0.580 0.558 0.538 0.522
    0.506 0.490 0.478 0.467 0.457 0.448 0.438 0.431 0.424 0.420 0.414 0.411 0.406"""
)
_OSBORNE_2 = _numbers(
    """1.366 1.191 1.112 1.013 0.991 0.885 0.831 0.847 0.786 0.725 0.746 0.679 0.608 0.655 0.616 0.606 0.602 0.626 0.651 0.724
    0.649 0.649 0.694 0.644 0.624 0.661 0.612 0.558 0.533 0.495 0.500 0.423 0.395 0.375 0.372 0.391 0.396 0.405 0.428 0.429
    0.523 0.562 0.607 0.653 0.672 0.708 0.633 0.668 0.645 0.632 0.591 0.559 0.597 0.625 0.739 0.710 0.729 0.720 0.636 0.581
    0.428 0.292 0.162 0.098 0.054"""
)


def _watson(n: int, minimum: float) -> Residuals:
    powers = ", ".join(f"t**{j}" for j in range(n))
    slopes = ", ".join(["0*t", *(f"{j}*t**{j - 1}" for j in range(1, n))])
    text = (
        f"t = arange(1, 30)/29; p = stack([{powers}]); d = stack([{slopes}]); "
        "cat([x @ d - (x @ p)**2 - 1, [x[0], x[1] - x[0]**2 - 1]])"
    )
    return Residuals(20, f"Watson, n = {n}", text, {"x": [0.0] * n}, (minimum,))


def _penalty_2(n: int, minimum: float) -> Residuals:
    text = (
        f"y = exp(arange(2, {n + 1})/10) + exp(arange(1, {n})/10); z = exp(x/10); "
        f"cat([[x[0] - 0.2], sqrt(1e-5)*(z[1:] + z[:-1] - y), sqrt(1e-5)*(z[1:] - exp(-0.1)), [sum(arange({n}, 0, -1)*x**2) - 1]])"
    )
    return Residuals(24, f"Penalty II, n = {n}", text, {"x": [0.5] * n}, (minimum,))


def _chebyquad(n: int, *minima: float) -> Residuals:
    rows = ["t1 = 2*x - 1", "t0 = 0*x + 1"]
    terms = ["mean(t1)"]
    for i in range(2, n + 1):
        rows.append(f"t{i} = 2*t1*t{i - 1} - t{i - 2}")
        terms.append(f"mean(t{i})" + (f" + 1/{i * i - 1}" if i % 2 == 0 else ""))
    text = "; ".join([*rows, f"[{', '.join(terms)}]"])
    return Residuals(35, f"Chebyquad, n = {n}", text, {"x": [j / (n + 1) for j in range(1, n + 1)]}, minima)


_OTHERS = (
    Residuals(6, "Jennrich and Sampson", "i = arange(1, 11); 2 + 2*i - (exp(i*x) + exp(i*y))", {"x": 0.3, "y": 0.4}, (124.362,)),
    Residuals(
        8,
        "Bard",
        f"u = arange(1, 16); v = 16 - u; w = minimum(u, v); {_BARD} - (x + u/(v*y + w*z))",
        {"x": 1.0, "y": 1.0, "z": 1.0},
        (0.00821488, 17.4287),
    ),
    Residuals(
        9,
        "Gaussian",
        f"t = (8 - arange(1, 16))/2; x*exp(-y*(t - z)**2/2) - {_GAUSS}",
        {"x": 0.4, "y": 1.0, "z": 0.0},
        (1.12793e-8,),
    ),
    Residuals(
        10, "Meyer", f"t = 45 + 5*arange(1, 17); x*exp(y/(t + z)) - {_MEYER}", {"x": 0.02, "y": 4000.0, "z": 250.0}, (87.9459,)
    ),
    Residuals(
        15,
        "Kowalik and Osborne",
        f"u = {_KOWALIK_U}; {_KOWALIK_Y} - a*(u**2 + u*b)/(u**2 + u*c + d)",
        {"a": 0.25, "b": 0.39, "c": 0.415, "d": 0.39},
        (0.000307506, 1.02734e-3),
    ),
    Residuals(
        16,
        "Brown and Dennis",
        "t = arange(1, 21)/5; (a + t*b - exp(t))**2 + (c + d*sin(t) - cos(t))**2",
        {"a": 25.0, "b": 5.0, "c": -5.0, "d": -1.0},
        (85822.2,),
    ),
    Residuals(
        17,
        "Osborne 1",
        f"t = 10*arange(0, 33); {_OSBORNE_1} - (a + b*exp(-t*d) + c*exp(-t*f))",
        {"a": 0.5, "b": 1.5, "c": -1.0, "d": 0.01, "f": 0.02},
        (5.46489e-5,),
    ),
    Residuals(
        19,
        "Osborne 2",
        f"t = arange(0, 65)/10; {_OSBORNE_2} - (x[0]*exp(-t*x[4]) + x[1]*exp(-(t - x[8])**2*x[5]) + x[2]*exp(-(t - x[9])**2*x[6])"
        " + x[3]*exp(-(t - x[10])**2*x[7]))",
        {"x": [1.3, 0.65, 0.65, 0.7, 0.6, 3.0, 5.0, 7.0, 2.0, 4.5, 5.5]},
        (0.0401377,),
    ),
    _watson(6, 0.00228767),
    _watson(9, 1.39976e-6),
    _watson(12, 4.72238e-10),
    Residuals(23, "Penalty I, n = 4", "cat([sqrt(1e-5)*(x - 1), [sum(x**2) - 0.25]])", {"x": [1.0, 2.0, 3.0, 4.0]}, (2.24998e-5,)),
    Residuals(
        23,
        "Penalty I, n = 10",
        "cat([sqrt(1e-5)*(x - 1), [sum(x**2) - 0.25]])",
        {"x": [float(j) for j in range(1, 11)]},
        (7.08765e-5,),
    ),
    _penalty_2(4, 9.37629e-6),
    _penalty_2(10, 0.000293661),
    Residuals(32, "Linear, full rank, n = 10", "cat([x, zeros(10)]) - sum(x)/10 - 1", {"x": [1.0] * 10}, (10.0,)),
    Residuals(33, "Linear, rank 1, n = 10", "arange(1, 21)*sum(arange(1, 11)*x) - 1", {"x": [1.0] * 10}, (20 * 19 / (2 * 41),)),
    Residuals(
        34,
        "Linear, rank 1 with zero columns and rows, n = 10",
        "cat([[-1], arange(1, 19)*sum(arange(2, 10)*x[1:-1]) - 1, [-1]])",
        {"x": [1.0] * 10},
        ((400 + 60 - 6) / (2 * 37),),
    ),
    _chebyquad(8, 0.00351687),
    _chebyquad(10, 0.00650395, 0.00477271),  # the second minimum is lower than the one of the paper
)
_FURTHER = {2: (48.9842,), 18: (5.65565e-3,), 26: (2.79506e-5,), 27: (1.0,)}
"""The local minima of problems that also have the minimum 0."""
PROBLEMS: tuple[Residuals, ...] = tuple(
    sorted(
        [
            *_OTHERS,
            *(
                Residuals(each.number, each.name, each.residuals, {"x": list(each.start)}, (0.0, *_FURTHER.get(each.number, ())))
                for each in mgh.PROBLEMS
            ),
        ],
        key=lambda problem: problem.number,
    )
)
"""All problems; those with a choice of the dimension in dimensions for which the paper states the minimum."""
