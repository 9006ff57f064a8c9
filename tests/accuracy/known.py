"""Random functions of known truth: piecewise rational functions with exact coefficients, and their texts.

A function is a list of breaks and of one rational function between two breaks each, in exact fractions, so its roots, jumps, holes,
poles, kinks, plateaus and local minima follow from its construction.  It may be multiplied by ``exp(-w(x))``, and an increasing
function that keeps 0 may be applied to it: neither moves a root or a break.
"""

from __future__ import annotations

import inspect
import itertools
import operator
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, reduce
from typing import Any, NamedTuple

import mpmath

Poly = tuple[Fraction, ...]
"""Coefficients, the constant first; without zeros at the end."""
ZERO, ONE = Fraction(0), Fraction(1)
DIGITS = 120
WINDOW = 8
"""A function with infinitely many breaks is known between -8 and 8."""


def _polyroots(ascending: list[Any]) -> list[Any]:
    """The roots of a polynomial: mpmath 1.4 wants to be told the order of the coefficients, which mpmath 1.3 cannot be."""
    told = "asc" in inspect.signature(mpmath.polyroots).parameters
    order = {"asc": True} if told else {}
    found: list[Any] = mpmath.polyroots(ascending if told else ascending[::-1], maxsteps=500, extraprec=600, **order)
    return found


def poly(*coefficients: Fraction | float) -> Poly:
    made = [Fraction(c) for c in coefficients]
    while made and made[-1] == 0:
        made.pop()
    return tuple(made)


def plus(p: Poly, q: Poly) -> Poly:
    return poly(*(a + b for a, b in itertools.zip_longest(p, q, fillvalue=ZERO)))


def minus(p: Poly, q: Poly) -> Poly:
    return plus(p, times(q, poly(-1)))


def times(p: Poly, q: Poly) -> Poly:
    made = [ZERO] * max(len(p) + len(q) - 1, 0)
    for (i, a), (j, b) in itertools.product(enumerate(p), enumerate(q)):
        made[i + j] += a * b
    return poly(*made)


def slope(p: Poly) -> Poly:
    return poly(*[i * c for i, c in enumerate(p)][1:])


def at(p: Poly, x: Fraction) -> Fraction:
    total = ZERO
    for c in reversed(p):
        total = total * x + c
    return total


def divided(p: Poly, q: Poly) -> tuple[Poly, Poly]:
    """The quotient and the rest."""
    quotient, rest = [ZERO] * max(len(p) - len(q) + 1, 0), list(p)
    for i in reversed(range(len(quotient))):
        quotient[i] = rest[i + len(q) - 1] / q[-1]
        for j, c in enumerate(q):
            rest[i + j] -= quotient[i] * c
    return poly(*quotient), poly(*rest[: len(q) - 1])


def common(p: Poly, q: Poly) -> Poly:
    """The greatest common divisor with the leading coefficient 1."""
    while q:
        p, q = q, divided(p, q)[1]
    return tuple(c / p[-1] for c in p)


def exactly(x: mpmath.mpf) -> Fraction:
    sign, mantissa, exponent, _ = x._mpf_
    return (-1) ** sign * Fraction(int(mantissa)) * Fraction(2) ** exponent


def real_roots(p: Poly) -> list[tuple[Fraction, int]]:
    """The real roots with their multiplicities; those that are not rational to 100 digits."""
    if len(p) < 2:
        return []
    found = []
    whole = p
    free = divided(p, common(p, slope(p)))[0]
    with mpmath.workdps(DIGITS):
        for root in _polyroots([mpmath.mpf(c.numerator) / c.denominator for c in free]):
            if abs(mpmath.im(root)) > mpmath.mpf(10) ** -60:
                continue
            x = exactly(mpmath.re(root))
            near = x.limit_denominator(10**12)
            x = near if at(free, near) == 0 else x
            multiplicity, each = 1, slope(whole)
            while abs(at(each, x)) < Fraction(1, 10**50):
                multiplicity, each = multiplicity + 1, slope(each)
            found.append((x, multiplicity))
    return sorted(found)


class Piece(NamedTuple):
    """A rational function in lowest terms."""

    num: Poly
    den: Poly = (ONE,)

    def at(self, x: Fraction) -> Fraction | None:
        below = at(self.den, x)
        return at(self.num, x) / below if below else None

    def reduced(self) -> Piece:
        if not self.num:
            return Piece(())
        shared = common(self.num, self.den)
        return Piece(divided(self.num, shared)[0], divided(self.den, shared)[0])

    def slope(self) -> Piece:
        top = minus(times(slope(self.num), self.den), times(self.num, slope(self.den)))
        return Piece(top, times(self.den, self.den)).reduced()


def piece_plus(a: Piece, b: Piece) -> Piece:
    return Piece(plus(times(a.num, b.den), times(b.num, a.den)), times(a.den, b.den)).reduced()


def piece_times(a: Piece, b: Piece) -> Piece:
    return Piece(times(a.num, b.num), times(a.den, b.den)).reduced()


Value = Fraction | None
Between = tuple[Fraction | None, Fraction | None]
"""The ends of an interval; ``None`` is infinity."""


@dataclass(frozen=True)
class Known:
    """A function of x.

    Attributes:
        name: the family that it was drawn from.
        text: the expression.
        pieces: the functions left of the first break, between the breaks, and right of the last one.
        breaks: where another piece begins.
        values: the values at the breaks; ``None`` where the function is not defined.
        weight: the function is multiplied by ``exp(-weight(x))``.
        outer: the increasing function that is applied to it.
        whole: whether the outermost pieces go on to infinity; else the function is known in the window only.
    """

    name: str
    text: str
    pieces: tuple[Piece, ...]
    breaks: tuple[Fraction, ...] = ()
    values: tuple[Value, ...] = ()
    weight: Poly = ()
    outer: str = ""
    whole: bool = True

    def knows(self, x: float) -> bool:
        return self.whole or abs(x) < WINDOW - 0.5

    def _piece(self, x: Fraction) -> Piece:
        return self.pieces[sum(c <= x for c in self.breaks)]

    def rational(self, x: Fraction) -> Value:
        """The value before the weight and the outer function."""
        return self.values[self.breaks.index(x)] if x in self.breaks else self._piece(x).at(x)

    def order(self, x: Fraction) -> mpmath.mpf | Fraction | None:
        """A number that is ordered as the values are."""
        value = self.rational(x)
        if value is None or not self.weight:
            return value
        with mpmath.workdps(DIGITS):
            return _mp(value) * mpmath.exp(-_mp(at(self.weight, x)))

    def value(self, x: Fraction) -> float | None:
        found = self.order(x)
        if found is None:
            return None
        with mpmath.workdps(DIGITS):
            return float(OUTER[self.outer](found if isinstance(found, mpmath.mpf) else _mp(found)))

    def _spans(self) -> list[Between]:
        ends = [None, *self.breaks, None]
        return list(itertools.pairwise(ends))

    @cached_property
    def roots(self) -> list[tuple[Fraction, bool]]:
        """The isolated roots, each with whether the function is continuous and changes its sign there."""
        found = []
        for piece, span in zip(self.pieces, self._spans(), strict=True):
            found += [(x, k % 2 == 1) for x, k in real_roots(piece.num) if _inside(x, span)]
        for i, (c, value) in enumerate(zip(self.breaks, self.values, strict=True)):
            left, right = self.pieces[i], self.pieces[i + 1]
            if value == 0 and left.num and right.num:
                d = self.room(c) / 2**100
                before, after = left.at(c - d), right.at(c + d)
                assert before is not None
                assert after is not None
                found.append((c, left.at(c) == right.at(c) == 0 and before * after < 0))
        return sorted(one for one in found if self.knows(float(one[0])))

    @cached_property
    def zeros(self) -> list[Between]:
        """The intervals on which the function is 0."""
        return [span for piece, span in zip(self.pieces, self._spans(), strict=True) if not piece.num]

    @cached_property
    def special(self) -> list[Fraction]:
        """The breaks and the points between which the function is monotone."""
        found = set(self.breaks)
        for piece, span in zip(self.pieces, self._spans(), strict=True):
            rising = piece.slope().num
            if self.weight:
                change = piece_plus(piece.slope(), piece_times(piece, Piece(times(slope(self.weight), poly(-1)))))
                rising = change.num
            found |= {x for x, _ in real_roots(rising) if _inside(x, span)}
            found |= {x for x, _ in real_roots(piece.den) if _inside(x, span)}
        return sorted(found)

    def room(self, x: Fraction) -> Fraction:
        """The distance to the next break or root of a derivative, at most 1."""
        gaps = (
            [abs(x - c) for c in self.special if c != x]
            if "special" in self.__dict__
            else [abs(x - c) for c in self.breaks if c != x]
        )
        return min([ONE, *gaps])

    def kind(self, x: Fraction) -> str:
        """``smooth``, ``kink``, ``jump`` or ``undefined``; ``hidden`` for a jump that 120 digits do not show."""
        if x not in self.breaks:
            return "undefined" if self._piece(x).at(x) is None else "smooth"
        i = self.breaks.index(x)
        left, right, value = self.pieces[i], self.pieces[i + 1], self.values[i]
        if value is None:
            return "undefined"
        if not left.at(x) == right.at(x) == value:
            with mpmath.workdps(DIGITS):  # far out, tanh and erf hide a jump
                seen = {OUTER[self.outer](_mp(y)) for y in (left.at(x), right.at(x), value) if y is not None}
            return "jump" if len(seen) > 1 or not self.outer else "hidden"
        return "smooth" if left.slope().at(x) == right.slope().at(x) else "kink"

    def is_minimum(self, x: Fraction, low: float = float("-inf"), high: float = float("inf")) -> bool:
        """Whether no value near x is lower, x a special point or on a plateau."""
        here = self.order(x)
        if here is None:
            return False
        d = self.room(x) / (2**100 if x in self.breaks or float(x) in (low, high) else 2**20)
        return all((there := self.order(y)) is not None and here <= there for y in (x - d, x + d) if low <= y <= high)

    def constant(self, x: Fraction) -> bool:
        """Whether the function is constant around a point that is not a break."""
        return x not in self.breaks and not self._piece(x).slope().num and (not self.weight or not self._piece(x).num)

    @cached_property
    def bounded(self) -> bool | None:
        """Whether the values are bounded below; ``None`` if it is not known."""
        if self.outer in ("atan", "tanh", "expm1", "erf"):
            return True
        for c in self.special:
            d = self.room(c) / 2**300
            if any((v := self.order(y)) is not None and v < -(10**20) for y in (c - d, c + d)):
                return False
        if not self.whole:
            return None
        ends = [self.order(Fraction(sign * 10**8)) for sign in (-1, 1)]
        tall = [len(p.num) > len(p.den) for p in (self.pieces[0], self.pieces[-1])]
        return not any(t and v is not None and v < 0 and not self.weight for t, v in zip(tall, ends, strict=True))


def _mp(x: Fraction) -> mpmath.mpf:
    return mpmath.mpf(x.numerator) / x.denominator


def _inside(x: Fraction, span: Between) -> bool:
    return (span[0] is None or span[0] < x) and (span[1] is None or x < span[1])


OUTER: dict[str, Callable[[mpmath.mpf], mpmath.mpf]] = {
    "": lambda v: v,
    "atan": mpmath.atan,
    "tanh": mpmath.tanh,
    "sinh": lambda v: mpmath.sinh(v) if abs(v) < 700 else v * mpmath.inf,
    "expm1": lambda v: mpmath.expm1(v) if v < 700 else mpmath.inf,
    "asinh": mpmath.asinh,
    "erf": mpmath.erf,
}


def combined(a: Known, b: Known, sign: str) -> Known:
    """The sum or the product of two functions."""
    join = piece_plus if sign == "+" else piece_times
    of = operator.add if sign == "+" else operator.mul
    breaks = tuple(sorted({*a.breaks, *b.breaks}))
    inner = [
        *(c - Fraction(1, 2**40) for c in breaks[:1]),
        *((c + d) / 2 for c, d in itertools.pairwise(breaks)),
        *(c + 1 for c in breaks[-1:]),
    ]
    pieces = tuple(join(a._piece(x), b._piece(x)) for x in inner or [ZERO])
    values = []
    for c in breaks:
        one, other = a.rational(c), b.rational(c)
        values.append(None if one is None or other is None else of(one, other))
    text = f"{a.text} + {b.text}" if sign == "+" else f"({a.text})*({b.text})"
    return replace(
        a, text=text, breaks=breaks, pieces=pieces, values=tuple(values), whole=a.whole and b.whole, weight=plus(a.weight, b.weight)
    )


# The texts

Draw = random.Random


def number(x: Fraction) -> str:
    """A number that is a float, as a literal."""
    assert Fraction(float(x)) == x, x
    return repr(int(x)) if x.denominator == 1 else repr(float(x))


def _dyadic(draw: Draw, reach: int = 24) -> Fraction:
    return Fraction(draw.randint(-reach, reach), 8)


def _double(draw: Draw) -> Fraction:
    """A number between -3 and 3: a simple one, or any float."""
    return _dyadic(draw) if draw.random() < 0.8 else Fraction(draw.uniform(-3, 3))


def shifted(x: Fraction, name: str = "x") -> str:
    return name if not x else f"({name} {'-' if x > 0 else '+'} {number(abs(x))})"


def expanded(p: Poly) -> str:
    """A polynomial as a sum of powers; its coefficients are floats."""
    terms = []
    for i, c in reversed(list(enumerate(p))):
        if c:
            power = "" if not i else "x" if i == 1 else f"x**{i}"
            size = number(abs(c))
            term = power if power and size == "1" else f"{size}*{power}" if power else size
            terms.append(("-" if c < 0 else "+") + " " + term)
    text = " ".join(terms) or "+ 0"
    return text[2:] if text[0] == "+" else "-" + text[2:]


def of_poly(name: str, text: str, p: Poly) -> Known:
    return Known(name, text, (Piece(p),))


def product(draw: Draw, name: str, powers: Sequence[int]) -> Known:
    """A polynomial with real roots of the given multiplicities, at times with complex ones, as a product or as a sum."""
    p, text = poly(1), []
    dyadic = draw.random() < 0.5
    for power in powers:
        a = _dyadic(draw) if dyadic else _double(draw)
        for _ in range(power):
            p = times(p, poly(-a, 1))
        text.append(shifted(a) + (f"**{power}" if power > 1 else ""))
    if draw.random() < 0.3:
        b, c = _dyadic(draw), Fraction(draw.randint(1, 16), 8)
        p = times(p, poly(b * b + c, -2 * b, 1))
        text.append(f"({shifted(b)}**2 + {number(c)})")
    scale = draw.choice([1, 1, 1, -1, 3, 0.125, -100, 2.0**-60, 2.0**40])
    p = times(p, poly(scale))
    if dyadic and draw.random() < 0.5 and all(Fraction(float(c)) == c for c in p):
        return of_poly(name, expanded(p), p)
    return of_poly(name, "*".join(([number(Fraction(scale))] if scale != 1 else []) + text), p)


def simple(draw: Draw, name: str = "polynomial") -> Known:
    return product(draw, name, [1] * draw.randint(1, 4))


def multiple(draw: Draw) -> Known:
    return product(draw, "multiple roots", draw.choice([[2], [2, 1], [3], [2, 2], [4], [3, 1]]))


def near(draw: Draw) -> Known:
    """An even power that is moved up or down by almost nothing."""
    a, tiny = _dyadic(draw), Fraction(10 ** draw.uniform(-18, -6)) * draw.choice([1, 1, -1])
    power = draw.choice([2, 2, 4])
    p = reduce(times, [poly(-a, 1)] * power)
    if draw.random() < 0.3 and power == 2:
        last = Fraction(float(p[0] + tiny)) if p[0] or tiny else tiny
        p = poly(last, *p[1:])
        return of_poly("near root", expanded(p), p)
    p = plus(p, poly(tiny))
    return of_poly("near root", f"{shifted(a)}**{power} {'+' if tiny > 0 else '-'} {number(abs(tiny))}", p)


def where(draw: Draw) -> Known:
    """Two polynomials; often one of them tends to 0 where the other begins, or they meet."""
    c = _dyadic(draw)
    left, right = simple(draw), simple(draw)
    kind = draw.choice(["any", "left", "right", "meet", "constant"])
    if kind in ("left", "right"):
        there = product(draw, "", [1] * draw.randint(0, 1))
        touched = (
            of_poly("", f"{shifted(c)}*({there.text})", times(poly(-c, 1), there.pieces[0].num))
            if there.text
            else of_poly("", shifted(c), poly(-c, 1))
        )
        left, right = (touched, right) if kind == "left" else (left, touched)
    elif kind == "constant":
        k = _dyadic(draw)
        right = of_poly("", number(k), poly(k))
    elif kind == "meet":
        a = _dyadic(draw)
        p = plus(left.pieces[0].num, times(poly(-c, 1), poly(a)))
        right = of_poly("", f"{left.text} + {number(a)}*{shifted(c)}", p)
    closed = draw.random() < 0.5
    value = (left if closed else right).pieces[0].at(c)
    test = f"x {'<=' if closed else '<'} {number(c)}"
    text = f"where({test}, {left.text}, {right.text})" if draw.random() < 0.6 else f"(({left.text}) if {test} else ({right.text}))"
    return Known("where", text, (left.pieces[0], right.pieces[0]), (c,), (value,))


def _split(
    name: str, text: str, breaks: list[Fraction], of: Callable[[Fraction], tuple[Piece, Value]], whole: bool = True
) -> Known:
    """A function from what it is at and around given breaks."""
    inner = [breaks[0] - 1, *((c + d) / 2 for c, d in itertools.pairwise(breaks)), breaks[-1] + 1]
    return Known(name, text, tuple(of(x)[0] for x in inner), tuple(breaks), tuple(of(c)[1] for c in breaks), whole=whole)


def _line(draw: Draw) -> tuple[str, Fraction, Fraction]:
    """A line as text, slope and the place of its root."""
    k, a = Fraction(draw.choice([1, 1, 2, -1, 0.5])), _dyadic(draw)
    if draw.random() < 0.4:
        return "x", ONE, ZERO
    return (f"{number(k)}*" if k != 1 else "") + shifted(a), k, a


def kink(draw: Draw) -> Known:
    """The absolute value, relu, clamp, maximum or minimum of lines and products."""
    text, k, a = _line(draw)
    line = poly(-k * a, k)
    b, c = sorted((_dyadic(draw), _dyadic(draw)))
    c = c if c > b else b + 1
    kind = draw.choice(["abs", "relu", "clamp", "max", "min", "abs2"])
    if kind == "abs":
        return _split(
            "kink", f"abs({text})", [a], lambda x: (Piece(line if at(line, x) > 0 else times(line, poly(-1))), abs(at(line, x)))
        )
    if kind == "abs2":
        p = times(poly(-b, 1), poly(-c, 1))
        shown = f"abs({shifted(b)}*{shifted(c)})"
        return _split("kink", shown, [b, c], lambda x: (Piece(p if at(p, x) > 0 else times(p, poly(-1))), abs(at(p, x))))
    if kind == "relu":
        return _split("plateau", f"relu({text})", [a], lambda x: (Piece(line if at(line, x) > 0 else ()), max(at(line, x), ZERO)))
    if kind == "clamp":
        ends = sorted((a + b / k, a + c / k))

        def clamped(x: Fraction) -> tuple[Piece, Value]:
            y = at(line, x)
            return Piece(poly(b) if y <= b else poly(c) if y >= c else line), min(max(y, b), c)

        return _split("plateau", f"clamp({text}, {number(b)}, {number(c)})", ends, clamped)
    p, q = line, poly(b, -draw.choice([1, 2]) * k)
    best = max if kind == "max" else min
    cross = (at(q, ZERO) - at(p, ZERO)) / (p[1] - q[1])

    def chosen(x: Fraction) -> tuple[Piece, Value]:
        return Piece(best((p, q), key=lambda r: at(r, x))), best(at(p, x), at(q, x))

    return _split("kink", f"{kind}({text}, {expanded(q)})", [cross], chosen)


def steps(draw: Draw) -> Known:
    """floor, ceil, trunc, frac, %, fmod or sign of a line."""
    text, k, a = _line(draw)
    line = poly(-k * a, k)
    kind = draw.choice(["floor", "ceil", "trunc", "frac", "%", "%", "fmod", "sign", "line - floor"])
    size = Fraction(draw.choice([1, 2, 0.5, 0.75, 1.5])) if kind in ("%", "fmod") else ONE
    if kind == "sign":

        def side(x: Fraction) -> tuple[Piece, Value]:
            y = Fraction((at(line, x) > 0) - (at(line, x) < 0))
            return Piece(poly(y)), y

        return _split("jump", f"sign({text})", [a], side)
    last = int(abs(k) * (WINDOW + abs(a)) / size) + 1
    breaks = sorted(a + j * size / k for j in range(-last, last + 1))

    def whole(y: Fraction) -> int:
        floor = y // 1
        if kind == "ceil":
            return -((-y) // 1)
        return floor if kind in ("floor", "%", "line - floor") or y >= 0 else -((-y) // 1)

    def of(x: Fraction) -> tuple[Piece, Value]:
        y = at(line, x)
        n = Fraction(whole(y / size))
        if kind in ("floor", "ceil", "trunc"):
            return Piece(poly(n)), n
        return Piece(minus(line, poly(n * size))), y - n * size

    shown = {"%": f"({text}) % {number(size)}", "fmod": f"fmod({text}, {number(size)})", "line - floor": f"{text} - floor({text})"}
    return _split("jump", shown.get(kind, f"{kind}({text})"), breaks, of, whole=False)


def moved(draw: Draw) -> Known:
    """Steps that are moved, often so that they tend to 0 at a jump."""
    one = steps(draw)
    ends = (piece.at(c) for c, piece in zip(one.breaks, one.pieces, strict=False))
    limits = sorted({end for end in ends if end is not None})
    k = draw.choice(limits) if limits and draw.random() < 0.6 else _dyadic(draw, 8)
    made = combined(one, of_poly("", number(-k), poly(-k)), "+")
    return replace(made, name="jump", text=f"{one.text} {'-' if k >= 0 else '+'} {number(abs(k))}")


def hole(draw: Draw) -> Known:
    """p*q/p: a hole where p is 0; often q, or q minus a constant, tends to 0 there."""
    a = _dyadic(draw)
    q = product(draw, "", [1] * draw.randint(0, 2))
    body = q.pieces[0].num
    p = poly(-a, 1)
    zero = draw.random() < 0.6
    shift = at(body, a) if zero and Fraction(float(at(body, a))) == at(body, a) else ZERO
    top = times(p, body)
    if all(Fraction(float(c)) == c for c in top) and draw.random() < 0.6:
        text = f"({expanded(top)})/{shifted(a)}"
    else:
        text = f"{shifted(a)}*({q.text or '1'})/{shifted(a)}"
    text += f" {'-' if shift > 0 else '+'} {number(abs(shift))}" if shift else ""
    piece = Piece(minus(body, poly(shift)))
    return Known("hole", text, (piece, piece), (a,), (None,))


def pole(draw: Draw) -> Known:
    """p/q with rational poles."""
    top = simple(draw)
    places = sorted({_dyadic(draw) for _ in range(draw.randint(1, 2))})
    powers = [draw.choice([1, 1, 2]) for _ in places]
    below = reduce(times, [poly(-a, 1) for a, k in zip(places, powers, strict=True) for _ in range(k)])
    shown = "*".join(shifted(a) + (f"**{k}" if k > 1 else "") for a, k in zip(places, powers, strict=True))
    piece = Piece(top.pieces[0].num, below).reduced()
    return Known("pole", f"({top.text})/({shown})", (piece,) * (len(places) + 1), tuple(places), (None,) * len(places))


def tail(draw: Draw) -> Known:
    """A polynomial, or a constant, times exp(-w(x)), which underflows far from 0."""
    a = _dyadic(draw)
    k = Fraction(draw.choice([1, 2, 0.5, 30]))
    w = times(poly(k), times(poly(-a, 1), poly(-a, 1)))
    one = product(draw, "tail", [1] * draw.randint(0, 2))
    text = f"exp(-{number(k) + '*' if k != 1 else ''}{shifted(a)}**2)"
    return replace(one, text=f"({one.text})*{text}" if one.text else text, weight=w, name="tail")


def matrix(draw: Draw) -> Known:
    """Determinants, inverses, solutions and products of matrices of polynomials."""
    p, q = (product(draw, "", [1] * draw.randint(1, 2)) for _ in range(2))
    a, b, c = (_dyadic(draw) for _ in range(3))
    P, Q = p.pieces[0].num, q.pieces[0].num
    A, B, C = number(a), number(b), number(c)
    determinant = minus(times(P, Q), poly(a * b))
    kind = draw.choice(["det", "det3", "dot", "mv", "trace", "matmul", "outer", "inv", "solve", "norm", "chain"])
    made: dict[str, tuple[str, Poly]] = {
        "det": (f"det([[{p.text}, {A}], [{B}, {q.text}]])", determinant),
        "det3": (f"det([[{p.text}, {A}, 0], [{B}, {q.text}, {C}], [1, 0, x]])", plus(times(poly(0, 1), determinant), poly(a * c))),
        "dot": (f"dot([{p.text}, {A}], [{q.text}, {B}])", plus(times(P, Q), poly(a * b))),
        "mv": (f"mv([[{p.text}, {A}], [{B}, {q.text}]], [{C}, x])[0]", plus(times(P, poly(c)), poly(0, a))),
        "trace": (f"trace([[{p.text}, {A}], [{B}, {q.text}]])", plus(P, Q)),
        "matmul": (f"([[{p.text}, {A}], [{B}, {C}]] @ [[{q.text}, 1], [x, 2]])[0][0]", plus(times(P, Q), poly(0, a))),
        "outer": (f"outer([{p.text}, {A}], [{q.text}, {B}])[0][1]", times(P, poly(b))),
        "chain": (f"det([[{p.text}, {A}], [{B}, 1]] @ [[{q.text}, 0], [0, 1]])", times(Q, minus(P, poly(a * b)))),
    }
    if kind in made:
        return of_poly("matrix", *made[kind])
    if kind == "norm":
        a = a or ONE
        return of_poly("matrix", f"norm([{p.text}, {number(a)}])**2 - {number(a * a + 1)}", minus(times(P, P), poly(1)))
    text = (
        f"inv([[{p.text}, {A}], [{B}, {q.text}]])[0][0]"
        if kind == "inv"
        else f"solve([[{p.text}, {A}], [{B}, {q.text}]], [{C}, 1])[0]"
    )
    top = Q if kind == "inv" else minus(times(Q, poly(c)), poly(a))
    holes = tuple(x for x, _ in real_roots(determinant))
    piece = Piece(top, determinant).reduced() if determinant else Piece(())
    return Known("matrix", text, (piece,) * (len(holes) + 1), holes, (None,) * len(holes))


def both(draw: Draw) -> Known:
    """A sum or a product of two of the families."""
    a, b = (draw.choice([simple, where, kink, moved, steps, hole, kink])(draw) for _ in range(2))
    made = combined(a, b, draw.choice("+*"))
    return replace(made, name="combined")


FAMILIES: tuple[Callable[[Draw], Known], ...] = (
    simple,
    multiple,
    near,
    where,
    where,
    kink,
    moved,
    moved,
    hole,
    pole,
    tail,
    matrix,
    both,
)


def drawn(seed: int, families: Sequence[Callable[[Draw], Known]] = FAMILIES) -> Known:
    """A random function, which depends on the seed alone."""
    draw = random.Random(seed)
    one = draw.choice(families)(draw)
    if draw.random() < 0.15 and not one.weight:
        outer = draw.choice([name for name in OUTER if name])
        return replace(one, text=f"{outer}({one.text})", outer=outer)
    return one
