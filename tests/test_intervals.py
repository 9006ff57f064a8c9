"""Interval arithmetic on the tape: enclosures contain every value and derivative, and are tight for simple expressions."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff_cli.solvers.equations import equations
from autodiff_cli.solvers.intervals.branch_and_bound import branch
from autodiff_cli.solvers.intervals.enclosure import Enclosure
from autodiff_cli.solvers.intervals.interval import increasing, outward, point
from autodiff_cli.solvers.system import System

_EXPRESSIONS = """
    sin(x)*exp(-x)  x**3-2*x+1  sqrt(x)-log(x)  tan(x)-x  atan2(x,x-1)  x**2.5  x**-1.5  2**x  0.3**x  x**x  1/(x-1)  abs(x-1)
    max(x,1-x)  min(x,2)  where(x>1,x,2*x)  floor(x)  x%2  fmod(x,2)  erf(x)  erfc(x)  ndtr(x)  lgamma(x)  gamma(x)  digamma(x)
    j0(x)  j1(x)  i0(x)  i1(x)  sinh(x)  cosh(x)  tanh(x)  asin(x/10)  acos(x/10)  atanh(x/20)  asinh(x)  cbrt(x)  expm1(x)
    log1p(x)  exp2(x)  hypot(x,x-2)  sigmoid(x)  softplus(x)  gelu(x)  x**-3  x**-2  x**0  sinc(x)  sign(x)  clamp(x,-1,1)
    relu(x)  x*log(x)  cos(x)**2  sin(50*x)  log2(x)  log10(x)  rsqrt(x)  square(x)  expi(x)  exp1(x)  lambertw(x)  lambertw(x,-1)
    gammainc(1.5,x)  gammaincc(1.5,x)  betainc(1.5,2,x)  iv(1.5,x)  kv(1.5,x)  x//0.7  ndtri(x)
"""
_ARRAYS = """
    det([[x,1],[1,x]])  det([[x,1,2],[1,x,3],[0,1,x]])  det([[[x,1],[1,x]],[[x,2],[3,x]]])[1]  logdet([[x,1],[1,3]])
    inv([[x,1],[1,9]])[0][0]  inv([[x,1,2],[1,x,3],[0,1,20]])[0][2]  solve([[x,1],[1,9]],[1,2])[0]
    solve([[x,1],[1,9]],[[1],[2]])[0][0]  norm([x,1,-2])  norm([x,1,-2],3)  norm([x,-1],1)  norm([x,-1],inf)
    norm([x,-1],-inf)  norm([x,2],0.5)  matrix_norm([[x,1],[2,3]])  max([x,1,x**2])  min([x,1,x**2])
    amax([[x,1],[2,x]],1)[0]  logsumexp([x,1])
    vdot([x,1],[x,x])  trace([[x,1],[1,x]]@[[1,x],[x,2]])  mv([[x,1],[1,2]],[x,x])[0]  outer([x,1],[x,2])[0][1]
    matrix_power([[x,1],[1,2]],3)[0][1]
"""
_BROKEN = """
    floor(x)  ceil(x)  x%1  1%x  sign(x)  heaviside(x,0.5)  copysign(2,x)  (x>0)*3  (x==0)*2  where(x>0,1,2)  1/x  x/x  x//1
    log(x)  x**-1  x**-2  x**-0.5  cot(x)  csc(x)  gamma(x)  digamma(x)  rsqrt(x)  atan2(x,-1)  atan2(x,x)  y0(x)  expi(x)
    exp1(x)  lambertw(x,-1)  clamp(1/x,-1,1)  exp(-1/x)  atan(1/x)  sin(1/x)  isfinite(1/x)*2  inv([[x,1],[0,1]])[0][0]
    max(floor(x),x)  hardshrink(x-0.5)  logdet([[x,0],[0,1]])
"""
_COMPILED = """
    x*exp(x)-1  x-sin(x)/2  x**3+x  x**5  x**-3  log(x)+erf(x)  x/(1+x**2)  where(x>1,x,2*x)-abs(x)  sqrt(x)+cos(x)
"""


def _enclosures(expression: str) -> tuple[System, Enclosure, Enclosure]:
    parsed = equations(expression, ["x"])
    system = System(expression, [parsed.program(one.residual) for one in parsed.equations], {"x": 1.5})
    assert system.enclosure is not None
    assert system.slopes is not None
    return system, system.enclosure, system.slopes


@pytest.mark.parametrize("expression", _ARRAYS.split())
def test_a_formula_of_an_array_encloses_the_function(expression: str) -> None:
    system, values, slopes = _enclosures(expression)
    for x in (0.37, 1.9, 3.4):
        at, wide = np.array([[x]]), np.array([[x + 1e-7]])
        value, slope = values(at, wide)[0], slopes(at, wide)[0]
        given, derivative = system.values(at[:, 0])[0], system.jacobian(at[:, 0])[0, 0]
        if np.isfinite(given):
            near = 1e-13 * (1 + abs(given))
            assert value.low[0] - near <= given <= value.high[0] + near
            assert value.high[0] - value.low[0] < 1e-4
        if np.isfinite(derivative):
            assert slope.low[0] - 1e-12 * (1 + abs(derivative)) <= derivative <= slope.high[0] + 1e-12 * (1 + abs(derivative))
    system, values, _ = _enclosures("det([[x, 1], [1, x]])")
    assert values(np.array([[1.0]]), np.array([[1.0]]))[0].holds(0.0)


@pytest.mark.parametrize(
    ("expression", "at", "exact"),
    [
        *(("exp(x)", 0, 1), ("exp2(x)", 0, 1), ("log(x)", 1, 0), ("log2(x)", 1, 0), ("log10(x)", 1, 0), ("sinh(x)", 0, 0)),
        *(("expm1(x)", 0, 0), ("log1p(x)", 0, 0), ("sin(x)", 0, 0), ("tanh(x)", 0, 0), ("atan(x)", 0, 0)),
    ],
)
def test_an_exact_value_is_enclosed_without_a_margin(expression: str, at: float, exact: float) -> None:
    _, values, _ = _enclosures(expression)
    (found,) = values(np.array([[float(at)]]), np.array([[float(at)]]))
    assert abs(found.low[0] - exact) <= 5e-324 >= abs(found.high[0] - exact)


@pytest.mark.parametrize("expression", _BROKEN.split())
def test_an_enclosure_knows_that_a_function_is_not_continuous_or_not_defined_at_0(expression: str) -> None:
    _, values, _ = _enclosures(expression)
    for below, above in ((1.0, 1.0), (1e-9, 1e-9), (1e-300, 1e-9)):
        assert not values(np.array([[-below]]), np.array([[above]]))[0].regular[0]


@pytest.mark.parametrize("expression", _EXPRESSIONS.split())
def test_an_enclosure_contains_all_values_and_derivatives(expression: str) -> None:
    system, values, slopes = _enclosures(expression)
    generator = np.random.default_rng(0)
    low = generator.uniform(-5, 5, 40)
    width = 10 ** generator.uniform(-9, 1, 40)
    value, slope = values(low[None], low[None] + width)[0], slopes(low[None], low[None] + width)[0]
    for part in (0.0, 0.1, 0.5, 0.77, 1.0):
        x = low + part * width
        for i in range(40):
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
        ("(-2)**x", 0.5, 1.5, (-np.inf, np.inf), False),
        ("0.5**x", -1, 2, (0.25, 2), True),
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


@pytest.mark.parametrize("expression", _COMPILED.split())
def test_machine_code_encloses_as_numpy_does(expression: str) -> None:
    pytest.importorskip("llvmlite")
    rng = np.random.default_rng(0)
    middle, radius = rng.uniform(-3, 3, (1, 1_000)), rng.choice([0, 1e-12, 0.1], (1, 1_000))
    middle[:, :20] = np.round(middle[:, :20])
    for enclosure in _enclosures(expression)[1:]:
        expected = enclosure(middle - radius, middle + radius)[0]
        enclosure.compile(1e9)
        assert enclosure._machine_code is not None
        actual = enclosure(middle - radius, middle + radius)[0]
        assert (actual.regular == expected.regular).all()
        for bound, numpy_bound in ((actual.low, expected.low), (actual.high, expected.high)):
            np.testing.assert_allclose(bound, numpy_bound, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("ulps", [1, 4])
def test_rounding_outwards_passes_the_neighbouring_floats(ulps: int) -> None:
    numbers = np.array([0.0, 5e-324, 1e-310, 1.0, np.nextafter(1.0, 0), np.nextafter(2.0, 0), 0.3, np.finfo(float).max, np.inf])
    numbers = np.concatenate([-numbers[::-1], numbers, [np.nan]])
    low, high, _ = outward(numbers, numbers, np.array(True), ulps)
    below, above = np.nextafter(numbers, -np.inf), np.nextafter(numbers, np.inf)
    for _ in range(ulps - 1):
        below, above = np.nextafter(below, -np.inf), np.nextafter(above, np.inf)
    known = ~np.isnan(numbers)
    assert (low[known] <= below[known]).all()
    assert (high[known] >= above[known]).all()
    assert np.isnan(low[~known]).all()
    assert low[0] == -np.inf
    assert np.isfinite(low[-2])
    ordinary = known & (np.abs(numbers) < 1e300)
    assert (low[ordinary] >= numbers[ordinary] - 2 * ulps * np.spacing(np.abs(numbers[ordinary]))).all()


@pytest.mark.parametrize("ulps", [-3, 3])
def test_a_function_of_a_library_may_err_by_three_units_in_the_last_place(ulps: int) -> None:
    """The libraries of C promise 4 units at most for the functions with a rule."""
    for x in (0.3, 7.0):
        found = increasing(point(x), lambda x: np.exp(x) + ulps * np.spacing(np.exp(x)))
        assert found.low <= np.exp(x) <= found.high
        assert found.high - found.low < 20 * np.spacing(np.exp(x))
