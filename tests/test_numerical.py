"""Polynomials and the trapezoidal rule, compared with NumPy and with exact derivatives; secants and the step function."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.errors import ShapeError
from tests.shell import run


def test_polynomials_are_those_of_numpy() -> None:
    c, x = [2.0, -1.0, 0.5, 3.0], [0.7, -1.2, 0.0]
    result = ad.evaluate("sum(polyval(c, x))", {"c": c, "x": x}, order=2)
    assert result.value == pytest.approx(np.sum(np.polyval(c, x)), rel=1e-15)
    np.testing.assert_allclose(result.grad["x"], np.polyval(np.polyder(c), x), rtol=1e-15)
    np.testing.assert_allclose(result.grad["c"], np.sum(np.vander(x, 4), axis=0), rtol=1e-15)
    np.testing.assert_allclose(result.hessian["x"]["x"], np.diag(np.polyval(np.polyder(c, 2), x)), atol=1e-15)
    assert run('autodiff diff "polyval([1, 2, 3], x)"') == "2*x + 2\n"
    assert ad.evaluate("sum(polyval(5, x))", {"x": [1.0, 2.0]}).value == 10
    assert ad.evaluate("polyval([], x)", {"x": 2.0}).value == 0


def test_a_polynomial_needs_a_list_of_coefficients() -> None:
    with pytest.raises(ShapeError, match=r"'c' must be a list of coefficients, but it has shape \[1, 2\]"):
        ad.evaluate("polyval([[1, 2]], x)", {"x": 1.0})


def test_trapezoids() -> None:
    y, x = [[1.0, -2.0, 3.0], [0.5, 4.0, 2.0]], [0.0, 0.5, 2.0]
    of_rows = ad.evaluate("trapezoid(y, x)[0]", {"y": y, "x": x})
    np.testing.assert_allclose(of_rows.value, 0.5)
    assert ad.evaluate("trapezoid(y, [0, 2], dim=0)@[1, 10, 100]", {"y": y}).value == 521.5
    assert ad.evaluate("sum(trapezoid(y, dx=h))", {"y": y, "h": 0.5}).grad["h"] == 5.25
    result = ad.evaluate("trapezoid(sin(x), x)", {"x": [0.1, 0.7, 1.3]}, order=2)
    at = [mpmath.mpf(v) for v in (0.1, 0.7, 1.3)]
    slope = mpmath.cos(at[1]) * (at[2] - at[0]) / 2 + (mpmath.sin(at[0]) - mpmath.sin(at[2])) / 2
    assert result.grad["x"][1] == pytest.approx(float(slope), rel=1e-14)
    with pytest.raises(ShapeError, match=r"'x' has shape \[2\], but 'y' has shape \[3\]"):
        ad.evaluate("trapezoid([1, 2, 3], [1, 2])", {})


@pytest.mark.parametrize("name", ["sec", "csc", "cot"])
def test_reciprocals(name: str) -> None:
    for x in (1e-9, 0.3, -1.7, 1.5707963, 3.1415, 1e4):
        result = ad.evaluate(f"{name}(x)", {"x": x}, order=2)
        with mpmath.workdps(60):
            found = [mpmath.diff(getattr(mpmath, name), mpmath.mpf(x), n) for n in range(3)]
        for value, expected in zip((result.value, result.grad["x"], result.hessian["x"]["x"]), found, strict=True):
            assert value == pytest.approx(float(expected), rel=1e-12)


def test_the_step() -> None:
    result = ad.evaluate("sum(heaviside(x, v)*[1, 2, 3])", {"x": [-1.0, 0.0, 2.0], "v": 0.5})
    assert (result.value, list(result.grad["x"]), result.grad["v"]) == (4.0, [0.0, 0.0, 0.0], 2.0)
    assert math.isnan(ad.evaluate("heaviside(x, 1)", {"x": math.nan}).value)
    assert run('autodiff export "heaviside(x, 0.5)" --to python').count("0.5") >= 1
