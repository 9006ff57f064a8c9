"""The zeta functions of Riemann and Hurwitz, with derivatives with respect to both arguments."""
# Made from grammar/rules/zeta_functions.rules by ``python grammar/compile_rules.py``.  Do not edit.

from __future__ import annotations

from typing import Any

from autodiff_cli.autograd.primitives.argument_kinds import ORDER, TENSOR
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.numerics import decomposition, zeta_functions as arrays

__all__ = ['zeta', 'zeta_slope']

_declare = Declarations(__name__, elementwise=True)

zeta: TensorFunction = _declare.composed('zeta', lambda x, q=1.0: zeta_of(x, q), dict(x=TENSOR, q=TENSOR), tensors=('x', 'q'), summary='zeta function of Riemann, or of Hurwitz if q is not 1: the sum of (k + q)**-x over all k >= 0', formula='zeta_slope(x, q), -x*zeta(x + 1, q)', domain='x > 1 and q > 0; for q = 1 also x < 1', inside=lambda x, q: ((x > 1) & (q > 0)) | ((q == 1) & (x < 1)), convention='for q = 1 and x < 1 the value is the analytic continuation; PyTorch gives nan there, and does not differentiate with respect to x', samples=((2, 0.7), (3, [1.5, 4.0]), (2.5, 0.7), (0.3,), (-2.3,), (3.5,),), edges=((1, 0.7), (2, 0.0),), methods=())
def _zeta_slope_by_q(g: Any, x: Any, q: Any, order: Any) -> Any:
    lower = zeta_slope(x + 1, q, order - 1) if order > 1 else zeta_of(x + 1, q)
    return g * (-((x * zeta_slope(x + 1, q, order)) + (order * lower)))
zeta_slope: TensorFunction = _declare('zeta_slope', arrays.zeta_slope, {'x': lambda g, x, q, order: g * zeta_slope(x, q, order + 1), 'q': _zeta_slope_by_q}, statics={'order': 1}, kinds={'order': ORDER}, decomposition=lambda: decomposition('refused'), summary='derivative of the given order of zeta(x, q) with respect to x', formula='with respect to x: zeta_slope(x, q, order + 1)', domain='x > 1 and q > 0; for q = 1 also x < 1', inside=lambda x, q: ((x > 1) & (q > 0)) | ((q == 1) & (x < 1)), samples=((2.5, 0.7), (3.5, 1.2, 2), ([0.3, -2.3], 1),), edges=((1.0, 0.7), (2.0, 0.0),), methods=())
zeta_of: TensorFunction = _declare('zeta', arrays.zeta, {'x': lambda g, x, q: g * zeta_slope(x, q, 1), 'q': lambda g, x, q: g * (-(x * zeta_of(x + 1, q)))}, node='SpecialZetaBackward0', decomposition=lambda: decomposition('ZETA'), public=False)
