"""The scaled error function and Dawson's integral, compared with mpmath: values and three derivatives."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

import autodiff_cli as ad
from autodiff_cli.autograd.reverse_mode import grad
from autodiff_cli.ops import long_decompositions

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


@pytest.mark.parametrize(("name", "order"), [("erfcx", 0), ("erfcx", 1), ("dawsn", 0), ("dawsn", 1), ("dawsn", 2)])
def test_decompositions_are_the_functions(name: str, order: int) -> None:
    decomposition = getattr(long_decompositions, name)(order)
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
