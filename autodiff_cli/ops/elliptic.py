"""Complete elliptic integrals of the parameter m = k**2.

All derivatives belong to one family of integrals with positive integrands.  No derivative loses digits to cancellation, not even
at m = 0, where the usual formulas divide by m.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autodiff_cli.autograd.dtypes import Array
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.ops import long_decompositions
from autodiff_cli.ops.quadrature import in_blocks
from autodiff_cli.ops.scipy_backend import from_scipy

__all__ = ["ellipe", "ellipk"]

declare = Declarations(__name__, elementwise=True)

_STEP, _SPAN = 0.25, 40.0


def _integral(m: Array, order: int, second: bool) -> Any:
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
        found = _STEP * np.sum(powers * base, axis=-1)
        return np.where(m == 1, math.inf, np.where(m == -math.inf, 0.0, found))

    return in_blocks(sums, m)


_elliptic_integral: TensorFunction = declare(
    "elliptic_integral",
    _integral,
    {"m": lambda g, m, order, second: g * ((order - second + 0.5) * _elliptic_integral(m, order + 1, second))},
    statics={"order": 1, "second": False},
    public=False,
    decomposition=long_decompositions.elliptic_integral,
)
_BELOW_1: dict[str, Any] = {
    "methods": (),
    "domain": "m <= 1",
    "smooth": "m < 1",
    "inside": lambda m: m <= 1,
    "kink": lambda m: m == 1,
    "samples": ((0.3,), (0.0,), (-2.5,), ([0.96, -40.0],)),
    "edges": ((1.0,), (1.5,)),
}
ellipk = declare(
    "ellipk",
    from_scipy("ellipk"),
    {"m": lambda g, m: g * (0.5 * _elliptic_integral(m, 1, False))},
    decomposition=long_decompositions.ELLIPK,
    summary="complete elliptic integral of the first kind, of the parameter m = k**2",
    formula="(ellipe(m) - (1 - m)*ellipk(m))/(2*m*(1 - m))",
    convention="at 1 the value and the derivative are inf, which are the limits; PyTorch does not have this function",
    **_BELOW_1,
)
ellipe = declare(
    "ellipe",
    from_scipy("ellipe"),
    {"m": lambda g, m: g * (-0.5 * _elliptic_integral(m, 1, True))},
    decomposition=long_decompositions.ELLIPE,
    summary="complete elliptic integral of the second kind, of the parameter m = k**2",
    formula="(ellipe(m) - ellipk(m))/(2*m)",
    convention="at 1 the value is 1 and the derivative is -inf, which is the limit; PyTorch does not have this function",
    **_BELOW_1,
)
