"""Random expressions of numbers and of vectors, as text of the language: all elementwise functions, in their domains.

``FORMULAS`` are expressions of ``x`` and ``y`` with the same function of mpmath beside it; ``EXPRESSIONS`` are of ``x``, ``y``
and the vector ``v`` of three elements, with reductions, products, indexing and choices.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
from hypothesis import strategies as st

import autodiff_cli as ad
import autodiff_cli.ops  # declares all functions
from autodiff_cli.autograd.primitives.registry import FUNCTIONS, FunctionInfo
from tests.points import samples_of

# Functions that are smooth and tame everywhere, so that a derivative cannot hide behind a kink or an overflow.
SMOOTH: dict[str, tuple[str, Any]] = {
    "sin": ("sin({})", mpmath.sin),
    "cos": ("cos({})", mpmath.cos),
    "tanh": ("tanh({})", mpmath.tanh),
    "atan": ("atan({})", mpmath.atan),
    "asinh": ("asinh({})", mpmath.asinh),
    "sigmoid": ("sigmoid({})", lambda v: 1 / (1 + mpmath.exp(-v))),
    "softplus": ("softplus({})", lambda v: mpmath.log(1 + mpmath.exp(v))),
    "bell": ("exp(-({})**2)", lambda v: mpmath.exp(-(v**2))),
    "root": ("sqrt(1 + ({})**2)", lambda v: mpmath.sqrt(1 + v**2)),
    "log": ("log(2 + sin({}))", lambda v: mpmath.log(2 + mpmath.sin(v))),
    "cube": ("({})**3", lambda v: v**3),
    "power": ("(1.5 + cos({}))**1.7", lambda v: (mpmath.mpf(1.5) + mpmath.cos(v)) ** mpmath.mpf(1.7)),
    "exponent": ("2**sin({})", lambda v: mpmath.mpf(2) ** mpmath.sin(v)),
    "acos": ("acos(0.9*sin({}))", lambda v: mpmath.acos(mpmath.mpf(0.9) * mpmath.sin(v))),
    "log1p": ("log1p(({})**2)", lambda v: mpmath.log(1 + v**2)),
    "expm1": ("expm1(cos({}))", lambda v: mpmath.exp(mpmath.cos(v)) - 1),
}
PAIRS: dict[str, tuple[str, Any]] = {
    "+": ("({} + {})", lambda a, b: a + b),
    "-": ("({} - {})", lambda a, b: a - b),
    "*": ("({}*{})", lambda a, b: a * b),
    "/": ("({}/(1 + ({})**2))", lambda a, b: a / (1 + b**2)),
    "hypot": ("hypot({}, 1 + ({})**2)", lambda a, b: mpmath.sqrt(a**2 + (1 + b**2) ** 2)),
    "atan2": ("atan2({}, 1 + ({})**2)", lambda a, b: mpmath.atan2(a, 1 + b**2)),
    "power": ("(1.5 + sin({}))**tanh({})", lambda a, b: (mpmath.mpf(1.5) + mpmath.sin(a)) ** mpmath.tanh(b)),
}


class Formula:
    """An expression as text of the language and as a function of mpmath's numbers."""

    def __init__(self, text: str, function: Any) -> None:
        self.text = text
        self.function = function

    def __repr__(self) -> str:
        return self.text


LEAVES = st.one_of(
    st.just(Formula("x", lambda x, y: x)),
    st.just(Formula("y", lambda x, y: y)),
    st.integers(-4, 4).map(lambda n: Formula(f"({n / 2})", lambda x, y: mpmath.mpf(n) / 2)),
)


def _unary(inner: Formula, name: str) -> Formula:
    text, function = SMOOTH[name]
    return Formula(text.format(inner.text), lambda x, y: function(inner.function(x, y)))


def _pair(a: Formula, b: Formula, name: str) -> Formula:
    text, function = PAIRS[name]
    return Formula(text.format(a.text, b.text), lambda x, y: function(a.function(x, y), b.function(x, y)))


FORMULAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(_unary, inner, st.sampled_from(sorted(SMOOTH))),
        st.builds(_pair, inner, inner, st.sampled_from(sorted(PAIRS))),
    ),
    max_leaves=6,
)
POINTS = st.integers(-12, 12).map(lambda n: n / 8)


# Vectors, and all functions of numbers

ELEMENTS = ("v1", "v2", "v3")
"""The elements of ``v`` as numbers of their own."""
RANGES = (
    ("2*sin({})", -2.0, 2.0),
    ("1.5 + sin({})", 0.5, 2.5),
    ("0.9*sin({})", -0.9, 0.9),
    ("0.5 + 0.4*sin({})", 0.1, 0.9),
    ("2.5 + sin({})", 1.5, 3.5),
)
"""What brings any number into a range, and its ends."""
LARGEST = 150.0
"""A function with larger values in a range has a pole there."""
BY_HAND = {"zeta": "zeta(2, 1.5 + sin({}))", "polygamma": "polygamma(1, 1.5 + sin({}))", "sinc": "sinc(1.5 + sin({}))"}
"""The derivative by the first argument does not exist; and the formula of the derivative of sinc loses digits near 0."""


def call(op: FunctionInfo) -> str:
    """A call with arguments from ranges where the function exists, ``{}`` for what they are made of."""
    if op.name in BY_HAND:
        return BY_HAND[op.name]
    places = np.random.default_rng(len(op.name)).uniform(size=(len(op.tensors), 1000))
    for ranges in itertools.product(RANGES, repeat=len(op.tensors)):
        grids = [low + (high - low) * place for (_, low, high), place in zip(ranges, places, strict=True)]
        with np.errstate(all="ignore"):
            values = op.function(*map(ad.as_tensor, grids)).numpy()
        if np.all(np.abs(values) <= LARGEST):
            return f"{op.name}({', '.join(wrapped for wrapped, _, _ in ranges)})"
    raise AssertionError(f"{op.name} exists nowhere")


@functools.cache
def elementwise() -> dict[str, str]:
    """The calls of all functions of numbers, by name."""
    FUNCTIONS.complete()
    numbers = [op for op in FUNCTIONS.values() if samples_of(op) and all(type(v) in (int, float) for v in samples_of(op)[0])]
    return {op.name: call(op) for op in numbers if op.tensors and "dim" not in op.parameters}


OPERATORS = ("{} + {}", "{} - {}", "{}*{}", "{}/(1.5 + ({})**2)", "-{}*{}", "max({}, {})", "min({}, {})")
POWERS = ("({})**2", "({})**3", "(2 + sin({}))**-2", "2**sin({})", "(1.5 + cos({}))**1.7")
CHOICES = ("where({} > {}, {}, {})", "where({} <= {}, {}, {})")
OF_NUMBERS = ("({2} if {0} < {1} else {3})", "({2} if {0} < {1} and {2} > 0.3 else {3})", "({2} if not {0} >= {1} else {3})")
MATRIX = "[[1, 0.5, -1], [2, 1, 0.25], [0, -1, 1.5]]"
REDUCTIONS = ("sum({})", "mean({})", "prod({})", "({})[0]", "({})[-1]", "sum(({})[1:])", "cumsum({}, dim=0)[1]", "sum({0}*{0})")
OF_TWO = ("dot({}, {})", "({}) @ ({})", f"({{}}) @ {MATRIX} @ ({{}})", "sum(outer({}, {})[1])")
VECTORS = (f"({MATRIX} @ ({{}}))", f"(({{}}) @ {MATRIX})", "flip({}, 0)", "roll({}, 1)", "cumprod({}, dim=0)", "({})[[2, 0, 1]]")


@dataclass(frozen=True)
class Piece:
    """A part of an expression, in brackets where it is not a name or a call."""

    text: str
    vector: bool

    def __repr__(self) -> str:
        return self.text


def _of(templates: Sequence[str], count: int, inner: Any, vector: bool | None = None) -> Any:
    """Templates filled with parts; a vector if one of them is, unless that is said."""

    def made(template: str, parts: list[Piece]) -> Piece:
        found = any(part.vector for part in parts) if vector is None else vector
        return Piece(f"({template.format(*parts)})", found)

    return st.builds(made, st.sampled_from(templates), st.lists(inner, min_size=count, max_size=count))


def _grown(inner: Any) -> Any:
    numbers, vectors = inner.filter(lambda part: not part.vector), inner.filter(lambda part: part.vector)
    by_count = {n: [text for text in elementwise().values() if text.count("{}") == n] for n in (1, 2, 3)}
    return st.one_of(
        *[_of(texts, n, inner) for n, texts in by_count.items()],
        _of(OPERATORS, 2, inner),
        _of(POWERS, 1, inner),
        _of(CHOICES, 4, inner),
        _of(OF_NUMBERS, 4, numbers),
        _of(REDUCTIONS, 1, vectors, False),
        _of(OF_TWO, 2, vectors, False),
        _of(VECTORS, 1, vectors, True),
    )


def _parts() -> Any:
    starts = [Piece(text, False) for text in ("x", "y", "0.7", "v[1]")]
    starts += [Piece(text, True) for text in ("v", "v", "[x, 0.5, y]", "[1, -2, 0.5]")]
    return st.recursive(st.sampled_from(starts), _grown, max_leaves=8)


PARTS = st.deferred(_parts)
"""Made when a test needs it: all functions are tried for that."""
EXPRESSIONS = PARTS.map(lambda part: f"sum({part})" if part.vector else part.text)
"""Texts whose value is one number."""
VALUES = st.integers(-12, 12).map(lambda n: n / 8 + 0.01)
"""Of variables, away from where functions have kinks."""
