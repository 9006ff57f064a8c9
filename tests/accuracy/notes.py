"""How often notes are right: ``python -m tests.accuracy.notes [POINTS]`` prints a table.

Expressions are drawn as text of the language beside a function of mpmath's numbers, which knows nothing of autodiff.  Whether
a point needs a note is decided at 200 digits: by differences to the left and to the right for kinks, by the error of the
printed numbers for digits and overflows, by evaluating the pieces one after the other for nan and inf.  Points whose numbers
have between 7 and 10 correct digits are left out: whether a note is due there is a matter of taste.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np

import autodiff_cli as ad
from autodiff_cli import notes

Function = Callable[[Any], Any]
mp = mpmath.mp


@dataclass
class Case:
    """A point of an expression.

    Attributes:
        text: the expression; ``x`` its variable.
        at: the point.
        order: of the derivatives that are asked for.
        needs: whether a note is due.
        given: whether there is one.
    """

    text: str
    at: float
    order: int
    needs: bool
    given: bool


# Kinks

_SMOOTH: list[tuple[str, Function]] = [
    ("sin({z})", lambda z: mp.sin(z)),
    ("exp({z}/3)", lambda z: mp.exp(z / 3)),
    ("({z}**2 + 1)", lambda z: z * z + 1),
    ("cos(2*{z})", lambda z: mp.cos(2 * z)),
    ("{z}", lambda z: z),
    ("2.5", lambda z: mp.mpf(2.5)),
    ("atan({z})", lambda z: mp.atan(z)),
]
"""Of the place in proportion to the scale."""


def _median(*values: Any) -> Any:
    return sorted(values)[1]


_PIECES: list[tuple[str, Function]] = [
    ("abs({u})", abs),
    ("relu({u})", lambda u: max(u, 0)),
    ("max({u}, 0)", lambda u: max(u, 0)),
    ("min({u}, 3*{u})", lambda u: min(u, 3 * u)),
    ("clamp({u}, 0, 1)", lambda u: min(max(u, 0), 1)),
    ("where({u} > 0, {u}, -2*{u})", lambda u: u if u > 0 else -2 * u),
    ("where({u} >= 0, {u}**2, {u}**2)", lambda u: u * u),
    ("({u} if {u} > 0 else {u}**2)", lambda u: u if u > 0 else u * u),
    ("(sin({u}) if {u} <= 0 else {u})", lambda u: mp.sin(u) if u <= 0 else u),
    ("({u}**3 if {u} < 0 else -{u}**3)", lambda u: u**3 if u < 0 else -(u**3)),
    ("(1 if {u} > 0 else 2)", lambda u: mp.mpf(1 if u > 0 else 2)),
    ("{u}*sign({u})", abs),
    ("{u}*abs({u})", lambda u: u * abs(u)),
    ("{u}**2*sign({u})", lambda u: u * u * mp.sign(u)),
    ("abs({u})**2", lambda u: u * u),
    ("abs({u})**1.5", lambda u: abs(u) ** mp.mpf(1.5)),
    ("sort([{u}, 0])[0][0]", lambda u: min(u, 0)),
    ("sum(sort([{u}, 0])[0])", lambda u: u),
    ("cummax([{u}, 0])[0][1]", lambda u: max(u, 0)),
    ("cummin([0, 2*{u}])[0][1]", lambda u: min(2 * u, 0)),
    ("topk([{u}, 0], 1)[0][0]", lambda u: max(u, 0)),
    ("median([{u}, 0, 1])", lambda u: _median(u, 0, 1)),
    ("median([{u}, 2*{u}, 3*{u}])", lambda u: 2 * u),
    ("norm([{u}, 2*{u}])", lambda u: mp.sqrt(5) * abs(u)),
    ("amax([{u}, 0*{u}, -1])", lambda u: max(u, 0)),
    ("hypot({u}, {u})", lambda u: mp.sqrt(2) * abs(u)),
    ("floor({u})", mp.floor),
    ("({u} - floor({u}))", lambda u: u - mp.floor(u)),
    ("max({u}, 0) + min({u}, 0)", lambda u: u),
    ("(abs({u}) - abs(-{u}))", lambda u: u * 0),
    ("0*abs({u})", lambda u: u * 0),
    ("relu({u})**2", lambda u: max(u, 0) ** 2),
    ("softsign({u})", lambda u: u / (1 + abs(u))),
    ("elu({u})", lambda u: u if u > 0 else mp.expm1(u)),
    ("huber_loss({u}, 1)", lambda u: (u - 1) ** 2 / 2 if abs(u - 1) <= 1 else abs(u - 1) - mp.mpf(0.5)),
    ("leaky_relu({u}, 0.5)", lambda u: max(u, 0) + min(u, 0) / 2),
    ("({u} if {u} != 0 else 0)", lambda u: u),
    ("fmod({u}, 2)", lambda u: u - 2 * mp.sign(u) * mp.floor(abs(u) / 2)),
]
_AROUND: list[tuple[str, Callable[[Any, Any], Any]]] = [
    ("{p}", lambda p, s: p),
    ("{p} + {s}", lambda p, s: p + s),
    ("({p})*{s}", lambda p, s: p * s),
    ("sin({p}) + {s}", lambda p, s: mp.sin(p) + s),
    ("{s} - 3*({p})", lambda p, s: s - 3 * p),
    ("exp({p})*{s}", lambda p, s: mp.exp(p) * s),
]


def kinks(count: int, order: int, seed: int) -> Iterator[Case]:
    """Points at which something may switch, and a few at which nothing does."""
    draw = random.Random(seed)
    while count:
        scale = draw.choice([1.0, 1.0, 1.0, 2.0**-40, 2.0**20])
        x0 = draw.choice([0.0, 1.0, -2.0, 0.5, 3.0]) * scale
        factor = draw.choice([1.0, 2.0, -1.0]) / scale
        u = f"({factor!r}*(x - {x0!r}))" if draw.random() < 0.7 else f"({factor!r}*x - {factor * x0!r})"
        (piece, inner), (text, smooth), (around, outer) = draw.choice(_PIECES), draw.choice(_SMOOTH), draw.choice(_AROUND)
        at = x0 if draw.random() < 0.85 else x0 + scale * draw.uniform(0.1, 0.4)

        whole = around.format(p=piece.format(u=u), s=text.format(z=f"({1 / scale!r}*x)"))
        f = _composed(inner, smooth, outer, factor, x0, scale)
        result = ad.evaluate(whole, {"x": at}, order=order)
        answers = [result.grad["x"], result.hessian["x"]["x"]] if order == 2 else [result.grad["x"]]
        needs = _switches(f, at, scale, [float(a) for a in answers])
        given = any(note["kind"] == "kink" for note in result.notes)
        count -= 1
        yield Case(whole, at, order, needs, given)


def _composed(inner: Function, smooth: Function, outer: Any, factor: float, x0: float, scale: float) -> Function:
    return lambda x: outer(inner(mp.mpf(factor) * (x - mp.mpf(x0))), smooth(x / mp.mpf(scale)))


def _switches(f: Function, at: float, scale: float, answers: list[float]) -> bool:
    """Whether the value or a derivative is another one on the other side, or at the point."""
    with mp.workdps(200):
        x, h = mp.mpf(at), mp.mpf(10) ** -30 * mp.mpf(scale)
        here = f(x)
        sides = []
        for side in (-1, 1):
            near = [f(x + side * k * h) for k in (1, 2, 3)]
            slope = side * (near[1] - near[0]) / h
            bend = (near[2] - 2 * near[1] + near[0]) / h**2
            sides.append((near[0], slope, bend))
        size = max(abs(here), mp.mpf(1))
        if any(abs(side[0] - here) > size * mp.mpf(10) ** -12 for side in sides):
            return True
        for k, answer in enumerate(answers):
            left, right = sides[0][k + 1], sides[1][k + 1]
            if max(abs(left), abs(right)) * mp.mpf(scale) ** (k + 1) > mp.mpf(10) ** 9:  # it grows as the step shrinks
                return True
            if math.isnan(answer):
                return True
            least = mp.mpf(10) ** -12 / mp.mpf(scale) ** (k + 1)
            if abs(left - right) > max(abs(left), abs(right)) * mp.mpf(10) ** -6 + least:
                return True
            if abs(left - answer) > abs(left) * mp.mpf(10) ** -6 + least:
                return True
    return False


# Digits

_CANCEL: list[tuple[str, Function]] = [
    ("(1 - cos(x))", lambda x: 1 - mp.cos(x)),
    ("(exp(x) - 1)", lambda x: mp.exp(x) - 1),
    ("log(1 + x)", lambda x: mp.log(1 + x)),
    ("(sqrt(1 + x) - 1)", lambda x: mp.sqrt(1 + x) - 1),
    ("(sqrt(x + 1) - sqrt(x))", lambda x: mp.sqrt(x + 1) - mp.sqrt(x)),
    ("(1/x - 1/(x + 1))", lambda x: 1 / x - 1 / (x + 1)),
    ("(sin(x) - x)", lambda x: mp.sin(x) - x),
    ("(tan(x) - sin(x))", lambda x: mp.tan(x) - mp.sin(x)),
    ("((1 + x)**2 - 1 - 2*x)", lambda x: (1 + x) ** 2 - 1 - 2 * x),
    ("(cosh(x/50) - 1)", lambda x: mp.cosh(x / 50) - 1),
    ("(x**2 - (x + 1)*(x - 1))", lambda x: x**2 - (x + 1) * (x - 1)),
    ("(log(x + 1) - log(x))", lambda x: mp.log(x + 1) - mp.log(x)),
    ("(1 - tanh(x))", lambda x: 1 - mp.tanh(x)),
    ("(atan(x + 1) - atan(x))", lambda x: mp.atan(x + 1) - mp.atan(x)),
    ("(sigmoid(x) - 0.5)", lambda x: 1 / (1 + mp.exp(-x)) - mp.mpf(0.5)),
    ("sin(1000000*x)", lambda x: mp.sin(1000000 * x)),
    ("(x**3 - 3*x**2 + 3*x - 1)", lambda x: x**3 - 3 * x**2 + 3 * x - 1),
    ("(exp(sin(x)) - cos(x))", lambda x: mp.exp(mp.sin(x)) - mp.cos(x)),
    ("(x*exp(-x))", lambda x: x * mp.exp(-x)),
    ("(2 + sin(x))", lambda x: 2 + mp.sin(x)),
    ("expm1(x)", lambda x: mp.expm1(x)),
    ("log1p(x)", lambda x: mp.log1p(x)),
]
_WITH: list[tuple[str, Callable[[Any, Any], Any]]] = [
    ("{t}", lambda t, x: t),
    ("{t}/x", lambda t, x: t / x),
    ("3 + {t}", lambda t, x: 3 + t),
    ("{t}*exp(-x)", lambda t, x: t * mp.exp(-x)),
    ("{t}**2", lambda t, x: t**2),
    ("x**2*{t}", lambda t, x: x**2 * t),
    ("sin({t})", lambda t, x: mp.sin(t)),
    ("{t}/x**2", lambda t, x: t / x**2),
]


def digits(count: int, order: int, seed: int) -> Iterator[Case]:
    """Sums that cancel, more or less: digits of the value (order 0) or of a derivative."""
    draw = random.Random(seed)
    while count:
        (piece, inner), (around, outer) = draw.choice(_CANCEL), draw.choice(_WITH)
        x = 10 ** draw.uniform(-12, 2.5)

        def f(x: Any, inner: Function = inner, outer: Any = outer) -> Any:
            return outer(inner(x), x)

        text = around.format(t=piece)
        result = ad.evaluate(text, {"x": x}, order=max(order, 1))
        answer = float([result.value, result.grad["x"], result.hessian.get("x", {}).get("x", 0.0)][order])
        error = _error(f, x, order, answer)
        if error is None or mp.mpf(10) ** -10 < error < mp.mpf(10) ** -7:
            continue
        given = any(note["kind"] == "cancellation" and note["order"] == order for note in result.notes)
        count -= 1
        yield Case(text, x, order, bool(error >= mp.mpf(10) ** -7), given)


def _derivative(f: Function, x: float, order: int) -> Any:
    """At 900 digits, so that no sum of two floats loses a digit."""
    point = mp.mpf(x)
    h = abs(point) * mp.mpf(10) ** -60 or mp.mpf(10) ** -400
    if order == 0:
        return f(point)
    if order == 1:
        return (f(point + h) - f(point - h)) / (2 * h)
    return (f(point + h) - 2 * f(point) + f(point - h)) / h**2


def _error(f: Function, x: float, order: int, answer: float) -> Any:
    """The error in proportion; ``None`` where a number to compare with is missing, or is too small or large for floats."""
    with mp.workdps(900):
        try:
            true = _derivative(f, x, order)
        except (ValueError, ZeroDivisionError, OverflowError):
            return None
        if not isinstance(true, mpmath.mpf) or mp.isnan(true) or not mp.mpf(10) ** -290 < abs(true) < mp.mpf(10) ** 300:
            return None
        return mp.mpf(1) if not math.isfinite(answer) else abs(answer - true) / abs(true)


# Overflows

_ENDS: list[tuple[str, Function, bool]] = [
    ("sqrt(x**2 + 1)", lambda x: mp.sqrt(x**2 + 1), True),
    ("1/sqrt(x**2 + 1)", lambda x: 1 / mp.sqrt(x**2 + 1), True),
    ("x/sqrt(1 + x**2)", lambda x: x / mp.sqrt(1 + x**2), True),
    ("sqrt(x**2 + (2*x)**2)", lambda x: mp.sqrt(5) * abs(x), True),
    ("x**2/(1 + x**2)", lambda x: x**2 / (1 + x**2), True),
    ("(x**4)**0.25", lambda x: abs(x), True),
    ("log(x*x)", lambda x: mp.log(x * x), True),
    ("x**3/x**2", lambda x: x, True),
    ("1/(1/x)", lambda x: x, True),
    ("(x*1e200)*1e-200", lambda x: x * mp.mpf(1e200) * mp.mpf(1e-200), True),
    ("atan(x**2)/x", lambda x: mp.atan(x**2) / x, True),
    ("hypot(x, 1)", lambda x: mp.sqrt(x**2 + 1), True),
    ("log(exp(x) + 1)", lambda x: mp.log(mp.exp(x) + 1), False),
    ("exp(x)/(2 + exp(x))", lambda x: mp.exp(x) / (2 + mp.exp(x)), False),
    ("log(exp(x))", lambda x: x, False),
    ("exp(x)*exp(-x)", lambda x: mp.mpf(1) + 0 * x, False),
    ("exp(x/2)**2", lambda x: mp.exp(x), False),
    ("x + exp(-x**2)", lambda x: x + mp.exp(-(x**2)), False),
    ("x + tanh(exp(x))", lambda x: x + mp.tanh(mp.exp(x)), False),
    ("x*exp(-x)", lambda x: x * mp.exp(-x), False),
    ("softplus(x) + x**2", lambda x: mp.log1p(mp.exp(x)) + x**2, False),
    ("sqrt(exp(x))", lambda x: mp.exp(x / 2), False),
]


def overflows(count: int, seed: int) -> Iterator[Case]:
    """Numbers of all sizes in what is too large or too small for floats on the way."""
    draw = random.Random(seed)
    while count:
        text, f, wide = draw.choice(_ENDS)
        x = 10 ** draw.uniform(-250, 250) if wide else draw.choice([-1, 1]) * 10 ** draw.uniform(0, 3.2)
        result = ad.evaluate(text, {"x": x})
        errors = [_error(f, x, 0, float(result.value)), _error(f, x, 1, float(result.grad["x"]))]
        known = [error for error in errors if error is not None]
        if not known or any(mp.mpf(10) ** -10 < error < mp.mpf(10) ** -7 for error in known):
            continue
        wrong = any(error >= mp.mpf(10) ** -7 for error in known)
        given = any(note["kind"] in ("overflow", "underflow", "cancellation") for note in result.notes)
        count -= 1
        yield Case(text, x, 1, wrong, given)


# Births

_STEPS: list[tuple[str, Callable[[Any], Any]]] = [
    ("log({})", np.log),
    ("sqrt({})", np.sqrt),
    ("exp({})", np.exp),
    ("1/({})", lambda v: np.float64(1) / v),
    ("({} - 1)", lambda v: v - 1),
    ("acos({})", np.arccos),
    ("atanh({})", np.arctanh),
    ("({})**2", lambda v: v * v),
    ("(-{})", lambda v: -v),
    ("sin({})", np.sin),
    ("2*({})", lambda v: 2 * v),
    ("log1p({})", np.log1p),
    ("cosh({})", np.cosh),
]


def births(count: int, seed: int) -> Iterator[Case]:
    """Chains of functions: the piece at which a finite number becomes nan or inf has to be the place of the note."""
    draw = random.Random(seed)
    while count:
        value, text, born = (
            np.float64(draw.choice([0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 300.0, 1e200, 1e-200, draw.uniform(-5, 5)])),
            "x",
            "",
        )
        at = float(value)
        with np.errstate(all="ignore"):
            for _ in range(draw.randint(2, 5)):
                step, function = draw.choice(_STEPS)
                before, value, text = value, function(value), step.format(text)
                if not born and np.isfinite(before) and not np.isfinite(value):
                    born = text
        found = [
            note for note in ad.evaluate(text, {"x": at}).notes if note["kind"] in ("domain", "nonfinite") and note["order"] == 0
        ]
        needs = not np.isfinite(value)
        places = [text[slice(*note["span"])] for note in found]
        count -= 1
        # A bracket around a piece belongs to what is around it.
        yield Case(text, at, 0, needs, born.strip("()") in [place.strip("()") for place in places] if needs else bool(found))


KINDS: dict[str, Callable[[int, int], Iterator[Case]]] = {
    "kink": lambda count, seed: kinks(count, 1, seed),
    "kink of a second derivative": lambda count, seed: kinks(count, 2, seed),
    "digits of the value": lambda count, seed: digits(count, 0, seed),
    "digits of a derivative": lambda count, seed: digits(count, 1, seed),
    "digits of a second derivative": lambda count, seed: digits(count, 2, seed),
    "overflow, underflow": overflows,
    "nan and inf": births,
}


def _share(wrong: list[Case], all_: list[Case]) -> str:
    return f"{len(wrong)} ({100 * len(wrong) / max(len(all_), 1):.1f} %)"


def main(points: int, seed: int = 1) -> None:
    """Print the table, and the points that are wrong on standard error."""
    notes.STRICT = True
    print("| kind of note | points | need one | missed | need none | needless |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, generate in KINDS.items():
        cases = list(generate(points, seed))
        due, others = [c for c in cases if c.needs], [c for c in cases if not c.needs]
        missed, needless = [c for c in due if not c.given], [c for c in others if c.given]
        shares = f"{_share(missed, due)} | {len(others)} | {_share(needless, others)}"
        print(f"| {name} | {len(cases)} | {len(due)} | {shares} |", flush=True)
        for what, wrong in (("missed", missed), ("needless", needless)):
            for case in wrong[:20]:
                sys.stderr.write(f"{name}: {what}: {case.text} at x = {case.at!r}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
