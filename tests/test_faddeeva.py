"""The scaled error function and Dawson's integral, compared with mpmath: values and three derivatives."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.autograd.reverse_mode import grad
from autodiff_cli.numerics import decompositions

RIGHT = (1e-13, 1e-13, 1e-11, 1e-9)
"""The relative errors allowed in the value and in the derivatives of orders 1 to 3."""


def _erfcx(x: Any) -> Any:
    return mpmath.exp(x * x) * mpmath.erfc(x)


def _dawsn(x: Any) -> Any:
    return mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(-x * x) * mpmath.erfi(x)


def _of_order(name: str, x: float, order: int) -> Any:
    """The derivative from the recurrence, with so many digits that its cancellation does not matter."""
    with mpmath.workdps(200):
        t = mpmath.mpf(x)
        sign, constant = (1, 2 / mpmath.sqrt(mpmath.pi)) if name == "erfcx" else (-1, mpmath.mpf(1))
        found = [_erfcx(t) if name == "erfcx" else _dawsn(t)]
        found.append(sign * (2 * t * found[0] - constant))
        for n in range(1, order):
            found.append(sign * (2 * t * found[n] + 2 * n * found[n - 1]))
        return found[order]


ARGUMENTS = [*np.linspace(0.01, 14, 57), 1e-300, 1e-8, 40.0, 700.0, 3e4]


@pytest.mark.parametrize("name", ["erfcx", "dawsn"])
def test_values_and_derivatives(name: str) -> None:
    at = np.array([*ARGUMENTS, *[-x for x in ARGUMENTS if name == "dawsn" or x < 26]])
    x = ad.tensor(at, requires_grad=True)
    result: Any = getattr(ad, name)(x)
    for order, right in enumerate(RIGHT):
        for one, value in zip(at, result.detach().numpy(), strict=True):
            expected = _of_order(name, one, order)
            if 1e-290 < abs(expected) < 1e290:
                assert abs(mpmath.mpf(value) - expected) <= right * abs(expected), (order, one)
        if order < 3:
            (result,) = grad(result.sum(), [x], create_graph=True)


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("name", "order"), [("erfcx", 0), ("erfcx", 1), ("dawsn", 0), ("dawsn", 1), ("dawsn", 2)])
def test_decompositions_are_the_functions(name: str, order: int) -> None:
    decomposition = getattr(decompositions, name)(order)
    for x in [*ARGUMENTS, -0.3, -3.3, -6.1]:
        expected = _of_order(name, x, order)
        value = ad.evaluate(decomposition, const={"x": x}).value
        assert abs(mpmath.mpf(value) - expected) <= 1e-11 * abs(expected), x


@pytest.mark.parametrize("x", [np.inf, -np.inf, np.nan, 5e-324, 2.0**53 + 1, 1e300, -1e300])
@pytest.mark.parametrize("name", ["erfcx", "dawsn"])
def test_far_out(name: str, x: float) -> None:
    result = ad.evaluate(f"{name}(x)", {"x": x}, order=2)
    value, slope = result.value, result.grad["x"]
    if np.isnan(x):
        assert np.isnan(value)
    elif name == "erfcx" and x < 0:
        assert (value, slope) == (np.inf, -np.inf)
    elif x > 1e290 or np.isinf(x):
        assert (abs(value), abs(slope)) == (pytest.approx(0, abs=1e-290), 0)
    else:
        assert abs(mpmath.mpf(value) - _of_order(name, x, 0)) <= 1e-13 * abs(value)


# The Faddeeva function and the Voigt profile


def _w(x: float, y: float, order: int, scale: float = 1.0) -> Any:
    """The derivative of w(z/scale)/scale, with enough digits for the cancellation in the recurrence."""
    with mpmath.workdps(400):
        z = mpmath.mpc(x, y) / mpmath.mpf(scale)
        found = [mpmath.exp(-z * z) * mpmath.erfc(-1j * z)]
        found.append(-2 * z * found[0] + 2j / mpmath.sqrt(mpmath.pi))
        for n in range(1, order):
            found.append(-2 * z * found[n] - 2 * n * found[n - 1])
        return found[order] / mpmath.mpf(scale) ** (order + 1)


PLACES = [(x, y) for x in (1e-7, 0.3, 1.7, 2.51, 4.1, 7.0, 12.0) for y in (0.0, 1e-30, 1e-9, 0.01, 0.6, 2.6, 5.9, 6.3, 11.0)]


@pytest.mark.exhaustive
@pytest.mark.parametrize("order", [0, 1, 2])
def test_the_faddeeva_function(order: int) -> None:
    for x, y in PLACES[order % 2 :: 2]:
        expected = _w(x, y, order)
        for imaginary, part in ((False, expected.real), (True, expected.imag)):
            value = float(ad.faddeeva(np.float64(x), np.float64(y), np.float64(1.0), order, imaginary))
            # A part that is small because it crosses 0 has the absolute error of the other part.
            assert abs(value - part) <= 1e-12 * abs(part) + 1e-16 * min(x, 1) * abs(expected) * (y > 0), (x, y, imaginary)


def test_below_the_real_axis() -> None:
    for x, y in ((0.3, -0.4), (-3.1, -1.2), (2.6, -2.0)):
        result = ad.evaluate("wofz_real(x, y)", {"x": x, "y": y})
        assert result.value == pytest.approx(float(_w(x, y, 0).real), rel=1e-12)
        assert [result.grad["x"], result.grad["y"]] == pytest.approx([float(_w(x, y, 1).real), -float(_w(x, y, 1).imag)], rel=1e-12)


VOIGT = [
    *((0.3, 0.5, 1.2), (-1.7, 0.4, 0.6), (9.0, 0.5, 2.0), (40.0, 1.0, 1e-3), (3.0, 1.0, 0.0)),
    *((1e-5, 2.0, 1e-8), (0.02, 1e-3, 3e-3)),
]


@pytest.mark.parametrize(("x", "sigma", "gamma"), VOIGT)
def test_the_voigt_profile(x: float, sigma: float, gamma: float) -> None:
    scale = sigma * mpmath.sqrt(2)
    value, slope, curve = (_w(x, gamma, n, scale) / mpmath.sqrt(mpmath.pi) for n in range(3))
    result = ad.evaluate("voigt(x, sigma, gamma)", {"x": x, "sigma": sigma, "gamma": gamma}, order=2)
    assert result.value == pytest.approx(float(value.real), rel=1e-12)
    assert result.grad["x"] == pytest.approx(float(slope.real), rel=1e-12)
    assert result.grad["gamma"] == pytest.approx(-float(slope.imag), rel=1e-12)
    assert result.grad["sigma"] == pytest.approx(float(sigma * curve.real), rel=1e-12)
    assert result.hessian["x"]["x"] == pytest.approx(float(curve.real), rel=1e-11)
    assert result.hessian["gamma"]["gamma"] == pytest.approx(-float(curve.real), rel=1e-11)


def test_limits_of_the_voigt_profile() -> None:
    lorentz = ad.evaluate("voigt(x, sigma, gamma)", {"x": 0.7, "sigma": 0.0, "gamma": 0.4})
    exactly = ad.evaluate("gamma/pi/(x**2 + gamma**2)", {"x": 0.7, "gamma": 0.4})
    assert lorentz.value == pytest.approx(exactly.value, rel=1e-15)
    assert lorentz.grad == {"x": pytest.approx(exactly.grad["x"]), "sigma": 0, "gamma": pytest.approx(exactly.grad["gamma"])}
    gauss = ad.evaluate("voigt(x, sigma, 0)", {"x": 0.7, "sigma": 0.4})
    exactly = ad.evaluate("exp(-x**2/2/sigma**2)/sigma/sqrt(2*pi)", {"x": 0.7, "sigma": 0.4})
    assert [gauss.value, *gauss.grad.values()] == pytest.approx([exactly.value, *exactly.grad.values()], rel=1e-13)
    assert ad.evaluate("voigt(0, 0, 0)", {}).value == np.inf
    assert np.isnan(ad.evaluate("voigt(x, -1, 1)", {"x": 0.0}).value)


def test_odd_arguments_of_the_voigt_profile() -> None:
    odd = np.array([0.0, 5e-324, 1e-200, 1.0, 2.0**53 + 1, 1e300, np.inf, np.nan])
    x, sigma, gamma = (part.ravel() for part in np.meshgrid(odd, odd, odd))
    with np.errstate(all="raise"):
        value = ad.voigt(x, sigma, gamma)
        finite = np.isfinite(x) & np.isfinite(sigma) & np.isfinite(gamma) & (np.maximum(x, np.maximum(sigma, gamma)) >= 1)
    assert np.all(np.isfinite(value[finite]))
    assert np.all(value[finite] >= 0)
