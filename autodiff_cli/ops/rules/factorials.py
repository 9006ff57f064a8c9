"""Factorials, gamma and zeta functions, with their derivatives."""
# Made from grammar/rules/factorials.rules by ``python grammar/compile_rules.py``.  Do not edit.

from __future__ import annotations

from typing import Any

from autodiff_cli.autograd.primitives.argument_kinds import ORDER, TENSOR, WHOLE
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.numerics import decomposition, factorials as arrays
from autodiff_cli.ops.rules.elementary import floor

__all__ = ['beta', 'betaln', 'digamma', 'factorial', 'gamma', 'gammaln', 'lgamma', 'polygamma_gap', 'psi', 'zeta', 'zeta_slope']

_declare = Declarations(__name__, elementwise=True)
described = _declare.described

lgamma: TensorFunction = _declare('lgamma', arrays.lgamma, {'x': lambda g, x: g * digamma(x)}, decomposition=lambda: decomposition('LGAMMA'), summary='log(abs(gamma(x)))', formula='digamma(x)', aliases=('gammaln',), domain='x is not 0, -1, -2, ...', inside=lambda x: (x > 0) | (x != floor(x)), convention='the value at 0, -1, -2, ... is inf; the derivative at 0 is -inf (PyTorch)', samples=((0.3,), (2.5,), (-1.6,), ([0.7, 4.0],),), edges=None)
gammaln = lgamma
digamma: TensorFunction = _declare('digamma', arrays.digamma, {'x': lambda g, x: g * polygamma_at(x, 1)}, decomposition=lambda: decomposition('polygamma', 0), summary='derivative of lgamma', formula='polygamma(1, x)', aliases=('psi',), domain='x is not 0, -1, -2, ...', inside=lambda x: (x > 0) | (x != floor(x)), convention='the value is -inf at 0 and nan at -1, -2, ...; the derivative at these points is inf (PyTorch gives 6.6e32 at -1)', samples=((0.3,), (2.5,), (-1.6,), ([0.7, 4.0],),), edges=None)
psi = digamma
gamma: TensorFunction = _declare('gamma', arrays.gamma, {'x': lambda g, x, out: g * (out * digamma(x))}, decomposition=lambda: decomposition('GAMMA'), summary='gamma function: (x - 1)! for whole numbers x', formula='gamma(x)*digamma(x)', domain='x is not 0, -1, -2, ...', inside=lambda x: (x > 0) | (x != floor(x)), convention='the value is inf at 0, and nan at -1, -2, ...', samples=((0.3,), (2.5,), (-1.6,), ([0.7, 4.0],),), edges=None)
factorial: TensorFunction = _declare('factorial', arrays.factorial, {'x': lambda g, x, out: g * (out * digamma(x + 1))}, decomposition='gamma(x + 1)', summary='x!, which is gamma(x + 1) for all real x', formula='factorial(x)*digamma(x + 1)', domain='x is not -1, -2, ...', inside=lambda x: (x >= 0) | (x != floor(x)), convention='the value is inf at -1, and nan at -2, -3, ...', samples=((0.3,), (4.0,), (-1.6,), ([0.7, 2.5],),), edges=None)
polygamma_gap: TensorFunction = _declare('polygamma_gap', arrays.polygamma_gap, {'a': lambda g, a, b, n: g * polygamma_gap(a, b, n + 1), 'b': lambda g, a, b, n: g * polygamma_at(a + b, n + 1)}, statics={'n': 0}, kinds={'n': ORDER}, decomposition=lambda n: decomposition('polygamma_gap', n), summary='polygamma(n, a + b) - polygamma(n, a), accurate where b is small compared with a', formula='polygamma_gap(a, b, n + 1), polygamma(n + 1, a + b)', domain='a > 0, b > 0', inside=lambda a, b: (a > 0) & (b > 0), samples=((0.7, 2.5), (30.0, 1e-3), (1.5, 0.4, 1),), edges=None, methods=())
beta: TensorFunction = _declare('beta', arrays.beta, {'a': lambda g, a, b, out: g * (-(out * polygamma_gap(a, b))), 'b': lambda g, a, b, out: g * (-(out * polygamma_gap(b, a)))}, decomposition=lambda: decomposition('BETA'), summary='gamma(a)*gamma(b)/gamma(a + b)', formula='-beta(a, b)*polygamma_gap(a, b), -beta(a, b)*polygamma_gap(b, a)', domain='a > 0 and b > 0', inside=lambda a, b: (a > 0) & (b > 0), samples=((0.7, 2.5), (3.0, 1.2), ([1.5, 60.0], [0.4, 2.0]),), edges=None, methods=())
betaln: TensorFunction = _declare('betaln', arrays.betaln, {'a': lambda g, a, b: g * (-polygamma_gap(a, b)), 'b': lambda g, a, b: g * (-polygamma_gap(b, a))}, decomposition=lambda: decomposition('BETALN'), summary='log(beta(a, b)), without overflow and underflow', formula='-polygamma_gap(a, b), -polygamma_gap(b, a)', domain='a > 0 and b > 0', inside=lambda a, b: (a > 0) & (b > 0), samples=((0.7, 2.5), (3.0, 1.2), ([1.5, 60.0], [0.4, 2000.0]),), edges=None, methods=())
_declare.python('polygamma', ('n',), parameters=('n', 'x'), defaults=(), tensors=('x',), kinds={'n': WHOLE}, summary='the n-th derivative of digamma', formula='with respect to x: polygamma(n + 1, x)', domain='n = 0, 1, 2, ...; x is not 0, -1, -2, ...', inside=lambda x: (x > 0) | (x != floor(x)), convention='the value at 0, -1, -2, ... is infinite or nan (PyTorch)', samples=((1, 0.3), (2, 2.5), (1, -1.6), (2, [-0.3, 4.0]),), edges=((1, 0.0), (2, -1.0),), methods=())
zeta: TensorFunction = _declare.composed('zeta', lambda x, q=1.0: zeta_of(x, q), dict(x=TENSOR, q=TENSOR), tensors=('x', 'q'), summary='zeta function of Riemann, or of Hurwitz if q is not 1: the sum of (k + q)**-x over all k >= 0', formula='zeta_slope(x, q), -x*zeta(x + 1, q)', domain='x > 1 and q > 0; for q = 1 also x < 1', inside=lambda x, q: ((x > 1) & (q > 0)) | ((q == 1) & (x < 1)), convention='for q = 1 and x < 1 the value is the analytic continuation; PyTorch gives nan there, and does not differentiate with respect to x', samples=((2, 0.7), (3, [1.5, 4.0]), (2.5, 0.7), (0.3,), (-2.3,), (3.5,),), edges=((1, 0.7), (2, 0.0),), methods=())
def _zeta_slope_by_q(g: Any, x: Any, q: Any, order: Any) -> Any:
    lower = zeta_slope(x + 1, q, order - 1) if order > 1 else zeta_of(x + 1, q)
    return g * (-((x * zeta_slope(x + 1, q, order)) + (order * lower)))
zeta_slope: TensorFunction = _declare('zeta_slope', arrays.zeta_slope, {'x': lambda g, x, q, order: g * zeta_slope(x, q, order + 1), 'q': _zeta_slope_by_q}, statics={'order': 1}, kinds={'order': ORDER}, decomposition=lambda: decomposition('refused'), summary='derivative of the given order of zeta(x, q) with respect to x', formula='with respect to x: zeta_slope(x, q, order + 1)', domain='x > 1 and q > 0; for q = 1 also x < 1', inside=lambda x, q: ((x > 1) & (q > 0)) | ((q == 1) & (x < 1)), samples=((2.5, 0.7), (3.5, 1.2, 2), ([0.3, -2.3], 1),), edges=((1.0, 0.7), (2.0, 0.0),), methods=())
polygamma_at: TensorFunction = _declare('polygamma', arrays.polygamma, {'x': lambda g, x, n: g * polygamma_at(x, n + 1)}, statics={'n': 0}, decomposition=lambda n: decomposition('polygamma', n), public=False)
zeta_of: TensorFunction = _declare('zeta', arrays.zeta, {'x': lambda g, x, q: g * zeta_slope(x, q, 1), 'q': lambda g, x, q: g * (-(x * zeta_of(x + 1, q)))}, node='SpecialZetaBackward0', decomposition=lambda: decomposition('ZETA'), public=False)
