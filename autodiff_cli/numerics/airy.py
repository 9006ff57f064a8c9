"""Airy functions and their derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.numerics.backend import from_scipy

_airy = from_scipy("airy")
_SPLITTER = 2.0**27 + 1
_HALF_PI, _HALF_PI_REST = 1.5707963267948966, 6.123233995736766e-17


def _product(a: Array, b: Array | float) -> tuple[Any, Any]:
    """Return a product and its rounding error, by Dekker's algorithm (1971)."""
    product = a * b
    high_a, high_b = _SPLITTER * a, _SPLITTER * b
    high_a, high_b = high_a - (high_a - a), high_b - (high_b - b)
    low_a, low_b = a - high_a, b - high_b
    return product, low_a * low_b - (((product - high_a * high_b) - low_a * high_b) - high_a * low_b)


def _phase(size: Array) -> tuple[Any, Any, Any]:
    """Return zeta = 2/3*size**(3/2) and the cosine and the sine of zeta - pi/4.

    The phase is computed with twice the digits of a float, because the cosine of a rounded phase would lose digits.
    """
    root = np.sqrt(size)
    square, rest = _product(root, root)
    product, error = _product(size, root)
    error = 2 * (error + size * (((size - square) - rest) / (2 * root)))
    zeta = 2 * product / 3
    triple, rest = _product(zeta, 3.0)
    error = ((2 * product - triple) - rest + error) / 3
    quarter = np.round(zeta / _HALF_PI)
    whole, rest = _product(quarter, _HALF_PI)
    angle = ((zeta - whole) - rest) + (error - quarter * _HALF_PI_REST)
    turn = quarter % 4
    cosine, sine = np.cos(angle), np.sin(angle)
    turns = [turn == 0, turn == 1, turn == 2]
    cosine, sine = np.select(turns, [cosine, -sine, -cosine], sine), np.select(turns, [sine, cosine, -sine], -cosine)
    return zeta, (cosine + sine) * math.sqrt(0.5), (sine - cosine) * math.sqrt(0.5)


def _waves(size: Array, which: int) -> Any:
    """Return Ai, Ai', Bi or Bi' at -size, from the asymptotic expansions for large size (DLMF 9.7.9 to 9.7.12)."""
    zeta, cosine, sine = _phase(size)
    parts: list[Any] = [0.0, 0.0]
    term: Any = 1.0
    for k in range(20):
        factor = (6 * k + 1) / (1 - 6 * k) if which % 2 else 1.0
        parts[k % 2] = parts[k % 2] + (-1) ** (k // 2) * factor * term
        term = term * ((6 * k + 1) * (6 * k + 3) * (6 * k + 5) / (216 * (k + 1) * (2 * k + 1))) / zeta
    even, odd = parts
    height = size ** (0.25 if which % 2 else -0.25) / math.sqrt(math.pi)
    return (
        height
        * (
            (lambda: cosine * even + sine * odd),
            (lambda: sine * even - cosine * odd),
            (lambda: cosine * odd - sine * even),
            (lambda: cosine * even + sine * odd),
        )[which]()
    )


def _function(which: int) -> Callable[[Array], Any]:
    @np.errstate(all="ignore")
    def function(x: Array) -> Any:
        value = _airy(x)[which]
        far = (x < -20) & (x > -1e10)  # SciPy rounds the phase
        return np.where(far, _waves(np.where(far, -x, 25.0), which), value)[()].astype(value.dtype) if np.any(far) else value

    return function


airy_ai, airy_ai_prime, airy_bi, airy_bi_prime = (_function(which) for which in range(4))
