"""Complete elliptic integrals of the parameter m = k**2."""
# Made from grammar/rules/elliptic.rules by ``python grammar/compile_rules.py``.  Do not edit.

from __future__ import annotations

import numpy as np

from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.numerics import decomposition, elliptic as arrays
from autodiff_cli.numerics.backend import from_scipy

__all__ = ['ellipe', 'ellipk']

_declare = Declarations(__name__, elementwise=True)

ellipk: TensorFunction = _declare('ellipk', from_scipy('ellipk'), {'m': lambda g, m: g * (0.5 * elliptic_integral(m, 1, False))}, decomposition=lambda: decomposition('ELLIPK'), summary='complete elliptic integral of the first kind, of the parameter m = k**2', formula='(ellipe(m) - (1 - m)*ellipk(m))/(2*m*(1 - m))', domain='m <= 1', inside=lambda m: m <= 1, smooth='m < 1', kink=lambda m: (m <= 1) & (np.logical_not((m < 1))), convention='at 1 the value and the derivative are inf, which are the limits; PyTorch does not have this function', samples=((0.3,), (0.0,), (-2.5,), ([0.96, -40.0],),), edges=None, methods=())
ellipe: TensorFunction = _declare('ellipe', from_scipy('ellipe'), {'m': lambda g, m: g * ((-0.5) * elliptic_integral(m, 1, True))}, decomposition=lambda: decomposition('ELLIPE'), summary='complete elliptic integral of the second kind, of the parameter m = k**2', formula='(ellipe(m) - ellipk(m))/(2*m)', domain='m <= 1', inside=lambda m: m <= 1, smooth='m < 1', kink=lambda m: (m <= 1) & (np.logical_not((m < 1))), convention='at 1 the value is 1 and the derivative is -inf, which is the limit; PyTorch does not have this function', samples=((0.3,), (0.0,), (-2.5,), ([0.96, -40.0],),), edges=None, methods=())
elliptic_integral: TensorFunction = _declare('elliptic_integral', arrays.elliptic_integral, {'m': lambda g, m, order, second: g * (((order - second) + 0.5) * elliptic_integral(m, order + 1, second))}, statics={'order': 1, 'second': False}, decomposition=lambda order, second: decomposition('elliptic_integral', order, second), public=False)
