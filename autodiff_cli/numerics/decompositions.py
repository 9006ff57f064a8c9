"""Decompositions of special functions into elementary functions, for targets that lack the special functions.

Each decomposition is a program of the language over the parameters of a declaration, or a function that returns such a program
for the plain arguments of a call.  ``export`` writes a long decomposition as a separate function.  A decomposition is as accurate
as the function that it replaces: ``python -m tests.accuracy.formulas`` measures the accuracy in every target.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from pathlib import Path

EULER = 0.57721566490153286
_MOST_ORDER = 6  # of Bessel functions and derivatives: beyond it the programs would be long
_SPLIT = "size = abs(x); near = size < 20; s = min(size, 20); q = s*s/4; w = 1/max(size, 20)"
_MEANS = 14  # steps after which the means agree for every m


def _coefficients() -> dict[str, tuple[float, ...]]:
    """Return the numbers in ``coefficients.txt`` by the name before them, such as the coefficients of fitted polynomials."""
    blocks = Path(__file__).with_name("coefficients.txt").read_text(encoding="utf-8").split("\n\n")
    return {name: tuple(map(float, numbers)) for name, *numbers in map(str.split, blocks)}


FITS = _coefficients()
"""The coefficients of approximations, the constant first; those of a denominator have the prefix ``under_``."""


def polynomial(coefficients: Sequence[float], name: str) -> str:
    """Return a polynomial in ``name`` in Horner's form, from one or more coefficients; that of the lowest power comes first."""
    text = repr(coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        text = f"{coefficient!r} + {name}*({text})"
    return text


# The normal distribution: with t = -x, the product (t + 3)*(hazard(x) - t) is approximated by a polynomial in (t - 3)/(t + 3),
# fitted at Chebyshev points.

_EXCESS_AT_T = f"u = (t - 3)/(t + 3); excess = ({polynomial(FITS['excess'], 'u')})/(t + 3)"
_LEFT = f"t = max(-x, 0); {_EXCESS_AT_T}"
HAZARD = f"{_LEFT}; r = max(x, 0); t + excess if x <= 0 else exp(-r*r/2)*sqrt(2/pi)/erfc(-r/sqrt(2))"

# The error functions: a power series near 0, and elsewhere the density of the normal distribution divided by the hazard.  The
# square in the density is split into an exact square and a small rest.

_FAR_ERFC = "; ".join(
    [
        f"size = min(abs(x), 30); t = sqrt(2)*size; {_EXCESS_AT_T}; head = round(16*size)/16",
        "far = sqrt(2/pi)*exp(-head*head)*exp((head - size)*(head + size))/(t + excess)",
    ]
)
_ERF_SERIES = [2 / math.sqrt(math.pi) * (-1) ** k / (math.factorial(k) * (2 * k + 1)) for k in range(20)]
_NEAR_ERF = f"s = min(max(x, -1), 1); q = s*s; near = s*({polynomial(_ERF_SERIES, 'q')})"
ERF = f"{_FAR_ERFC}; {_NEAR_ERF}; near if size < 1 else sign(x)*(1 - far)"
ERFC = f"{_FAR_ERFC}; {_NEAR_ERF}; 1 - near if abs(x) < 0.5 else far if x > 0 else 2 - far"


def mills_fraction(k: int) -> str | None:
    """Return the decomposition for k = 1; ``None`` for larger k, for which a difference would lose digits to cancellation."""
    return f"{_LEFT}; excess if x <= 0 else x + hazard(x)" if k == 1 else None


def _quotient(fit: str, name: str) -> str:
    """Return the quotient of the fitted polynomials ``fit`` and ``under_fit`` in ``name``."""
    return f"({polynomial(FITS[fit], name)})/({polynomial(FITS[f'under_{fit}'], name)})"


def _quantile(middle: str, tail: str, scale: str) -> str:
    """Return the quantile of the probability p = ``middle`` + 1/2, with a factor ``scale``; ``tail`` is min(p, 1 - p).

    Polynomials in 0.425**2 - q**2, and in sqrt(-log(p)) less 1.6 or 5: M. J. Wichura, AS 241, Applied Statistics 37 (1988).
    """
    return "; ".join(
        [
            f"q = {middle}; p = {tail}; r = 0.180625 - min(q*q, 0.180625)",
            "s = sqrt(-log(min(max(p, 1e-320), 0.5))); a = min(s, 5) - 1.6; b = max(s, 5) - 5",
            f"far = {_quotient('tail', 'a')} if s <= 5 else {_quotient('far', 'b')}",
            f"central = q*({_quotient('middle', 'r')})",
            "outer = nan if p < 0 else inf if p == 0 else far",
            f"(central if abs(q) <= 0.425 else outer if q > 0 else -outer){scale}",
        ]
    )


def sinc_slope(order: int) -> str:
    """Return the derivative of sinc of an order: near 0 its Taylor series, else a recurrence from those of sin(pi*x)/pi."""
    series = {2 * k - order: (-1) ** k / (math.factorial(2 * k - order) * (2 * k + 1)) for k in range((order + 1) // 2, order + 15)}
    lines = [f"near = abs(pi*x) < {order + 1}; small = pi*x if near else 0.0; u = 1.0 if near else pi*x; q = small*small"]
    lines.append("whole = 0.0 if isinf(x) else round(x); rest = 0.0 if isinf(x) else x - whole; sign = 1 - 2*(whole % 2)")
    lines.append("sine = sign*sin(pi*rest); cosine = sign*sin(pi*(0.5 - abs(rest))); s0 = sine/u")
    for n in range(1, order + 1):
        lines.append(f"s{n} = ({('sine', 'cosine', '-sine', '-cosine')[n % 4]} - {n}*s{n - 1})/u")
    close = polynomial(list(series.values()), "q")
    return "; ".join([*lines, f"({'small*' if order % 2 else ''}({close}) if near else s{order})*{math.pi**order!r}"])


def _series(n: int, sign: int, count: int, name: str) -> str:
    """Return ``count`` terms of the power series of I_n (sign 1) or J_n (sign -1) in ``name``, where q is (name/2)**2."""
    terms = [sign**m / (math.factorial(m) * math.factorial(m + n)) for m in range(count)]
    return f"{f'({name}/2)*' * n}({polynomial(terms, 'q')})"


def asymptotic_scaled(n: int, order: int) -> tuple[float, ...]:
    """Return a series in 1/x, for x >= 20: the derivative of exp(-x)*I_n(x) of the given order, times sqrt(x)*x**order."""
    result, factor = [], 1 / math.sqrt(2 * math.pi)
    for k in range(28):
        result.append(factor * math.prod(-k - 0.5 - i for i in range(order)))
        factor *= -(4 * n * n - (2 * k + 1) ** 2) / (8 * (k + 1))
    return tuple(result)


def bessel_i(n: int) -> str | None:
    """Return the power series of I_n for abs(x) < 20, and the asymptotic series for larger x; ``None`` for n > 6."""
    if n > _MOST_ORDER:
        return None
    root = "exp(max(size, 20)/2)"  # multiplied twice, because exp(size) may overflow where the product does not
    far = f"{root}*({root}*sqrt(w)*({polynomial(asymptotic_scaled(n, 0), 'w')}))"
    return f"{_SPLIT}; ({_series(n, 1, 38, 's')} if near else {far}){'*sign(x)' if n % 2 else ''}"


def bessel_scaled(n: int, order: int) -> str | None:
    """Return a derivative of exp(-abs(x))*I_n(x): power series for abs(x) < 20, else asymptotic; ``None`` for n + order > 6."""
    if n + order > _MOST_ORDER:
        return None
    odd = "*sign(x)"
    lines = [_SPLIT, *(f"b{m} = ({_series(m, 1, 38, 's')}){odd if m % 2 else ''}" for m in range(n + order + 1))]
    terms = []
    for j in range(order + 1):
        signs = f"*({'*'.join(['-sign(x)'] * (order - j))})" if order > j else ""
        for i in range(j + 1):
            terms.append(f"{math.comb(order, j) * math.comb(j, i) / 2**j!r}*b{abs(n + j - 2 * i)}{signs}")
    far = f"{'w*' * order}sqrt(w)*({polynomial(asymptotic_scaled(n, order), 'w')}){odd if (n + order) % 2 else ''}"
    return "; ".join([*lines, f"exp(-s)*({' + '.join(terms)}) if near else {far}"])


def bessel_j(n: int) -> str | None:
    """Return the power series of J_n for abs(x) < 4, and a recurrence from the orders 0 and 1 beyond; ``None`` for n > 4.

    J_0 and J_1 have Hankel's form there: polynomials in w = 2*(4/x)**2 - 1, fitted at Chebyshev points, approximate P and x*Q.
    """
    if n > 4:
        return None
    lines = ["size = abs(x); s = min(size, 4); q = s*s/4; f = max(size, 4); w = 2*(4/f)*(4/f) - 1; c = cos(f); d = sin(f)"]
    lines.append("root = sqrt(1/(pi*f))")
    if n != 1:
        lines.append(f"b0 = root*(({polynomial(FITS['p0'], 'w')})*(c + d) - ({polynomial(FITS['q0'], 'w')})/f*(d - c))")
    if n >= 1:
        lines.append(f"b1 = root*(({polynomial(FITS['p1'], 'w')})*(d - c) + ({polynomial(FITS['q1'], 'w')})/f*(d + c))")
    lines += [f"b{k} = {2 * k - 2}/f*b{k - 1} - b{k - 2}" for k in range(2, n + 1)]
    return "; ".join([*lines, f"({_series(n, -1, 18, 's')} if size < 4 else b{n}){'*sign(x)' if n % 2 else ''}"])


def _digamma_at(k: int) -> float:
    """Return the digamma function of a whole number k >= 1."""
    return sum(1 / i for i in range(1, k)) - EULER


def _logarithmic_series(n: int, sign: int, count: int) -> str:
    """Return the part of K_n (sign 1) or of -pi/2*Y_n (sign -1) that the logarithm of s/2 does not multiply, for n = 0 or 1.

    Source: DLMF 10.8.1 and 10.31.1.
    """
    terms = [
        sign**m * (_digamma_at(m + 1) + _digamma_at(m + n + 1)) / (2 * math.factorial(m) * math.factorial(m + n))
        for m in range(count)
    ]
    series = polynomial([-sign * term if n else term for term in terms], "q")
    return f"1/s + s/2*({series})" if n else series


def bessel_y(n: int) -> str:
    """Return the power series of Y_n for x < 4, and Hankel's form (see ``bessel_j``) for larger x, for n = 0 or 1."""
    series = f"2/pi*(log(s/2)*({_series(n, -1, 18, 's')}) - ({_logarithmic_series(n, -1, 18)}))"
    p, q = (polynomial(FITS[f"{part}{n}"], "w") for part in "pq")
    far = f"-({p})*(c + d) + ({q})/f*(d - c)" if n else f"({p})*(d - c) + ({q})/f*(c + d)"
    return "; ".join(
        [
            "s = min(x, 4) if x > 0 else 1.0; q = s*s/4; f = max(x, 4); w = 2*(4/f)*(4/f) - 1; c = cos(f); d = sin(f)",
            f"nan if x < 0 else -inf if x == 0 else {series} if x < 4 else sqrt(1/(pi*f))*({far})",
        ]
    )


def bessel_k(n: int) -> str:
    """Return the power series of K_n for x < 2, and exp(-x)/sqrt(x) times a polynomial in 4/x - 1 beyond, for n = 0 or 1.

    The polynomial is fitted at Chebyshev points.  The result is infinite at 0, and nan below.
    """
    series = f"{'' if n else '-'}log(s/2)*({_series(n, 1, 14, 's')}) + {_logarithmic_series(n, 1, 14)}"
    return "; ".join(
        [
            "s = min(x, 2) if x > 0 else 1.0; q = s*s/4; f = max(x, 2); w = 4/f - 1",
            f"nan if x < 0 else inf if x == 0 else {series} if x < 2 else exp(-f)*(({polynomial(FITS[f'k{n}'], 'w')})/sqrt(f))",
        ]
    )


def _means() -> str:
    """Return statements for k = K(m), the arithmetic-geometric mean of 1 and sqrt(1 - m) behind it, and share = D/K.

    With e_n = c_n**2/m, where c_n is the half difference of the means, D/K is the sum of 2**(n - 1)*e_n: (K - E)/m without the
    division by m.
    """
    lines = ["valid = m < 1; c = 1 - m if valid else 1.0; b0 = sqrt(c); a1 = (1 + b0)/2; b1 = sqrt(b0)"]
    lines.append("e1 = m/((4*(1 + b0))*(1 + b0)) if valid else 0.0")
    for n in range(2, _MEANS):
        lines.append(f"a{n} = (a{n - 1} + b{n - 1})/2; b{n} = sqrt(a{n - 1})*sqrt(b{n - 1})")
        lines.append(f"r{n} = e{n - 1}/a{n}; e{n} = m*r{n}*r{n}/16 if valid else 0.0")
    lines.append(f"share = 0.5 + {' + '.join(f'{2 ** (n - 1)}*e{n}' for n in range(1, _MEANS))}; k = pi/(2*a{_MEANS - 1})")
    return "; ".join(lines)


def elliptic_integral(order: int, second: bool) -> str | None:
    """Return ``bessel.elliptic_integral`` of order 1 or 2, for derivatives of K, or E (``second``); ``None`` for higher orders."""
    if order > 2:
        return None
    if order == 1:
        return f"{_means()}; inf if m == 1 else {'k*share' if second else 'k*(1 - share)/c'} if valid else nan"
    # For order 2, the differential equation divides by m, so a power series is used near 0.
    exponent, series, moment, factor = 1.5 if second else 2.5, [], math.pi / 2 * 3 / 8, 1.0
    for j in range(30):
        series.append(moment * factor)
        moment *= (2 * j + 5) / (2 * j + 6)
        factor *= (exponent + j) / (j + 1)
    first = "k*(1 - m*share) - 2*c*k*share" if second else "(k/4 - (1 - 2*m)*(k*(1 - share)/c/2))*(4/3)"
    lines = [_means(), "near = abs(m) < 0.3; z = m if near else 0.0; u = 1.0 if near else m"]
    return "; ".join([*lines, f"inf if m == 1 else (({polynomial(series, 'z')}) if near else ({first})/u/c) if valid else nan"])


BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)
ZETA_LESS_1 = FITS["zeta_less_1"]
"""The values zeta(k) - 1 for k = 2, 3, ..., which are the Taylor coefficients of lgamma at 2 multiplied by (-1)**k*k."""
_TAIL_OF_LOG = tuple(b / (2 * k * (2 * k - 1)) for k, b in enumerate(BERNOULLI[:8], start=1))
_AT_2 = (1 - EULER, *((-1) ** k * z / k for k, z in enumerate(ZETA_LESS_1, start=2)))


def _stirling_tail(name: str) -> str:
    """Return the difference between lgamma and Stirling's formula, as a program in ``name``, for values >= 15."""
    return f"({polynomial(_TAIL_OF_LOG, f'(1/{name})*(1/{name})')})/{name}"


LGAMMA = "; ".join(
    [
        "left = x < 0.5; y = (1 - x if x < 0 else 1 + x) if left else x",  # y is at least 1/2
        "low = y < 1.5; z = min(y, 2.5) - (1 if low else 2)",
        f"middle = z*({polynomial(_AT_2, 'z')}) - (log1p(z) if low else 0.0)",
        "few = y < 15; v = min(max(y, 2.5), 15); h = v + 10 if few else y",
        f"product = log({'*'.join(f'(v + {k})' if k else 'v' for k in range(10))}) if few else 0.0",
        f"outer = h*(log(h) - 1) - log(h)/2 + {math.log(2 * math.pi) / 2!r} + {_stirling_tail('h')} - product",
        "value = middle if y <= 2.5 else outer",
        "reflected = log(pi/abs(sin(pi*(x - round(x))))) - value",
        "inf if x == floor(x) and x <= 0 else reflected if x < 0 else value - log(x) if left else value",
    ]
)


def _sign_of_gamma(name: str) -> str:
    """Return the sign of gamma of the expression ``name``."""
    return f"(1 - 2*(floor({name}) % 2) if {name} < 0 else 1.0)"


GAMMA = "; ".join(
    [
        # Reflection at 0 for x < -1/2, where 1 - x would be rounded, and at 1/2 for x < 1/2.
        "negative = x < -0.5; left = x < 0.5; y = -x if negative else 1 - x if left else x",
        # For small integers, t is 0, and the result is exact.
        "s = min(y, 20); n = max(round(s), 1); t = s - n",
        f"product = {'*'.join(f'(t + {k} if n > {k} else 1.0)' for k in range(2, 20))}",
        f"near = exp(t*({polynomial(_AT_2, 't')}))*product/(1 + t if n == 1 else 1.0)",
        # Stirling's formula, with the power as a product of two factors because it may overflow where the result does not.
        "h = min(max(y, 20), 180); root = h**(h/2 - 0.25)",
        f"far = {math.sqrt(2 * math.pi)!r}*root*(root/exp(h))*exp({_stirling_tail('h')})",
        "value = near if y < 20 else far",
        "reflected = pi/((1 - 2*(round(x) % 2))*sin(pi*(x - round(x))))/value/(y if negative else 1.0)",
        "nan if x < 0 and x == floor(x) else 1/x if x == 0 else reflected if left else value",
    ]
)
BETA = "; ".join(
    [
        # For large arguments, a difference of logarithms would lose digits to cancellation.  Stirling's formula is used instead to
        # compute gamma(small) * gamma(large)/gamma(large + small).
        "far = max(a, b) > 50 and min(a, b) > -30; l = min(a, b) if far else 1.0; h = max(a, b) if far else 60.0; n = l + h",
        f"tails = {_stirling_tail('h')} - {_stirling_tail('n')}",
        # The power is split into two equal factors, because it may be subnormal and some targets flush subnormal numbers to 0.
        "root = h**(-min(l, 50)/2); one = gamma(min(l, 50))*root*exp(tails + l - (n - 0.5)*log1p(l/h))*root",
        "w = max(l, 50); logs = w*log1p(h/w) + h*log1p(w/h) + (log(w) + log(h/(w + h)))/2",
        f"both = sqrt(2*pi)*exp({_stirling_tail('w')} + tails - logs)",
        f"sign = {_sign_of_gamma('a')}*{_sign_of_gamma('b')}*{_sign_of_gamma('(a + b)')}",
        "(one if l < 50 else both) if far else sign*exp(lgamma(a) + lgamma(b) - lgamma(a + b))",
    ]
)

BETALN = "; ".join(
    [
        "far = max(a, b) > 50 and min(a, b) > 0; l = min(a, b) if far else 1.0; h = max(a, b) if far else 60.0; n = l + h",
        f"tails = {_stirling_tail('h')} - {_stirling_tail('n')}",
        "m = min(l, 50); one = lgamma(m) - m*log(h) + (tails + m - (n - 0.5)*log1p(m/h))",
        "w = max(l, 50); logs = w*log1p(h/w) + h*log1p(w/h) + (log(w) + log(h/(w + h)))/2",
        f"both = log(2*pi)/2 + {_stirling_tail('w')} + tails - logs",
        "(one if l < 50 else both) if far else lgamma(a) + lgamma(b) - lgamma(a + b)",
    ]
)


@functools.cache
def cotangent_polynomial(n: int) -> tuple[float, ...]:
    """Return the coefficients of the n-th derivative of cot as a polynomial in cot, with the lowest power first."""
    result = [0, 1]
    for _ in range(n):
        slope = [k * c for k, c in enumerate(result)][1:]
        result = [-(a + b) for a, b in zip([*slope, 0, 0], [0, 0, *slope], strict=True)]
    return tuple(map(float, result))


def polygamma(n: int) -> str | None:
    """Return polygamma of order n: first terms and the Euler-Maclaurin formula, by reflection for x < 0; ``None`` for n > 10."""
    if n > 10:
        return None
    steps, factorial = 12 + n, math.factorial(n)
    weights = [b * math.factorial(2 * k + n - 1) / math.factorial(2 * k) for k, b in enumerate(BERNOULLI, start=1)]
    lines = [f"y = 1 - x if x < 0 else x; z = y + {steps}; i = 1/z; q = i*i"]
    inverse = "*".join(["i"] * n)
    powers = [f"1/({'*'.join([f'(y + {k})'] * (n + 1))})" for k in range(steps)]
    if n == 0:
        lines.append(f"value = log(z) - i/2 - q*({polynomial(weights, 'q')}) - ({' + '.join(powers[::-1])})")
        reflected = "value - pi/tan(pi*(x - round(x)))"
        pole = "nan"
    else:
        ahead = f"{math.factorial(n - 1)} + i*({factorial}/2 + i*({polynomial(weights, 'q')}))"
        lines.append(f"value = {'-' if n % 2 == 0 else ''}({inverse}*({ahead}) + {factorial}*({' + '.join(powers[::-1])}))")
        lines.append("cotangent = 1/tan(pi*(x - round(x)))")
        sign = "" if n % 2 == 0 else "-"
        reflected = f"{sign}value - {math.pi ** (n + 1)!r}*({polynomial(cotangent_polynomial(n), 'cotangent')})"
        pole = "inf" if n % 2 else "-inf"
    return "; ".join([*lines, f"({pole} if x == floor(x) else {reflected}) if x < 0 else value"])


def _zeta() -> str:
    """Return the Hurwitz zeta function for x > 1: fourteen terms, and the Euler-Maclaurin formula for the rest; else nan."""
    steps = 14
    lines = [f"z = q + {steps}; i = 1/z; p = z**(1 - x); r1 = x*p*i*i"]
    lines += [f"r{k + 1} = r{k}*(x + {2 * k - 1})*(x + {2 * k})*i*i" for k in range(1, len(BERNOULLI))]
    rest = [f"{b / math.factorial(2 * k)!r}*r{k}" for k, b in enumerate(BERNOULLI, start=1)]
    lines.append(f"ahead = {' + '.join(f'(q + {k})**-x' for k in reversed(range(steps)))}")
    return "; ".join([*lines, f"ahead + (p/(x - 1) + p*i/2 + ({' + '.join(rest)})) if q > 0 and x > 1 else inf if q == 0 else nan"])


def polygamma_gap(n: int) -> str | None:
    """Return polygamma(n, a + b) - polygamma(n, a) as a sum of accurate differences of powers; ``None`` for n > 10."""
    if n > 10:
        return None
    factorial, steps = math.factorial(n), 20

    def gap(name: str, m: int) -> str:
        return f"-expm1(-{m}*log1p(h/{name}))*({'*'.join([f'(1/{name})'] * m)})"

    lines = ["positive = a > 0 and b > 0; l = a if positive else 1.0; h = b if positive else 1.0"]
    lines += [f"l{i} = l + {i}" for i in range(1, steps + 1)]
    lines.append(f"total = {factorial}*({' + '.join(gap(f'l{i}' if i else 'l', n + 1) for i in range(steps))})")
    last = f"l{steps}"
    parts = [
        f"log1p(h/{last})" if n == 0 else f"{math.factorial(n - 1)}*({gap(last, n)})",
        f"{factorial / 2!r}*({gap(last, n + 1)})",
    ]
    for k, bernoulli in enumerate(BERNOULLI[:8], start=1):
        weight = bernoulli * (math.factorial(2 * k + n - 1) / math.factorial(2 * k))
        parts.append(f"{weight!r}*({gap(last, 2 * k + n)})")
    lines.append(f"rest = {' + '.join(parts)}")
    plain = f"polygamma({n}, a + b) - polygamma({n}, a)"
    return "; ".join([*lines, f"{'-' if n % 2 else ''}(total + rest) if positive else {plain}"])


def far_faddeeva(order: int) -> float:
    """Return the abs(z) from which the asymptotic series of a derivative is accurate: its smallest term is about exp(-z**2)."""
    return math.sqrt(44 + 8 * order)


@functools.cache
def far_terms(order: int) -> tuple[float, ...]:
    """Return the coefficients of z**(-2*k - 1 - order) in the derivative of the sum of (1/2)_k*z**(-2*k - 1), DLMF 7.12."""
    result, factor = [], 1.0
    for k in range(30 + 2 * order):
        result.append((-1) ** order * factor * math.prod(2 * k + 1 + i for i in range(order)))
        factor *= k + 0.5
    return tuple(result)


def _derivative_of_faddeeva(value: str, order: int, sign: int, constant: str) -> str:
    """Return a derivative of an f with f' = sign*(2*x*f - constant); the statements ``value`` compute f0 = f(t) for small x."""
    lines = [f"near = {'x' if sign > 0 else 'abs(x)'} <= {far_faddeeva(order)!r}"]
    lines += ["t = x if near else 1.0; w = 1.0 if near else 1/x", f"s = {-sign}*w*w", value]
    for n in range(order):
        lines.append(f"f{n + 1} = {sign}*(2*t*f{n} {f'+ {2 * n}*f{n - 1}' if n else f'- {constant}'})")
    far = f"{constant}/2*({polynomial(far_terms(order), 's')})*{'*'.join(['w'] * (order + 1))}"
    return "; ".join([*lines, f"f{order} if near else {far}"])


def erfcx(order: int = 0) -> str:
    """Return a derivative of exp(x**2)*erfc(x), where x**2 is split into an exact square and a small rest."""
    value = "head = round(16*t)/16; f0 = exp(head*head)*(exp((t - head)*(t + head))*erfc(t))"
    return _derivative_of_faddeeva(value, order, 1, "(2/sqrt(pi))")


def dawsn(order: int = 0) -> str:
    """Return a derivative of Dawson's integral, by a power series near 0 and Rybicki's sum (Computers in Physics 3, 1989)."""
    close = [(-2) ** k / math.prod(range(1, 2 * k + 2, 2)) for k in range(14)]
    lines = ["size = abs(t); n = 2*round(2*size); r = size - n/4; a = exp(r/2); b = 1/a; u = a*a; v = b*b"]
    lines += ["a1 = a; b1 = b"] + [f"a{i} = a{i - 2}*u; b{i} = b{i - 2}*v" for i in range(3, 26, 2)]
    terms = [f"{math.exp(-i * i / 16)!r}*(a{i}/(n + {i}) + b{i}/(n - {i}))" for i in range(25, 0, -2)]
    lines.append(f"q = t*t; f0 = t*({polynomial(close, 'q')}) if size < 0.4 else sign(t)*exp(-r*r)/sqrt(pi)*({' + '.join(terms)})")
    return _derivative_of_faddeeva("; ".join(lines), order, -1, "1")


# The Lambert W function.  The coefficients of its power series in p = sqrt(2*(e*x + 1)) satisfy the recurrence (4.22) to (4.24) of
# R. M. Corless et al., On the Lambert W function, Adv. Comput. Math. 5 (1996).

BRANCH_REST = -1.2428753672788363e-17
"""The error of -1/e rounded to a float64."""


def _from_branch(count: int) -> tuple[float, ...]:
    """Return the coefficients of p, p**2, ... of W + 1."""
    series, sums = [-1.0, 1.0], [2.0, -1.0]
    for k in range(2, count + 1):
        sums.append(sum(series[j] * series[k + 1 - j] for j in range(2, k)))
        ahead = (k - 1) / (k + 1) * (series[k - 2] / 2 + sums[k - 2] / 4)
        series.append(ahead - sums[k] / 2 - series[k - 1] / (k + 1))
    return tuple(series[1:])


def lambertw(k: int, *, shift: int = 0) -> str:
    """Return branch k (0 or -1) of W, plus ``shift`` (0 or 1): a series near -1/e, else five Halley steps on w = x*exp(-w).

    For k = -1 the method solves w + log(-w) = log(-x), because the exponential would overflow for small x.
    """
    lines = [f"p = sqrt(max(2*e*(x + {math.exp(-1)!r} + {BRANCH_REST!r}), 0))", "near = p < 0.3"]
    lines += [f"s = {'p' if k == 0 else '-p'} if near else 0.0; series = s*({polynomial(FROM_BRANCH, 's')})"]
    if k == 0:
        lines.append("y = 1.0 if near or isnan(x) or isinf(x) else x; l = log1p(y)")
        lines.append("w0 = l*(1 - log1p(l)/(2 + l)) if y > 0 else y/(1 + y*(e - 1))")
        for i in range(5):
            lines.append(f"r{i} = y*exp(-w{i}); d{i} = w{i} - r{i}")
            lines.append(f"w{i + 1} = w{i} - 2*d{i}*(1 + r{i})/(2*(1 + r{i})*(1 + r{i}) + d{i}*r{i})")
        outside, last = f"x < {-math.exp(-1)!r} or isnan(x)", "x if isinf(x)"
    else:
        lines.append("y = -0.1 if near or not x < 0 else x; l = log(-y); w0 = l - log(-l) if y > -0.25 else -1 - p")
        for i in range(5):
            lines.append(f"d{i} = w{i} + log(-w{i}) - l; u{i} = 1 + 1/w{i}")
            lines.append(f"w{i + 1} = w{i} - 2*d{i}*u{i}/(2*u{i}*u{i} + d{i}/(w{i}*w{i}))")
        outside, last = f"x < {-math.exp(-1)!r} or x > 0 or isnan(x)", "-inf if x == 0"
    plus = " + 1" if shift else ""
    lines.append(f"nan if {outside} else {'series' if shift else 'series - 1'} if near else {last} else w5{plus}")
    return "; ".join(lines)


def lambertw_rise(k: int) -> str:
    """Return branch k of W, plus 1."""
    return lambertw(k, shift=1)


STEP = math.sqrt(math.pi / 12)
"""The step of the trapezoidal and midpoint rules for the Faddeeva function, with twelve positive nodes."""


def _faddeeva_lines(x: str, y: str) -> list[str]:
    """Return statements for u0 and v0, the real and imaginary parts of the Faddeeva function.

    The integral of exp(-t**2)/(z - t) is computed by the trapezoidal or the midpoint rule, whichever has its nodes farther
    from z, with a correction for the pole (M. Al Azah and S. N. Chandler-Wilde, SIAM Journal on Numerical Analysis 59, 2021).
    """
    lines = [f"a = abs({x}); b = abs({y}); part = a/{STEP!r} - floor(a/{STEP!r}); even = b < a and part >= 0.25 and part <= 0.75"]
    lines += ["shift = 0.0 if even else 0.5; r = a*a + b*b; f0 = 0.5 if even else 1.0"]
    for k in range(13):
        lines.append(f"t{k} = ({k} + shift)*{STEP!r}; q{k} = t{k}*t{k}")
        lines.append(f"e{k} = {'f0*' * (k == 0)}exp(-q{k})/(((a - t{k})*(a - t{k}) + b*b)*((a + t{k})*(a + t{k}) + b*b))")
    lines.append(f"u = {2 * STEP / math.pi!r}*b*({' + '.join(f'e{k}*(r + q{k})' for k in range(12, -1, -1))})")
    lines.append(f"v = {2 * STEP / math.pi!r}*a*({' + '.join(f'e{k}*(r - q{k})' for k in range(12, -1, -1))})")
    near = math.pi / STEP
    lines.append(f"c = min(b, {near!r}); g = exp((c - a)*(c + a)); grown = (-1 if even else 1)*exp({2 * near!r}*c)")
    lines.append(f"s = 1 + grown*cos({2 * near!r}*a); d = -grown*sin({2 * near!r}*a)")
    lines.append(f"m = 2*g/(s*s + d*d) if b < {near!r} else 0.0; co = cos(2*a*c); si = sin(2*a*c)")
    lines.append("u = u + m*(co*s - si*d); v = v - m*(co*d + si*s)")
    lines.append(f"h = exp((b - a)*(b + a)) if {y} < 0 else 0.0; co = cos(2*a*b); si = sin(2*a*b)")
    lines.append(f"u0 = 2*h*co - u if {y} < 0 else u; v0 = sign({x})*(2*h*si + v if {y} < 0 else v)")
    return lines


def wofz(imaginary: bool) -> str:
    """Return a program for the imaginary or the real part of the Faddeeva function."""
    return "; ".join([*_faddeeva_lines("x", "y"), "v0" if imaginary else "u0"])


def faddeeva(order: int, imaginary: bool) -> str | None:
    """Return a part of a derivative of w(z/scale)/scale: a recurrence where z/scale is small, elsewhere a sum over nodes t.

    It is ``None`` for orders above 6.  The sum is of derivatives of 1/(z - t*scale).  Real and imaginary parts are u and v, p and w
    (of z/scale), n and i (of powers).
    """
    if order > _MOST_ORDER:
        return None
    lines = [f"far = hypot(x, y) > {far_faddeeva(order)!r}*scale; unit = 1.0 if far else scale"]
    lines += ["p = 1.0 if far else x/unit; w = 1.0 if far else y/unit", *_faddeeva_lines("p", "w")]
    for n in range(order):
        lines.append(f"u{n + 1} = -2*(p*u{n} - w*v{n}){f' - {2 * n}*u{n - 1}' if n else ''}")
        lines.append(f"v{n + 1} = -2*(p*v{n} + w*u{n}){f' - {2 * n}*v{n - 1}' if n else f' + {2 / math.sqrt(math.pi)!r}'}")
    lines.append("top = 0.0; low = 0.0; lift = x if far else 1.0; over = y if far else 1.0; width = scale if far else 0.0")
    for k in range(-12, 13):
        t = k * STEP
        lines.append(f"z = lift - {t!r}*width; m = z*z + over*over; c = z/m; d = -over/m; n1 = c; i1 = d")
        lines += [f"n{j + 1} = n{j}*c - i{j}*d; i{j + 1} = n{j}*d + i{j}*c" for j in range(1, order + 1)]
        lines.append(f"top = top + {math.exp(-t * t)!r}*n{order + 1}; low = low + {math.exp(-t * t)!r}*i{order + 1}")
    factor = (-1) ** order * math.factorial(order) * STEP / math.pi
    scaled = f"/unit**{order + 1}"
    beyond = f"{factor!r}*top" if imaginary else f"{-factor!r}*low"
    return "; ".join([*lines, f"{beyond} if far else {'v' if imaginary else 'u'}{order}{scaled}"])


def round_to(decimals: int) -> str:
    """Return the decomposition of rounding to a number of decimals."""
    return f"round(x*1e{decimals})*1e{-decimals}" if decimals < 0 else f"round(x*1e{decimals})/1e{decimals}"


def over_root(j: int, m: int, shift: int) -> str:
    """Return the decomposition of x**j/(x**2 + shift)**(m/2), which does not square a large x."""
    return f"h = {'hypot(x, 1)' if shift > 0 else 'sqrt(x - 1)*sqrt(x + 1)'}; (x/h)**{j}/h**{m - j}"


def share_of_hypot(second: bool) -> str:
    """Return the decomposition of x/hypot(x, y) or y/hypot(x, y)."""
    return f"0 if x == 0 and y == 0 else {'y' if second else 'x'}/hypot(x, y)"


def inverse_power(n: int, imaginary: bool) -> str:
    """Return the decomposition of the real or imaginary part of 1/z**n for z = x + i*y, factored for n = 2; 0 at z = 0."""
    terms = []
    for k in range(1 if imaginary else 0, n + 1, 2):
        sign = "-" if (k + 1) // 2 % 2 else "+"
        terms.append(f"{sign} {math.comb(n, k)}*x**{n - k}*y**{k}")
    top = {(1, False): "x", (1, True): "-y", (2, False): "(x - y)*(x + y)", (2, True): "-2*x*y"}.get((n, imaginary))
    return f"0 if x**2 + y**2 == 0 else ({top or ' '.join(terms).removeprefix('+ ')})/(x**2 + y**2){f'**{n}' if n > 1 else ''}"


GELU_SCALE, GELU_CUBE = 2 * math.sqrt(2 / math.pi), 0.044715
SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
TANHSHRINK_SERIES = [2 * k / math.factorial(2 * k + 1) for k in range(1, 12)]
TANHSHRINK = f"q = x*x; x*q*({polynomial(TANHSHRINK_SERIES, 'q')})/cosh(x) if abs(x) < 1 else x - t"


def softplus(threshold: float | None) -> str:
    """Return the decomposition of softplus, which is x where beta*x exceeds the threshold, if there is one."""
    linear = "" if threshold is None else "x if beta*x > threshold else "
    return f"{linear}(max(beta*x, 0) + log1p(exp(-abs(beta*x))))/beta"


def gelu(approximate: str) -> str:
    """Return the decomposition of gelu, for 'none', or of its approximation with tanh."""
    return "x*ndtr(x)" if approximate == "none" else f"x*sigmoid({GELU_SCALE!r}*(x + {GELU_CUBE!r}*x**3))"


def gelu_cubic(cube: float, order: int) -> str:
    """Return the decomposition of a derivative of 2*sqrt(2/pi)*(x + cube*x**3); from order 4 on it is 0."""
    scale = GELU_SCALE
    derivatives = (
        f"{scale!r}*(x + {cube!r}*x**3)",
        f"{scale!r}*(1 + {3 * cube!r}*x**2)",
        f"{6 * scale * cube!r}*x",
        f"{6 * scale * cube!r}",
        "0",
    )
    return derivatives[min(order, 4)]


def hardtanh_backward(low: float, high: float, outside: float) -> str:
    """Return the decomposition of x where low < y < high, else outside*x; a bound of nan is left out."""
    sides = [f"y {sign} {name}" for sign, name, bound in (("<=", "low", low), (">=", "high", high)) if not math.isnan(bound)]
    return f"{'outside*x' if outside else '0'} if {' or '.join(sides)} else x"


def softsign_slope(n: int) -> str:
    """Return the decomposition of a power of the slope of softsign."""
    return f"1/(1 + abs(x))**{n}"


def refused() -> None:
    """Return no decomposition: it would be long, or would lose digits."""


def logit(eps: float | None) -> str:
    """Return the decomposition of the logarithm of odds, with x between ``eps`` and 1 - ``eps`` unless that is ``None``."""
    return "log(x/(1 - x))" if eps is None else "p = min(max(x, eps), 1 - eps); log(p/(1 - p))"


def share(base: float) -> str:
    """Return the decomposition of base**x/(base**x + base**y) for the base 2 or e."""
    return "sigmoid((x - y)*log(2))" if base == 2 else "sigmoid(x - y)"


def gammainc_density(order: int) -> str | None:
    """Return the decomposition of the density of the gamma distribution; ``None`` for its derivatives in a."""
    return None if order else "exp(xlogy(a - 1, x) - x - lgamma(a))"


def betainc_density(i: int, j: int) -> str | None:
    """Return the decomposition of the density of the beta distribution; ``None`` for its derivatives in a and b."""
    return None if i or j else "exp(xlogy(a - 1, x) + xlog1py(b - 1, -x) - betaln(a, b))"


def bessel_partial(kind: str, by_order: int, by_x: int) -> str | None:
    """Return a derivative by x, up to the sixth, as a sum over neighbouring orders; ``None`` for others and those by the order."""
    if by_order or by_x > 6:
        return None
    sign, whole = (1 if kind in ("iv", "kv") else -1), (-1) ** by_x if kind == "kv" else 1
    terms = [f"{whole * math.comb(by_x, i) * sign**i}*{kind}(v + {2 * i - by_x}, x)" for i in range(by_x + 1)]
    return f"({' + '.join(terms)})/{2**by_x}"


def falling_power(k: int) -> str:
    """Return the decomposition of the k-th derivative of x**y with respect to x."""
    formula = "*".join(["y", *(f"(y - {i})" for i in range(1, k))]) + f"*x**(y - {k})"
    zeros = " or ".join(f"y == {i}" for i in range(1, k))
    return f"0 if x == 0 and ({zeros}) else {formula}" if zeros else formula


def isclose(equal_nan: bool) -> str | None:
    """Return the decomposition of ``isclose``; none exists if nan is close to nan."""
    return None if equal_nan else "x == y or abs(x - y) <= atol + rtol*abs(y) and isfinite(y)"


def clamp(min: float | None, max: float | None) -> str:
    """Return the decomposition of ``clamp``, of whose bounds at most one is ``None``."""
    return "min(x, max)" if min is None else "max(x, min)" if max is None else "min(max(x, min), max)"


NDTRI, ERFINV = _quantile("x - 0.5", "min(x, 1 - x)", ""), _quantile("x/2", "(1 - abs(x))/2", "/sqrt(2)")
ELLIPK = f"{_means()}; inf if m == 1 else k if valid else nan"
ELLIPE = f"{_means()}; 1.0 if m == 1 else k*(1 - m*share) if valid else nan"
ZETA = _zeta()
FROM_BRANCH = _from_branch(25)
