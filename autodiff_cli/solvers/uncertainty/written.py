"""The text of a value with its uncertainty, such as ``9.801(22)``."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from autodiff_cli.report.numbers import human

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SMALLEST = 1e-3
"""The absolute value below which a result has a power of ten."""


def tolerance(u: float, digits: int = 2) -> float:
    """Return half a unit of the last significant digit of an uncertainty: JCGM 101:2008, 7.9.2."""
    return math.nan if not 0 < u < math.inf else 0.5 * 10.0 ** (_exponent(u, digits) - digits + 1)


def tolerances(u: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``tolerance`` for each of several uncertainties."""
    with np.errstate(all="ignore"):
        first = np.floor(np.log10(u) + 1e-12)
        rounded_up = u >= 9.95 * 10.0**first
        return np.where((u > 0) & np.isfinite(u), 0.05 * 10.0 ** (first + rounded_up), np.nan)


def _exponent(number: float, digits: int) -> int:
    """Return the power of ten of the first significant digit, after rounding to so many digits."""
    return int(f"{number:.{digits - 1}e}".partition("e")[2])


def concise(value: float, u: float) -> str:
    """Return a value and its uncertainty, both rounded to the second significant digit of the uncertainty."""
    if not (math.isfinite(value) and 0 < u < math.inf) or u < 1e-16 * abs(value):
        return f"{value:.12g} ± {u:.2g}"
    last = _exponent(u, 2) - 1
    first = max(_exponent(u, 2), _exponent(abs(value), 2) if value else -400)
    power = first if last > 0 or max(abs(value), u) < _SMALLEST else 0
    decimals = power - last
    number, size = (f"{Decimal(each).scaleb(-power):.{decimals}f}" for each in (value, u))
    digits = size if float(size) >= 1 else size.replace(".", "").lstrip("0")
    return f"{number}({digits})" + (f"e{power}" if power else "")


def estimate(value: float, u: float, precision: int) -> str:
    """Return a value with ``precision`` significant digits, or more if two digits of its uncertainty need them."""
    needed = math.floor(math.log10(abs(value) / u)) + 3 if value and u > 0 and 0 < abs(value) / u < math.inf else 0
    return human(value, min(max(precision, needed), 17))


def percent(share: float) -> str:
    """Return a share as a percentage with one decimal."""
    return f"{round(100 * share, 1) + 0.0:.1f}"
