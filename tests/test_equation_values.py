"""Values that equations, minima and integrals define in an expression: in every engine, against mpmath and explicit formulas."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.errors import NoValue
from tests.accuracy import implicit
from tests.shell import run, streams

CUBIC = "root(y=1, y**3 + y = x)"
LAMBERT = "root(y=1, y*exp(y) = x)"


def _cubic(x: Any) -> Any:
    """Cardano's formula for y**3 + y = x."""
    root = mpmath.sqrt(x**2 / 4 + mpmath.mpf(1) / 27)
    return mpmath.cbrt(x / 2 + root) - mpmath.cbrt(root - x / 2)


def _derivatives(function: Callable[[Any], Any], x: float, order: int) -> list[float]:
    with mpmath.workdps(60):
        return [float(c * mpmath.factorial(n)) for n, c in enumerate(mpmath.taylor(function, mpmath.mpf(x), order))]


EXPLICIT: list[tuple[str, Callable[[Any], Any], float]] = [
    (CUBIC, _cubic, 2.5),
    ("root(y=0..9, y**3 + y = x)", _cubic, 0.3),
    (LAMBERT, mpmath.lambertw, 2.0),
    ("argmin(y=1, exp(y)*(y - 1) - x*y)", mpmath.lambertw, 2.0),
    ("f(a) = root(y=1, y**2 = a); f(x)*f(f(x))", lambda x: x ** (mpmath.mpf(3) / 4), 3.0),
    ("sum(i=1..3, root(y=1, y**2 = i*x))", lambda x: sum(mpmath.sqrt(i * x) for i in (1, 2, 3)), 1.7),
    ("c = 2*x; root(y=1, y**2 = c) if x > 0 else x", lambda x: mpmath.sqrt(2 * x), 1.7),
    ("root([u, v]=[2, 1], [u*v = x, u - v = 1])[0]", lambda x: (1 + mpmath.sqrt(1 + 4 * x)) / 2, 2.3),
    ("integral(t=0..x, exp(-t**2))", lambda x: mpmath.sqrt(mpmath.pi) / 2 * mpmath.erf(x), 0.7),
    ("integral(t=x..1, exp(-t**2))", lambda x: mpmath.sqrt(mpmath.pi) / 2 * (mpmath.erf(1) - mpmath.erf(x)), 0.7),
    ("integral(t=x**2..sin(x), t*x)", lambda x: x * (mpmath.sin(x) ** 2 - x**4) / 2, 0.6),
    ("integral(t=0..inf, t**(x - 1)*exp(-t))", mpmath.gamma, 2.5),
    ("integral(t=0..1, t**(x - 1)/sqrt(1 - t))", lambda x: mpmath.beta(x, 0.5), 0.4),
    ("integral(t=-inf..inf, exp(-x*t**2))", lambda x: mpmath.sqrt(mpmath.pi / x), 1.3),
    ("integral(s=0..1, integral(t=0..s, exp(x*t)))", lambda x: (mpmath.exp(x) - 1 - x) / x**2, 0.8),
]
"""Expressions, and the same functions without a definition."""


@pytest.mark.parametrize(("expression", "function", "x"), EXPLICIT)
def test_values_and_derivatives_by_a_formula(expression: str, function: Callable[[Any], Any], x: float) -> None:
    exact = _derivatives(function, x, 3)
    result = ad.evaluate(expression, {"x": x}, order=2)
    assert [result.value, result.grad["x"], result.hessian["x"]["x"]] == pytest.approx(exact[:3], rel=2e-12, abs=1e-13)
    series = json.loads(run(f'autodiff taylor "{expression}" --at x={x} --order 3 --json'))
    assert series["derivatives"] == pytest.approx(exact, rel=1e-11, abs=1e-12)


@pytest.mark.parametrize(("expression", "function", "x"), EXPLICIT[:3])
def test_high_orders(expression: str, function: Callable[[Any], Any], x: float) -> None:
    series = json.loads(run(f'autodiff taylor "{expression}" --at x={x} --order 6 --json'))
    assert series["derivatives"] == pytest.approx(_derivatives(function, x, 6), rel=1e-12)


@pytest.mark.parametrize(("M", "e"), [(1.0, 0.3), (0.1, 0.9), (-2.0, 0.7)])
def test_kepler(M: float, e: float) -> None:
    result = ad.evaluate("root(E=M, E - e*sin(E) = M)", {"M": M, "e": e}, order=2)
    E = mpmath.findroot(lambda E: E - e * mpmath.sin(E) - M, M)
    s, c, q = mpmath.sin(E), mpmath.cos(E), 1 - e * mpmath.cos(E)
    assert [result.value, result.grad["M"], result.grad["e"]] == pytest.approx([float(v) for v in (E, 1 / q, s / q)], rel=1e-13)
    second = [-e * s / q**3, c / q**2 - e * s**2 / q**3, 2 * s * c / q**2 - e * s**3 / q**3]
    hessian = [result.hessian["M"]["M"], result.hessian["M"]["e"], result.hessian["e"]["e"]]
    assert hessian == pytest.approx([float(v) for v in second], rel=1e-11)


def test_several_unknowns() -> None:
    """The inverse of the transposed matrix in the rule: here it is not symmetric."""
    result = ad.evaluate("root([u, v]=[1, 1], [u**2 + v = a, u*v**2 = b])@[1, 10]", {"a": 2.5, "b": 1.3}, order=2)

    def exact(a: Any, b: Any) -> Any:
        u, v = mpmath.findroot(lambda u, v: [u**2 + v - a, u * v**2 - b], (1.2, 1.0))
        return u + 10 * v

    with mpmath.workdps(40):
        orders = [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2)]
        truth = [float(mpmath.diff(exact, (mpmath.mpf(2.5), mpmath.mpf(1.3)), n)) for n in orders]
    hessian = result.hessian
    numbers = [result.value, *result.grad.values(), hessian["a"]["a"], hessian["a"]["b"], hessian["b"]["b"]]
    assert numbers == pytest.approx(truth, rel=1e-11)


def test_a_vector_of_unknowns() -> None:
    A, b = np.array([[2.0, 1.0], [0.5, 3.0]]), np.array([1.0, 2.0])
    result = ad.evaluate("root(y=[1, 1], A @ y = b)@[1, 10]", {"A": A, "b": b})
    weights = np.linalg.solve(A.T, [1, 10])
    np.testing.assert_allclose(result.grad["b"], weights, rtol=1e-13)
    np.testing.assert_allclose(result.grad["A"], -np.outer(weights, np.linalg.solve(A, b)), rtol=1e-13)


def test_arrays_have_a_root_for_each_element() -> None:
    x = np.array([[1.0, 2.0], [10.0, 30.0]])
    y = ad.evaluate(CUBIC, {"x": x}, no_grad=True).value
    np.testing.assert_allclose(y, [[float(_cubic(v)) for v in row] for row in x], rtol=1e-13)
    gradient = ad.evaluate(f"sum({CUBIC})", {"x": x}).grad["x"]
    np.testing.assert_allclose(gradient, 1 / (3 * y**2 + 1), rtol=1e-14)


def test_every_engine() -> None:
    value, slope, second = _derivatives(_cubic, 2.5, 2)
    assert float(ad.jvp(CUBIC, {"x": 2.5}, vector={"x": 2}).derivatives) == pytest.approx(2 * slope, rel=1e-14)
    jacobian = ad.jacobian(f"[x, {CUBIC}]", {"x": 2.5}).derivatives
    np.testing.assert_allclose(jacobian["x"], [1, slope], rtol=1e-14)
    assert run(f'autodiff gradcheck "{CUBIC}" --at x=2.5 --order 2 -q') == "pass\n"
    assert run(f'autodiff eval "{CUBIC}" --at x=2.5 --digits 30 -q').split()[0] == mpmath_text(_cubic)
    verified = json.loads(run(f'autodiff eval "{CUBIC}" --at x=2.5 --verify --json'))["verified"]
    assert verified["value"] > 15 < verified["grad"]["x"]
    x = np.linspace(0.5, 5, 5)
    for engine in ("numpy", "llvm"):
        columns = ad.compile(CUBIC, order=2, engine=engine)(x=x)
        expected = [_derivatives(_cubic, float(each), 2) for each in x]
        found = [columns["value"], columns["d_x"], columns["d_x_x"]]
        np.testing.assert_allclose(np.transpose(found), expected, rtol=1e-12)
    assert second < 0 < value


def mpmath_text(function: Callable[[Any], Any]) -> str:
    """The value at 2.5 with 30 digits."""
    with mpmath.workdps(50):
        return str(mpmath.nstr(function(mpmath.mpf(2.5)), 30))


def test_functions_with_gradients() -> None:
    program = "f(a) = root(y=1, y**2 = a) with grad (7); f(x)"
    assert ad.evaluate(program, {"x": 4.0}).grad["x"] == 7
    inside = "g(a) = a**2 with grad (2*a); root(y=1, g(y) = x)"
    assert ad.evaluate(inside, {"x": 4.0}).grad["x"] == pytest.approx(0.25, rel=1e-14)


def test_float32() -> None:
    result = ad.evaluate(CUBIC, {"x": 2.5}, dtype="float32")
    assert result.value == pytest.approx(float(_cubic(2.5)), rel=1e-7)


@pytest.mark.parametrize(
    ("expression", "at", "words", "place", "hint"),
    [
        ("1 + root(y=0, exp(y) = x)", -1, "no root found", "root(y=0, exp(y) = x)", "write another start"),
        ("root(y=0.5, floor(y) = x)", 0.5, "no real root found near the start", "root(y=0.5, floor(y) = x)", "write another start"),
        ("root(y=1, 1/y = x)", 0, "no root found", "root(y=1, 1/y = x)", "write another start"),
        ("root(y=0, y**2 = x)", 4, "two roots are as near to the start 0: y = -2 and y = 2", "root(y=0, y**2 = x)", "nearer"),
        ("root(y=0..1, y**2 = x)", 4, "the bracket 0..1 does not contain a root", "root(y=0..1, y**2 = x)", "a wider bracket"),
        ("root(y=-3..3, y**2 = x)", 4, "contains 2 roots: y = -2; y = 2", "root(y=-3..3, y**2 = x)", "contains one"),
        ("root([u, v]=[1, 1], [u = x])[0]", 4, "1 equation in 2 unknowns", "[u = x]", "write it as root"),
        ("argmin(y=1, x*y)", 4, "no minimum found", "argmin(y=1, x*y)", "write another start"),
        ("argmin(y=1, y**4 + x)", 4, "the curvature is 0", "argmin(y=1, y**4 + x)", "minimize"),
        ("argmin(y=1, [x*y, y])", 4, "the expression has 2 values", "[x*y, y]", "write it as argmin"),
        ("integral(t=0..1, x/t)", 4, "it diverges", "integral(t=0..1, x/t)", "integrable"),
        ("integral(t=-1..1, x/t)", 4, "it diverges", "integral(t=-1..1, x/t)", "integrable"),
        ("integral(t=0..1, t**-x)", 1.5, "it diverges", "integral(t=0..1, t**-x)", "integrable"),
        ("integral(t=0..inf, sin(x*t))", 4, "oscillates without end", "integral(t=0..inf, sin(x*t))", "integrable"),
        ("integral(t=0..1, sin(x/t))", 4, "oscillates without end", "integral(t=0..1, sin(x/t))", "integrable"),
        ("root(y=1, y**2 = z)", 4, "no value for 'z'", "z", "--at z=1"),
        ("root(1, x)", 4, "root binds a name in its first argument", "root(1, x)", "write root"),
        ("integral(t=1, t*x)", 4, "integral takes what it binds", "integral(t=1, t*x)", "write it as integral"),
    ],
)
def test_errors(expression: str, at: float, words: str, place: str, hint: str) -> None:
    out, err, code = streams(f'autodiff eval "{expression}" --at x={at} --json')
    error = json.loads(out or err)["error"]
    assert words in error["message"]
    assert hint in error["hint"]
    assert expression[slice(*error["span"])] == place
    assert code == error["exit_code"] == (2 if place == "z" or words.startswith(("root binds", "integral takes")) else 3)


def test_rows_without_a_root(tmp_path: Any) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("x\n4\n-1\n9\n")
    out, err, code = streams(f'autodiff map "root(y=1, y**2 = x)" {file}')
    assert (out, code) == ("x,value,d_x\n4,2.0,0.25\n-1,nan,nan\n9,3.0,0.16666666666666666\n", 0)
    assert "1 row with results that are not finite" in err


@pytest.mark.parametrize("x", [0.0, 1 / 3, 0.7])
def test_integrals_with_singularities_inside(x: float) -> None:
    result = ad.evaluate("integral(t=-1..1, abs(t - x)**-0.3)", {"x": x}, no_grad=True)
    assert result.value == pytest.approx(((1 + x) ** 0.7 + (1 - x) ** 0.7) / 0.7, rel=1e-14)


def test_an_integral_has_its_error() -> None:
    expression = "1 + integral(t=0..1, abs(t**2 - x)**-0.3)"  # whose singularity is between two floats
    result = ad.evaluate(expression, {"x": 0.3}, no_grad=True).to_dict()
    (integral,) = result["integrals"]
    assert expression[slice(*integral["span"])] == integral["expression"] == expression[4:]
    exact = mpmath.quad(lambda t: abs(t**2 - mpmath.mpf(0.3)) ** -0.3, [0, mpmath.sqrt(0.3), 1])
    assert integral["value"] == pytest.approx(float(exact), rel=1e-10)
    smooth = ad.evaluate("integral(t=0..1, exp(-x*t**2))", {"x": [1.0, 2.0]}, no_grad=True).to_dict()
    assert np.all(np.array(smooth["integrals"][0]["error"]) < 1e-15)
    assert smooth["notes"] == []


def test_an_integral_with_a_large_error_has_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autodiff_cli.solvers.implicit.integral.ACCURACY", 1e-8)
    result = ad.evaluate("integral(t=0..1, 1/(0.01 + (t - x)**2))", {"x": 0.3}).to_dict()
    assert [(note["kind"], note["span"], note["order"]) for note in result["notes"]] == [("integral", [0, 39], 0)]
    assert 1e-13 < result["integrals"][0]["error"] / result["value"] < 1e-7


def test_descending_limits_with_a_kink_inside() -> None:
    result = ad.evaluate("integral(t=1..0, abs(t - x))", {"x": 0.25})
    assert [result.value, result.grad["x"]] == pytest.approx([-0.3125, 0.5], rel=1e-14)


def test_the_minimum_of_an_integral() -> None:
    result = ad.evaluate("argmin(y=0.4, integral(t=0..1, (t - y)**4) + x*y)", {"x": 0.0})
    assert [result.value, result.grad["x"]] == pytest.approx([0.5, -1], rel=1e-12)


def test_digits_next_to_a_kink_and_a_peak() -> None:
    expression = "integral(t=0..1, abs(t**2 - x)/(1e-6 + (t - 0.3)**2))"
    with mpmath.workdps(40):
        x, places = mpmath.mpf(0.5), [0, mpmath.mpf(0.3), mpmath.sqrt(0.5), 1]
        exact = mpmath.quad(lambda t: abs(t**2 - x) / (mpmath.mpf(1e-6) + (t - mpmath.mpf(0.3)) ** 2), places)
        assert run(f'autodiff eval "{expression}" --at x=0.5 --digits 30 -q --order 0') == mpmath.nstr(exact, 30) + "\n"


MOVING: list[tuple[str, float, Callable[[Any], Any]]] = [
    ("integral(t=0..1, abs(t - x))", 0.3, lambda x: (x**2 + (1 - x) ** 2) / 2),
    ("integral(t=1..0, relu(t - x))", 0.3, lambda x: -((1 - x) ** 2) / 2),
    ("integral(t=0..1, abs(t - x)**1.5)", 0.3, lambda x: (x**2.5 + (1 - x) ** 2.5) / 2.5),
    ("integral(t=0..x, max(x - t, 0))", 0.3, lambda x: x**2 / 2),
    ("integral(t=0..1, exp(t) if t < x**2 else x*t)", 0.7, lambda x: mpmath.exp(x**2) - 1 + x * (1 - x**4) / 2),
    ("integral(t=0..inf, exp(-t)*(t > x)*(t < 2*x))", 0.3, lambda x: mpmath.exp(-x) - mpmath.exp(-2 * x)),
    ("integral(t=0..5, floor(x*t))", 0.7, lambda x: 15 - 6 / x),
    ("integral(s=0..1, integral(t=0..1, abs(t - x*s)))", 0.3, lambda x: x**2 / 3 - x / 2 + mpmath.mpf(1) / 2),
    ("argmin(y=0.4, integral(t=0..1, abs(t - y)) + x*y)", 0.2, lambda x: (1 - x) / 2),
]


@pytest.mark.parametrize(("expression", "x", "exact"), MOVING)
def test_jumps_at_places_that_move(expression: str, x: float, exact: Callable[[Any], Any]) -> None:
    result = ad.evaluate(expression, {"x": x}, order=2)
    numbers = [result.value, result.grad["x"], result.hessian["x"]["x"]]
    assert numbers == pytest.approx(_derivatives(exact, x, 2), rel=1e-12, abs=1e-13)


def test_infinite_derivatives_have_a_reason() -> None:
    for expression, x, words in [
        ("integral(t=0..1, 1/sqrt(abs(t - x)))", 0.3, "a place that moves"),
        ("root(y=1, y**3 = x)", 0.0, "as at a multiple root"),
    ]:
        (note,) = ad.evaluate(expression, {"x": x}).notes
        assert words in note["message"]
        assert note["span"] == [0, len(expression)]


@pytest.mark.parametrize("expression", ["root(y=1, root(z=1, z**3 = y) = x)", "integral(t=0..1, abs(t - x)**-0.9)"])
def test_a_limit_of_time(expression: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("search", "integral"):
        monkeypatch.setattr(f"autodiff_cli.solvers.implicit.{module}.MOST_SECONDS", 0.1)
    with pytest.raises(NoValue, match=r"takes longer than 0\.1 s"):
        ad.evaluate(expression, {"x": 0.0 if "root" in expression else 0.3})


def test_many_integrals_with_kinks_are_split_together() -> None:
    """One by one, in many digits, they take minutes."""
    x = np.linspace(0.01, 0.99, 60)
    result = ad.evaluate("sum(integral(t=0..1, abs(sin(20*t) - x)))", {"x": x})
    t, width = np.arange(0.5, 200_000) / 200_000, 1 / 200_000
    np.testing.assert_allclose(result.value, sum(width * np.abs(np.sin(20 * t) - one).sum() for one in x), rtol=1e-8)
    np.testing.assert_allclose(result.grad["x"], [np.sign(one - np.sin(20 * t)).sum() * width for one in x], atol=1e-4)


@pytest.mark.exhaustive
def test_an_integral_with_a_smooth_kink_inside() -> None:
    result = ad.evaluate("integral(t=-1..1, abs(t - x)**3)", {"x": 0.25}, order=2)
    numbers = [result.value, result.grad["x"], result.hessian["x"]["x"]]
    assert numbers == pytest.approx([(1.25**4 + 0.75**4) / 4, 1.25**3 - 0.75**3, 3 * (1.25**2 + 0.75**2)], rel=1e-12)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("expression", "parameters", "exact"), implicit.QUADPACK)
def test_integrals_of_quadpack(expression: str, parameters: tuple[float, ...], exact: Callable[[Any], Any]) -> None:
    peak = "16**-a" in expression  # whose derivative is a difference that loses digits where the peak is narrow
    for a in parameters:
        assert max(implicit.quadpack_errors(expression, a, exact)) < (1e-8 if peak and a > 15 else 1e-12), a


@pytest.mark.exhaustive
@pytest.mark.parametrize("e", implicit.ECCENTRICITIES)
def test_kepler_to_order_6(e: float) -> None:
    for M in implicit.MEAN_ANOMALIES:
        assert max(implicit.kepler_errors(e, M)) < 1e-13
