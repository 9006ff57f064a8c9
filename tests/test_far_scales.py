"""Derivatives far from 1: no square, quotient or power on the way overflows, vanishes or takes the digits with it.

The truth is mpmath at 50 digits and more, differentiated by a formula of its own.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import mpmath
import pytest

import autodiff_cli as ad

SCALES = (1e-308, 3e-162, 1e-160, 1e-80, 1.0, 1e80, 1e160, 1e305)
RATIOS = ((1.0, 0.0), (0.6, -0.8), (1.0, 1.0000000001), (1.0, 1e-9), (-3.0, 1e-12), (-0.2, 5.0), (0.0, -2.0))


def _derivatives(code: str, x: float, y: float) -> dict[tuple[str, ...], float]:
    result = ad.evaluate(code, {"x": x, "y": y}, order=3)
    found = {(name,): float(value) for name, value in result.grad.items()}
    return found | {tuple(sorted(index)): float(value) for index, value in result.derivatives.items()}


def _check(found: float, true: Any, ulps: float, what: Any) -> None:
    wanted = float(true)
    if not math.isfinite(wanted) or not math.isfinite(found):
        assert found == wanted or abs(true) > 1.79e308, (what, found, wanted)
        return
    # Below the smallest normal number there are fewer digits, by the size of the last one.
    assert abs(mpmath.mpf(found) - true) <= ulps * 2.3e-16 * abs(true) + 1.5e-323, (what, found, wanted)


@pytest.mark.parametrize(("scale", "ratio"), list(itertools.product(SCALES, RATIOS)))
def test_the_angle(scale: float, ratio: tuple[float, float]) -> None:
    x, y = (part * scale for part in ratio)
    found = _derivatives("atan2(y, x)", x, y)
    with mpmath.workdps(60):
        z = mpmath.mpc(x, y)
        for index, value in found.items():
            n, turns = len(index), index.count("y")
            # The angle is the imaginary part of log(z), and d/dy is i times d/dx.
            true = mpmath.im((-1) ** (n - 1) * mpmath.factorial(n - 1) * mpmath.mpc(0, 1) ** turns / z**n)
            if n < 3 or abs(true) > 1e-3 / abs(z) ** n:
                _check(value, true, 8, (x, y, index))


@pytest.mark.parametrize(("scale", "ratio"), list(itertools.product(SCALES, RATIOS)))
def test_the_length(scale: float, ratio: tuple[float, float]) -> None:
    x, y = (part * scale for part in ratio)
    found = _derivatives("hypot(x, y)", x, y)
    with mpmath.workdps(60):
        a, b = mpmath.mpf(x), mpmath.mpf(y)
        size = mpmath.sqrt(a * a + b * b)
        true = {
            ("x",): a / size,
            ("y",): b / size,
            ("x", "x"): b * b / size**3,
            ("x", "y"): -a * b / size**3,
            ("y", "y"): a * a / size**3,
        }
        for index, wanted in true.items():
            _check(found[index], wanted, 8, (x, y, index))


@pytest.mark.parametrize("tiny", [1e-310, 5e-324, 3e-200, 1e-160])
def test_a_power_of_something_tiny(tiny: float) -> None:
    result = ad.evaluate("x**y", {"x": tiny, "y": 0.0}, order=3)
    assert result.grad["x"] == 0.0
    assert result.hessian["x"]["x"] == 0.0
    assert result.derivatives[("x", "x", "x")] == 0.0
    with mpmath.workdps(50):
        for y in (1e-5, 0.3, 1.0, 2.0, 3.5, -1e-9):
            found = ad.evaluate("x**y", {"x": tiny, "y": y}, order=2)
            a, b = mpmath.mpf(tiny), mpmath.mpf(y)
            _check(float(found.grad["x"]), b * a ** (b - 1), 60, (tiny, y))
            _check(float(found.hessian["x"]["x"]), b * (b - 1) * a ** (b - 2), 120, (tiny, y))


@pytest.mark.parametrize("y", [1.0, 2.0, 3.0, 0.25])
def test_all_partials_of_a_power(y: float) -> None:
    """A factor of y*(y - 1)*(y - 2)*... that is 0 here has a derivative."""
    found = ad.evaluate("x**y", {"x": 1.7, "y": y}, order=5).derivatives
    with mpmath.workdps(40):
        for index, value in found.items():
            order = (index.count("x"), index.count("y"))
            true = mpmath.diff(lambda a, b: a**b, (mpmath.mpf(1.7), mpmath.mpf(y)), order)
            assert float(value) == pytest.approx(float(true), rel=1e-12, abs=1e-13), order


def test_a_whole_power_of_something_huge() -> None:
    assert ad.evaluate("x**y", {"x": 1e110, "y": 3.0}).grad["x"] == pytest.approx(3e220, rel=1e-14)
    assert ad.evaluate("x**y", {"x": -2.0, "y": 3.0}, order=2).hessian["x"]["x"] == -12.0


@pytest.mark.parametrize("x", [5e-324, -5e-324, 1e-310, -1e-310, 1e-160, -1e-160, 1e-100, -1e-100])
def test_the_gamma_function_beside_its_pole(x: float) -> None:
    with mpmath.workdps(60):
        z = mpmath.mpf(x)
        found = ad.evaluate("lgamma(x)", {"x": x}, order=3)
        _check(float(found.value), mpmath.log(abs(mpmath.gamma(z))), 4, x)
        _check(float(found.grad["x"]), -1 / z, 4, x)
        _check(float(found.hessian["x"]["x"]), 1 / z**2, 8, x)
        _check(float(found.derivatives[("x", "x", "x")]), -2 / z**3, 8, x)
        _check(float(ad.evaluate("digamma(x)", {"x": x}).grad["x"]), 1 / z**2, 8, x)
        _check(float(ad.evaluate("gamma(x)", {"x": x}).grad["x"]), -1 / z**2, 8, x)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("code", ["norm([x, y])", "norm([x, y], 3)", "logaddexp(x, y)", "xlogy(x, y)"])
def test_relatives(code: str, scale: float) -> None:
    x, y = 0.6 * scale, 0.8 * scale
    result = ad.evaluate(code, {"x": x, "y": y})
    with mpmath.workdps(60):
        a, b = mpmath.mpf(x), mpmath.mpf(y)
        true = {
            "norm([x, y])": lambda: (a / mpmath.hypot(a, b), b / mpmath.hypot(a, b)),
            "norm([x, y], 3)": lambda: tuple((c / mpmath.root(a**3 + b**3, 3)) ** 2 for c in (a, b)),
            "logaddexp(x, y)": lambda: (1 / (1 + mpmath.exp(b - a)), 1 / (1 + mpmath.exp(a - b))),
            "xlogy(x, y)": lambda: (mpmath.log(b), a / b),
        }[code]()
        for name, wanted in zip("xy", true, strict=True):
            _check(float(result.grad[name]), wanted, 8, (code, x, y, name))
