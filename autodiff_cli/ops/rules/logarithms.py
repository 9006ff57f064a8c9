"""Logarithms of sums, odds and probability densities, and the Lambert W function."""
# Made from grammar/rules/logarithms.rules by ``python grammar/compile_rules.py``.  Do not edit.

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autodiff_cli.autograd.primitives.argument_kinds import BRANCH, NUMBER, TENSOR, optional
from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.autograd.primitives.structural import where
from autodiff_cli.numerics import decomposition, logarithms as arrays
from autodiff_cli.ops.rules.comparison import isfinite
from autodiff_cli.ops.rules.elementary import exp, log, log1p
from autodiff_cli.ops.rules.factorials import digamma

__all__ = ['binomial_logpmf', 'lambertw', 'logaddexp', 'logaddexp2', 'logit', 'normal_logpdf', 'poisson_logpmf', 'xlog1py', 'xlogy']

_declare = Declarations(__name__, elementwise=True)

xlogy: TensorFunction = _declare('xlogy', arrays.xlogy, {'x': lambda g, x, y: where((x == 0) & (y <= 0), 0.0, g * log(y)), 'y': lambda g, x, y: g * over(x, y)}, decomposition='0 if x == 0 else x*log(y)', summary='x*log(y), but 0 where x is 0', formula='log(y), x/y', domain='y > 0 or x == 0', inside=lambda x, y: (y > 0) | (x == 0), convention='both derivatives are 0 where x = 0 and y <= 0; PyTorch gives nan with respect to y at (0, 0)', samples=((0.7, 1.2), (-2.0, 0.4), ([1.5, 3.0], [0.5, 2.5]),), edges=((0.0, 0.0), (0.0, 2.0), (0.0, -1.0), (1.0, -1.0),))
xlog1py: TensorFunction = _declare('xlog1py', arrays.xlog1py, {'x': lambda g, x, y: where((x == 0) & (y <= (-1)), 0.0, g * log1p(y)), 'y': lambda g, x, y: g * over(x, y + 1)}, node='SpecialXlog1PyBackward0', decomposition='0 if x == 0 else x*log1p(y)', summary='x*log(1 + y), but 0 where x is 0; accurate for small y', formula='log1p(y), x/(1 + y)', domain='y > -1 or x == 0', inside=lambda x, y: (y > (-1)) | (x == 0), convention='both derivatives are 0 where x = 0 and y <= -1; PyTorch gives nan with respect to y at (0, -1)', samples=((0.7, 1.2), (-2.0, 0.4), ([1.5, 3.0], [0.5, 2.5]),), edges=((0.0, -1.0), (0.0, 2.0), (0.0, -2.0), (1.0, -2.0),), methods=())
logaddexp: TensorFunction = _declare('logaddexp', np.logaddexp, {'x': lambda g, x, y: g * share(x, y, 2.718281828459045), 'y': lambda g, x, y: g * share(y, x, 2.718281828459045)}, decomposition='m = max(x, y); m if isinf(m) else m + log1p(exp(-abs(x - y)))', summary='log(e**x + e**y) without overflow', formula='e**x/(e**x + e**y), e**y/(e**x + e**y)', convention='both derivatives are 1/2 where x and y are the same infinity; PyTorch gives nan', samples=((0.7, 1.2), (-2.0, 0.4), ([1.5, 3.0], [0.5, 2.5]),), edges=((math.inf, math.inf), (-math.inf, -math.inf),))
logaddexp2: TensorFunction = _declare('logaddexp2', np.logaddexp2, {'x': lambda g, x, y: g * share(x, y, 2.0), 'y': lambda g, x, y: g * share(y, x, 2.0)}, decomposition='m = max(x, y); m if isinf(m) else m + log1p(exp2(-abs(x - y)))/log(2)', summary='log2(2**x + 2**y) without overflow', formula='2**x/(2**x + 2**y), 2**y/(2**x + 2**y)', convention='both derivatives are 1/2 where x and y are the same infinity; PyTorch gives nan', samples=((0.7, 1.2), (-2.0, 0.4), ([1.5, 3.0], [0.5, 2.5]),), edges=((math.inf, math.inf), (-math.inf, -math.inf),))
logit: TensorFunction = _declare('logit', arrays.logit, {'x': lambda g, x, eps: (g * odds_slope(x)) if eps is None else (where((x >= eps) & (x <= (1 - eps)), g * odds_slope(x), 0.0))}, statics={'eps': None}, kinds={'eps': optional(NUMBER)}, decomposition=lambda eps: decomposition('logit', eps), summary='log(x/(1 - x)), the inverse of sigmoid; with eps, x is first clamped to [eps, 1 - eps]', formula='1/(x*(1 - x))', domain='0 < x < 1, or everywhere if eps is given', inside=lambda x, eps: ((0 < x) & (x < 1)) if eps is None else isfinite(x), smooth='0 < x < 1, x != eps and x != 1 - eps', kink=lambda x, eps: ((x != x) & (x == x)) if eps is None else ((x == eps) | (x == (1 - eps))), convention='the value is infinite at 0 and 1, and nan outside [0, 1]; with eps the derivative is 0 outside the bounds, and equals the limit from inside at the bounds (PyTorch)', samples=((0.3,), (0.9,), ([0.5, 0.01],), (0.3, 0.1), ([0.05, 0.95, 0.4], 0.1),), edges=((0.0,), (1.0,), (1.5,), (0.0, 1e-3), (0.25, 0.25),))
lambertw: TensorFunction = _declare('lambertw', arrays.lambertw, {'x': lambda g, x, out, k: g * (exp(-out) / lambertw_rise(x, k))}, statics={'k': 0}, kinds={'k': BRANCH}, decomposition=lambda k: decomposition('lambertw', k), summary='Lambert W function: the solution w of w*exp(w) = x with w >= -1, or with w <= -1 for k=-1', formula='exp(-lambertw(x, k))/(lambertw(x, k) + 1)', domain='x >= -1/e; for k=-1 also x < 0', inside=lambda x, k: (x >= (-0.36787944117144233)) & ((k == 0) | (x < 0)), smooth='x > -1/e; for k=-1 also x < 0', kink=lambda x: x == (-0.36787944117144233), convention='the value at 0 for k=-1 is -inf; the derivative at -1/e is inf; PyTorch does not have this function', samples=((0.7,), (-0.3,), ([0.02, 35.0],), (-0.2, -1), ([-0.367, -1e-3], -1),), edges=((-0.36787944117144233,), (-0.5,), (0.0, -1),))
normal_logpdf: TensorFunction = _declare.composed('normal_logpdf', lambda x, mean=0.0, std=1.0: normal_logpdf_of(x, mean, std), dict(x=TENSOR, mean=TENSOR, std=TENSOR), tensors=('x', 'mean', 'std'), summary='logarithm of the density of the normal distribution', formula='with z = (x - mean)/std: -z/std, z/std, (z**2 - 1)/std', domain='std > 0', inside=lambda std: std > 0, samples=((0.7,), (0.7, -1.2, 2.5), ([0.5, 3.0], 1.0, [0.4, 2.0]),), edges=((0.7, 0.0, 0.0), (0.7, 0.0, -1.0),), methods=())
binomial_logpmf: TensorFunction = _declare('binomial_logpmf', arrays.binomial_logpmf, {'k': lambda g, k, n, p: g * (((digamma((n - k) + 1) - digamma(k + 1)) + log(p)) - log1p(-p)), 'n': lambda g, k, n, p: g * ((digamma(n + 1) - digamma((n - k) + 1)) + log1p(-p)), 'p': lambda g, k, n, p: g * (over(k, p) - over(n - k, 1 - p))}, decomposition='lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + xlogy(k, p) + xlog1py(n - k, -p)', summary='logarithm of the probability of k successes in n trials with success probability p', formula='with respect to p: k/p - (n - k)/(1 - p)', domain='0 <= k <= n and 0 < p < 1, or p = 0 and k = 0, or p = 1 and k = n', inside=lambda k, n, p: ((0 <= k) & (k <= n)) & ((((0 < p) & (p < 1)) | ((p == 0) & (k == 0))) | ((p == 1) & (k == n))), convention='counts need not be whole numbers; gamma functions replace factorials', samples=((3.0, 10.0, 0.4), (2.0, 7.5, [0.1, 0.6]),), edges=((0.0, 5.0, 0.0), (5.0, 5.0, 1.0), (3.0, 5.0, 1.5),), methods=())
poisson_logpmf: TensorFunction = _declare('poisson_logpmf', arrays.poisson_logpmf, {'k': lambda g, k, rate: g * (log(rate) - digamma(k + 1)), 'rate': lambda g, k, rate: g * (over(k, rate) - 1)}, decomposition='xlogy(k, rate) - rate - lgamma(k + 1)', summary='logarithm of the probability of k events when the expected number of events is rate', formula='with respect to rate: k/rate - 1', domain='k >= 0 and rate > 0, or k = 0 and rate = 0', inside=lambda k, rate: (k >= 0) & ((rate > 0) | ((k == 0) & (rate == 0))), convention='counts need not be whole numbers; gamma functions replace factorials', samples=((3.0, 2.5), ([2.0, 0.5], [4.0, 1.5]),), edges=((0.0, 0.0), (2.0, -1.0),), methods=())
over: TensorFunction = _declare('over', arrays.over, {'x': lambda g, y: g / y, 'y': lambda g, y, out: (-g) * over(out, y)}, decomposition='0 if x == 0 else x/y', public=False)
odds_slope: TensorFunction = _declare('odds_slope', lambda x: 1 / (x * np.where((x >= 0) * (x <= 1), 1 - x, math.nan)), {'x': lambda g, x, out: g * ((out * out) * ((2 * x) - 1))}, decomposition='1/(x*(1 - x))', public=False)
share: TensorFunction = _declare('share', arrays.share, {'x': lambda g, x, y, out, base: g * ((out * share(y, x, base)) * np.log(base)), 'y': lambda g, x, y, out, base: (-g) * ((out * share(y, x, base)) * np.log(base))}, statics={'base': 2.718281828459045}, decomposition=lambda base: decomposition('share', base), public=False)
lambertw_rise: TensorFunction = _declare('lambertw_rise', arrays.lambertw_rise, {'x': lambda g, out: g * (exp(1 - out) / out)}, statics={'k': 0}, decomposition=lambda k: decomposition('lambertw_rise', k), public=False)
def _normal_logpdf_of_by_x(g: Any, x: Any, mean: Any, std: Any) -> Any:
    z = (x - mean) / std
    return g * (-(z / std))
def _normal_logpdf_of_by_mean(g: Any, x: Any, mean: Any, std: Any) -> Any:
    z = (x - mean) / std
    return g * (z / std)
def _normal_logpdf_of_by_std(g: Any, x: Any, mean: Any, std: Any) -> Any:
    z = (x - mean) / std
    return g * (((z - 1) * (z + 1)) / std)
normal_logpdf_of: TensorFunction = _declare('normal_logpdf', arrays.normal_logpdf, {'x': _normal_logpdf_of_by_x, 'mean': _normal_logpdf_of_by_mean, 'std': _normal_logpdf_of_by_std}, decomposition='-((x - mean)/std)**2/2 - log(std) - log(2*pi)/2', public=False)
