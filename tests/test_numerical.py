"""Polynomials and the trapezoidal rule, compared with NumPy and with exact derivatives; secants and the step function."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.errors import ArgumentError, AutodiffError
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


def test_interpolation_is_that_of_numpy() -> None:
    random = np.random.default_rng(3)
    points, values = np.sort(random.uniform(-3, 3, 9)), random.normal(size=9)
    x = np.concatenate([random.uniform(-4, 4, 40), points])
    result = ad.evaluate("sum(interp(x, p, f)*w)", {"x": x, "p": points, "f": values, "w": np.ones(x.size)}, order=2)
    np.testing.assert_allclose(result.grad["w"], np.interp(x, points, values), rtol=1e-14, atol=1e-15)
    inside = (x[:40] > points[0]) & (x[:40] < points[-1])
    slopes = np.where(inside, (np.diff(values) / np.diff(points))[np.clip(np.searchsorted(points, x[:40]) - 1, 0, 7)], 0)
    np.testing.assert_allclose(result.grad["x"][:40], slopes, rtol=1e-12)
    assert run('autodiff gradcheck "interp(x, p, f)" --at "x=0.4,p=[0, 1, 2],f=[1, 3, 2]" --order 2').count("pass") == 12


def test_interpolation_is_traced() -> None:
    program = ad.compile("interp(x, [0, 1, 3], [2, -1, a])", order=1)
    assert program.engine != "rows"
    x = np.array([-1.0, 0.0, 0.3, 1.0, 2.0, 3.0, 4.0])
    found = program(x=x, a=np.full(7, 0.5))  # type: ignore[operator]
    np.testing.assert_allclose(found["value"], np.interp(x, [0, 1, 3], [2, -1, 0.5]), rtol=1e-15)
    np.testing.assert_allclose(found["d_x"], [0, -3, -3, 0.75, 0.75, 0.75, 0])
    np.testing.assert_allclose(found["d_a"], [0, 0, 0, 0, 0.5, 1, 1])
    eager = [ad.evaluate("interp(x, [0, 1, 3], [2, -1, 0.5])", {"x": value}).grad["x"] for value in x]
    np.testing.assert_allclose(found["d_x"], eager)


def test_quantiles() -> None:
    random = np.random.default_rng(4)
    x, q = random.normal(size=(5, 4)), [0.0, 0.1, 0.5, 0.77, 1.0]
    for dim in (None, 0, 1, -1):
        for keepdim in (False, True):
            found = ad.quantile(x, np.array(q), dim, keepdim)
            expected = np.quantile(x, q, axis=dim, keepdims=keepdim)
            assert found.shape == expected.shape
            np.testing.assert_allclose(found, expected, rtol=1e-14)
    result = ad.evaluate("quantile(x, q)", {"x": [3.0, -1.0, 7.0, 2.0], "q": 0.4}, order=2)
    assert result.value == pytest.approx(2.2)
    np.testing.assert_allclose(result.grad["x"], [0.2, 0, 0, 0.8], atol=1e-15)
    assert result.grad["q"] == pytest.approx(3)
    np.testing.assert_allclose(result.hessian["x"]["q"], [3, 0, 0, -3])
    assert math.isnan(ad.evaluate("quantile([1, nan, 2], 0.5)", {}).value)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("polyval([[1, 2]], x)", "'c' must be a list of coefficients, but it has shape [1, 2]"),
        ("trapezoid([1, 2, 3], [1, 2])", "'x' has shape [2], but 'y' has shape [3]"),
        ("interp(x, [0, 2, 1], [1, 2, 3])", "the points 'xp' must increase"),
        ("interp(x, [0, nan], [1, 2])", "the points 'xp' must increase"),
        ("interp(x, [0, 1], [1, 2, 3])", "lists of the same length"),
        ("quantile([1, 2, x], 1.5)", "'q' must be from 0 to 1"),
        ("quantile([1, 2, x], nan)", "'q' must be from 0 to 1"),
        ("quantile([], 0.5)", "quantile of no elements"),
        ("quantile([1, x], [[0.5]])", "'q' must be a number or a list of numbers"),
    ],
)
def test_bad_arguments(expression: str, message: str) -> None:
    with pytest.raises(AutodiffError, match=message.replace("[", r"\[")):
        ad.evaluate(expression, {"x": 0.5})


@pytest.mark.parametrize(
    ("numpy_call", "torch_call"),
    [
        (lambda x: ad.triu(x, k=1), lambda x: ad.triu(x, 1)),
        (lambda x: ad.tril(x, k=-1), lambda x: ad.tril(x, -1)),
        (lambda x: ad.diag(x, k=1), lambda x: ad.diag(x, 1)),
        (lambda x: ad.diagonal(x, axis1=1, axis2=0, offset=1), lambda x: ad.diagonal(x, 1, 1, 0)),
        (lambda x: ad.swapaxes(x, axis1=0, axis2=1), lambda x: x.mT),
        (lambda x: ad.roll(x, shift=1, axis=0), lambda x: ad.roll(x, 1, 0)),
        (lambda x: ad.flip(x, axis=(0, 1)), lambda x: ad.flip(x, [0, 1])),
        (lambda x: ad.tile(x, reps=(2, 1)), lambda x: ad.tile(x, (2, 1))),
        (lambda x: ad.clip(x, a_min=2, a_max=5), lambda x: ad.clamp(x, 2, 5)),
        (lambda x: ad.var(x, axis=0, ddof=0), lambda x: ad.var(x, 0, correction=0)),
        (lambda x: ad.std(x, axis=1, ddof=1, keepdims=True), lambda x: ad.std(x, 1, keepdim=True)),
        (lambda x: ad.linalg.norm(x, ord=1, axis=0), lambda x: x.abs().sum(0)),
        (lambda x: ad.sum(a=x, axis=0), lambda x: x.sum(0)),
        (lambda x: ad.unsqueeze(x, axis=0), lambda x: x.unsqueeze(0)),
    ],
)
def test_keywords_of_numpy(numpy_call: Callable[[Any], Any], torch_call: Callable[[Any], Any]) -> None:
    x = ad.arange(1.0, 10.0).reshape(3, 3)
    assert ad.equal(numpy_call(x), torch_call(x))


def test_two_keywords_for_one_parameter() -> None:
    with pytest.raises(ArgumentError, match="roll got two values for 'dims'"):
        ad.roll(ad.arange(4.0), 1, axis=0, dims=0)
