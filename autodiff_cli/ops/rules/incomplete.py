"""Exponential integrals, and the regularized incomplete gamma and beta functions."""
# Made from grammar/rules/incomplete.rules by ``python grammar/compile_rules.py``.  Do not edit.

from __future__ import annotations

from typing import Any

from autodiff_cli.autograd.primitives.argument_kinds import ORDER
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.numerics import decomposition, incomplete as arrays
from autodiff_cli.numerics.backend import from_scipy
from autodiff_cli.ops.rules.elementary import exp

__all__ = ['betainc', 'betainc_density', 'betainc_slope', 'exp1', 'expi', 'gammainc', 'gammainc_density', 'gammainc_slope', 'gammaincc', 'igamma', 'igammac']

_declare = Declarations(__name__, elementwise=True)

expi: TensorFunction = _declare('expi', from_scipy('expi'), {'x': lambda g, x: g * (exp(x) / x)}, decomposition=lambda: decomposition('refused'), summary='exponential integral Ei(x), the principal value of the integral of exp(t)/t from -inf to x', formula='exp(x)/x', domain='x is not 0', inside=lambda x: x != 0, convention='the value is -inf at 0', samples=((0.3,), (-1.7,), ([4.0, -9.5],),), edges=None)
exp1: TensorFunction = _declare('exp1', from_scipy('exp1'), {'x': lambda g, x: (-g) * (exp(-x) / x)}, decomposition=lambda: decomposition('refused'), summary='exponential integral E1(x), the integral of exp(-t)/t from x to inf', formula='-exp(-x)/x', domain='x > 0', inside=lambda x: x > 0, convention='the value is inf at 0, and nan for x < 0', samples=((0.3,), (1.7,), ([4.0, 9.5],),), edges=None)
gammainc: TensorFunction = _declare('gammainc', arrays.gammainc, {'a': lambda g, a, x: g * gammainc_slope(a, x, 1), 'x': lambda g, a, x: g * gammainc_density(a, x, 0)}, node='IgammaBackward0', decomposition=lambda: decomposition('refused'), summary='regularized lower incomplete gamma function P(a, x): the gamma distribution function', formula='gammainc_slope(a, x), x**(a - 1)*exp(-x)/gamma(a)', aliases=('igamma',), domain='a > 0 and x >= 0', inside=lambda a, x: (a > 0) & (x >= 0), convention='PyTorch has no derivative with respect to a', samples=((0.7, 2.5), (3.0, 1.2), ([1.5, 60.0], [0.4, 55.0]),), edges=((-1.0, 1.5), (1.5, 0.0),), methods=('igamma',))
igamma = gammainc
gammaincc: TensorFunction = _declare('gammaincc', arrays.gammaincc, {'a': lambda g, a, x: (-g) * gammainc_slope(a, x, 1), 'x': lambda g, a, x: (-g) * gammainc_density(a, x, 0)}, node='IgammacBackward0', decomposition=lambda: decomposition('refused'), summary='regularized upper incomplete gamma function Q(a, x) = 1 - gammainc(a, x), accurate for large x', formula='-gammainc_slope(a, x), -x**(a - 1)*exp(-x)/gamma(a)', aliases=('igammac',), domain='a > 0 and x >= 0', inside=lambda a, x: (a > 0) & (x >= 0), convention='PyTorch has no derivative with respect to a', samples=((0.7, 2.5), (3.0, 1.2), ([1.5, 60.0], [0.4, 55.0]),), edges=((-1.0, 1.5), (1.5, 0.0),), methods=('igammac',))
igammac = gammaincc
gammainc_slope: TensorFunction = _declare('gammainc_slope', arrays.gammainc_slope, {'a': lambda g, a, x, order: g * gammainc_slope(a, x, order + 1), 'x': lambda g, a, x, order: g * gammainc_density(a, x, order)}, statics={'order': 1}, kinds={'order': ORDER}, decomposition=lambda: decomposition('refused'), summary='derivative of the given positive order of gammainc(a, x) with respect to a', formula='gammainc_slope(a, x, order + 1), gammainc_density(a, x, order)', domain='a > 0, x >= 0', inside=lambda a, x: (a > 0) & (x >= 0), convention='PyTorch has no derivative with respect to a', samples=((0.7, 2.5), (3.0, 1.2), ([1.5, 60.0], [0.4, 55.0]),), edges=((-1.0, 1.5), (1.5, 0.0),), methods=())
def _gammainc_density_by_x(g: Any, a: Any, x: Any, out: Any, order: Any) -> Any:
    slope = (((a - 1) - x) / x) * out
    return (g * (slope + ((order / x) * gammainc_density(a, x, order - 1)))) if order > 0 else (g * slope)
gammainc_density: TensorFunction = _declare('gammainc_density', arrays.gammainc_density, {'a': lambda g, a, x, order: g * gammainc_density(a, x, order + 1), 'x': _gammainc_density_by_x}, statics={'order': 0}, kinds={'order': ORDER}, decomposition=lambda order: decomposition('gammainc_density', order), summary='x**(a - 1)*exp(-x)/gamma(a), or its derivative of the given order with respect to a', formula='gammainc_density(a, x, order + 1), (a - 1 - x)/x*gammainc_density(a, x)', domain='a > 0, x >= 0', inside=lambda a, x: (a > 0) & (x >= 0), convention='PyTorch has no derivative with respect to a', samples=((0.7, 2.5), (3.0, 1.2), ([1.5, 60.0], [0.4, 55.0]),), edges=((-1.0, 1.5), (1.5, 0.0),), methods=())
betainc: TensorFunction = _declare('betainc', arrays.betainc, {'a': lambda g, a, b, x: g * betainc_slope(a, b, x, 1, 0), 'b': lambda g, a, b, x: g * betainc_slope(a, b, x, 0, 1), 'x': lambda g, a, b, x: g * betainc_density(a, b, x, 0, 0)}, decomposition=lambda: decomposition('refused'), summary='regularized incomplete beta function: the beta distribution function', formula='betainc_slope(a, b, x, 1, 0), betainc_slope(a, b, x, 0, 1), x**(a - 1)*(1 - x)**(b - 1)/beta(a, b)', domain='a > 0, b > 0, 0 <= x <= 1', inside=lambda a, b, x: ((a > 0) & (b > 0)) & ((0 <= x) & (x <= 1)), samples=((0.7, 2.5, 0.3), (3.0, 1.2, 0.9), ([1.5, 60.0], [0.4, 20.0], [0.2, 0.7]),), edges=((-1.0, 1.5, 0.5), (1.5, 1.5, 1.5),), methods=())
betainc_slope: TensorFunction = _declare('betainc_slope', arrays.betainc_slope, {'a': lambda g, a, b, x, i, j: g * betainc_slope(a, b, x, i + 1, j), 'b': lambda g, a, b, x, i, j: g * betainc_slope(a, b, x, i, j + 1), 'x': lambda g, a, b, x, i, j: g * betainc_density(a, b, x, i, j)}, statics={'i': 1, 'j': 0}, kinds={'i': ORDER, 'j': ORDER}, decomposition=lambda: decomposition('refused'), summary='derivative of betainc(a, b, x) of order i with respect to a and j with respect to b, where i + j is positive', formula='with respect to x: betainc_density(a, b, x, i, j)', domain='a > 0, b > 0, 0 <= x <= 1', inside=lambda a, b, x: ((a > 0) & (b > 0)) & ((0 <= x) & (x <= 1)), samples=((0.7, 2.5, 0.3), (3.0, 1.2, 0.9), ([1.5, 60.0], [0.4, 20.0], [0.2, 0.7]),), edges=((-1.0, 1.5, 0.5), (1.5, 1.5, 1.5),), methods=())
def _betainc_density_by_x(g: Any, a: Any, b: Any, x: Any, out: Any, i: Any, j: Any) -> Any:
    slope = (((a - 1) / x) - ((b - 1) / (1 - x))) * out
    by_i = (slope + ((i / x) * betainc_density(a, b, x, i - 1, j))) if i > 0 else slope
    by_j = (by_i - ((j / (1 - x)) * betainc_density(a, b, x, i, j - 1))) if j > 0 else by_i
    return g * by_j
betainc_density: TensorFunction = _declare('betainc_density', arrays.betainc_density, {'a': lambda g, a, b, x, i, j: g * betainc_density(a, b, x, i + 1, j), 'b': lambda g, a, b, x, i, j: g * betainc_density(a, b, x, i, j + 1), 'x': _betainc_density_by_x}, statics={'i': 0, 'j': 0}, kinds={'i': ORDER, 'j': ORDER}, decomposition=lambda i, j: decomposition('betainc_density', i, j), summary='x**(a - 1)*(1 - x)**(b - 1)/beta(a, b), or its derivative of order i with respect to a and j with respect to b', formula='with respect to a: betainc_density(a, b, x, i + 1, j)', domain='a > 0, b > 0, 0 <= x <= 1', inside=lambda a, b, x: ((a > 0) & (b > 0)) & ((0 <= x) & (x <= 1)), samples=((0.7, 2.5, 0.3), (3.0, 1.2, 0.9), ([1.5, 60.0], [0.4, 20.0], [0.2, 0.7]),), edges=((-1.0, 1.5, 0.5), (1.5, 1.5, 1.5),), methods=())
