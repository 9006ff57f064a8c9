"""Random expressions: value, gradient and Hessian against mpmath's numeric derivatives at 50 digits."""

from __future__ import annotations

from typing import Any

import mpmath
from hypothesis import given, settings
from hypothesis import strategies as st

from autodiff_cli.language.evaluate import evaluate

# Functions that are smooth and tame everywhere, so that a derivative cannot hide behind a kink or an overflow.
FUNCTIONS: dict[str, tuple[str, Any]] = {
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
    text, function = FUNCTIONS[name]
    return Formula(text.format(inner.text), lambda x, y: function(inner.function(x, y)))


def _pair(a: Formula, b: Formula, name: str) -> Formula:
    text, function = PAIRS[name]
    return Formula(text.format(a.text, b.text), lambda x, y: function(a.function(x, y), b.function(x, y)))


FORMULAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(_unary, inner, st.sampled_from(sorted(FUNCTIONS))),
        st.builds(_pair, inner, inner, st.sampled_from(sorted(PAIRS))),
    ),
    max_leaves=6,
)
POINTS = st.integers(-12, 12).map(lambda n: n / 8)


@given(FORMULAS, POINTS, POINTS)
@settings(max_examples=150, deadline=None)
def test_value_gradient_and_hessian(formula: Formula, x: float, y: float) -> None:
    result = evaluate(formula.text, {"x": x, "y": y}, order=2)
    with mpmath.workdps(50):
        truth = {
            order: mpmath.diff(formula.function, (mpmath.mpf(x), mpmath.mpf(y)), order) if any(order) else formula.function(x, y)
            for order in ((0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2))
        }
        size = 1 + max(abs(float(value)) for value in truth.values())
    got = {
        (0, 0): result.value,
        (1, 0): result.grad["x"],
        (0, 1): result.grad["y"],
        (2, 0): result.hessian["x"]["x"],
        (1, 1): result.hessian["x"]["y"],
        (0, 2): result.hessian["y"]["y"],
    }
    for order, value in got.items():
        assert abs(float(value) - float(truth[order])) <= 1e-9 * size, (order, value, truth[order])
    assert result.hessian["x"]["y"] == result.hessian["y"]["x"]
