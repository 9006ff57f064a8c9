"""Complete elliptic integrals of the parameter m = k**2.

All derivatives belong to one family of integrals with positive integrands.  No derivative loses digits to cancellation, not even
at m = 0, where the usual formulas divide by m.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.numerics.quadrature import in_blocks

_STEP, _SPAN = 0.25, 40.0


def elliptic_integral(m: Array, order: int, second: bool) -> Any:
    """Return the integral of sin(t)**(2*order)/(1 - m*sin(t)**2)**(order - second + 1/2) from 0 to pi/2, for order >= 1.

    With c = 1 - m and tan(t) = exp(s)/c**(1/4), the differential dt/sqrt(1 - m*sin(t)**2) is
    ds/sqrt(1 + c + 2*sqrt(c)*cosh(2*s)).  Its poles in s lie on lines at the distance pi/2 from the real axis for every m, so the
    error of the trapezoidal rule is about exp(-pi**2/step).
    """

    def sums(m: Array) -> Any:
        c = (1 - m)[:, None]
        root = np.sqrt(c)
        widest = np.max(np.abs(np.log(np.where((c > 0) & np.isfinite(c), c, 1.0))), initial=0.0) / 4
        s = np.arange(-math.ceil((_SPAN + widest) / _STEP), math.ceil((_SPAN + widest) / _STEP) + 1) * _STEP
        falling = np.exp(-2 * s)
        ratio = 1 / (root * (falling + root))  # sin(t)**2/(1 - m*sin(t)**2)
        powers = ratio**order if not second else ratio ** (order - 1) / (1 + root * falling)
        # The radicand is (1 + root*exp(2*s))*(1 + root*exp(-2*s)), whose factors may overflow.
        small = np.exp(-2 * np.abs(s))
        base = np.exp(-np.abs(s)) / np.sqrt(small + root) / np.sqrt(1 + root * small)
        result = _STEP * np.sum(powers * base, axis=-1)
        return np.where(m == 1, math.inf, np.where(m == -math.inf, 0.0, result))

    return in_blocks(sums, m)
