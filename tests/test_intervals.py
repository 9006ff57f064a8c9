"""Interval arithmetic on the tape: enclosures contain every value and derivative, and are tight for simple expressions."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_cli.autograd.modes import set_grad_enabled
from autodiff_cli.compiler.gradient import gradient
from autodiff_cli.solvers.equations import equations
from autodiff_cli.solvers.intervals.branch import branch
from autodiff_cli.solvers.intervals.enclosure import Enclosure
from autodiff_cli.solvers.system import System

_EXPRESSIONS = """
    sin(x)*exp(-x)  x**3-2*x+1  sqrt(x)-log(x)  tan(x)-x  atan2(x,x-1)  x**2.5  x**-1.5  2**x  0.3**x  x**x  1/(x-1)  abs(x-1)
    max(x,1-x)  min(x,2)  where(x>1,x,2*x)  floor(x)  x%2  fmod(x,2)  erf(x)  erfc(x)  ndtr(x)  lgamma(x)  gamma(x)  digamma(x)
    j0(x)  j1(x)  i0(x)  i1(x)  sinh(x)  cosh(x)  tanh(x)  asin(x/10)  acos(x/10)  atanh(x/20)  asinh(x)  cbrt(x)  expm1(x)
    log1p(x)  exp2(x)  hypot(x,x-2)  sigmoid(x)  softplus(x)  gelu(x)  x**-3  x**-2  x**0  sinc(x)  sign(x)  clamp(x,-1,1)
    relu(x)  x*log(x)  cos(x)**2  sin(50*x)  log2(x)  log10(x)  rsqrt(x)  square(x)
"""


def _enclosures(expression: str) -> tuple[System, Enclosure, Enclosure]:
    parsed = equations(expression, ["x"])
    system = System(expression, [parsed.program(one.residual) for one in parsed.equations], {"x": 1.5})
    assert system.tape is not None
    by, of = system.tape
    with np.errstate(all="ignore"), set_grad_enabled(False):
        slopes = [slope for one in of for slope in gradient(one, by)]
    return system, Enclosure(by, of), Enclosure(by, slopes)


@pytest.mark.parametrize("expression", _EXPRESSIONS.split())
def test_an_enclosure_contains_all_values_and_derivatives(expression: str) -> None:
    system, values, slopes = _enclosures(expression)
    generator = np.random.default_rng(0)
    low = generator.uniform(-5, 5, 200)
    width = 10 ** generator.uniform(-9, 1, 200)
    value, slope = values(low[None], low[None] + width)[0], slopes(low[None], low[None] + width)[0]
    for part in (0.0, 0.1, 0.5, 0.77, 1.0):
        x = low + part * width
        for i in range(200):
            given = system.values(x[i : i + 1])[0]
            if np.isfinite(given):
                assert value.low[i] <= given <= value.high[i]
                derivative = system.jacobian(x[i : i + 1])[0, 0]
                slack = 1e-14 * abs(derivative)  # the derivative is rounded several times
                assert not np.isfinite(derivative) or slope.low[i] - slack <= derivative <= slope.high[i] + slack
            else:
                assert not value.regular[i]


@pytest.mark.parametrize(
    ("expression", "low", "high", "expected", "regular"),
    [
        ("x**2", -1, 2, (0, 4), True),
        ("sin(x)", 0, 4, (np.sin(4), 1), True),
        ("cos(x)", -1, 1, (np.cos(1), 1), True),
        ("1/x", -1, 2, (-np.inf, np.inf), False),
        ("1/x", 1, 2, (0.5, 1), True),
        ("log(x)", -1, 1, (-np.inf, 0), False),
        ("sqrt(x)", -1, 4, (0, 2), False),
        ("tan(x)", 1, 2, (-np.inf, np.inf), False),
        ("floor(x)", 0.5, 1.5, (0, 1), False),
        ("where(x > 1, 5, x)", 0, 2, (0, 5), False),
        ("where(x > 1, 5, x)", 0, 0.5, (0, 0.5), True),
        ("atan2(x, -1)", -1, 1, (-np.pi, np.pi), False),
        ("exp(x)", 800, 900, (np.finfo(float).max, np.inf), True),
    ],
)
def test_bounds(expression: str, low: float, high: float, expected: tuple[float, float], regular: bool) -> None:
    _, values, _ = _enclosures(expression)
    found = values(np.array([float(low)]), np.array([float(high)]))[0]
    assert float(found.low) == pytest.approx(expected[0], rel=1e-14, abs=1e-300)
    assert float(found.high) == pytest.approx(expected[1], rel=1e-14, abs=1e-300)
    assert bool(found.regular) is regular


def test_a_function_that_is_not_defined_on_a_box_has_an_empty_enclosure() -> None:
    _, values, _ = _enclosures("log(x) + 1")
    assert bool(values(np.array([-2.0]), np.array([-1.0]))[0].empty)


def test_a_function_without_a_rule_is_unbounded() -> None:
    _, values, _ = _enclosures("polygamma(2, x)")
    found = values(np.array([1.0]), np.array([2.0]))[0]
    assert float(found.high) == np.inf or float(found.high) - float(found.low) > 1


def test_branch_and_bound_finds_every_root() -> None:
    _, values, slopes = _enclosures("sin(x)")
    found = branch(values, slopes, np.array([1.0]), np.array([100.0]), 16, 5.0)
    assert sorted(round(float(box.mean() / np.pi)) for box in found.proven) == list(range(1, 32))
    assert found.open == found.left == []
